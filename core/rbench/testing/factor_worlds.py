"""Checks that what a factor asks for is built, read back, and seen."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from rbench.design import Level
from rbench.errors import RbenchError, one_line
from rbench.interfaces.factor import Factor
from rbench.interfaces.world import World
from rbench.running.visibility import shows
from rbench.scene import SceneDescription, Setup
from rbench.suites.loading import load_suite
from rbench.suites.suite import SuiteFactor
from rbench.testing.checks import CheckFailed, CheckSkipped, check
from rbench.testing.factor_subject import Built, FactorSubject, read_back
from rbench.testing.subjects import SUITE, Expectations

#: Height and width of the pictures in which a change must show.
PICTURE = (96, 128)
#: Levels beyond which not every pair is compared.
MOST_COMPARED = 200


@check("tolerance")
def tolerance(subject: FactorSubject) -> str:
    """The tolerance of reading back is a finite number, 0 or more."""
    found: Any = subject.made().tolerance
    if isinstance(found, bool) or not isinstance(found, (int, float)) or not math.isfinite(found) or found < 0:
        raise CheckFailed(f"tolerance is {found!r}", "give the largest difference that still counts as equal")
    return f"{found:g}"


@check("read-back")
def reads_back(subject: FactorSubject) -> str:
    """Every level, some random ones and the first again, built in one world one after the other, are read back."""
    factor = subject.made()
    worst = 0.0
    for built in subject.built:
        apart = _apart(factor, built.level, built.found)
        if not apart <= factor.tolerance:
            raise CheckFailed(
                f"level {built.level.name!r} has the value {built.level.value!r}, and {built.found!r} was read back"
                f" (apart {apart:g}, tolerance {factor.tolerance:g})",
                "see that apply() sets what the value says, that the world can build it, and that read_back() reads the"
                " same thing in the same unit",
            )
        worst = max(worst, apart)
    return f"{len(subject.built)} builds, at most {worst:g} apart"


@check("tells-levels-apart")
def tells_levels_apart(subject: FactorSubject) -> None:
    """Where two levels give different setups, reading back one of them is not within the tolerance of the other."""
    factor = subject.made()
    built = _read_back_well(subject)[: min(len(subject.levels), MOST_COMPARED)]
    for one in built:
        for other in built:
            if one.setup != other.setup and _apart(factor, other.level, one.found) <= factor.tolerance:
                raise CheckFailed(
                    f"the value read back from level {one.level.name!r} counts as that of {other.level.name!r}",
                    "make the tolerance smaller than the distance of neighbouring levels, and difference() tell what"
                    " the levels tell apart",
                )


@check("reads-the-world")
def reads_the_world(subject: FactorSubject) -> str | None:
    """read_back() looks at what the world built, not at what was asked for."""
    factor, levels = subject.made(), subject.levels
    _read_back_well(subject)
    asked = levels[0]
    setup = subject.applied(factor, asked)
    for level in levels[1:]:
        other = subject.applied(factor, level)
        if other.scene == setup.scene or other.instruction != setup.instruction:
            continue
        try:
            found = factor.read_back(cast(World, _Wrong(setup, other.scene)))
        except Exception as problem:
            raise CheckSkipped(
                f"it reads more than the scene ({one_line(problem)}), which cannot be stood in for"
            ) from None
        if _apart(factor, asked, found) <= factor.tolerance:
            raise CheckFailed(
                f"level {asked.name!r} was asked for and {level.name!r} built, and read_back() says {found!r}",
                "read world.read_scene(); world.setup holds what was asked for, and is for texts",
            )
        return None
    return "its levels differ in the instruction alone, which is not built"


@check("visible")
def visible(subject: FactorSubject) -> str:
    """Every level but the baseline changes the picture of a camera, or the instruction."""
    factor, base = subject.made(), subject.base()
    hidden = []
    with _eyes(subject) as look:
        for level in subject.levels:
            setup = subject.buildable(factor, level)
            if setup.instruction == base.instruction and not look(setup):
                hidden.append(level.name)
    baseline = subject.expect.baseline
    unseen = [name for name in hidden if name != baseline] if baseline else hidden[1:]
    if unseen:
        raise CheckFailed(
            f"nothing shows of {', '.join(map(repr, hidden))}: the scene looks as it does without",
            "make it change what a camera of the scene sees, or leave it out; one level may be what the scene has",
        )
    how = "in pictures" if subject.draws else "in the description: no picture can be drawn here"
    return how + (f"; {hidden[0]!r} is what the scene has" if hidden else "")


@check("composes")
def composes(subject: FactorSubject) -> str:
    """Applied after the context factors of the built-in suite it is read back, and leaves theirs as they were."""
    factor, levels = subject.made(), subject.levels
    others = _context_factors(subject)
    _read_back_well(subject)
    with subject.world() as world:
        for other in others:
            for context in (other.levels[0], other.levels[-1]):
                for level in (levels[0], levels[-1]):
                    _require_both(subject, world, factor, level, other, context)
    return f"after {', '.join(other.name for other in others)}"


def _require_both(
    subject: FactorSubject, world: World, factor: Factor, level: Level, other: SuiteFactor, context: Level
) -> None:
    after = f"level {level.name!r} after {other.name} {context.name!r}"
    try:
        setup = factor.apply(other.factor.apply(subject.base(), context), level)
    except Exception as problem:
        raise CheckFailed(
            f"{after}: {problem}", "take the setup as it is given, not as the scene's file has it"
        ) from problem
    found = read_back(world, factor, level, setup)
    if not _apart(factor, level, found) <= factor.tolerance:
        raise CheckFailed(f"{after} is read back as {found!r}", "take the setup as it is given")
    theirs = other.factor.read_back(world)
    if not other.factor.difference(context.value, theirs) <= other.factor.tolerance:
        raise CheckFailed(
            f"{after}: {other.name} is {theirs!r} then",
            "change one thing only, with dataclasses.replace on what is there; a factor that is meant in place of"
            f" {other.name} says so in an exemption",
        )


def _read_back_well(subject: FactorSubject) -> tuple[Built, ...]:
    """What was built of every level, where each by itself is read back.

    Raises:
        CheckSkipped: it is not, so that nothing more can be said.
    """
    try:
        reads_back.run(subject)
        return subject.built
    except CheckFailed as problem:
        raise CheckSkipped("it is not read back by itself; see check 'read-back'") from problem


def _context_factors(subject: FactorSubject) -> list[SuiteFactor]:
    try:
        suite = load_suite(subject.catalog, SUITE)
    except RbenchError as problem:
        raise CheckSkipped(f"suite {SUITE!r} cannot be loaded: {problem}") from problem
    itself = (subject.entry.distribution, subject.entry.name)
    found = [f for f in suite.factors.values() if f.role == "context" and (f.distribution, f.sampler) != itself]
    if subject.expect.scene != Expectations().scene:
        raise CheckSkipped(f"the context factors of {SUITE!r} are for its own scene")
    return found


def _apart(factor: Factor, level: Level, found: Any) -> float:
    """How far what was read back is from a level's value; infinite when it cannot be compared."""
    try:
        return float(factor.difference(level.value, found))
    except Exception as problem:
        raise CheckFailed(
            f"difference({level.value!r}, {found!r}) raised {type(problem).__name__}: {problem}",
            "let read_back() give what difference() takes",
        ) from problem


@dataclass(frozen=True)
class _Wrong:
    """A world that built another scene than it was asked to."""

    setup: Setup
    built: SceneDescription

    def read_scene(self) -> SceneDescription:
        return self.built


@contextmanager
def _eyes(subject: FactorSubject) -> Iterator[Any]:
    """A function that says whether a setup looks otherwise than the base: in a picture, else in its description."""
    base = subject.base()
    if not subject.draws:
        cameras = frozenset(camera.name for camera in base.scene.cameras)
        yield lambda setup: shows(base, setup, cameras)
        return
    with subject.world() as world:
        world.reset(base, control_rate=20, cameras={})
        before = {camera.name: world.render(camera.name, *PICTURE).tobytes() for camera in base.scene.cameras}

        def look(setup: Setup) -> bool:
            world.reset(setup, control_rate=20, cameras={})
            return any(world.render(name, *PICTURE).tobytes() != seen for name, seen in before.items())

        yield look


CHECKS = (tolerance, reads_back, tells_levels_apart, reads_the_world, visible, composes)
