"""The run description: what to run, as data that a worker, a manifest and a resume can rebuild."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rbench.errors import StartError, UsageError
from rbench.results.manifest import AgentUsed, Manifest, PartUsed
from rbench.results.provenance import REDACTED
from rbench.running.plan import Selection
from rbench.values import from_plain


@dataclass(frozen=True)
class Part:
    """A named contribution and the options it was given.

    Attributes:
        name: short, `distribution/name`, or `module:attribute` for an unpackaged one.
        options: as given; defaults are resolved by its option model.
        folder: the folder that an unpackaged one is imported from.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    folder: str | None = None

    @staticmethod
    def named(name: str, options: Mapping[str, Any] | None = None) -> Part:
        """A part as a user names it: an unpackaged one is imported from the working directory.

        Raises:
            UsageError: the name is empty.
        """
        if not name.strip():
            raise UsageError("an agent, wrapper or vision model has an empty name; `rbench list-plugins` has them all")
        return Part(name, dict(options or {}), str(Path.cwd()) if ":" in name else None)


@dataclass(frozen=True)
class RunDescription:
    """Everything that decides the records of a run.

    Attributes:
        suite: name of a suite or path of a suite file.
        wrappers: outermost first.
        seed: the run seed, >= 0.
    """

    suite: str
    agent: Part
    wrappers: tuple[Part, ...] = ()
    vision: Part | None = None
    selection: Selection = field(default_factory=Selection)
    seed: int = 0

    @property
    def parts(self) -> Iterator[Part]:
        """Everything that has options: agent, wrappers, vision model."""
        yield self.agent
        yield from self.wrappers
        if self.vision is not None:
            yield self.vision


def description_of(manifest: Manifest, where: str) -> RunDescription:
    """The description that a run was made from.

    Args:
        where: the manifest's file, for messages.

    Raises:
        StartError: an option was a secret, and therefore is not in the manifest.
    """
    description = RunDescription(
        suite=manifest.suite.source,
        agent=_part(manifest.agent),
        wrappers=tuple(_part(wrapper) for wrapper in manifest.wrappers),
        vision=None if manifest.vision is None else _part(manifest.vision),
        selection=from_plain(Selection, manifest.selection),
        seed=manifest.seed,
    )
    for part in description.parts:
        for path in _redacted_keys(part.options, part.name):
            raise StartError(
                f"{where}: option {path} was a secret and is not saved, so the run cannot be made again from it. Start"
                " a new run, and give secrets by the name of an environment variable"
            )
    return description


def _part(used: AgentUsed | PartUsed) -> Part:
    return Part(used.name, used.options.given, used.folder)


def _redacted_keys(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _redacted_keys(item, f"{path}.{key}")
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _redacted_keys(item, path)
    elif isinstance(value, str) and REDACTED in value:
        yield path
