"""The recipe's folder: configuration, statistics and guide for one data set."""

from __future__ import annotations

import importlib
import json
import re
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any, Literal

import numpy as np

from rbench import __version__
from rbench.collecting.collection import Collection, read_collection, write_json, write_text
from rbench.collecting.formats.lerobot import VELOCITY_ACTIONS, read_column
from rbench.collecting.openpi.norm_stats import Episode, norm_stats
from rbench.collecting.openpi.schedule import CosineSchedule
from rbench.errors import StartError, UsageError, did_you_mean

Actions = Literal["position", "velocity"]
Statistics = Literal["dataset", "checkpoint"]

#: RoboView-Bias A.3.
STEPS, BATCH = 10_000, 16
#: Actions of a chunk of pi0_droid.
HORIZON = 10
CHECKPOINT = "gs://openpi-assets/checkpoints/pi0_droid"
#: The columns that the policy is trained on, beside its actions.
COLUMNS = ("exterior_image_1_left", "wrist_image_left", "joint_position", "gripper_position")
#: Steps whose learning rate the guide tells.
TOLD = (0, 500, 1000, 2500, 5000, 7500, 9999)
_REPO_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Recipe:
    """What of a recipe can be chosen.

    Attributes:
        repo_id: what LeRobot calls the data set, `owner/name`.
        actions: joint targets, relative to the joints at the start of a chunk; or DROID's velocities.
        statistics: of the data set, or those of the checkpoint that is fine-tuned.
        checkpoint: address or folder of pi0_droid.
    """

    repo_id: str
    actions: Actions = "position"
    statistics: Statistics = "dataset"
    checkpoint: str = CHECKPOINT
    schedule: CosineSchedule = field(default_factory=CosineSchedule)

    @property
    def name(self) -> str:
        """The name of the configuration."""
        return f"pi0_droid_{re.sub('[^a-z0-9]+', '_', self.repo_id.partition('/')[2].lower())}_{self.actions}"

    @property
    def column(self) -> str:
        """The column of the data set that is learned."""
        return "actions" if self.actions == "position" else VELOCITY_ACTIONS


def write_recipe(dataset: Path, recipe: Recipe, target: Path) -> None:
    """Write the recipe for a data set into a folder.

    Raises:
        UsageError: no complete LeRobot 2.1 data set of `rbench collect`, a camera that is missing in it, statistics
            that do not fit the actions, or a folder that holds something else.
    """
    collection = read_collection(dataset)
    info = _checked_info(dataset, collection)
    _check(recipe, target)
    values = _values(recipe, collection, info)
    if recipe.statistics == "dataset":
        stats = norm_stats(_episodes(dataset, info, recipe), HORIZON, BATCH, 7 if recipe.actions == "position" else 0)
        write_json(target / "assets" / recipe.name / recipe.repo_id / "norm_stats.json", stats)
    templates = {"rbench_config.py": "rbench_config.py.in", "run.py": "run.py.in", "README.md": "guide.md.in"}
    for name, template in templates.items():
        text = files("rbench.collecting.openpi").joinpath(template).read_text(encoding="utf-8")
        write_text(target / name, Template(text).substitute(values))


def _check(recipe: Recipe, target: Path) -> None:
    if not _REPO_ID.fullmatch(recipe.repo_id):
        raise UsageError(
            f"--repo-id {recipe.repo_id!r}: give OWNER/NAME of letters, digits, '.', '_' and '-', as LeRobot names"
            " data sets"
        )
    if any(character in recipe.checkpoint for character in '"\\$\n'):
        raise UsageError(f"--checkpoint {recipe.checkpoint!r}: give an address or a folder without quotes")
    if recipe.actions == "position" and recipe.statistics == "checkpoint":
        raise UsageError(
            "--statistics checkpoint: those of pi0_droid are of velocities and do not fit joint positions; take"
            " --actions velocity, or --statistics dataset"
        )
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is a file; choose a folder with -o")
    if target.exists() and any(target.iterdir()) and not (target / "rbench_config.py").exists():
        raise UsageError(f"{target} is not empty and holds no recipe; choose another folder with -o")


