"""`rbench openpi-recipe`: files with which openpi fine-tunes pi0 on a data set."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from rbench.collecting.openpi.recipe import CHECKPOINT, Actions, Recipe, Statistics, check_library, write_recipe


@click.command("openpi-recipe")
@click.argument("dataset", type=click.Path(path_type=Path))
@click.option(
    "-o", "output", required=True, type=click.Path(path_type=Path), metavar="DIR", help="The recipe's folder."
)
@click.option("--repo-id", metavar="OWNER/NAME", help="What LeRobot calls the data set; default rbench/<its folder>.")
@click.option(
    "--actions",
    type=click.Choice(get_args(Actions)),
    default="position",
    show_default=True,
    help="What is learned: joint targets, or DROID's velocities.",
)
@click.option(
    "--statistics",
    type=click.Choice(get_args(Statistics)),
    default="dataset",
    show_default=True,
    help="For normalisation: of the data set, or those of pi0_droid (with velocities only).",
)
@click.option("--checkpoint", default=CHECKPOINT, show_default=True, metavar="PLACE", help="Address or folder.")
def command(
    dataset: Path, output: Path, repo_id: str | None, actions: Actions, statistics: Statistics, checkpoint: str
) -> None:
    """Write openpi's configuration, statistics and a guide for fine-tuning pi0 on DATASET (RoboView-Bias A.3).

    DATASET is the folder of `rbench collect --format lerobot-v2.1`. Needs no GPU; the training that follows does.
    """
    check_library()
    recipe = Recipe(repo_id or f"rbench/{dataset.resolve().name}", actions, statistics, checkpoint)
    write_recipe(dataset, recipe, output)
    click.echo(f"recipe: {output} (configuration {recipe.name}; read {output / 'README.md'})")
