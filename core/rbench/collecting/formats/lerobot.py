"""What the LeRobot forms have in common: features, a Parquet file and films for each demonstration.

Sources: the layout of `LeRobotDataset` 2.1 and 3.0, and the column names that openpi's DROID configuration reads.
"""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from rbench.collecting.collection import Collection
from rbench.collecting.demonstration import Demonstration
from rbench.collecting.formats.film import check_film, film_info, write_film
from rbench.collecting.formats.form import write_bytes
from rbench.collecting.statistics import histogram, number_stats, picture_stats
from rbench.errors import StartError

#: Files of one folder, as LeRobot has it.
CHUNK = 1000
#: One control step of DROID moves a joint by this much (rad) at velocity 1, whatever its rate.
DROID_STEP = 0.2

JOINTS = [f"joint_{number}" for number in range(1, 8)]
POSE = ["x", "y", "z", "qw", "qx", "qy", "qz"]
#: Kept beside what a form calls its own: not read by openpi or LeRobot's policies, but by whoever wants them.
VELOCITY_ACTIONS = "velocity_actions"

#: Columns that every LeRobot data set has, and their types.
OWN_COLUMNS = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}


@dataclass(frozen=True)
class Layout:
    """Where a form puts a demonstration and what it calls its columns.

    Attributes:
        version: of LeRobot's codebase.
        data, video: path templates, filled in with `index`, `chunk`, `file` and `key`.
        cameras: camera -> column.
        numbers: column -> names of its entries, in order.
        quantiles: whether statistics have them.
    """

    version: str
    data: str
    video: str
    cameras: Mapping[str, str]
    numbers: Mapping[str, list[str]]
    quantiles: bool

    def data_path(self, index: int) -> str:
        return self.data.format(index=index, chunk=index // CHUNK, file=index % CHUNK)

    def video_path(self, index: int, key: str) -> str:
        return self.video.format(index=index, chunk=index // CHUNK, file=index % CHUNK, key=key)


def check_lerobot(collection: Collection) -> None:
    """Refuse pictures that a film cannot have, and missing libraries."""
    _pyarrow()
    if collection.pictures == "video":
        check_film(collection.height, collection.width)


def write_lerobot(
    root: Path,
    demonstration: Demonstration,
    collection: Collection,
    layout: Layout,
    columns: Mapping[str, npt.NDArray[Any]],
) -> tuple[list[str], dict[str, Any]]:
    """Write the Parquet file and the films of a demonstration.

    Args:
        columns: the form's own numbers, by the names of the layout.

    Returns:
        The files, and `{stats, histograms}` for what is written in the end.
    """
    index = demonstration.slot.index
    numbers = {**columns, **_own_columns(demonstration)}
    stats = {name: number_stats(values, layout.quantiles) for name, values in numbers.items()}
    histograms = {}
    table: dict[str, Any] = dict(numbers)
    files = []
    for camera, pictures in demonstration.pictures.items():
        key = layout.cameras[camera]
        histograms[key] = histogram(pictures)
        stats[key] = picture_stats([histograms[key]], len(pictures), layout.quantiles)
        if collection.pictures == "video":
            file = layout.video_path(index, key)
            write_film(root / file, pictures, demonstration.rate)
            files.append(file)
        else:
            table[key] = [_png(picture) for picture in pictures]
    file = layout.data_path(index)
    _write_table(root / file, table)
    return [file, *files], {"stats": stats, "histograms": histograms}


def features_of(collection: Collection, layout: Layout) -> dict[str, Any]:
    """The features of a data set, as `meta/info.json` lists them."""
    shape = [collection.height, collection.width, 3]
    features: dict[str, Any] = {}
    for camera in collection.cameras:
        feature: dict[str, Any] = {
            "dtype": "video" if collection.pictures == "video" else "image",
            "shape": shape,
            "names": ["height", "width", "channel"],
        }
        if collection.pictures == "video":
            feature["info"] = film_info(collection.height, collection.width, collection.rate)
        features[layout.cameras[camera]] = feature
    for name, names in layout.numbers.items():
        features[name] = {"dtype": "float32", "shape": [len(names)], "names": names}
    for name, kind in OWN_COLUMNS.items():
        features[name] = {"dtype": kind, "shape": [1], "names": None}
    return features


def velocity_actions(demonstration: Demonstration) -> npt.NDArray[np.float32]:
    """The actions as DROID has them: joint velocities of which 1 moves 0.2 rad a step, and the gripper position.

    A row with a velocity beyond 1 is scaled down as a whole, as DROID's controller does it.
    """
    actions = demonstration.actions.astype(np.float64)
    velocity = (actions[:, :7] - demonstration.joint_positions) / DROID_STEP
    velocity /= np.maximum(np.abs(velocity).max(axis=1, keepdims=True), 1.0)
    return np.concatenate([velocity, actions[:, 7:]], axis=1).astype(np.float32)


def read_column(path: Path, name: str) -> npt.NDArray[np.float64]:
    """One column of numbers of a data file: (n, d)."""
    column = importlib.import_module("pyarrow.parquet").read_table(path, columns=[name])[name]
    return np.array(column.to_pylist(), dtype=np.float64).reshape(len(column), -1)


def write_parquet(path: Path, table: Any) -> None:
    """Write an Arrow table; the file appears whole or not at all."""
    parquet = importlib.import_module("pyarrow.parquet")
    write_bytes(path, lambda file: parquet.write_table(table, file))


def _own_columns(demonstration: Demonstration) -> dict[str, npt.NDArray[Any]]:
    slot = demonstration.slot
    frames = np.arange(slot.length, dtype=np.int64)
    return {
        "timestamp": (frames / demonstration.rate).astype(np.float32),
        "frame_index": frames,
        "episode_index": np.full(slot.length, slot.index, dtype=np.int64),
        "index": slot.start + frames,
        "task_index": np.full(slot.length, slot.instruction_index, dtype=np.int64),
    }


def _write_table(path: Path, columns: Mapping[str, Any]) -> None:
    """Write columns with the schema that Hugging Face's `datasets` would give them: without it pictures are bytes."""
    arrow = _pyarrow()
    arrays, features = [], {}
    for name, values in columns.items():
        array, features[name] = _column(arrow, values)
        arrays.append(array)
    schema = arrow.schema(
        [arrow.field(name, array.type) for name, array in zip(columns, arrays, strict=True)],
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )
    write_parquet(path, arrow.table(arrays, schema=schema))


def _column(arrow: ModuleType, values: Any) -> tuple[Any, dict[str, Any]]:
    """A column and its feature. One number a row is a plain value, as LeRobot has it for the shape (1,)."""
    if isinstance(values, list):
        kind = arrow.struct([arrow.field("bytes", arrow.binary()), arrow.field("path", arrow.string())])
        return arrow.array([{"bytes": png, "path": None} for png in values], kind), {"_type": "Image"}
    value = {"dtype": values.dtype.name, "_type": "Value"}
    flat = arrow.array(values.ravel())
    if values.ndim == 1 or values.shape[1] == 1:
        return flat, value
    width = values.shape[1]
    return arrow.FixedSizeListArray.from_arrays(flat, width), {"feature": value, "length": width, "_type": "Sequence"}


def _png(picture: npt.NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def _pyarrow() -> ModuleType:
    try:
        return importlib.import_module("pyarrow")
    except ImportError as problem:
        raise StartError(
            f"LeRobot data sets need PyArrow, which the extra rbench[parquet] names ({problem}): python3 -m pip install"
            " 'pyarrow>=17'. --format raw needs nothing more"
        ) from problem
