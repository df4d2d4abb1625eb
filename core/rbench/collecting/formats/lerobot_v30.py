"""The form `lerobot-v3.0`: what LeRobot reads since its version 0.4.

Its files may hold many episodes each; here every demonstration has files of its own, so that several processes can
write side by side and nothing is lost when one ends. Readers follow `meta/episodes`, which says what lies where.

meta/info.json, stats.json, tasks.parquet, episodes/chunk-000/file-000.parquet
data/chunk-000/file-000.parquet
videos/COLUMN/chunk-000/file-000.mp4          with pictures as films
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rbench.collecting.collection import Collection, write_json
from rbench.collecting.demonstration import Demonstration
from rbench.collecting.formats.form import Written
from rbench.collecting.formats.lerobot import (
    CHUNK,
    JOINTS,
    OWN_COLUMNS,
    POSE,
    VELOCITY_ACTIONS,
    Layout,
    check_lerobot,
    features_of,
    read_column,
    velocity_actions,
    write_lerobot,
    write_parquet,
)
from rbench.collecting.statistics import number_stats, picture_stats


class LeRobotV30:
    """Implements `form.Format`."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._layout = Layout(
            version="v3.0",
            data="data/chunk-{chunk:03d}/file-{file:03d}.parquet",
            video="videos/{key}/chunk-{chunk:03d}/file-{file:03d}.mp4",
            cameras={name: f"observation.images.{name}" for name in collection.cameras},
            numbers={
                "observation.state": [*JOINTS, "gripper"],
                "action": [*JOINTS, "gripper"],
                VELOCITY_ACTIONS: [*JOINTS, "gripper"],
                "joint_velocity": JOINTS,
                "end_effector": POSE,
            },
            quantiles=True,
        )

    def check(self) -> None:
        check_lerobot(self._collection)

    def write(self, root: Path, demonstration: Demonstration) -> tuple[list[str], dict[str, Any]]:
        state = np.concatenate([demonstration.joint_positions, demonstration.gripper[:, None]], axis=1)
        columns = {
            "observation.state": state,
            "action": demonstration.actions,
            VELOCITY_ACTIONS: velocity_actions(demonstration),
            "joint_velocity": demonstration.joint_velocities,
            "end_effector": demonstration.end_effector,
        }
        return write_lerobot(root, demonstration, self._collection, self._layout, columns)

    def finish(self, root: Path, written: Sequence[Written]) -> None:
        collection = self._collection
        films = collection.pictures == "video"
        tasks = list(dict.fromkeys(item.instruction for item in written))
        write_json(root / "meta/stats.json", self._stats(root, written))
        _write_tasks(root / "meta/tasks.parquet", tasks)
        for chunk in range(0, len(written), CHUNK):
            rows = [self._episode(item, films) for item in written[chunk : chunk + CHUNK]]
            _write_rows(root / f"meta/episodes/chunk-{chunk // CHUNK:03d}/file-000.parquet", rows)
        write_json(
            root / "meta/info.json",
            {
                "codebase_version": self._layout.version,
                "robot_type": "panda",
                "total_episodes": len(written),
                "total_frames": sum(item.length for item in written),
                "total_tasks": len(tasks),
                "chunks_size": CHUNK,
                "data_files_size_in_mb": 100,
                "video_files_size_in_mb": 200,
                "fps": collection.rate,
                "splits": {"train": f"0:{len(written)}"},
                "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
                "video_path": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4" if films else None,
                "features": features_of(collection, self._layout),
            },
        )

    def _stats(self, root: Path, written: Sequence[Written]) -> dict[str, Any]:
        """Statistics over all frames; every number is read back from the files."""
        files = [root / self._layout.data_path(item.index) for item in written]
        stats = {
            name: number_stats(np.concatenate([read_column(file, name) for file in files]), quantiles=True)
            for name in (*self._layout.numbers, *OWN_COLUMNS)
        }
        frames = sum(item.length for item in written)
        for key in self._layout.cameras.values():
            stats[key] = picture_stats([item.statistics["histograms"][key] for item in written], frames, quantiles=True)
        return stats

    def _episode(self, item: Written, films: bool) -> dict[str, Any]:
        """A row of meta/episodes."""
        chunk, file = divmod(item.index, CHUNK)
        row: dict[str, Any] = {
            "episode_index": item.index,
            "tasks": [item.instruction],
            "length": item.length,
            "data/chunk_index": chunk,
            "data/file_index": file,
            "dataset_from_index": item.start,
            "dataset_to_index": item.start + item.length,
            "meta/episodes/chunk_index": chunk,
            "meta/episodes/file_index": 0,
        }
        for key in self._layout.cameras.values() if films else ():
            row |= {
                f"videos/{key}/chunk_index": chunk,
                f"videos/{key}/file_index": file,
                f"videos/{key}/from_timestamp": 0.0,
                f"videos/{key}/to_timestamp": item.length / self._collection.rate,
            }
        for name, stats in item.statistics["stats"].items():
            row |= {f"stats/{name}/{stat}": value for stat, value in stats.items()}
        return row


def _write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    write_parquet(path, importlib.import_module("pyarrow").Table.from_pylist(rows))


def _write_tasks(path: Path, tasks: list[str]) -> None:
    """A table as pandas writes it, with the instruction as index: LeRobot looks instructions up there."""
    arrow = importlib.import_module("pyarrow")
    index = "__index_level_0__"
    described = {
        "index_columns": [index],
        "column_indexes": [],
        "columns": [
            {
                "name": "task_index",
                "field_name": "task_index",
                "pandas_type": "int64",
                "numpy_type": "int64",
                "metadata": None,
            },
            {"name": None, "field_name": index, "pandas_type": "unicode", "numpy_type": "object", "metadata": None},
        ],
        "creator": {"library": "pyarrow", "version": arrow.__version__},
        "pandas_version": "2.2.3",
    }
    schema = arrow.schema(
        [("task_index", arrow.int64()), (index, arrow.string())], metadata={"pandas": json.dumps(described)}
    )
    write_parquet(path, arrow.table([list(range(len(tasks))), tasks], schema=schema))
