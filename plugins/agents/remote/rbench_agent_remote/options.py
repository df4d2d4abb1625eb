"""Options of the agent `remote`."""

from __future__ import annotations

import shlex

from pydantic import Field, field_validator

from rbench.remote.options import ServerOptions, VariableName


class Options(ServerOptions):
    """Options of the agent `remote`: those of every server, and these.

    Attributes:
        host: name or address of the machine with the server.
        port: port there.
        url: the whole address, `ws://` or `wss://`, in place of host and port.
        timeout: seconds that one reply of the server may take, the first one included.
        connect_timeout: seconds that a handshake may take; a server that is busy with another client answers late.
        token_env: name of the environment variable that holds the server's token.
        at_once: how many calls the server may work on at once. What a server with more than one does can depend on how
            many workers there are, so this must be said here too.
        spawn: a command that serves the agent; it is started once for this machine, by whichever worker needs it first,
            and ends when nobody has used it for a while. Host, port and token are not given then.
        start_timeout: seconds until a server that was started must be there: loading weights takes time.
    """

    port: int = Field(default=8765, ge=1, le=65535)
    token_env: VariableName | None = None
    at_once: int = Field(default=1, ge=1, le=64)
    spawn: str | None = None
    start_timeout: float = Field(default=600.0, gt=0.0, le=86400.0, allow_inf_nan=False)

    @field_validator("spawn")
    @classmethod
    def _is_a_command(cls, spawn: str | None) -> str | None:
        if spawn is not None and not shlex.split(spawn):
            raise ValueError("give a command, such as 'rbench serve-agent simple'")
        return spawn
