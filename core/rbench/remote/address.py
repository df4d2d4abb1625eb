"""Where a server is; imports nothing that speaks to it."""

from __future__ import annotations

import contextlib
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Address:
    """Where a server is and how it is spoken to.

    Attributes:
        url: `ws://` or `wss://`, without user, password and query.
        what: what is there, for messages: `policy server`.
        headers: sent with the handshake; their values are secrets.
        secrets: texts that no message may hold.
        connect_seconds: how long a handshake may take: a server that works on another client's request answers late.
        reply_seconds: how long one reply may take.
    """

    url: str
    what: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    connect_seconds: float = 60.0
    reply_seconds: float = 300.0

    def __str__(self) -> str:
        return f"{self.what} {self.url}"

    @property
    def is_loopback(self) -> bool:
        """Whether it is this machine by its loopback address: no proxy has anything to do with that."""
        host = urlsplit(self.url).hostname or ""
        if host == "localhost":
            return True
        with contextlib.suppress(ValueError):
            return ipaddress.ip_address(host).is_loopback
        return False
