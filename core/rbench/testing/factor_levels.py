"""Checks of what a factor enumerates and what it draws."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from rbench.design import Level
from rbench.errors import RbenchError, one_line
from rbench.testing.checks import CheckFailed, CheckSkipped, check
from rbench.testing.factor_subject import FactorSubject, drawn, enumerated
from rbench.values import content_hash, to_plain

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
#: Share of their range by which a random number may lie beyond the levels: rounding, and the sides of a sphere.
SLACK = 0.02


@check("construct")
def construct(subject: FactorSubject) -> None:
    """It is made with (options), gives a Factor, and is made again as easily."""
    subject.require_constructible()


@check("levels")
def levels(subject: FactorSubject) -> str:
    """There is a level, or more; they come to an end, and are the same every time and from every instance."""
    factor = subject.made()
    try:
        first = enumerated(factor)
    except Exception as problem:
        message = str(problem) if isinstance(problem, (ValueError, RbenchError)) else one_line(problem)
        raise CheckFailed(message, "return a tuple of rbench.design.Level(name, value), in order") from problem
    for again in (enumerated(factor), enumerated(subject.made())):
        if content_hash(_plain(first)) != content_hash(_plain(again)):
            raise CheckFailed(
                "levels() gave other levels when it was asked again",
                "the levels are the design of a study: they follow from the options alone; chance belongs in sample()",
            )
    return f"{len(first)} levels"


@check("level-names")
def level_names(subject: FactorSubject) -> None:
    """Names of levels are unique, lower-case letters, digits, '.', '_' and '-', and begin with a letter or digit."""
    names = [level.name for level in subject.levels]
    double = [name for name, count in Counter(names).items() if count > 1]
    if double:
        raise CheckFailed(f"two levels are called {double[0]!r}", "give each a name of its own")
    for name in (*names, *(sample.name for sample in subject.samples)):
        if not _NAME.fullmatch(name):
            raise CheckFailed(
                f"{name!r} is no valid name of a level", "names become parts of ids: use a-z, 0-9, '.', '_' and '-'"
            )


@check("level-values")
def level_values(subject: FactorSubject) -> None:
    """Values of levels survive JSON: what comes back gives the same setup."""
    factor = subject.made()
    try:
        found = (*enumerated(factor), *drawn(factor, 0))
    except Exception as problem:
        raise CheckSkipped("levels or samples cannot be had; see the checks 'levels' and 'sample'") from problem
    for level in found:
        if undefined := _undefined(level.value):
            raise CheckFailed(f"the value of level {level.name!r} holds {undefined}", "give finite numbers")
        try:
            value = json.loads(json.dumps(to_plain(level.value), allow_nan=False))
        except (TypeError, ValueError) as problem:
            raise CheckFailed(
                f"the value of level {level.name!r} is no plain data: {one_line(problem)}",
                "use numbers, texts, tuples and tables, as records hold them",
            ) from problem
        wanted = content_hash(subject.applied(factor, level))
        if content_hash(subject.applied(factor, level)) != wanted:
            raise CheckSkipped("it gives another setup every time; see check 'repeatable'")
        try:
            got = factor.apply(subject.base(), Level(level.name, value))
        except Exception as problem:
            raise CheckFailed(
                f"level {level.name!r} cannot be applied with its value from JSON: {one_line(problem)}",
                "take lists for tuples, and tables for records",
            ) from problem
        if content_hash(got) != wanted:
            raise CheckFailed(
                f"level {level.name!r} gives another setup with its value from JSON",
                "take lists for tuples, and names for enums; keys of tables are text",
            )


@check("groups")
def groups(subject: FactorSubject) -> str | None:
    """Groups, where it has any, are texts for names of levels."""
    found: Any = subject.made().groups
    if not isinstance(found, Mapping):
        raise CheckFailed(f"groups is a {type(found).__name__}", "give a mapping from level names to group names")
    names = {level.name for level in subject.levels}
    for name, group in found.items():
        if name not in names:
            raise CheckFailed(f"groups names {name!r}, which is no level", "name levels only")
        if not isinstance(group, str) or not group:
            raise CheckFailed(f"the group of level {name!r} is {group!r}", "name it in a text")
    return f"{len(set(found.values()))} groups" if found else "it has none"


@check("sample")
def sample(subject: FactorSubject) -> None:
    """A random level is a Level, and generators in the same state give the same ones."""
    factor = subject.made()
    try:
        first = drawn(factor, 1)
    except Exception as problem:
        message = str(problem) if isinstance(problem, (ValueError, RbenchError)) else one_line(problem)
        raise CheckFailed(f"sample() failed: {message}", "return Level(name, value), drawn from rng") from problem
    for again in (drawn(factor, 1), drawn(subject.made(), 1)):
        if content_hash(_plain(first)) != content_hash(_plain(again)):
            raise CheckFailed(
                "sample() gave other levels from a generator in the same state",
                "draw every number from rng; keep nothing between calls, and do not iterate over sets",
            )


@check("sample-varies")
def sample_varies(subject: FactorSubject) -> str:
    """Random levels differ, where there is more than one level."""
    different = {content_hash(_plain((level,))) for level in subject.samples}
    if len(different) == 1 and len({content_hash(level.value) for level in subject.levels}) > 1:
        raise CheckFailed(
            f"sample() gave {subject.samples[0].name!r} {len(subject.samples)} times",
            "draw from rng between the levels",
        )
    return f"{len(different)} different ones in {len(subject.samples)}"


@check("sample-in-range")
def sample_in_range(subject: FactorSubject) -> None:
    """Random values lie between those of the levels, number by number; texts are some level's."""
    numbers: dict[str, tuple[float, float]] = {}
    others: dict[str, set[str]] = {}
    for level in subject.levels:
        for path, leaf in _leaves(to_plain(level.value)):
            if isinstance(leaf, float):
                low, high = numbers.get(path, (leaf, leaf))
                numbers[path] = (min(low, leaf), max(high, leaf))
            else:
                others.setdefault(path, set()).add(repr(leaf))
    for level in subject.samples:
        for path, leaf in _leaves(to_plain(level.value)):
            where = f"the value{path} of the random level {level.name!r}"
            if isinstance(leaf, float) and path in numbers:
                low, high = numbers[path]
                slack = SLACK * (high - low) + 1e-9
                if not low - slack <= leaf <= high + slack:
                    raise CheckFailed(
                        f"{where} is {leaf:g}, outside {low:g} .. {high:g} of the levels",
                        "draw between the lowest and the highest level; name an extreme level where it may go farther",
                    )
            elif repr(leaf) not in others.get(path, ()):
                raise CheckFailed(f"{where} is {leaf!r}, which no level has", "draw among the levels")


