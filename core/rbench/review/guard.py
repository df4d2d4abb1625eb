"""Who gets through to the review: whoever knows the address, from a page of this server or by typing it in.

The token is a part of the path and is taken from nowhere else: a cookie or a header would be sent along by requests
that other sites make.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

#: The page gets everything from this server and can be put into no other one.
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}

_LOCAL = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Guard:
    """In front of an application: 403 to requests that another site had a hand in, 404 to those without the token.

    Both have no body, and are the same whatever was asked for.
    """

    def __init__(self, application: Application, token: str, host: str) -> None:
        self._application = application
        self._prefix = f"/{token}/".encode()
        self._hosts = frozenset({host.lower(), f"[{host.lower()}]"}) | _LOCAL
        self._is_public = not is_loopback(host)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers: dict[bytes, bytes] = {}
        doubled = False
        for name, value in scope["headers"]:
            doubled |= name in headers and name in (b"host", b"origin", b"sec-fetch-site")
            headers[name] = value
        if doubled or not self._is_own_host(headers.get(b"host", b"")) or not _is_own_page(scope["method"], headers):
            await _nothing(send, 403)
            return
        path = scope.get("raw_path") or b""
        if not hmac.compare_digest(path[: len(self._prefix)], self._prefix):
            await _nothing(send, 404)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *own]
            await send(message)

        await self._application(scope, receive, with_headers)

    def _is_own_host(self, header: bytes) -> bool:
        """Whether a Host header names this machine: a name that somebody else's DNS leads here is refused.

        Any port: it may be forwarded. On a public address every IP address and the name of the machine are its own.
        """
        name = header.decode("latin-1").lower()
        if not name.endswith("]"):
            head, colon, port = name.rpartition(":")
            if colon and port.isdigit():
                name = head
        if name in self._hosts:
            return True
        if not self._is_public:
            return False
        return _is_address(name.strip("[]")) or name in (socket.gethostname().lower(), socket.getfqdn().lower())


def is_loopback(host: str) -> bool:
    """Whether an address to listen at can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_own_page(method: str, headers: dict[bytes, bytes]) -> bool:
    """Whether a request comes from a page of this server, from the address line, or from no browser."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if origin is not None and origin != b"http://" + headers[b"host"]:
        return False
    if method in ("GET", "HEAD"):
        # An address that is followed from elsewhere (a chat, a mail) carries the token; a picture or a script does not.
        return site in (None, b"none", b"same-origin") or headers.get(b"sec-fetch-mode") == b"navigate"
    return site in (None, b"same-origin")


async def _nothing(send: Send, status: int) -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})
