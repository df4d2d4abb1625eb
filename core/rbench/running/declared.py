"""What a run must know of its agent before it starts, learnt from one that is made once and closed again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from rbench.interfaces.agent import AgentManifest
from rbench.plugins.catalog import Catalog
from rbench.plugins.importing import stdout_to_stderr
from rbench.results.manifest import PartUsed
from rbench.running.agents import build_agent, camera_askers, close_agent, effective_manifest, resolve_agent
from rbench.running.description import Part, RunDescription
from rbench.running.phases import Phase, PhaseMarker
from rbench.running.surroundings import Surroundings
from rbench.vision.metering import VisionMeter


@dataclass(frozen=True)
class Declared:
    """An agent inside its wrappers, as data. JSON in and out (`rbench.values`).

    Attributes:
        manifest: of the outermost, `privileged` when any agent inside is.
        wrappers: outermost first.
        vision: the vision model of the run.
        asked: all vision models that are asked: that of the run, and those that parts name.
        distributions: that are used.
        cameras_of: camera -> which part asks for it, in words (`wrapper 'sgl'`).
        files: hash of the file of each part that is no distribution, by its name.
    """

    manifest: AgentManifest
    agent: PartUsed
    wrappers: tuple[PartUsed, ...] = ()
    vision: PartUsed | None = None
    asked: tuple[Part, ...] = ()
    distributions: tuple[str, ...] = ()
    cameras_of: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    def located(self, description: RunDescription) -> RunDescription:
        """The description of this agent with the options as its models put them: paths are absolute."""
        wrappers = zip(description.wrappers, self.wrappers, strict=True)
        return replace(
            description,
            agent=replace(description.agent, options=self.agent.options.given),
            wrappers=tuple(replace(part, options=used.options.given) for part, used in wrappers),
            vision=description.vision
            and replace(description.vision, options=self.vision.options.given if self.vision else {}),
        )


def declared_here(catalog: Catalog, description: RunDescription) -> Declared:
    """What the agent of a run is, found out in this process, where nothing limits it.

    Raises:
        UsageError: an unknown name or option, a manifest that is not valid.
        StartError: a plugin is not usable, or a constructor raised.
    """
    surroundings = Surroundings()
    try:
        with stdout_to_stderr():  # agent code may print
            return learn(catalog, description, PhaseMarker())
    finally:
        surroundings.restore()


def learn(catalog: Catalog, description: RunDescription, phase: PhaseMarker) -> Declared:
    """Make the agent, read what it declares, and close it.

    Args:
        phase: told what is being done.

    Raises:
        UsageError, StartError: as `declared_here`.
    """
    phase.enter(Phase.IMPORTING_AGENT)
    parts = resolve_agent(catalog, description)
    phase.enter(Phase.MAKING_AGENT)
    vision = VisionMeter()
    try:
        agent = build_agent(parts, vision)
        try:
            manifest, askers = effective_manifest(agent), camera_askers(agent, parts)
        finally:
            phase.enter(Phase.CLOSING_AGENT)
            close_agent(agent, description.agent.name)
    finally:
        vision.close()
    return Declared(
        manifest,
        parts.agent.used(),
        tuple(wrapper.used() for wrapper in parts.wrappers),
        parts.vision.used() if parts.vision else None,
        tuple(model.part for model in parts.vision_models),
        parts.distributions,
        askers,
        parts.files,
    )


def named_parts(description: RunDescription) -> Iterator[tuple[str, Part]]:
    """Agent, wrappers and vision model of a run, each with its kind of contribution."""
    yield "agent", description.agent
    for wrapper in description.wrappers:
        yield "wrapper", wrapper
    if description.vision is not None:
        yield "vision-model", description.vision
