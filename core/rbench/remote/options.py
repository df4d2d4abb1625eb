"""Options by which an agent is told where its server is."""

from __future__ import annotations

import os
import re
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from rbench.errors import StartError
from rbench.plugins.options import HIDDEN
from rbench.remote.address import Address
from rbench.vision.redaction import SHORTEST_SECRET


def _hidden(message: str) -> PydanticCustomError:
    """An error that does not show the value: who misunderstands the option has written a key or a password there."""
    return PydanticCustomError(HIDDEN, message)


def _a_variable(name: str) -> str:
    if not re.fullmatch("[A-Z][A-Z0-9_]*", name):
        raise _hidden("must be the name of an environment variable (A-Z, 0-9, _), not the key or token itself")
    return name


#: An option that names the environment variable with a key or token.
VariableName = Annotated[str, AfterValidator(_a_variable)]


class ServerOptions(BaseModel):
    """Where a server is, and how long it may take.

    Attributes:
        host: name or address of the machine.
        port: port there.
        url: the whole address, `ws://` or `wss://`, in place of host and port.
        timeout: seconds that one reply may take, the first one included, for which a server may compile for a minute.
        connect_timeout: seconds that a handshake may take; a server that is busy with another client answers late.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str | None = "127.0.0.1"
    port: int = Field(default=8000, ge=1, le=65535)
    url: str | None = None
    timeout: float = Field(default=300.0, gt=0.0, le=86400.0, allow_inf_nan=False)
    connect_timeout: float = Field(default=60.0, gt=0.0, le=3600.0, allow_inf_nan=False)

    @field_validator("host")
    @classmethod
    def _is_a_host(cls, host: str | None) -> str | None:
        if host is not None and (not host or not host.isprintable() or set(host) & set(" /@?#")):
            raise ValueError("give the name of a machine; a whole address goes into option url")
        return host

    @field_validator("url")
    @classmethod
    def _is_a_url(cls, url: str | None) -> str | None:
        if url is None:
            return None
        parts = urlsplit(url)
        if parts.scheme not in ("ws", "wss") or not parts.hostname or not url.isprintable() or " " in url:
            raise _hidden("give an address that begins with ws:// or wss://")
        if parts.username is not None or parts.query or parts.fragment:
            raise _hidden("an address holds no user, password or query; give keys by an environment variable")
        return url

    @property
    def address_url(self) -> str:
        """The address as one URL."""
        host = f"[{self.host}]" if ":" in (self.host or "") else self.host
        return self.url or f"ws://{host}:{self.port}"

    def address(self, what: str, scheme: str, secret: str | None) -> Address:
        """The address, with a key or token in the form `Authorization: SCHEME SECRET` if there is one."""
        return Address(
            self.address_url,
            what,
            headers={} if secret is None else {"Authorization": f"{scheme} {secret}"},
            secrets=frozenset() if secret is None else frozenset({secret}),
            connect_seconds=self.connect_timeout,
            reply_seconds=self.timeout,
        )


def secret_from(variable: str | None, option: str, agent: str) -> str | None:
    """The key or token that an environment variable holds; None when none is named.

    Raises:
        StartError: the variable is not set, or holds something that cannot stand in a header.
    """
    if variable is None:
        return None
    secret: Any = os.environ.get(variable, "").strip()
    if len(secret) < SHORTEST_SECRET or not secret.isprintable() or not secret.isascii() or " " in secret:
        raise StartError(
            f"agent {agent!r}: {option} names the environment variable {variable}, which holds no key; set it to one"
            f" of at least {SHORTEST_SECRET} printable ASCII characters"
        )
    return str(secret)
