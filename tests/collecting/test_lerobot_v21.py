"""The form lerobot-v2.1 against the layout that openpi's version of LeRobot reads."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from rbench.collecting.collection import Collection

pq = pytest.importorskip("pyarrow.parquet")
pa = pytest.importorskip("pyarrow")
av = pytest.importorskip("av")
pytestmark = pytest.mark.gl
Collected = Callable[..., tuple[Path, Collection]]

OWN = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}


@pytest.fixture
def films(collected: Collected) -> Path:
    return collected(form="lerobot-v2.1")[0]


@pytest.fixture
def stills(collected: Collected) -> Path:
    return collected(form="lerobot-v2.1", pictures="png")[0]


@pytest.fixture
def raw(collected: Collected, lines_of: Callable[..., Any]) -> list[dict[str, Any]]:
    """The arrays of the same demonstrations."""
    path, _ = collected()
    return [
        {**line, **{file.stem: np.load(file) for file in (path / line["folder"]).glob("*.npy")}}
        for line in lines_of(path / "episodes.jsonl")
    ]


def test_info_has_every_key_and_counts(films: Path, raw: list[dict[str, Any]]) -> None:
    info = json.loads((films / "meta/info.json").read_text())
    features = info.pop("features")
    assert info == {
        "codebase_version": "v2.1",
        "robot_type": "panda",
        "total_episodes": 3,
        "total_frames": sum(episode["length"] for episode in raw),
        "total_tasks": len({episode["instruction"] for episode in raw}),
        "total_videos": 6,
        "total_chunks": 1,
        "chunks_size": 1000,
        "fps": 15,
        "splits": {"train": "0:3"},
        "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
        "video_path": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    }
    for name, shape in {"joint_position": 7, "gripper_position": 1, "actions": 8, "velocity_actions": 8}.items():
        assert features[name]["dtype"] == "float32"
        assert features[name]["shape"] == [shape] == [len(features[name]["names"])]
    for name in ("wrist_image_left", "exterior_image_1_left"):
        assert features[name]["dtype"] == "video"
        assert features[name]["shape"] == [32, 48, 3]
        assert features[name]["names"] == ["height", "width", "channel"]
        assert features[name]["info"]["video.codec"] == "h264"
    assert {name: features[name]["dtype"] for name in OWN} == OWN
    assert all(features[name]["shape"] == [1] for name in OWN)


def test_every_camera_has_the_name_of_openpis_droid_configuration(collected: Collected) -> None:
    cameras = ("wrist", "front", "left_top", "right_top")
    path, _ = collected(form="lerobot-v2.1", pictures="png", cameras=cameras, episodes=1, height=8, width=8)
    features = json.loads((path / "meta/info.json").read_text())["features"]
    images = [name for name, feature in features.items() if feature["dtype"] == "image"]
    assert images == ["wrist_image_left", "front_image", "exterior_image_1_left", "exterior_image_2_left"]


def test_tasks_and_episodes_are_listed(films: Path, raw: list[dict[str, Any]], lines_of: Callable[..., Any]) -> None:
    instructions = list(dict.fromkeys(episode["instruction"] for episode in raw))
    assert lines_of(films / "meta/tasks.jsonl") == [{"task_index": i, "task": t} for i, t in enumerate(instructions)]
    assert lines_of(films / "meta/episodes.jsonl") == [
        {"episode_index": e["index"], "tasks": [e["instruction"]], "length": e["length"]} for e in raw
    ]


@pytest.mark.parametrize("pictures", ["films", "stills"])
def test_data_files_have_the_columns_of_the_features(pictures: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(pictures)
    features = json.loads((path / "meta/info.json").read_text())["features"]
    schema = pq.read_schema(path / "data/chunk-000/episode_000000.parquet")
    assert set(schema.names) == {name for name, feature in features.items() if feature["dtype"] != "video"}
    described = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
    for name in schema.names:
        kind, shape = features[name]["dtype"], features[name]["shape"]
        if kind == "image":
            assert schema.field(name).type == pa.struct([("bytes", pa.binary()), ("path", pa.string())])
            assert described[name] == {"_type": "Image"}
        elif shape == [1]:
            assert str(schema.field(name).type) == kind.replace("float32", "float")
            assert described[name] == {"dtype": kind, "_type": "Value"}
        else:
            assert schema.field(name).type == pa.list_(pa.float32(), shape[0])
            value = {"dtype": kind, "_type": "Value"}
            assert described[name] == {"feature": value, "length": shape[0], "_type": "Sequence"}


def test_numbers_are_those_of_the_demonstrations(films: Path, raw: list[dict[str, Any]]) -> None:
    start = 0
    for episode in raw:
        table = pq.read_table(films / f"data/chunk-000/episode_{episode['index']:06d}.parquet")
        column = {name: np.array(table[name].to_pylist(), dtype=np.float64) for name in table.column_names}
        n = episode["length"]
        assert np.array_equal(column["joint_position"], episode["joint_positions"].astype(np.float64))
        assert np.array_equal(column["gripper_position"], episode["gripper"].astype(np.float64))
        assert np.array_equal(column["actions"], episode["actions"].astype(np.float64))
        assert np.array_equal(column["joint_velocity"], episode["joint_velocities"].astype(np.float64))
        assert np.array_equal(column["end_effector"], episode["end_effector"].astype(np.float64))
        assert np.abs(column["timestamp"] - np.arange(n) / 15).max() < 1e-4
        assert np.array_equal(column["frame_index"], np.arange(n))
        assert np.array_equal(column["index"], start + np.arange(n))
        assert set(column["episode_index"]) == {episode["index"]}
        assert set(column["task_index"]) == {episode["instruction_index"]}
        start += n


def test_velocity_one_is_a_fifth_of_a_radian_a_step(films: Path, raw: list[dict[str, Any]]) -> None:
    table = pq.read_table(films / "data/chunk-000/episode_000000.parquet")
    velocities = np.array(table["velocity_actions"].to_pylist())
    targets = raw[0]["joint_positions"] + 0.2 * velocities[:, :7]
    assert np.abs(velocities).max() <= 1.0
    unscaled = np.abs(raw[0]["actions"][:, :7] - raw[0]["joint_positions"]).max(axis=1) < 0.2
    assert np.abs(targets - raw[0]["actions"][:, :7])[unscaled].max() < 1e-6
    assert unscaled.any()
    assert np.array_equal(velocities[:, 7].astype(np.float32), raw[0]["actions"][:, 7])


def test_pictures_in_png_are_as_they_were_drawn(stills: Path, raw: list[dict[str, Any]]) -> None:
    table = pq.read_table(stills / "data/chunk-000/episode_000001.parquet")
    for column, camera in {"wrist_image_left": "wrist", "exterior_image_1_left": "left_top"}.items():
        pictures = [np.asarray(Image.open(io.BytesIO(cell["bytes"]))) for cell in table[column].to_pylist()]
        assert np.array_equal(pictures, raw[1][f"pictures.{camera}"])


def test_films_have_a_frame_for_every_row_at_its_time(films: Path, raw: list[dict[str, Any]]) -> None:
    with av.open(str(films / "videos/chunk-000/wrist_image_left/episode_000001.mp4")) as container:
        frames = list(container.decode(video=0))
        times = [float(frame.pts * frame.time_base) for frame in frames]
        pictures = np.array([frame.to_ndarray(format="rgb24") for frame in frames], dtype=np.float64)
    assert len(frames) == raw[1]["length"]
    assert np.abs(np.array(times) - np.arange(len(times)) / 15).max() < 1e-4
    assert np.abs(pictures - raw[1]["pictures.wrist"]).mean() < 4.0


def test_statistics_are_those_of_the_columns(
    films: Path, raw: list[dict[str, Any]], lines_of: Callable[..., Any]
) -> None:
    for line, episode in zip(lines_of(films / "meta/episodes_stats.jsonl"), raw, strict=True):
        stats = line["stats"]
        assert line["episode_index"] == episode["index"]
        actions = episode["actions"].astype(np.float64)
        for name in ("min", "max", "mean", "std"):
            assert np.allclose(stats["actions"][name], getattr(actions, name)(axis=0), atol=1e-12)
            assert len(stats["gripper_position"][name]) == len(stats["timestamp"][name]) == 1
            pictures = episode["pictures.wrist"] / 255.0
            assert np.shape(stats["wrist_image_left"][name]) == (3, 1, 1)
            assert np.allclose(np.ravel(stats["wrist_image_left"][name]), getattr(pictures, name)(axis=(0, 1, 2)))
        assert {tuple(found["count"]) for found in stats.values()} == {(episode["length"],)}
