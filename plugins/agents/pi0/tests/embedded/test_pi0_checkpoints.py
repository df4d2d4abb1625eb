"""Checkpoints that are none, for the card, a run and the server alike: one line, and nothing large is made."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="the embedded policy needs PyTorch, not installed here")
pytest.importorskip("safetensors", reason="checkpoints need safetensors, not installed here")

import torch
from safetensors import safe_open
from safetensors.torch import save_file

from rbench.errors import StartError
from rbench_agent_pi0.cli import main
from rbench_agent_pi0.embedded.checkpoint import read_checkpoint
from rbench_agent_pi0.embedded.policy import checkpoint_path


@pytest.fixture
def changed(tmp_path: Path) -> Callable[..., Path]:
    """Writes the shipped checkpoint with another head or other weights."""

    def write(path: str = "", value: Any = ..., weights: Callable[[Any], Any] = lambda found: found) -> Path:
        with safe_open(checkpoint_path("hue"), framework="pt") as file:
            head = json.loads(file.metadata()["rbench-pi0"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - no mapping
        *parents, last = path.split(".") if path else [""]
        place = head
        for name in parents:
            place = place[int(name) if name.isdecimal() else name]
        if last and value is ...:
            del place[last]
        elif last:
            place[int(last) if last.isdecimal() else last] = value
        target = tmp_path / "changed.safetensors"
        save_file(weights(tensors), target, {"rbench-pi0": json.dumps(head)})
        return target

    return write


def refused(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line with which a run and a card refuse it."""
    with pytest.raises(StartError) as problem:
        read_checkpoint(path)
    assert main(["card", str(path)]) == 3
    assert capsys.readouterr().err == f"error: {problem.value}\n"
    return str(problem.value)


def test_unchanged_it_is_one(changed: Callable[..., Path]) -> None:
    assert read_checkpoint(changed())[1].name == "hue"


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("design.heads", 0, "its heads is 0"),
        ("design.width", 0, "its width is 0"),
        ("design.width", 10**9, "its width is 1000000000"),
        ("design.width", 130, "width of 130"),
        ("design.layers", 100_000, "its layers is 100000"),
        ("design.longest", -1, "its longest is -1"),
        ("design.picture", -5, "its picture is -5"),
        ("design.steps", 0, "its steps is 0"),
        ("design.chunk", 10**6, "its chunk is 1000000"),
        ("design.rate", 5, "follow each other at 5 Hz, and the agent acts at 15"),
        ("design.eyes", [], "looks at no camera"),
        ("design.eyes.0.crop", [0.5, 0.0, 0.2, 1.0], "which is no part of a picture"),
        ("design.eyes.0.crop", [float("nan"), 0.0, 1.0, 1.0], "which is no part of a picture"),
        ("design.eyes.0.size", 50, "no multiple of 16"),
        ("design.eyes.1.camera", "left_top", "at one twice"),
        ("scales.action_std.0", 0.0, "not above 0"),
        ("scales.state_std.0", float("inf"), "not above 0"),
        ("scales.state_mean.0", float("nan"), "not finite"),
        ("scales.state_mean", [0.0], "are of (1, 8, 7) numbers"),
        ("schema", 2, "it is of schema 2"),
        ("name", "a\nb|c", "its name is none"),
        ("name", "", "its name is none"),
        ("training", {}, "recipe"),
        ("training.recipe.rate", None, "rate"),
        ("training.recipe.augmentation.blind", None, "blind"),
        ("training.recipe.augmentation.hue", 1e999, "hue"),
        ("training.data.demonstrations", "many", "demonstrations"),
        ("training.data", ..., "data"),
        ("training.curve", {"a": 1}, "curve"),
        ("training.curve.0.loss", None, "loss"),
        ("training.device", "cpu; reboot", "device"),
    ],
)
def test_a_head_that_cannot_be_used_says_what_is_wrong(
    changed: Callable[..., Path], path: str, value: Any, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = refused(changed(path, value), capsys)
    assert "its head is not as rbench-pi0 writes it" in said
    assert words in said


@pytest.mark.parametrize(
    "weights",
    [
        lambda found: {name: value for name, value in found.items() if name != "norm.bias"},
        lambda found: {**found, "more": torch.zeros(1)},
        lambda found: {**found, "norm.bias": torch.zeros(3)},
        lambda found: {**found, "norm.bias": torch.full_like(found["norm.bias"], float("nan"))},
    ],
    ids=["missing", "more", "shape", "nan"],
)
def test_weights_that_cannot_be_used_have_no_card_either(
    changed: Callable[..., Path], weights: Callable[[Any], Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert "is no checkpoint of the embedded policy" in refused(changed(weights=weights), capsys)


def test_what_is_no_file_says_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, words in (
        ("missing", "no such file; give hue, plain or the path"),
        ("", "is a folder; give the file in it"),
        ("fifo", "is no ordinary file"),
        ("loop", "cannot be read"),
        ("x" * 300, "cannot be read (File name too long)"),
    ):
        assert words in refused(tmp_path / name, capsys)
    assert "is no ordinary file" in refused(Path("/dev/null"), capsys)


def test_a_path_may_begin_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert checkpoint_path("~/mine.safetensors") == tmp_path / "mine.safetensors"


def test_a_head_nested_without_end_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "deep.safetensors"
    save_file({"a": torch.zeros(1)}, path, {"rbench-pi0": "[" * 50_000})
    assert "deep inside one another" in refused(path, capsys)
