"""`rbench show`: what a suite holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from rbench.cli.output import print_json, print_rich
from rbench.plugins.catalog import build_catalog
from rbench.values import to_plain

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rbench.design import Dimension
    from rbench.suites.suite import Suite


@click.command("show")
@click.argument("suite")
@click.option("--preset", help="Only this named part of the suite.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(suite: str, preset: str | None, as_json: bool) -> None:
    """A suite: tasks, dimensions, levels, contexts and counts.

    SUITE is a name, DISTRIBUTION/NAME or the path of a .toml file.
    """
    # Not at the top: `rbench --help` needs no suites.
    from rbench.suites.loading import load_suite
    from rbench.suites.presets import narrowed

    loaded = load_suite(build_catalog(), suite)
    dimensions = narrowed(loaded, preset=preset)
    if as_json:
        print_json(_summary(loaded, dimensions))
    else:
        print_rich(*_overview(loaded, dimensions))


def _summary(suite: Suite, dimensions: Sequence[Dimension]) -> dict[str, Any]:
    singles = [dimension for dimension in dimensions if not dimension.is_grid]
    used = {name for dimension in singles for name in dimension.contexts}
    return {
        "suite": suite.name,
        "hash": suite.hash,
        "validated": to_plain(suite.validated),
        "source": suite.source,
        "tasks": [task.name for task in suite.tasks],
        "dimensions": {
            dimension.name: {
                "levels": list(dimension.levels[dimension.name]),
                "baseline": suite.factors[dimension.name].baseline,
                "instances": suite.instances([dimension]),
                "repeats": dimension.repeats,
            }
            for dimension in singles
        },
        "contexts": [context.name for context in suite.contexts if context.name in used],
        "interactions": [
            {
                "factors": list(dimension.factors),
                "instances": suite.instances([dimension]),
                "levels": {name: list(levels) for name, levels in dimension.levels.items()},
                "contexts": list(dimension.contexts),
                "repeats": dimension.repeats,
            }
            for dimension in dimensions
            if dimension.is_grid
        ],
        "instances": suite.instances(dimensions),
        "episodes": suite.episodes(dimensions),
        "render": suite.render,
        "viewpoint_cameras": list(suite.viewpoint_cameras),
        "presets": list(suite.presets),
    }


def _overview(suite: Suite, dimensions: Sequence[Dimension]) -> list[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    from rbench.suites.accepted import validation_line

    summary = _summary(suite, dimensions)
    head = Text.assemble(
        (suite.name, "bold"), f"  {summary['instances']:,} instances, {summary['episodes']:,} episodes"
    )
    facts = Table(box=None, show_header=False, pad_edge=False)
    facts.add_column(style="dim")
    facts.add_column(overflow="fold")
    for task in suite.tasks:
        facts.add_row("task", f"{task.name} (scene {task.scene}, at most {task.limit:g} s)")
    facts.add_row("contexts", ", ".join(summary["contexts"]))
    facts.add_row("viewpoint cameras", ", ".join(suite.viewpoint_cameras) or "none")
    facts.add_row("render", suite.render)
    facts.add_row(
        "seeds",
        f"{suite.protocol.seeds}, jitter {1000 * suite.protocol.jitter_xy:g} mm, {suite.protocol.jitter_yaw:g} degrees",
    )
    facts.add_row("presets", ", ".join(suite.presets) or "none")
    facts.add_row("source", suite.source)
    facts.add_row("hash", suite.hash)
    facts.add_row("validation", validation_line(to_plain(suite.validated)))
    table = Table("dimension", "baseline", "levels", "", "contexts", "repeats", "instances", "episodes")
    for dimension in dimensions:
        table.add_row(
            dimension.name,
            " + ".join(suite.factors[name].baseline for name in dimension.factors),
            " x ".join(str(len(levels)) for levels in dimension.levels.values()),
            "; ".join(_some(levels) for levels in dimension.levels.values()),
            str(len(dimension.contexts)) if len(dimension.contexts) > 1 else dimension.contexts[0],
            str(dimension.repeats),
            f"{suite.instances([dimension]):,}",
            f"{suite.episodes([dimension]):,}",
        )
    return [head, facts, table]


def _some(names: Sequence[str]) -> str:
    """The names, or the first and the last of many."""
    return ", ".join(names) if len(names) <= 4 else f"{names[0]}, {names[1]} .. {names[-1]}"
