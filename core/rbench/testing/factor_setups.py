"""Checks that a factor is a pure function on setups."""

from __future__ import annotations

import json
from collections.abc import Iterable

from rbench.design import Level
from rbench.errors import RbenchError, one_line
from rbench.interfaces.factor import Factor
from rbench.scene import SceneDescription, Setup
from rbench.testing.checks import CheckFailed, CheckSkipped, check
from rbench.testing.factor_subject import FactorSubject, drawn
from rbench.testing.isolation import global_generators
from rbench.values import content_hash, from_plain, to_plain

#: Names that suites give to a baseline which leaves the scene as it is.
UNCHANGED = ("default", "none", "unchanged", "original")


@check("applies")
def applies(subject: FactorSubject) -> None:
    """Every level, enumerated or drawn, can be applied to the scene, and gives a Setup."""
    factor = subject.made()
    for level in (*subject.levels, *subject.samples):
        try:
            setup = factor.apply(subject.base(), level)
        except Exception as problem:
            raise CheckFailed(
                f"level {level.name!r} cannot be applied:"
                f" {problem if isinstance(problem, RbenchError) else one_line(problem)}",
                f"name what the scene {subject.expect.scene!r} has in its options, or check it in another scene",
            ) from problem
        if not isinstance(setup, Setup):
            raise CheckFailed(
                f"apply() gave a {type(setup).__name__} for level {level.name!r}",
                "return a rbench.scene.Setup: dataclasses.replace(setup, scene=..., instruction=...)",
            )


@check("leaves-input")
def leaves_input(subject: FactorSubject) -> None:
    """The setup and the level that it is given stay as they are."""
    factor = subject.made()
    for level in subject.levels:
        setup = subject.base()
        before = content_hash([setup, level.name, level.value])
        subject.applied(factor, level, setup)
        if content_hash([setup, level.name, level.value]) != before:
            raise CheckFailed(
                f"applying level {level.name!r} changed what it was given",
                "make a new setup with dataclasses.replace, scene.with_object, scene.with_camera",
            )


@check("repeatable")
def repeatable(subject: FactorSubject) -> None:
    """The same setup and level give the same setup: again, after other levels, and from another instance."""
    factor, levels = subject.made(), subject.levels
    first = {level.name: content_hash(subject.applied(factor, level)) for level in levels}
    again: Iterable[tuple[str, Factor, Iterable[Level]]] = (
        ("when it was applied again, after the others", factor, reversed(levels)),
        ("from a second instance", subject.made(), levels),
    )
    for when, other, order in again:
        for level in order:
            if content_hash(subject.applied(other, level)) != first[level.name]:
                raise CheckFailed(
                    f"level {level.name!r} gave another setup {when}",
                    "compute from the arguments and the options alone; keep no counters, caches of setups, clocks",
                )


@check("plain-setup")
def plain_setup(subject: FactorSubject) -> None:
    """What apply() gives is hashable plain data: its scene comes back from JSON equal."""
    factor = subject.made()
    for level in (*subject.levels, *subject.samples):
        setup = subject.applied(factor, level)
        try:
            hash(setup)
            scene = from_plain(SceneDescription, json.loads(json.dumps(to_plain(setup.scene), allow_nan=False)))
        except (TypeError, ValueError) as problem:
            raise CheckFailed(
                f"the setup of level {level.name!r} is no plain data: {one_line(problem)}",
                "use the types of rbench.scene: tuples for lists, whole numbers for colours, finite numbers",
            ) from problem
        # Equal is not enough: 1 and 1.0 are, and stand otherwise in JSON and in its hash.
        if repr(scene) != repr(setup.scene) or not isinstance(setup.instruction, str):
            raise CheckFailed(
                f"the setup of level {level.name!r} is another one when it comes back from JSON",
                "use the types of rbench.scene exactly: tuples, numbers of Python and not of numpy, 1.0 for 1 m",
            )


