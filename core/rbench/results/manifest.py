"""The manifest: what a run is, as plain data beside its episodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

from rbench.design import Design
from rbench.errors import StartError, UsageError
from rbench.results.provenance import redacted
from rbench.values import from_plain, to_plain

SCHEMA = 1

#: `running` also stands in the file of a run that was killed; `RunDirectory.state` knows the difference.
State = Literal["running", "finished", "stopped", "interrupted"]


@dataclass(frozen=True)
class SuiteUsed:
    """The suite: its name, content hash, and where it came from (a distribution or the path of a file)."""

    name: str
    hash: str
    source: str


@dataclass(frozen=True)
class Options:
    """Options as the user gave them, and as resolved with all defaults.

    Attributes:
        paths: names of those given that are paths; they are absolute.
    """

    given: Mapping[str, Any] = field(default_factory=dict)
    resolved: Mapping[str, Any] = field(default_factory=dict)
    paths: tuple[str, ...] = ()

    def without_secrets(self) -> Options:
        return replace(self, given=redacted(self.given), resolved=redacted(self.resolved))


@dataclass(frozen=True)
class PartUsed:
    """A wrapper or the vision model of a run.

    Attributes:
        qualified: `distribution/name`.
        version: of the distribution; of an unpackaged part the hash of its file.
        folder: where an unpackaged part is imported from.
    """

    name: str
    qualified: str
    distribution: str
    version: str
    options: Options = field(default_factory=Options)
    folder: str | None = None

    def without_secrets(self) -> PartUsed:
        return replace(self, options=self.options.without_secrets())


@dataclass(frozen=True)
class AgentUsed:
    """The agent of a run.

    Attributes:
        version, folder: as in `PartUsed`.
        privileged: it, or a wrapper around it, reads ground truth.
        manifest: what it declared (`rbench.interfaces.agent.AgentManifest`), as plain data.
    """

    name: str
    qualified: str
    distribution: str
    version: str
    options: Options = field(default_factory=Options)
    privileged: bool = False
    manifest: Mapping[str, Any] = field(default_factory=dict)
    folder: str | None = None

    def without_secrets(self) -> AgentUsed:
        return replace(self, options=self.options.without_secrets())


@dataclass(frozen=True)
class Session:
    """One stretch of work on a run: from its start, or from a resume, to the next.

    Attributes:
        started: UTC, ISO 8601.
        done: episodes that were finished before it.
        accepted: what had changed since and was accepted, with the recorded and the new value.
    """

    started: str
    done: int
    executor: str
    workers: int
    accepted: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)


@dataclass(frozen=True)
class MergedRun:
    """A run that went into this one.

    Attributes:
        run: name of its folder.
        shard: `2/4`, or None when it was no shard.
        created: UTC, ISO 8601.
        episodes: how many it had.
    """

    run: str
    shard: str | None
    created: str
    episodes: int
    host: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """Everything that says what a run is; written when it starts, `state` when it ends.

    Attributes:
        schema: rises when an older rbench could misread the file; new optional keys leave it as it is.
        created: UTC, ISO 8601, to the second.
        render: name of the render profile.
        wrappers: outermost first.
        selection: what of the suite was asked for.
        metrics: names of the suite's metrics.
        unseen: planned dimensions that no camera of the (privileged) agent shows.
        versions: of Python and of every distribution used (`provenance.versions`).
        gl: OpenGL backend and renderer.
        planned: episodes in the plan.
        executor, workers: of the last session.
        limits: of its workers (`rbench.running.limits`).
        sessions: in order; more than one when the run was resumed.
        merged: the runs that this one was put together from.
        validated: the accepted validation of the suite (`rbench.suites.accepted`), or None when it had none.
    """

    created: str
    suite: SuiteUsed
    design: Design
    render: str
    agent: AgentUsed
    seed: int
    planned: int
    executor: str
    workers: int
    versions: Mapping[str, str]
    host: Mapping[str, Any]
    rbench: str
    wrappers: tuple[PartUsed, ...] = ()
    vision: PartUsed | None = None
    selection: Mapping[str, Any] = field(default_factory=dict)
    metrics: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    gl: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, Any] = field(default_factory=dict)
    sessions: tuple[Session, ...] = ()
    merged: tuple[MergedRun, ...] = ()
    validated: Mapping[str, Any] | None = None
    state: State = "running"
    schema: int = SCHEMA

    def to_plain(self) -> dict[str, Any]:
        """Plain data, without secrets: nothing secret is ever written."""
        safe = replace(
            self,
            agent=self.agent.without_secrets(),
            wrappers=tuple(w.without_secrets() for w in self.wrappers),
            vision=None if self.vision is None else self.vision.without_secrets(),
            selection=redacted(self.selection),
        )
        plain: dict[str, Any] = to_plain(safe)
        return {"schema": plain.pop("schema"), **plain}

    @staticmethod
    def from_plain(data: Any, where: str) -> Manifest:
        """Read what `to_plain` returned; top-level keys that a later rbench added are ignored.

        Raises:
            UsageError: not a manifest. StartError: a newer schema. Both name `where`.
        """
        if not isinstance(data, Mapping) or not isinstance(data.get("schema"), int):
            raise UsageError(f"{where} is not the manifest of a run; give a run directory that rbench run has written")
        if data["schema"] > SCHEMA:
            raise StartError(
                f"{where} was written by a newer rbench ({data.get('rbench')}; manifest schema {data['schema']}, this"
                f" one reads up to {SCHEMA}); upgrade it: pip install -U rbench"
            )
        known = {f.name for f in fields(Manifest)}
        try:
            return from_plain(Manifest, {key: value for key, value in data.items() if key in known})
        except ValueError as problem:
            raise UsageError(f"{where} is damaged: {problem}; take it from a backup of the run directory") from problem
