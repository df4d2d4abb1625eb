"""The form `lerobot-v2.1`: what openpi reads, with the column names of its DROID configuration.

meta/info.json, tasks.jsonl, episodes.jsonl, episodes_stats.jsonl
data/chunk-000/episode_000000.parquet
videos/chunk-000/COLUMN/episode_000000.mp4    with pictures as films
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rbench.collecting.collection import Collection, write_json, write_text
from rbench.collecting.demonstration import Demonstration
from rbench.collecting.formats.form import Written
from rbench.collecting.formats.lerobot import (
    CHUNK,
    JOINTS,
    POSE,
    VELOCITY_ACTIONS,
    Layout,
    check_lerobot,
    features_of,
    velocity_actions,
    write_lerobot,
)

#: What openpi's DROID configuration calls these cameras; others are called after themselves.
DROID_CAMERAS = {
    "wrist": "wrist_image_left",
    "left_top": "exterior_image_1_left",
    "right_top": "exterior_image_2_left",
}


class LeRobotV21:
    """Implements `form.Format`."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection
        self._layout = Layout(
            version="v2.1",
            data="data/chunk-{chunk:03d}/episode_{index:06d}.parquet",
            video="videos/chunk-{chunk:03d}/{key}/episode_{index:06d}.mp4",
            cameras={name: DROID_CAMERAS.get(name, f"{name}_image") for name in collection.cameras},
            numbers={
                "joint_position": JOINTS,
                "gripper_position": ["gripper"],
                "actions": [*JOINTS, "gripper"],
                VELOCITY_ACTIONS: [*JOINTS, "gripper"],
                "joint_velocity": JOINTS,
                "end_effector": POSE,
            },
            quantiles=False,
        )

    def check(self) -> None:
        check_lerobot(self._collection)

    def write(self, root: Path, demonstration: Demonstration) -> tuple[list[str], dict[str, Any]]:
        columns = {
            "joint_position": demonstration.joint_positions,
            "gripper_position": demonstration.gripper,
            "actions": demonstration.actions,
            VELOCITY_ACTIONS: velocity_actions(demonstration),
            "joint_velocity": demonstration.joint_velocities,
            "end_effector": demonstration.end_effector,
        }
        return write_lerobot(root, demonstration, self._collection, self._layout, columns)

    def finish(self, root: Path, written: Sequence[Written]) -> None:
        collection, meta = self._collection, root / "meta"
        tasks = list(dict.fromkeys(item.instruction for item in written))
        films = collection.pictures == "video"
        _write_lines(meta / "tasks.jsonl", ({"task_index": i, "task": task} for i, task in enumerate(tasks)))
        _write_lines(
            meta / "episodes.jsonl",
            ({"episode_index": i.index, "tasks": [i.instruction], "length": i.length} for i in written),
        )
        _write_lines(
            meta / "episodes_stats.jsonl",
            ({"episode_index": item.index, "stats": item.statistics["stats"]} for item in written),
        )
        write_json(
            meta / "info.json",
            {
                "codebase_version": self._layout.version,
                "robot_type": "panda",
                "total_episodes": len(written),
                "total_frames": sum(item.length for item in written),
                "total_tasks": len(tasks),
                "total_videos": len(written) * len(collection.cameras) if films else 0,
                "total_chunks": -(-len(written) // CHUNK),
                "chunks_size": CHUNK,
                "fps": collection.rate,
                "splits": {"train": f"0:{len(written)}"},
                "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
                "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"
                if films
                else None,
                "features": features_of(collection, self._layout),
            },
        )


def _write_lines(path: Path, values: Iterable[dict[str, Any]]) -> None:
    write_text(path, "".join(json.dumps(value, allow_nan=False) + "\n" for value in values))
