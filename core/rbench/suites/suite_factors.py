"""The factors of a suite file: samplers from the catalog, with everything they promise checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches

from rbench.design import Level
from rbench.errors import PluginError, UsageError
from rbench.interfaces.factor import Factor
from rbench.plugins.catalog import Catalog
from rbench.suites.document import Document
from rbench.suites.key_lines import KeyPath
from rbench.suites.schema import FactorTable, SuiteTable
from rbench.suites.suite import SuiteFactor
from rbench.values import to_plain

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")

#: Names of a baseline that always say "as the scene has it".
_UNCHANGED = ("default", "none", "unchanged", "original")


def read_factors(document: Document, table: SuiteTable, catalog: Catalog) -> dict[str, SuiteFactor]:
    """The factors of a suite, in its order.

    Raises:
        SuiteError: no such sampler, wrong options, a baseline that looks like a misspelt level.
        PluginError: a sampler cannot be loaded or breaks its contract.
    """
    return {name: _factor(document, ("factors", name), name, factor, catalog) for name, factor in table.factors.items()}


def _factor(document: Document, path: KeyPath, name: str, table: FactorTable, catalog: Catalog) -> SuiteFactor:
    try:
        entry = catalog.get("factor", table.use)
    except UsageError as problem:
        raise document.error((*path, "use"), str(problem)) from problem
    try:
        options = entry.resolve_options(table.options)
        factor = catalog.make("factor", table.use, table.options)
    except UsageError as problem:
        raise document.error((*path, "options"), str(problem)) from problem
    levels = _levels(factor, entry.qualified)
    _check_baseline(document, (*path, "baseline"), table.baseline, [level.name for level in levels])
    return SuiteFactor(
        name=name,
        factor=factor,
        role=table.role,
        baseline=table.baseline,
        levels=levels,
        distribution=entry.distribution,
        options={} if options is None else options.model_dump(mode="json"),
        sampler=entry.name,
    )


def _levels(factor: Factor, qualified: str) -> tuple[Level, ...]:
    """The levels of a sampler, checked against what `Factor.levels` promises."""
    try:
        levels = tuple(factor.levels())
        for level in levels:
            to_plain(level.value)
    except Exception as problem:
        raise _broken(qualified, f"its levels() failed: {type(problem).__name__}: {problem}") from problem
    if not levels:
        raise _broken(qualified, "it has no levels")
    names = [level.name for level in levels]
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise _broken(qualified, f"two of its levels are called {double!r}")
    for name in names:
        if not _NAME.fullmatch(name):
            raise _broken(qualified, f"{name!r} is no valid level name (lower-case letters, digits, '.', '_', '-')")
    return levels


def _broken(qualified: str, reason: str) -> PluginError:
    return PluginError(f"factor {qualified} breaks its contract: {reason}. Correct it, or use another factor.")


def _check_baseline(document: Document, path: KeyPath, baseline: str, levels: Sequence[str]) -> None:
    """Refuse what looks like a misspelt level: taken as "unchanged" it would silently be another study."""
    if baseline in levels or baseline in _UNCHANGED:
        return
    if near := get_close_matches(baseline, levels, n=3):
        names = " or ".join(repr(name) for name in near)
        raise document.error(
            path,
            f"{baseline!r} is not one of the levels but looks like {names}. Name a level; "
            'or, when the factor shall leave the scene as it is, call the baseline "default".',
        )
