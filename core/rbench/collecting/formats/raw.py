"""The form `raw`: plain numpy files that can be mapped into memory, pictures as they were drawn.

dataset.json               what is in it: rate, cameras, arrays, instructions, counts
episodes.jsonl             one line for each demonstration: folder, length, instruction, where it comes from
episodes/000000/ARRAY.npy  its arrays; `pictures.CAMERA.npy` for each camera
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from rbench import __version__
from rbench.collecting.collection import Collection, write_json, write_text
from rbench.collecting.demonstration import Demonstration
from rbench.collecting.formats.form import Written, write_bytes

#: Rises when a reader has to change.
SCHEMA = 1

ARRAYS = {
    "joint_positions": ("float32", [7], "rad, before the tick"),
    "joint_velocities": ("float32", [7], "rad/s, before the tick"),
    "gripper": ("float32", [], "0 open .. 1 closed, measured before the tick"),
    "end_effector": ("float32", [7], "fingertip point in the robot's base before the tick: m, quaternion wxyz"),
    "actions": (
        "float32",
        [8],
        "what is to be learned: seven joint targets (rad) and the gripper (0 open .. 1 closed)",
    ),
    "executed": ("float64", [8], "the commands that were sent; other than actions only under execution noise"),
}


class Raw:
    """Implements `form.Format`."""

    def __init__(self, collection: Collection) -> None:
        self._collection = collection

    def check(self) -> None:
        """Everything fits."""

    def write(self, root: Path, demonstration: Demonstration) -> tuple[list[str], dict[str, Any]]:
        folder = _folder(demonstration.slot.index)
        arrays: dict[str, npt.NDArray[Any]] = {name: getattr(demonstration, name) for name in ARRAYS}
        arrays |= {f"pictures.{camera}": images for camera, images in demonstration.pictures.items()}
        files = []
        for name, array in arrays.items():
            file = f"{folder}/{name}.npy"
            ordered = np.ascontiguousarray(array)
            write_bytes(root / file, partial(_save, ordered))
            files.append(file)
        return files, {}

    def finish(self, root: Path, written: Sequence[Written]) -> None:
        lines = [json.dumps(_line(item), allow_nan=False) + "\n" for item in written]
        write_text(root / "episodes.jsonl", "".join(lines))
        collection = self._collection
        pictures = {"dtype": "uint8", "shape": [collection.height, collection.width, 3], "is": "upright RGB"}
        write_json(
            root / "dataset.json",
            {
                "format": "rbench-raw",
                "schema": SCHEMA,
                "rbench": __version__,
                "suite": collection.suite,
                "agent": collection.agent.name,
                "seed": collection.seed,
                "rate": collection.rate,
                "cameras": list(collection.cameras),
                "arrays": {
                    **{f"pictures.{camera}": pictures for camera in collection.cameras},
                    **{name: {"dtype": d, "shape": s, "is": text} for name, (d, s, text) in ARRAYS.items()},
                },
                "instructions": list(dict.fromkeys(item.instruction for item in written)),
                "episodes": len(written),
                "frames": sum(item.length for item in written),
            },
        )


def _save(array: npt.NDArray[Any], file: BinaryIO) -> None:
    np.save(file, array, allow_pickle=False)


def _folder(index: int) -> str:
    return f"episodes/{index:06d}"


def _line(item: Written) -> dict[str, Any]:
    return {
        "index": item.index,
        "folder": _folder(item.index),
        "length": item.length,
        "instruction": item.instruction,
        "instruction_index": item.instruction_index,
        "episode": item.episode,
        **item.origin,
    }
