"""What an agent declares, checked before any episode: a wrong manifest would cost every one of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from rbench.errors import RbenchError, UsageError, one_line
from rbench.interfaces.agent import ActionKind, Agent, AgentManifest, TaskKind
from rbench.observation import CameraRequest, Channel


def check_manifest(agent: Any, name: str) -> None:
    """Refuse an agent whose manifest is not what `AgentManifest` says, field by field.

    Raises:
        UsageError: names the agent, the field and what it must be.
    """
    if not isinstance(agent, Agent):
        raise UsageError(f"agent {name!r}: {type(agent).__name__} is no agent; subclass rbench.Agent")
    try:
        manifest = agent.manifest
    except RbenchError:
        raise
    except Exception as problem:
        raise UsageError(
            f"agent {name!r}: its manifest raised {one_line(problem)}; return an AgentManifest"
        ) from problem
    if not isinstance(manifest, AgentManifest):
        raise UsageError(f"agent {name!r}: its manifest is {type(manifest).__name__}; return an AgentManifest")
    for field, wrong in _problems(manifest):
        raise UsageError(f"agent {name!r}: the manifest's {field} {wrong}")


def _problems(declared: AgentManifest) -> list[tuple[str, str]]:
    manifest: Any = declared  # nothing has checked the types of its fields
    found = []
    for field, allowed in (("actions", get_args(ActionKind)), ("kinds", get_args(TaskKind))):
        value = getattr(manifest, field)
        if not isinstance(value, (tuple, list)) or not value or any(item not in allowed for item in value):
            found.append((field, f"must be a tuple out of {', '.join(allowed)}, not {value!r}"))
    if not isinstance(manifest.cameras, Mapping):
        return [*found, ("cameras", f"must map names to CameraRequest, not {manifest.cameras!r}")]
    for camera, request in manifest.cameras.items():
        found += [(f"camera {camera!r}", problem) for problem in _request_problems(request)]
    if manifest.primary is not None and manifest.primary not in manifest.cameras:
        found.append(("primary camera", f"{manifest.primary!r} is not among its cameras"))
    if type(manifest.control_rate) is not int or manifest.control_rate < 1:
        found.append(("control_rate", f"must be a whole number of Hz, not {manifest.control_rate!r}"))
    if type(manifest.privileged) is not bool:
        found.append(("privileged", f"must be True or False, not {manifest.privileged!r}"))
    if not isinstance(manifest.weights, Mapping) or any(
        type(text) is not str for item in manifest.weights.items() for text in item
    ):
        found.append(("weights", f"must map names of files to their SHA-256, not {manifest.weights!r}"))
    return found


def _request_problems(request: Any) -> list[str]:
    if not isinstance(request, CameraRequest):
        return [f"must be a CameraRequest(height, width, channels), not {request!r}"]
    found = []
    for side in (request.height, request.width):
        if type(side) is not int or side < 1:
            found.append(f"has a size of {side!r}; give whole pixels, at least 1")
    channels = get_args(Channel)
    if not isinstance(request.channels, (tuple, list)) or any(c not in channels for c in request.channels):
        found.append(f"has channels {request.channels!r}; give a tuple out of {', '.join(channels)}")
    return found
