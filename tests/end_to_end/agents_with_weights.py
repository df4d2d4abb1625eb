"""An agent whose answers come out of a file."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict

from rbench import Agent, AgentManifest, CameraRequest, LocalPath, Stop, Wrapper

CAMERAS = {"front": CameraRequest(16, 16)}


class WeighedOptions(BaseModel):
    model_config = ConfigDict(extra="forbid")
    weights: Annotated[str, LocalPath(names=("none",))] = "none"


class Weighed(Agent):
    """Stops at once, for the reason that its file gives."""

    Options = WeighedOptions

    def __init__(self, options, context):
        path = Path(options.weights)
        self._content = b"none" if options.weights == "none" else path.read_bytes()
        weights = {} if options.weights == "none" else {path.name: hashlib.sha256(self._content).hexdigest()}
        self._manifest = AgentManifest(actions=("waypoints",), cameras=CAMERAS, weights=weights)

    @property
    def manifest(self):
        return self._manifest

    def reset(self, start):
        pass

    def act(self, observation):
        return Stop(self._content.decode())


class Forgets(Wrapper):
    """Declares anew what the agent inside does, and leaves its weights out."""

    @property
    def manifest(self):
        return AgentManifest(actions=self.inner.manifest.actions, cameras=CAMERAS)
