"""Demonstrations that are damaged, or of something else than the policy can be trained on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the embedded policy needs PyTorch, not installed here")
pytest.importorskip("safetensors", reason="checkpoints need safetensors, not installed here")

from rbench.errors import UsageError
from rbench_agent_pi0.embedded.demonstrations import read_dataset
from rbench_agent_pi0.embedded.design import Design, Eye

Spoil = Callable[[Path], None]


@pytest.fixture
def spoilt(demonstrations: Path, tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    return Path(shutil.copytree(demonstrations, tmp_path / "copy"))


def read(root: Path) -> Any:
    eyes = tuple(Eye(camera, (0.0, 0.0, 1.0, 1.0), 32) for camera in ("left_top", "wrist"))
    return read_dataset(root, Design(eyes=eyes, width=32, layers=1, chunk=4))


def head(root: Path, **changes: Any) -> None:
    file = root / "dataset.json"
    found = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({key: value for key, value in found.items() if value is not ...}))


def line(root: Path, **changes: Any) -> None:
    file = root / "episodes.jsonl"
    first, *others = file.read_text().splitlines()
    file.write_text("\n".join([json.dumps(json.loads(first) | changes), *others]))


def array(root: Path, name: str, change: Callable[[Any], Any]) -> None:
    file = root / "episodes" / "000003" / f"{name}.npy"
    np.save(file, change(np.load(file)))


def put(place: Any, value: float) -> Callable[[Any], Any]:
    def change(found: Any) -> Any:
        found = found.astype(np.float64)
        found[place] = value
        return found

    return change


def test_as_they_were_collected_they_are_read(spoilt: Path) -> None:
    assert read(spoilt).about["demonstrations"] == 12


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda root: (root / "dataset.json").write_text("[]"), "holds no raw demonstrations"),
        (lambda root: head(root, schema=99), "is of schema 99 and not 1"),
        (lambda root: head(root, cameras=...), "no pictures of camera 'left_top'"),
        (lambda root: head(root, cameras=None), "no pictures of camera 'left_top'"),
        (lambda root: head(root, rate=5), "collected at 5 Hz, and the agent acts at 15; collect with --rate 15"),
        (lambda root: head(root, rate=0), "collected at 0 Hz"),
        (lambda root: head(root, rate=float("inf")), "collected at inf Hz"),
        (lambda root: head(root, seed="x"), "lacks suite, agent or seed"),
        (lambda root: (root / "episodes.jsonl").write_text("{\n"), "episodes.jsonl is damaged"),
        (lambda root: line(root, instruction=None), "line 1: no folder inside"),
        (lambda root: line(root, folder="../../elsewhere"), "line 1: no folder inside"),
        (lambda root: line(root, folder="a\0b"), "line 1: no folder inside"),
        (lambda root: (root / "episodes.jsonl").write_text("7\n8\n"), "line 1: no folder inside"),
    ],
)
def test_a_list_that_is_not_as_collected_is_refused(spoilt: Path, spoil: Spoil, words: str) -> None:
    spoil(spoilt)
    with pytest.raises(UsageError) as refused:
        read(spoilt)
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("pictures.wrist", lambda found: found[:10], "has 10 pictures, and joint_positions has 24 rows"),
        ("pictures.left_top", lambda found: found / 255.0, "is float64 of shape"),
        ("pictures.wrist", lambda found: found[:, :16, :16], "16 x 16 pixels and not 32 x 32 as those before"),
        ("pictures.wrist", lambda found: found[:, :16], "16 x 32 pixels"),
        ("pictures.wrist", lambda found: found[:, :0], "not uint8 of (n, side, side, 3)"),
        ("joint_positions", lambda found: found[:0], "floating point of (n, 7)"),
        ("joint_positions", put((3, 2), 1e200), "no robot has"),
        ("joint_positions", lambda found: found.astype(int), "floating point"),
        ("actions", lambda found: np.concatenate([found, found]), "has 48 rows, and joint_positions has 24"),
        ("actions", put((0, 1), float("nan")), "no robot has"),
        ("actions", put((0, 7), float("nan")), "no robot has"),
        ("actions", put((0, 7), 1e30), "no robot has"),
        ("actions", put((0, 7), 2.0), "grippers outside 0 open .. 1 closed"),
        ("gripper", put((0,), -3.0), "no robot has"),
        ("gripper", lambda found: found[:, None], "floating point of (n)"),
    ],
)
def test_an_array_that_is_not_as_collected_is_refused_by_its_name(
    spoilt: Path, name: str, change: Callable[[Any], Any], words: str
) -> None:
    array(spoilt, name, change)
    with pytest.raises(UsageError) as refused:
        read(spoilt)
    assert f"000003/{name}.npy" in str(refused.value)
    assert words in str(refused.value)


@pytest.mark.parametrize("content", [b"", b"no array", None])
def test_a_file_that_is_no_array_is_refused_by_its_name(spoilt: Path, content: bytes | None) -> None:
    file = spoilt / "episodes" / "000005" / "actions.npy"
    if content is None:
        np.save(file, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    else:
        file.write_bytes(content)
    with pytest.raises(UsageError, match=r"000005/actions.npy cannot be read"):
        read(spoilt)
