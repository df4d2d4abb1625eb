"""The client's end of a websocket that carries msgpack: to a policy server, or to a served agent.

One message a request, one or more a reply, strictly in turn. Whatever goes wrong closes the link; the next episode
opens a new one. Nothing that a server sends can do more than cost an episode: messages have a largest size, every
wait has an end, arrays of objects are refused, and what it says reaches nobody before secrets are taken out.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import struct
import sys
import time
from collections.abc import Mapping
from typing import Any

from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI
from websockets.sync.client import ClientConnection, connect

from rbench.errors import InfrastructureError, one_line, visible
from rbench.remote.address import Address
from rbench.remote.agent_server import MAX_MESSAGE, packed, unpacked
from rbench.vision.redaction import Redactor

#: Longest text of a server that a message repeats, and seconds between attempts to reach one that is not there.
SAID_LIMIT, PAUSE = 300, 0.25
#: Seconds that closing may take: a server that is busy or gone does not answer.
CLOSING = 0.5

# Not websockets' own logger: at level DEBUG it writes headers, and with them keys.
_silent = logging.getLogger("rbench.websockets")
_silent.setLevel(logging.CRITICAL + 1)


class Unreachable(InfrastructureError):
    """There is nothing at the address, or not what should be there."""


class Link:
    """One open connection."""

    def __init__(self, address: Address, patience: float = 0.0) -> None:
        """Connect.

        Args:
            patience: seconds in which a server that refuses connections, as while it starts, is tried again.

        Raises:
            Unreachable: nothing answers there, or something that is no websocket server.
        """
        self.address = address
        self._redactor = Redactor(address.secrets)
        self._held = contextlib.ExitStack()
        self._connection: ClientConnection | None = self._connected(time.monotonic() + patience)

    @property
    def open(self) -> bool:
        """Whether it can still be used."""
        return self._connection is not None

    def ask(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Send a message and return the next one that arrives."""
        self.send(message)
        return self.receive()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message.

        Raises:
            InfrastructureError: the connection is lost, or the server takes nothing more in.
            ValueError: the message has no form on the wire.
        """
        data = packed(message)
        with self._one_exchange() as connection:
            connection.send(data)

    def receive(self) -> Mapping[str, Any]:
        """The next message, a map; its arrays are read-only.

        Raises:
            InfrastructureError: the connection is lost, the server reports an error, or what it sends is no message.
        """
        with self._one_exchange() as connection:
            data = connection.recv(timeout=self.address.reply_seconds)
            if isinstance(data, str):  # how openpi's servers say that they failed: a traceback, then they close
                raise InfrastructureError(f"{self.address} failed: {self.said(_last_line(data))}; see its log")
            message = unpacked(data)
            if not isinstance(message, dict):
                raise ValueError(f"a message that cannot be read: a {type(message).__name__} where a map belongs")
            return message

    def said(self, text: Any) -> str:
        """What a server said, as it may be repeated: one printable line without secrets."""
        line = visible(" ".join(self._redactor.clear(str(text)).split()))
        return line if len(line) <= SAID_LIMIT else line[: SAID_LIMIT - 3] + "..."

    def close(self) -> None:
        """Close it, also after an error."""
        self._connection = None
        with contextlib.suppress(Exception):
            self._held.close()

    @contextlib.contextmanager
    def _one_exchange(self) -> Any:
        """Whatever ends an exchange early closes the link: a late reply must not be taken for the next one."""
        if self._connection is None:
            raise InfrastructureError(f"{self.address}: the connection is closed")
        whole = False
        try:
            yield self._connection
            whole = True
        except TimeoutError:
            raise InfrastructureError(
                f"{self.address} did not answer within {self.address.reply_seconds:g} s; raise option timeout if that"
                " is too short for it"
            ) from None
        except ConnectionClosed as problem:
            raise InfrastructureError(
                f"{self.address}: the connection was lost ({self.said(_why_closed(problem))}); is it still running?"
            ) from None
        except (OSError, ValueError) as problem:
            raise InfrastructureError(f"{self.address}: {self.said(problem)}") from None
        finally:
            if not whole:
                self.close()

    def _connected(self, deadline: float) -> ClientConnection:
        while True:
            try:
                return self._attempt()
            except (ConnectionRefusedError, ConnectionResetError) as problem:
                reason: Any = problem.strerror or one_line(problem)
                remedy = "start it first, or correct host and port"
                again = True
            except InvalidStatus as problem:
                status = problem.response.status_code
                reason = f"HTTP status {status} in place of a websocket"
                remedy = "is this the right port?"
                if status in (401, 403):
                    reason, remedy = f"it refuses the key or token (HTTP status {status})", "give the one it expects"
                again = status == 503
            except TimeoutError:
                reason, again = f"no answer to the handshake within {self.address.connect_seconds:g} s", False
                remedy = "is it busy, or is something else on that port?"
            except (InvalidHandshake, InvalidURI, OSError, EOFError, ValueError) as problem:
                reason, again = one_line(problem), False
                remedy = "is this the right address, and a websocket server?"
            if not again or time.monotonic() >= deadline:
                raise Unreachable(f"{self.address} cannot be reached: {self.said(reason)}; {remedy}")
            time.sleep(PAUSE)

    def _attempt(self) -> ClientConnection:
        address = self.address
        connection = self._held.enter_context(
            connect(
                address.url,
                additional_headers=dict(address.headers),
                proxy=None if address.is_loopback else True,
                compression=None,
                max_size=MAX_MESSAGE,
                # An inference that takes a minute must not look like a lost link; every wait has its own end.
                ping_interval=None,
                open_timeout=address.connect_seconds,
                close_timeout=CLOSING,
                logger=_silent,
            )
        )
        if sys.platform != "win32":
            # A server that reads nothing would otherwise hold a send for ever.
            limit = struct.pack("ll", max(1, int(address.reply_seconds)), 0)
            with contextlib.suppress(OSError):  # it is closed again already; what it said can still be read
                connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        return connection


def _last_line(text: str) -> str:
    """What a traceback ends with."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "no reason given")


def _why_closed(problem: ConnectionClosed) -> str:
    closing = problem.rcvd or problem.sent
    if closing is None:
        return one_line(problem.__cause__) if isinstance(problem.__cause__, OSError) else "no closing frame"
    return f"code {closing.code}{f', {closing.reason}' if closing.reason else ''}"
