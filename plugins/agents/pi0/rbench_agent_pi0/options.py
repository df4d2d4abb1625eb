"""Options of the agent `pi0`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from rbench.plugins.options import LocalPath
from rbench.remote.options import ServerOptions, VariableName

ActionSpace = Literal["joint_position", "joint_velocity"]

#: Checkpoints of the embedded policy that come with the plugin.
SHIPPED = ("hue", "plain")
#: Options that say something of a policy server only.
OF_SERVERS = ("action_space", "api_key_env", "connect_timeout", "port", "timeout")


class Options(ServerOptions):
    """Options of the agent `pi0`.

    Attributes:
        weights: of the embedded policy, which is used when no server is named: `hue` (the default) or `plain`, or the
            path of a checkpoint that `rbench-pi0 train` wrote.
        host: name or address of the machine with the policy server.
        port: port there.
        url: the whole address, `ws://` or `wss://`, in place of host and port.
        api_key_env: name of the environment variable that holds a key, for a server behind a proxy that asks for one.
        timeout: seconds that one inference may take, the first one included: a server may compile then, for a minute.
        connect_timeout: seconds that a handshake may take; a server that is busy with another client answers late.
        action_space: what the policy's actions are, if its server does not say so itself. `joint_position`: of the
            checkpoints with `jointpos` in their names, and of the fine-tuning recipe; `joint_velocity`: of pi0_droid,
            pi0_fast_droid and pi05_droid.
        open_loop: rows of each answer that are executed before the policy is asked again.
        exterior: the camera whose picture is the policy's exterior image; also the primary one.
        wrist: the camera whose picture is its wrist image.
        height, width: of both pictures in pixels, before they are letterboxed. By default 224, square as the
            fine-tuning recipe trains with (DROID's own are 180 x 320); the embedded policy's own size for that one.
        image_size: side of the square that pictures are letterboxed to; 0: they are sent as they are. By default 224,
            and 0 for the embedded policy.
        gray: this picture is replaced by flat gray: to find out what a policy needs.
        instruction: said in place of the task's own: to find out whether a policy reads it.
    """

    weights: Annotated[str | None, LocalPath(SHIPPED)] = Field(default=None, min_length=1)
    host: str | None = None
    port: int = Field(default=8000, ge=1, le=65535)
    api_key_env: VariableName | None = None
    action_space: ActionSpace | None = None
    open_loop: int = Field(default=8, ge=1, le=1000)
    exterior: str = "left_top"
    wrist: str = "wrist"
    height: int | None = Field(default=None, ge=16, le=2048)
    width: int | None = Field(default=None, ge=16, le=2048)
    image_size: int | None = Field(default=None, ge=0, le=2048)
    gray: Literal["exterior", "wrist", "none"] = "none"
    instruction: str | None = None

    @model_validator(mode="after")
    def _is_one_policy(self) -> Options:
        if self.weights is not None and (self.host is not None or self.url is not None):
            raise ValueError("weights is of the embedded policy, and host or url names a server; leave one of them out")
        # Not `model_fields_set`: options that went through JSON have all of them set.
        fields = type(self).model_fields
        lost = [name for name in OF_SERVERS if getattr(self, name) != fields[name].default]
        if lost and self.host is None and self.url is None:
            raise ValueError(
                f"{', '.join(lost)}: of a policy server, and none is named; add host (or url), or leave out"
            )
        if self.exterior == self.wrist:
            raise ValueError(f"exterior and wrist are both {self.wrist!r}; name two cameras")
        return self