@check("sample-names")
def sample_names(subject: FactorSubject) -> None:
    """A random level that is called like an enumerated one has its value; equal names mean equal values."""
    known = {level.name: content_hash(level.value) for level in subject.levels}
    for level in subject.samples:
        if known.setdefault(level.name, content_hash(level.value)) != content_hash(level.value):
            raise CheckFailed(
                f"two values are called {level.name!r}",
                "write the drawn numbers into the name, with as many digits as the value has",
            )


def _plain(found: tuple[Level, ...]) -> list[Any]:
    """Levels as plain data, whatever their values are."""
    plain = []
    for level in found:
        try:
            plain.append([level.name, to_plain(level.value)])
        except TypeError:  # check `level-values` says so
            plain.append([level.name, repr(level.value)])
    return plain


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every number (as float), text, bool or None in plain data, with the way to it."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{path}.{key}")
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from _leaves(item, f"{path}[{i}]")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, float(value)
    else:
        yield path, value


def _undefined(value: Any) -> str:
    """The first number in a value that is not finite; empty when there is none."""
    if isinstance(value, Mapping):
        return next(filter(None, map(_undefined, value.values())), "")
    if isinstance(value, (list, tuple)):
        return next(filter(None, map(_undefined, value)), "")
    try:
        return str(value) if not isinstance(value, str) and not math.isfinite(value) else ""
    except (TypeError, ValueError, OverflowError):
        return ""


CHECKS = (
    construct,
    levels,
    level_names,
    level_values,
    groups,
    sample,
    sample_varies,
    sample_in_range,
    sample_names,
)