def _checked_info(dataset: Path, collection: Collection) -> dict[str, Any]:
    """`meta/info.json` of a data set that openpi can read."""
    if collection.form != "lerobot-v2.1":
        raise UsageError(
            f"{dataset} has the format {collection.form}, and openpi reads lerobot-v2.1 only; collect again with"
            " --format lerobot-v2.1"
        )
    try:
        info: dict[str, Any] = json.loads((dataset / "meta/info.json").read_text(encoding="utf-8"))
        features = info["features"]
        if info["total_episodes"] < collection.episodes:
            raise KeyError("total_episodes")
    except FileNotFoundError:
        raise UsageError(f"{dataset} is not complete; give its `rbench collect` command again") from None
    except OSError as problem:
        raise StartError(f"cannot read {dataset / 'meta/info.json'}: {problem.strerror}; check it") from problem
    except (ValueError, KeyError, TypeError) as problem:
        raise UsageError(
            f"{dataset / 'meta/info.json'} is damaged or not complete ({problem}); give the `rbench collect` command of"
            " this data set again"
        ) from problem
    for name in COLUMNS:
        if name not in features:
            raise UsageError(
                f"{dataset} has no column {name!r}.{did_you_mean(name, features)} Collect with the cameras wrist and"
                " left_top, which pi0 is trained on"
            )
    return info


def _episodes(dataset: Path, info: dict[str, Any], recipe: Recipe) -> list[Episode]:
    episodes = []
    for index in range(info["total_episodes"]):
        path = dataset / info["data_path"].format(episode_chunk=index // info["chunks_size"], episode_index=index)
        try:
            columns = [read_column(path, name) for name in ("joint_position", "gripper_position", recipe.column)]
        except (OSError, ValueError, KeyError) as problem:
            raise UsageError(
                f"{path} cannot be read ({problem}); give the `rbench collect` command of this data set again"
            ) from problem
        episodes.append(Episode(np.concatenate(columns[:2], axis=1), columns[2]))
    return episodes


def _values(recipe: Recipe, collection: Collection, info: dict[str, Any]) -> dict[str, Any]:
    """What the templates are filled in with."""
    schedule, own = recipe.schedule, recipe.statistics == "dataset"
    position = recipe.actions == "position"
    stats = f"assets/{recipe.name}/{recipe.repo_id}/norm_stats.json"
    return {
        "name": recipe.name,
        "version": __version__,
        "repo_id": recipe.repo_id,
        "owner": recipe.repo_id.partition("/")[0],
        "checkpoint": recipe.checkpoint.rstrip("/"),
        "column": recipe.column,
        "delta": position,
        "horizon": HORIZON,
        "assets": "" if own else 'assets_dir=CHECKPOINT + "/assets", asset_id="droid"',
        "warmup": schedule.warmup_steps,
        "peak": f"{schedule.peak:g}",
        "decay": schedule.decay_steps,
        "last": f"{schedule.last:g}",
        "steps": STEPS,
        "last_step": STEPS - 1,
        "batch": BATCH,
        "action_space": "joint_position" if position else "joint_velocity",
        "rate": collection.rate,
        "suite": collection.suite,
        "height": collection.height,
        "width": collection.width,
        "episodes": info["total_episodes"],
        "frames": info["total_frames"],
        "stats_row": f"| `{stats}` | normalisation statistics |" if own else "",
        "stats_text": "of this data set, by openpi's definition" if own else "those of pi0_droid",
        "action_text": "joint targets, relative to the joints at the start of a chunk; openpi's authors advise against"
        " velocities in simulation"
        if position
        else "DROID's normalised joint velocities (1 = 0.2 rad a step), the closest to pi0_droid",
        "rates": ", ".join(f"{schedule.rate(step):.4g} at step {step}" for step in TOLD),
    }


def check_library() -> None:
    """Refuse early when Parquet files cannot be read. Raises StartError."""
    try:
        importlib.import_module("pyarrow")
    except ImportError as problem:
        raise StartError(
            f"a recipe reads the data set with PyArrow, which the extra rbench[parquet] names ({problem}): python3 -m"
            " pip install 'pyarrow>=17'"
        ) from problem
