"""Training in seconds: it learns, it is seeded, and it goes on where it was interrupted."""

# ruff: noqa: E402 - what follows the first line of code needs PyTorch

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the embedded policy needs PyTorch, not installed here")
pytest.importorskip("safetensors", reason="checkpoints need safetensors, not installed here")

from rbench.errors import StartError
from rbench_agent_pi0.cli import main
from rbench_agent_pi0.embedded.augmentation import Augmentation, augmented
from rbench_agent_pi0.embedded.checkpoint import read_checkpoint, write_checkpoint
from rbench_agent_pi0.embedded.policy import EmbeddedPolicy

Make = Callable[..., Any]


def actions_of(path: Path, asked: dict[str, Any]) -> np.ndarray:
    policy = EmbeddedPolicy(str(path))
    policy.reset(np.random.default_rng(0))
    return np.asarray(policy.infer(asked)["actions"])


def losses(training: Any) -> list[float]:
    return [point.loss for point in training.curve]


def test_a_short_training_lowers_the_loss_and_changes_the_actions(training: Make, asked: Make, tmp_path: Path) -> None:
    training(tmp_path / "one", steps=1, every=1).run()
    longer = training(tmp_path / "many", steps=120)
    longer.run()
    held_out = [point.held_out for point in longer.curve]
    assert losses(longer)[-1] < 0.6 * losses(longer)[0]
    assert held_out[-1] < 0.6 * held_out[0]
    before, after = (actions_of(tmp_path / n / "policy.safetensors", asked(side=32)) for n in ("one", "many"))
    assert np.abs(before - after).max() > 0.01


def test_the_same_recipe_gives_the_same_curve_and_another_seed_another_one(training: Make, tmp_path: Path) -> None:
    curves = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        run = training(tmp_path / name, steps=10, every=5, seed=seed)
        run.run()
        curves.append([(point.loss, point.held_out) for point in run.curve])
    assert curves[0] == curves[1] != curves[2]


def test_an_interrupted_training_ends_as_one_that_was_not(training: Make, tmp_path: Path) -> None:
    def stop(point: Any) -> None:
        if point.step == 10:
            raise KeyboardInterrupt

    whole = training(tmp_path / "whole", steps=20, every=5)
    whole.run()
    with pytest.raises(KeyboardInterrupt):
        training(tmp_path / "cut", steps=20, every=5).run(stop)
    rest = training(tmp_path / "cut", steps=20, every=5)
    gone_on = []
    rest.run(lambda point: gone_on.append(point.step))
    assert gone_on == [15, 20]
    weights = [read_checkpoint(tmp_path / name / "policy.safetensors")[0].state_dict() for name in ("whole", "cut")]
    assert losses(rest) == losses(whole)
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_what_is_held_out_is_never_drawn(training: Make, tmp_path: Path) -> None:
    run = training(tmp_path)
    held_out = np.flatnonzero(run._data.samples.held_out)
    assert len(held_out) == 24
    assert not set(held_out) & set(run._training_rows)


def test_colours_stay_as_they_are_unless_they_are_to_be_turned() -> None:
    pictures = [np.full((8, 16, 16, 3), (255, 0, 0), dtype=np.uint8)]
    still, turned = (
        augmented(pictures, ["left_top"], Augmentation(hue=hue, blind=0.0), np.random.default_rng(1))[0]
        for hue in (0.0, 75.0)
    )
    assert torch.equal(still, torch.tensor([1.0, -1.0, -1.0])[None, :, None, None].expand_as(still))
    assert len(torch.unique(turned[:, :, 0, 0], dim=0)) == 8


def test_both_pictures_are_turned_together() -> None:
    pictures = [np.full((8, 16, 16, 3), (200, 80, 40), dtype=np.uint8)] * 2
    how = Augmentation(hue=75.0, saturation=0.4, blind=0.0)
    first, second = augmented(pictures, ["left_top", "wrist"], how, np.random.default_rng(1))
    assert torch.equal(first, second)


