"""The design part of a suite file: contexts, dimensions, grids and presets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rbench.design import Context, Dimension
from rbench.errors import did_you_mean
from rbench.suites.contexts import full_product, structured_union
from rbench.suites.document import Document
from rbench.suites.key_lines import KeyPath
from rbench.suites.presets import spread
from rbench.suites.schema import InteractionTable, PresetTable, SuiteTable
from rbench.suites.suite import BASE, Preset, SuiteFactor


def read_contexts(document: Document, table: SuiteTable, factors: Mapping[str, SuiteFactor]) -> tuple[Context, ...]:
    """The contexts of the suite's scheme. Raises SuiteError when two get the same name."""
    chosen = [factor for factor in factors.values() if factor.role == "context"]
    if table.contexts.scheme == "product":
        if table.contexts.multiplicity is not None:
            raise document.error(("contexts", "multiplicity"), 'has no meaning for scheme = "product". Remove it.')
        contexts = tuple(full_product(chosen))
    else:
        contexts = tuple(structured_union(chosen, table.contexts.multiplicity or "unique"))
    document.require_different(("contexts",), [context.name for context in contexts])
    return contexts


def read_dimensions(
    document: Document, table: SuiteTable, factors: Mapping[str, SuiteFactor], contexts: Sequence[Context]
) -> tuple[Dimension, ...]:
    """One dimension for each visual factor, in suite order, then the grids. Raises SuiteError."""
    names = tuple(context.name for context in contexts)
    dimensions = [
        Dimension(factor.name, {factor.name: factor.level_names}, names, table.protocol.repeats)
        for factor in factors.values()
        if factor.role == "visual"
    ]
    if not dimensions:
        raise document.error(("factors",), 'no factor has role = "visual": nothing is studied. Give one that role.')
    for i, interaction in enumerate(table.interactions):
        path: KeyPath = ("interactions", i)
        grid = _grid(document, path, interaction, factors, names, table.protocol.repeats)
        if any(set(grid.factors) == set(other.factors) for other in dimensions):
            raise document.error((*path, "factors"), f"there is a grid of {grid.name!r} already. Keep one of them.")
        dimensions.append(grid)
    return tuple(dimensions)


def _grid(
    document: Document,
    path: KeyPath,
    table: InteractionTable,
    factors: Mapping[str, SuiteFactor],
    contexts: Sequence[str],
    repeats: int,
) -> Dimension:
    visual = [factor.name for factor in factors.values() if factor.role == "visual"]
    for i, name in enumerate(table.factors):
        if name not in visual:
            raise document.error(
                (*path, "factors", i),
                f"{name!r} is no visual factor of this suite.{did_you_mean(name, visual)} Name one that is.",
            )
    if table.factors[0] == table.factors[1]:
        raise document.error((*path, "factors"), "a grid needs two different factors. Name another one.")
    for name in table.levels:
        if name not in table.factors:
            raise document.error(
                (*path, "levels", name),
                f"{name!r} is no factor of this grid.{did_you_mean(name, table.factors)} Remove it or name it there.",
            )
    levels = {
        name: _chosen_levels(document, (*path, "levels", name), factors[name], table.levels.get(name))
        for name in table.factors
    }
    if table.context not in (BASE, *contexts):
        raise document.error(
            (*path, "context"),
            f"there is no context {table.context!r}.{did_you_mean(table.context, (BASE, *contexts))} "
            'Name one of the suite\'s contexts or "base".',
        )
    return Dimension("+".join(table.factors), levels, (table.context,), table.repeats or repeats)


def _chosen_levels(
    document: Document, path: KeyPath, factor: SuiteFactor, chosen: int | Sequence[str] | None
) -> tuple[str, ...]:
    known = factor.level_names
    if chosen is None:
        return known
    return _chosen(document, path, chosen, known, f"factor {factor.name!r} has", "level")


def _chosen(
    document: Document, path: KeyPath, chosen: int | Sequence[str], known: Sequence[str], owner: str, what: str
) -> tuple[str, ...]:
    if isinstance(chosen, int):
        if chosen > len(known):
            raise document.error(path, f"{owner} only {len(known)} {what}s. Ask for at most as many.")
        return spread(known, chosen)
    for i, name in enumerate(chosen):
        if name not in known:
            raise document.error((*path, i), f"{owner} no {what} {name!r}.{did_you_mean(name, known)} Name one it has.")
    document.require_different(path, chosen)
    return tuple(chosen)


def read_preset(
    document: Document,
    path: KeyPath,
    table: PresetTable,
    factors: Mapping[str, SuiteFactor],
    contexts: Sequence[Context],
    dimensions: Sequence[Dimension],
) -> Preset:
    """A preset with its names checked and its counts turned into names. Raises SuiteError."""
    visual = [factor.name for factor in factors.values() if factor.role == "visual"]
    levels = {}
    for name, chosen in table.levels.items():
        if name not in visual:
            raise document.error(
                (*path, "levels", name),
                f"{name!r} is no visual factor of this suite.{did_you_mean(name, visual)} Name one that is.",
            )
        levels[name] = _chosen_levels(document, (*path, "levels", name), factors[name], chosen)
    for dimension in dimensions:
        for name in dimension.levels if dimension.is_grid and table.grid else ():
            if name in levels and not set(dimension.levels[name]) & set(levels[name]):
                raise document.error(
                    (*path, "levels", name),
                    f"leaves the grid {dimension.name} without a level. Add one of its levels or set grid = false.",
                )
    names = None
    if table.contexts is not None:
        known = [context.name for context in contexts]
        names = _chosen(document, (*path, "contexts"), table.contexts, known, "the suite has", "context")
    return Preset(contexts=names, levels=levels, repeats=table.repeats, grid=table.grid)
