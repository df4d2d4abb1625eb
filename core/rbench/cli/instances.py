"""`rbench instances`: the instances of a suite, one a line."""

from __future__ import annotations

import json

import click

from rbench.cli.output import print_text
from rbench.plugins.catalog import build_catalog


@click.command("instances")
@click.argument("suite")
@click.option("--dimension", "dimensions", multiple=True, help="Only this factor or grid; can be repeated.")
@click.option("--preset", help="Only this named part of the suite.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
def command(suite: str, dimensions: tuple[str, ...], preset: str | None, as_json: bool) -> None:
    """The instances of a suite, one a line.

    SUITE is a name, DISTRIBUTION/NAME or the path of a .toml file.
    """
    # Not at the top: `rbench --help` needs no suites.
    from rbench.suites.loading import load_suite
    from rbench.suites.presets import narrowed
    from rbench.suites.variants import RecursiveVariantTaskManager

    loaded = load_suite(build_catalog(), suite)
    manager = RecursiveVariantTaskManager(loaded)
    for instance in manager.instances(narrowed(loaded, preset=preset, dimensions=dimensions)):
        if not as_json:
            print_text(instance.id)
            continue
        row = {
            "id": instance.id,
            "task": instance.task,
            "dimension": instance.dimension,
            "context": instance.context,
            "levels": dict(instance.levels),
            "repeats": instance.repeats,
        }
        print_text(json.dumps(row))