def test_only_the_wrist_is_blinded_and_only_its_share() -> None:
    pictures = [np.full((400, 16, 16, 3), 250, dtype=np.uint8)] * 2
    rng = np.random.default_rng(1)
    exterior, wrist = augmented(pictures, ["left_top", "wrist"], Augmentation(blind=0.25), rng)
    assert (exterior != 0.0).all()
    assert 0.18 < float((wrist[:, 0, 0, 0] == 0.0).float().mean()) < 0.32


def test_the_command_trains_draws_and_tells_what_it_made(
    demonstrations: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["train", str(demonstrations), "-o", str(tmp_path / "out"), "--steps", "2", "--batch", "4", "--every", "1"]
    assert main([*words, "--name", "small", "--device", "cpu", "--hue", "0"]) == 0
    assert (tmp_path / "out" / "curve.png").read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()
    assert main(["card", str(tmp_path / "out" / "policy.safetensors")]) == 0
    card = capsys.readouterr().out
    assert "rbench-pi0 small" in card
    assert "--steps 2 --batch 4 --seed 0" in card
    assert "hue 0" in card


def test_a_training_on_the_first_demonstrations_reads_no_others_and_its_card_says_so(
    demonstrations: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(demonstrations, tmp_path / "demos")
    (tmp_path / "demos" / "episodes" / "000005" / "actions.npy").unlink()
    words = ["train", str(tmp_path / "demos"), "-o", str(tmp_path / "out"), "--steps", "1", "--batch", "4"]
    assert main([*words, "--demonstrations", "6"]) == 2
    assert main([*words, "--demonstrations", "5"]) == 0
    said = json.loads((tmp_path / "out" / "training.json").read_text())
    assert (said["data"]["demonstrations"], said["data"]["frames"]) == (5, 5 * 24)
    assert main([*words, "--demonstrations", "4"]) == 2
    assert "differs in its data; give another folder" in capsys.readouterr().err
    assert main(["card", str(tmp_path / "out" / "policy.safetensors")]) == 0
    assert "--demonstrations 5" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "holds no raw demonstrations"),
        ("{", "holds no raw demonstrations"),
        ('{"format": "lerobot"}', "collect with --format raw"),
        ('{"format": "rbench-raw", "schema": 1, "rate": 15, "cameras": ["wrist"]}', "no pictures of camera 'left_top'"),
    ],
)
def test_what_is_no_folder_of_demonstrations_is_refused_in_one_line(
    content: str | None, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "dataset.json").write_text(content)
    assert main(["train", str(tmp_path), "-o", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("episodes.jsonl", b"{\n"),
        ("episodes.jsonl", b'{"instruction": "x"}\n{"instruction": "y"}\n'),
        ("episodes/000001/actions.npy", b""),
        ("episodes/000001/pictures.wrist.npy", b"\x93NUMPY"),
    ],
)
def test_damaged_demonstrations_are_refused_in_one_line(
    name: str, content: bytes, demonstrations: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(demonstrations, tmp_path / "demos")
    (tmp_path / "demos" / name).write_bytes(content)
    assert main(["train", str(tmp_path / "demos"), "-o", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert name in error
    assert "collect the demonstrations again" in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"PK", b"\xff" * 64, b"\x02\x00\x00\x00\x00\x00\x00\x00{}"])
def test_a_file_that_is_no_checkpoint_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(StartError, match="is no checkpoint of the embedded policy"):
        EmbeddedPolicy(str(tmp_path / "x.safetensors"))


def test_weights_that_are_not_numbers_are_refused(training: Make, tmp_path: Path) -> None:
    training(tmp_path, steps=1, every=1).run()
    path = tmp_path / "policy.safetensors"
    weights = read_checkpoint(path)[0].state_dict()
    weights["state.bias"] = torch.full_like(weights["state.bias"], float("nan"))
    write_checkpoint(path, weights, read_checkpoint(path)[1])
    with pytest.raises(StartError, match="NaN or infinite"):
        EmbeddedPolicy(str(path))


def test_the_folder_says_what_was_done(training: Make, tmp_path: Path) -> None:
    training(tmp_path, steps=4, every=2).run()
    said = json.loads((tmp_path / "training.json").read_text())
    assert (said["step"], [point["step"] for point in said["curve"]]) == (4, [2, 4])
    assert said["data"]["suite"] == "made-up"
