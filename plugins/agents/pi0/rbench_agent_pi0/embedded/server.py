"""The embedded policy behind openpi's protocol: another process, another machine, or another program that speaks it.

The protocol knows no episodes, so the noise of an answer is drawn from a hash of its observation: the same question has
the same answer, whoever asks and in whatever order.
"""

from __future__ import annotations

import contextlib
import hashlib
import socket
import threading
import time
import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from rbench.errors import StartError
from rbench.remote.agent_server import packed, unpacked
from rbench_agent_pi0.embedded.policy import EmbeddedPolicy

#: Largest message that is read: two pictures of 2048 x 2048 and some.
MOST_BYTES = 32 * 2**20
#: The code with which openpi's servers close after an error.
INTERNAL_ERROR = 1011


class EmbeddedPolicyServer:
    """Serves a policy on a port of the loopback address until it is shut down; one question at a time."""

    def __init__(self, policy: EmbeddedPolicy, port: int) -> None:
        """Take the port.

        Raises:
            StartError: it is taken.
        """
        self._policy, self._lock = policy, threading.Lock()
        try:
            self._server: Server = serve(
                self._converse, "127.0.0.1", port, process_request=_health, max_size=MOST_BYTES, compression=None
            )
            self._links: set[ServerConnection] = set()
        except OSError as problem:
            raise StartError(f"port {port} cannot be taken ({problem.strerror}); give another --port") from problem
        self.port: int = self._server.socket.getsockname()[1]

    def serve_forever(self) -> None:
        """Answer until `shutdown`."""
        self._server.serve_forever()

    def shutdown(self) -> None:
        """Take no more connections, and end those that there are: the process ends with their threads."""
        self._server.shutdown()
        for link in list(self._links):
            with contextlib.suppress(OSError):
                link.socket.shutdown(socket.SHUT_RDWR)

    def _converse(self, link: ServerConnection) -> None:
        self._links.add(link)
        try:
            link.send(packed(self._policy.metadata))
            while True:
                asked = link.recv()
                try:
                    answer = self._answered(asked)
                except Exception:
                    link.send(traceback.format_exc(limit=0))
                    link.close(INTERNAL_ERROR, "the question could not be answered; the last message says why")
                    return
                link.send(packed(answer))
        except (ConnectionClosed, OSError):
            pass
        finally:
            self._links.discard(link)

    def _answered(self, message: str | bytes) -> dict[str, Any]:
        began = time.perf_counter()
        asked = unpacked(message) if isinstance(message, bytes) else None
        if not isinstance(asked, Mapping):
            raise ValueError("an observation is one msgpack map")
        digest = hashlib.sha256(message if isinstance(message, bytes) else b"").digest()
        with self._lock:
            self._policy.reset(np.random.default_rng(list(digest)))
            answer = dict(self._policy.infer(asked))
        return {**answer, "server_timing": {"infer_ms": 1000.0 * (time.perf_counter() - began)}}


def _health(link: ServerConnection, request: Request) -> Response | None:
    return link.respond(200, "OK\n") if request.path == "/healthz" else None
