"""Agents of a run: found in the catalog, made inside their wrappers, checked against the suite."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rbench.errors import RbenchError, StartError, UsageError, one_line
from rbench.interfaces.agent import WEIGHTS_VARIABLE, Agent, AgentContext, AgentManifest
from rbench.interfaces.vision import VisionModel
from rbench.interfaces.wrapper import Wrapper
from rbench.plugins.catalog import Catalog, CatalogEntry
from rbench.plugins.trial import trial_entry
from rbench.results.manifest import Options, PartUsed
from rbench.results.provenance import secret_values
from rbench.running.description import Part, RunDescription
from rbench.running.manifests import check_manifest
from rbench.suites.suite import Suite
from rbench.vision.metering import VisionMeter
from rbench.vision.spending import SpendingLimits

#: The vision model of a run that needs one and names none.
DEFAULT_VISION = "opencv"


@dataclass(frozen=True)
class Resolved:
    """A part of the run, found: its entry, its validated options, and which of those given are paths."""

    part: Part
    entry: CatalogEntry
    options: Any
    paths: tuple[str, ...] = ()

    def used(self) -> PartUsed:
        """Name, origin and options as given and as resolved, for the manifest of the run."""
        return PartUsed(
            name=self.part.name,
            qualified=self.entry.qualified,
            distribution=self.entry.distribution,
            version=self.entry.version if self.entry.folder is None else _file_version(self.entry),
            options=Options(
                given=dict(self.part.options),
                resolved={} if self.options is None else self.options.model_dump(mode="json"),
                paths=self.paths,
            ),
            folder=self.entry.folder,
        )


def _file_version(entry: CatalogEntry) -> str:
    """What stands in for the version of an unpackaged part: the hash of the file that it was imported from."""
    module = sys.modules.get(entry.contribution.target.partition(":")[0])
    try:
        content = Path(str(getattr(module, "__file__", None))).read_bytes()
    except OSError:
        return ""
    return f"sha256:{hashlib.sha256(content).hexdigest()[:12]}"


def resolve(catalog: Catalog, kind: str, part: Part) -> Resolved:
    """Find a contribution and check its options; relative paths among them become absolute ones.

    Raises:
        UsageError: unknown name or option. PluginError: its plugin is not usable.
    """
    entry = trial_entry(kind, part.name, part.folder) if ":" in part.name else catalog.get(kind, part.name)
    given, paths = entry.located_options(part.options)
    return Resolved(replace(part, options=given), entry, entry.resolve_options(given), paths)


@dataclass(frozen=True)
class ResolvedAgent:
    """The agent and its wrappers, outermost first, with the vision models that they ask.

    Attributes:
        vision: the vision model of the run.
        own_vision: for the agent and each wrapper in turn, the model that its option `vision` names instead.
    """

    agent: Resolved
    wrappers: tuple[Resolved, ...]
    vision: Resolved | None
    own_vision: tuple[Resolved | None, ...] = ()

    @property
    def secrets(self) -> frozenset[str]:
        """Texts in the options that must not reach a record."""
        parts = [self.agent, *self.wrappers, *self.vision_models]
        options = [part.part.options for part in parts]
        options += [part.options.model_dump(mode="json") for part in parts if part.options is not None]
        return frozenset[str]().union(*(secret_values(given) for given in options))

    @property
    def vision_models(self) -> tuple[Resolved, ...]:
        """The vision models that are asked: that of the run, and those that parts name."""
        return tuple(model for model in (self.vision, *self.own_vision) if model is not None)

    @property
    def limits(self) -> tuple[SpendingLimits, ...]:
        """What may be spent on vision models."""
        return spending_limits(self.vision_models)

    @property
    def distributions(self) -> tuple[str, ...]:
        """The distributions that are used."""
        parts = [self.agent, *self.wrappers, *self.vision_models]
        return tuple(dict.fromkeys(part.entry.distribution for part in parts))

    @property
    def files(self) -> dict[str, str]:
        """For each part that is no distribution, its name and the hash of its file."""
        parts = [self.agent, *self.wrappers, *self.vision_models]
        return {part.part.name: _file_version(part.entry) for part in parts if part.entry.folder is not None}


def close_agent(agent: Agent, name: str) -> None:
    """Close an agent; one that fails to is only logged: what it did is done."""
    try:
        agent.close()
    except (Exception, SystemExit) as problem:
        logging.getLogger("rbench").warning("agent %r: close() raised %s", name, one_line(problem))


def resolve_agent(catalog: Catalog, description: RunDescription) -> ResolvedAgent:
    """Find everything the agent is made of.

    A part that has an option `vision` asks questions: it is given the run's vision model, or the one that the option
    names (with `vision_options`). When the run names none, such a part is given the embedded one.
    """
    agent = resolve(catalog, "agent", description.agent)
    wrappers = tuple(resolve(catalog, "wrapper", part) for part in description.wrappers)
    own = tuple(_own_vision(part.options) for part in (agent, *wrappers))
    vision = description.vision
    if vision is None and any(
        hasattr(part.options, "vision") and named is None for part, named in zip((agent, *wrappers), own, strict=True)
    ):
        vision = Part(DEFAULT_VISION)
    return ResolvedAgent(
        agent=agent,
        wrappers=wrappers,
        vision=resolve(catalog, "vision-model", vision) if vision else None,
        own_vision=tuple(resolve(catalog, "vision-model", named) if named else None for named in own),
    )


def _own_vision(options: Any) -> Part | None:
    name = getattr(options, "vision", None)
    return Part(name, getattr(options, "vision_options", {})) if name else None


def build_agent(parts: ResolvedAgent, meter: VisionMeter | None = None) -> Agent:
    """Make the agent inside its wrappers; close it after use, and then the meter.

    Args:
        meter: counts what the vision models are asked, and closes them; None: nobody does.

    Raises:
        StartError: a constructor raised. UsageError: the manifest is not valid.
    """
    name = parts.agent.part.name
    try:
        logger = logging.getLogger(f"rbench.agent.{name}")
        run_vision = _vision_model(parts.vision, meter)
        own = [_vision_model(model, meter) for model in parts.own_vision] or [None] * (1 + len(parts.wrappers))
        wrappers = [(w, w.entry.load()) for w in parts.wrappers]
        folder = os.environ.get(WEIGHTS_VARIABLE)
        weights = Path(folder).expanduser() if folder else None

        def context(vision: VisionModel | None, depth: int) -> AgentContext:
            """The context behind the `depth` outermost wrappers: each may put a model of its own around the model."""
            result = AgentContext(vision=vision or run_vision, weights=weights, logger=logger)
            for wrapper, cls in wrappers[:depth]:
                result = cls.wrap_context(wrapper.options, result)
            return result

        agent: Agent = parts.agent.entry.load()(parts.agent.options, context(own[0], len(wrappers)))
        for depth, (wrapper, cls) in reversed(list(enumerate(wrappers))):
            agent = cls(wrapper.options, context(own[1 + depth], depth), agent)
    except (RbenchError, KeyboardInterrupt):
        raise
    except BaseException as problem:  # a constructor may raise anything, SystemExit too
        raise StartError(
            f"agent {name!r} could not be made: {one_line(problem)}; run again with --debug for the traceback"
        ) from problem
    check_manifest(agent, name)
    return agent


def spending_limits(models: Iterable[Resolved]) -> tuple[SpendingLimits, ...]:
    """What may be spent on vision models."""
    return tuple(model.options for model in models if isinstance(model.options, SpendingLimits))


def check_vision(models: Iterable[Resolved]) -> None:
    """Let each vision model find out whether it can be asked.

    Raises:
        StartError: one cannot.
    """
    for resolved in models:
        model = _vision_model(resolved, None)
        assert model is not None
        try:
            model.check()
        finally:
            model.close()


def _vision_model(resolved: Resolved | None, meter: VisionMeter | None) -> VisionModel | None:
    if resolved is None:
        return None
    model: VisionModel = resolved.entry.load()(resolved.options)
    if meter is None:
        return model
    return meter.around(model, resolved.entry.qualified, getattr(resolved.options, "transcripts", True))


def effective_manifest(agent: Agent) -> AgentManifest:
    """The manifest of the outermost agent; `privileged` when any agent inside is, with the weights of them all."""
    manifest = agent.manifest
    while isinstance(agent, Wrapper):
        agent = agent.inner
        inner = agent.manifest
        weights = {**inner.weights, **manifest.weights}
        manifest = replace(manifest, privileged=manifest.privileged or inner.privileged, weights=weights)
    return manifest


def camera_askers(agent: Agent, parts: ResolvedAgent) -> dict[str, str]:
    """Which part asks for each camera as it is: `{"front": "agent 'moka'", "wrist": "wrapper 'sgl'"}`.

    Args:
        agent: made of these parts, inside its wrappers.
    """
    names = [*(f"wrapper {part.part.name!r}" for part in parts.wrappers), f"agent {parts.agent.part.name!r}"]
    askers: dict[str, str] = {}
    cameras = dict(agent.manifest.cameras)
    for name in names:  # from the outside, so the innermost that asks for the same is the last to be noted
        own = agent.manifest.cameras
        cameras = {camera: request for camera, request in cameras.items() if own.get(camera) == request}
        askers |= dict.fromkeys(cameras, name)
        if not isinstance(agent, Wrapper):
            break
        agent = agent.inner
    return askers


def check_agent(suite: Suite, manifest: AgentManifest, agent: str, askers: Mapping[str, str] | None = None) -> None:
    """Refuse an agent whose cameras or task kinds do not fit the suite.

    Args:
        askers: `camera_askers`, where it is known.

    Raises:
        UsageError: naming the camera or the kind.
    """
    for task in suite.tasks:
        if task.kind not in manifest.kinds:
            raise UsageError(
                f"agent {agent!r} takes {', '.join(manifest.kinds)} tasks, but task {task.name!r} is of kind"
                f" {task.kind!r}; choose another agent or suite"
            )
        known = [c.name for c in suite.scenes[task.scene].cameras]
        for camera in manifest.cameras:
            if camera not in known:
                asker = (askers or {}).get(camera, f"agent {agent!r}")
                raise UsageError(
                    f"{asker} asks for camera {camera!r}, which scene {task.scene!r} does not have;"
                    f" it has {', '.join(known)}"
                )
