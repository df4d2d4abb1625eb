"""The measured gate: every instance, in every viewpoint camera of its suite, against the suite's rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any

from rbench.design import Instance
from rbench.errors import UsageError
from rbench.scene import SceneDescription
from rbench.suites.presets import narrowed
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.validation.directory import IMAGES, ValidationDirectory
from rbench.validation.findings import Finding
from rbench.validation.looking import Look, geometry_of
from rbench.validation.looking_pool import look_at
from rbench.validation.rules import NOT_SOLVABLE, verdict


def chosen_instances(suite: Suite, dimensions: Sequence[str] = (), patterns: Sequence[str] = ()) -> list[Instance]:
    """The instances of the dimensions whose ids match one of the patterns; none given: all.

    Raises:
        UsageError: an unknown dimension, a pattern without a match, or a suite without viewpoint cameras.
    """
    if not suite.viewpoint_cameras:
        raise UsageError(
            f"suite {suite.name!r} names no viewpoint_cameras, so there is nothing to look through; name one in its"
            " file"
        )
    every = list(RecursiveVariantTaskManager(suite).instances(narrowed(suite, dimensions=dimensions)))
    for pattern in patterns:
        if not any(fnmatchcase(instance.id, pattern) for instance in every):
            raise UsageError(f"no instance of suite {suite.name!r} matches {pattern!r}; see: rbench instances SUITE")
    return [i for i in every if not patterns or any(fnmatchcase(i.id, pattern) for pattern in patterns)]


class Views:
    """Which instances look alike: they are looked at once.

    Attributes:
        groups: ids of the instances to look at; those of one group differ in colour only.
    """

    def __init__(self, suite: Suite, instances: Iterable[Instance]) -> None:
        manager = RecursiveVariantTaskManager(suite)
        looked_at: dict[tuple[str, SceneDescription], str] = {}
        geometries: dict[tuple[str, SceneDescription], list[str]] = {}
        self._looked_at: dict[str, str] = {}
        self.instructions: dict[str, str] = {}
        for instance in instances:
            setup = manager.setup(instance)
            view = (instance.task, setup.scene)
            if view not in looked_at:
                looked_at[view] = instance.id
                geometries.setdefault((instance.task, geometry_of(setup.scene)), []).append(instance.id)
            self._looked_at[instance.id] = looked_at[view]
            self.instructions[instance.id] = setup.instruction
        self.groups = list(geometries.values())

    @property
    def count(self) -> int:
        """How many instances are looked at."""
        return sum(map(len, self.groups))

    def shown_by(self, instance: str) -> str:
        """The instance that is looked at in place of this one."""
        return self._looked_at[instance]


def measure(
    suite: Suite,
    instances: Sequence[Instance],
    directory: ValidationDirectory,
    workers: int,
    on_look: Callable[[int, int], Any] = lambda done, planned: None,
) -> tuple[list[Finding], Mapping[str, Any]]:
    """Look at instances, keep their pictures, and judge them.

    Args:
        on_look: called with how many were looked at, of how many.

    Returns:
        A finding an instance and camera, in the order of the design; and what drew the pictures.
    """
    views = Views(suite, instances)
    seen: dict[str, list[Look]] = {}
    gl: Mapping[str, Any] = {}
    for name, looks, drawn_by in look_at(suite, views.groups, workers):
        gl = drawn_by
        for look in looks:
            directory.write_bytes(_place(look), look.png)
        # The picture is on disk; of thousands there is no room for all.
        seen[name] = [replace(look, png=b"") for look in looks]
        on_look(len(seen), views.count)
    findings = [
        _finding(suite, instance, views.instructions[instance.id], look)
        for instance in instances
        for look in seen[views.shown_by(instance.id)]
    ]
    return findings, gl


def with_solvability(findings: Iterable[Finding], unsolved: Collection[str]) -> list[Finding]:
    """The findings, those of instances that the expert does not solve failed for it and no others.

    Args:
        unsolved: ids of these instances.
    """
    judged = []
    for finding in findings:
        reasons = tuple(reason for reason in finding.reasons if reason != NOT_SOLVABLE)
        reasons += (NOT_SOLVABLE,) * (finding.instance in unsolved)
        judged.append(replace(finding, passed=not reasons, reasons=reasons))
    return judged


def _place(look: Look) -> str:
    return f"{IMAGES}/{look.image_hash[:24]}.png"


def _finding(suite: Suite, instance: Instance, instruction: str, look: Look) -> Finding:
    reasons, notes = verdict(look.measures, suite.validation)
    return Finding(
        instance=instance.id,
        camera=look.camera,
        dimension=instance.dimension,
        context=instance.context,
        instruction=instruction,
        levels=instance.levels,
        image=_place(look),
        image_hash=look.image_hash,
        passed=not reasons,
        reasons=reasons,
        notes=notes,
        measures=look.measures,
    )
