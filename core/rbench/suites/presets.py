"""Parts of a suite: presets, and the dimensions that a selection leaves."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from rbench.design import Dimension
from rbench.errors import UsageError, did_you_mean
from rbench.suites.suite import Preset, Suite


def spread(names: Sequence[str], count: int) -> tuple[str, ...]:
    """`count` of the names, evenly spread over them, the first included."""
    return tuple(names[i * len(names) // count] for i in range(count))


def preset_of(suite: Suite, name: str) -> Preset:
    """The preset of that name. Raises UsageError with near names."""
    if name in suite.presets:
        return suite.presets[name]
    raise UsageError(
        f"suite {suite.name!r} has no preset {name!r}.{did_you_mean(name, suite.presets)} "
        "Name one of its presets, or leave --preset out to run all of it."
    )


def narrowed(
    suite: Suite, *, preset: str | None = None, dimensions: Collection[str] = (), repeats: int | None = None
) -> tuple[Dimension, ...]:
    """The dimensions of a suite as a preset, then a choice of names, then a number of repeats leave them.

    Args:
        dimensions: names of single factors and grids; empty: all. A grid that is named is there even
            when the preset leaves grids out.
        repeats: overrides the repeats of every dimension, grids included.

    Raises:
        UsageError: an unknown preset or dimension, or repeats below 1.
    """
    wanted = {suite.dimension(name).name for name in dimensions}
    chosen = None if preset is None else preset_of(suite, preset)
    if repeats is not None and repeats < 1:
        raise UsageError(f"{repeats} repeats are no episodes. Ask for at least 1.")
    result = []
    for dimension in suite.dimensions:
        if wanted and dimension.name not in wanted:
            continue
        if chosen is not None:
            if dimension.is_grid and not chosen.grid and not wanted:
                continue
            dimension = _part(dimension, chosen)
        result.append(dimension if repeats is None else replace(dimension, repeats=repeats))
    return tuple(result)


def _part(dimension: Dimension, preset: Preset) -> Dimension:
    levels = {
        name: tuple(level for level in levels if name not in preset.levels or level in preset.levels[name])
        for name, levels in dimension.levels.items()
    }
    contexts = dimension.contexts
    if preset.contexts is not None and not dimension.is_grid:
        contexts = preset.contexts
    repeats = dimension.repeats if preset.repeats is None else preset.repeats
    return replace(dimension, levels=levels, contexts=contexts, repeats=repeats)
