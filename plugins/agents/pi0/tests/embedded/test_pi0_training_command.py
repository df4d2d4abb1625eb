"""What the command `train` is given: bad values cost one line, and no training."""

# ruff: noqa: E402 - what follows the first line of code needs PyTorch

from __future__ import annotations

from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="the embedded policy needs PyTorch, not installed here")
pytest.importorskip("safetensors", reason="checkpoints need safetensors, not installed here")

from rbench.errors import StartError, UsageError
from rbench_agent_pi0.cli import main
from rbench_agent_pi0.embedded import machine
from rbench_agent_pi0.embedded.curve import draw_curve
from rbench_agent_pi0.embedded.training import Training

CURVE = [
    {"step": 1, "seconds": 1.0, "loss": 1.0, "held_out": 2.0},
    {"step": 2, "seconds": 2.0, "loss": 0.5, "held_out": 1},
]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--seed", "99999999999999999999999"], 2, "--seed"),
        (["--threads", "100000"], 2, "--threads"),
        (["--batch", "100000000000"], 2, "--batch"),
        (["--name", ""], 2, "1 to 60 letters, digits"),
        (["--name", "a|b"], 2, "1 to 60 letters, digits"),
        (["--name", "a b"], 2, "1 to 60 letters, digits"),
        (["--name", "a\n"], 2, "1 to 60 letters, digits"),
        (["--name", "x" * 61], 2, "1 to 60 letters, digits"),
        (["--device", "cuda"], 3, "--device cuda: PyTorch finds no GPU"),
    ],
)
def test_a_value_that_cannot_be_is_refused_in_one_line(
    words: list[str],
    code: int,
    said: str,
    demonstrations: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main(["train", str(demonstrations), "-o", str(tmp_path / "out"), "--steps", "1", *words]) == code
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_device_is_a_gpu_only_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for there in (True, False):
        monkeypatch.setattr(torch.cuda, "is_available", lambda there=there: there)
        assert (machine.device_of("auto"), machine.device_of("cpu")) == ("cuda" if there else "cpu", "cpu")


@pytest.mark.parametrize(
    "problem",
    [
        MemoryError("Unable to allocate 9 TiB"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory"),
        RuntimeError("CUDA out of memory. Tried to allocate 9.00 GiB"),
    ],
)
def test_a_lack_of_memory_says_what_to_make_smaller(
    problem: Exception,
    demonstrations: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(self: Training) -> float:
        raise problem

    monkeypatch.setattr(Training, "_one_step", fails)
    assert main(["train", str(demonstrations), "-o", str(tmp_path / "out"), "--device", "cpu"]) == 3
    assert "give a smaller --batch" in capsys.readouterr().err


def test_another_failure_is_not_taken_for_a_lack_of_memory() -> None:
    with pytest.raises(RuntimeError, match="shapes"), machine.enough_memory():
        raise RuntimeError("shapes do not fit")


@pytest.mark.parametrize("name", ["c.txt", "c", "c.png.gz"])
def test_a_curve_is_drawn_into_pictures_only(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no curve can be drawn .*; give one of \.png"):
        draw_curve(CURVE, "x", tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "begin"), [("c.png", b"\x89PNG"), ("c.PDF", b"%PDF"), ("c.svg", b"<?xml")])
def test_a_curve_is_drawn_as_the_ending_says(name: str, begin: bytes, tmp_path: Path) -> None:
    draw_curve(CURVE, "x", tmp_path / name)
    assert (tmp_path / name).read_bytes().startswith(begin)


def test_a_curve_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="the curve cannot be written"):
        draw_curve(CURVE, "x", tmp_path / "none" / "c.png")


def test_a_checkpoint_without_a_curve_has_none_to_draw(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="has no curve"):
        draw_curve([], "x", tmp_path / "c.png")