@check("own-randomness")
def own_randomness(subject: FactorSubject) -> None:
    """Random numbers come from rng: global generators are neither used nor changed."""
    said = []
    factor, levels = subject.made(), subject.levels
    with global_generators() as generators:
        for seed in (11, 12):
            for generator in generators:
                generator.seed(seed)
            before = [generator.state() for generator in generators]
            try:
                samples = drawn(factor, 3)
            except Exception as problem:
                raise CheckSkipped("sample() failed; see check 'sample'") from problem
            applied = [subject.applied(factor, level) for level in levels]
            for generator, state in zip(generators, before, strict=True):
                if generator.state() != state:
                    raise CheckFailed(
                        f"the global generator of {generator.name} was used, or seeded",
                        "draw from rng in sample(), and nothing in apply()",
                    )
            said.append(repr([samples, applied]))
    if said[0] != said[1]:
        raise CheckSkipped("it is not repeatable; see the checks 'repeatable' and 'sample'")


@check("unknown-value")
def unknown_value(subject: FactorSubject) -> None:
    """A level without a value is refused, and not taken for some setting."""
    try:
        subject.made().apply(subject.base(), Level("no-such-level", None))
    except Exception:
        return
    raise CheckFailed(
        "apply() took Level('no-such-level', None) and said nothing",
        "look at level.value and raise rbench.errors.UsageError for what is no value of it",
    )


@check("baseline-words")
def baseline_words(subject: FactorSubject) -> None:
    """A level called default, none, unchanged or original leaves the setup as it is, as these words say in suites."""
    factor = subject.made()
    for level in subject.levels:
        if level.name in UNCHANGED and subject.applied(factor, level) != subject.base():
            raise CheckFailed(
                f"level {level.name!r} changes the scene", "give it another name, such as that of what it sets"
            )
    if subject.expect.baseline not in (None, *(level.name for level in subject.levels)):
        raise CheckFailed(
            f"there is no level {subject.expect.baseline!r}, which is said to be the baseline",
            "name a level; a baseline that is none of them leaves every setup unchanged and needs no check",
        )


@check("second-object")
def second_object(subject: FactorSubject) -> None:
    """In a scene with two objects it works, and loses no object, receptacle or camera that tasks and agents name."""
    factor = subject.made()
    names = _names(subject.two_objects())
    for level in (*subject.levels, *subject.samples[:10]):
        subject.applied(factor, level)
        try:
            after = factor.apply(subject.two_objects(), level)
        except Exception as problem:
            raise CheckFailed(
                f"level {level.name!r} cannot be applied with a second object: {one_line(problem)}",
                "find the object by its name: scene.object(name), scene.with_object(changed)",
            ) from problem
        if lost := names - _names(after):
            raise CheckFailed(
                f"level {level.name!r} loses {', '.join(sorted(lost))}",
                "keep what the scene has: scene.with_object(changed) replaces one of them",
            )


@check("no-simulator")
def no_simulator(subject: FactorSubject) -> None:
    """Neither importing nor using it loads the simulator."""
    loaded = subject.facts_elsewhere["simulator"]
    if loaded:
        raise CheckFailed(
            f"it imported {', '.join(loaded)}",
            "a factor is a function on plain data: what it needs to know of the world it reads in read_back(world)",
        )


@check("same-in-another-process")
def same_in_another_process(subject: FactorSubject) -> None:
    """A worker process, with another hash seed, finds it by name and gets the same levels, samples and setups."""
    factor = subject.made()
    if subject.facts_elsewhere["signature"] != subject.signature(factor, (*subject.levels, *subject.samples)):
        raise CheckFailed(
            "levels, samples or setups were others in another process",
            "do not iterate over sets, and do not use hash(), id() or the clock; keep no state in module globals",
        )


CHECKS = (
    applies,
    leaves_input,
    repeatable,
    plain_setup,
    own_randomness,
    unknown_value,
    baseline_words,
    second_object,
    no_simulator,
    same_in_another_process,
)


def _names(setup: Setup) -> set[str]:
    scene = setup.scene
    return {
        f"{kind} {item.name!r}"
        for kind, items in (("object", scene.objects), ("receptacle", scene.receptacles), ("camera", scene.cameras))
        for item in items
    }
