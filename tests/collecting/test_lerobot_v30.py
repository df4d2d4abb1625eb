"""The form lerobot-v3.0: its tables lead to every frame."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbench.collecting.collection import Collection

pq = pytest.importorskip("pyarrow.parquet")
av = pytest.importorskip("av")
pytestmark = pytest.mark.gl


@pytest.fixture
def dataset(collected: Callable[..., tuple[Path, Collection]]) -> Path:
    return collected(form="lerobot-v3.0")[0]


@pytest.fixture
def raw(collected: Callable[..., tuple[Path, Collection]], lines_of: Callable[..., Any]) -> list[dict[str, Any]]:
    path, _ = collected()
    return [
        {**line, **{file.stem: np.load(file) for file in (path / line["folder"]).glob("*.npy")}}
        for line in lines_of(path / "episodes.jsonl")
    ]


def test_episodes_lead_to_their_rows_and_films(dataset: Path, raw: list[dict[str, Any]]) -> None:
    info = json.loads((dataset / "meta/info.json").read_text())
    rows = pq.read_table(dataset / "meta/episodes/chunk-000/file-000.parquet").to_pylist()
    assert info["codebase_version"] == "v3.0"
    assert [row["episode_index"] for row in rows] == [0, 1, 2]
    for row, episode in zip(rows, raw, strict=True):
        where = {"chunk_index": row["data/chunk_index"], "file_index": row["data/file_index"]}
        table = pq.read_table(dataset / info["data_path"].format(**where))
        assert table["index"].to_pylist() == list(range(row["dataset_from_index"], row["dataset_to_index"]))
        assert row["tasks"] == [episode["instruction"]]
        state = np.column_stack([episode["joint_positions"], episode["gripper"]])
        assert np.array_equal(np.array(table["observation.state"].to_pylist(), dtype=np.float32), state)
        assert np.array_equal(np.array(table["action"].to_pylist(), dtype=np.float32), episode["actions"])
        key = "observation.images.left_top"
        where = {"chunk_index": row[f"videos/{key}/chunk_index"], "file_index": row[f"videos/{key}/file_index"]}
        with av.open(str(dataset / info["video_path"].format(video_key=key, **where))) as film:
            assert sum(1 for _ in film.decode(video=0)) == episode["length"]
        assert row[f"videos/{key}/from_timestamp"] == 0.0
        assert row[f"videos/{key}/to_timestamp"] == pytest.approx(episode["length"] / 15)


def test_tasks_are_indexed_by_their_words(dataset: Path, raw: list[dict[str, Any]]) -> None:
    table = pq.read_table(dataset / "meta/tasks.parquet")
    described = json.loads(table.schema.metadata[b"pandas"])
    (index,) = described["index_columns"]
    instructions = list(dict.fromkeys(episode["instruction"] for episode in raw))
    assert table[index].to_pylist() == instructions
    assert table["task_index"].to_pylist() == list(range(len(instructions)))


def test_statistics_are_over_all_frames(dataset: Path, raw: list[dict[str, Any]]) -> None:
    stats = json.loads((dataset / "meta/stats.json").read_text())
    actions = np.concatenate([episode["actions"] for episode in raw]).astype(np.float64)
    assert np.allclose(stats["action"]["mean"], actions.mean(axis=0))
    assert np.allclose(stats["action"]["std"], actions.std(axis=0))
    assert np.allclose(stats["action"]["q99"], np.quantile(actions, 0.99, axis=0))
    assert stats["action"]["count"] == [len(actions)]
    pictures = np.concatenate([episode["pictures.wrist"] for episode in raw]) / 255.0
    wrist = stats["observation.images.wrist"]
    assert np.allclose(np.ravel(wrist["mean"]), pictures.mean(axis=(0, 1, 2)))
    assert np.allclose(np.ravel(wrist["std"]), pictures.std(axis=(0, 1, 2)))
    quantiles = np.quantile(pictures.reshape(-1, 3), 0.9, axis=0)
    assert np.abs(np.ravel(wrist["q90"]) - quantiles).max() <= 1 / 255 + 1e-9
