"""The folder of a training: what it lacks is written again, and nothing finished is ever lost in it."""

# ruff: noqa: E402 - what follows the first line of code needs PyTorch

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the embedded policy needs PyTorch, not installed here")
pytest.importorskip("safetensors", reason="checkpoints need safetensors, not installed here")

from safetensors import safe_open
from safetensors.torch import load_file, save_file

from rbench.errors import RbenchError, StartError, UsageError
from rbench.results import atomic
from rbench.results.lock import WriterLock
from rbench_agent_pi0.embedded import training as module
from rbench_agent_pi0.embedded.checkpoint import read_checkpoint

Make = Callable[..., Any]
FILES = ("policy.safetensors", "state.safetensors", "training.json")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def finished(training: Make, kept: Path, tmp_path: Path) -> Path:
    """A folder with a training of four steps."""
    if not (kept / "done").exists():
        training(kept / "done", steps=4, every=2).run()
    shutil.copytree(kept / "done", tmp_path / "done")
    return tmp_path / "done"


def again(training: Make, folder: Path, **changes: Any) -> tuple[list[Any], list[str]]:
    """The same training in the same folder: its new points, and what it notes of files."""
    points: list[Any] = []
    notes: list[str] = []
    training(folder, **{"steps": 4, "every": 2, **changes}).run(points.append, notes.append)
    return points, [note for note in notes if str(folder) in note]


def change_state(folder: Path, change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> None:
    """Write the state again, with its tensors and what it says of itself changed."""
    path = folder / "state.safetensors"
    with safe_open(path, framework="pt") as opened:
        said = json.loads(opened.metadata()["training"])
    tensors = load_file(path)
    changed = change(tensors, said)
    said = changed if isinstance(changed, (str, dict)) else said
    save_file(tensors, path, {"training": said if isinstance(said, str) else json.dumps(said)})


def test_a_finished_training_is_left_as_it_is(training: Make, finished: Path) -> None:
    before = [(finished / name).read_bytes() for name in FILES]
    assert again(training, finished) == ([], [])
    assert [(finished / name).read_bytes() for name in FILES] == before


@pytest.mark.parametrize(("done", "said"), [(4, "is finished already"), (2, "goes on after step 2")])
def test_a_training_says_where_it_stands(done: int, said: str, training: Make, tmp_path: Path) -> None:
    def stop(point: Any) -> None:
        if point.step == done:
            raise KeyboardInterrupt

    notes: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        training(tmp_path, steps=4, every=2).run(stop, notes.append)
    assert notes == []
    training(tmp_path, steps=4, every=2).run(note=notes.append)
    assert [said in note for note in notes] == [True]


def no_policy(folder: Path) -> None:
    (folder / "policy.safetensors").unlink()


def half_a_policy(folder: Path) -> None:
    (folder / "policy.safetensors").write_bytes((folder / "policy.safetensors").read_bytes()[:1000])


def other_weights(folder: Path) -> None:
    path = folder / "policy.safetensors"
    with safe_open(path, framework="pt") as opened:
        head = opened.metadata()
    save_file({name: value + 0.25 for name, value in load_file(path).items()}, path, head)


def nothing_said(folder: Path) -> None:
    (folder / "training.json").unlink()


def something_else_said(folder: Path) -> None:
    (folder / "training.json").write_bytes(b"\xff{}")


@pytest.mark.parametrize("harm", [no_policy, half_a_policy, other_weights, nothing_said, something_else_said])
def test_what_a_finished_training_lacks_is_written_again_and_said(
    harm: Callable[[Path], None], training: Make, finished: Path
) -> None:
    before = [(finished / name).read_bytes() for name in FILES]
    harm(finished)
    points, notes = again(training, finished)
    assert points == []
    assert len(notes) == 1
    assert "written again" in notes[0]
    assert [(finished / name).read_bytes() for name in FILES] == before


def test_a_checkpoint_of_an_earlier_step_is_replaced_by_that_of_the_state(training: Make, tmp_path: Path) -> None:
    def stop(point: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training(tmp_path, steps=4, every=2).run(stop)
    early = (tmp_path / "policy.safetensors").read_bytes()
    again(training, tmp_path)
    (tmp_path / "policy.safetensors").write_bytes(early)
    assert len(again(training, tmp_path)[1]) == 1
    assert [point["step"] for point in read_checkpoint(tmp_path / "policy.safetensors")[1].training["curve"]] == [2, 4]


@pytest.mark.parametrize("written", [0, 1, 2])
def test_after_a_full_disk_the_same_command_goes_on(
    written: int, training: Make, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = [written]

    def fsync(descriptor: int) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(atomic.os, "fsync", fsync)
        with pytest.raises(StartError, match=r"No space left on device.*; free space .* the same command goes on") as e:
            again(training, tmp_path / "full")
    assert "another folder" not in str(e.value)
    again(training, tmp_path / "full")
    weights = [
        read_checkpoint(folder / "policy.safetensors")[0].state_dict() for folder in (finished, tmp_path / "full")
    ]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_training_that_diverges_stops_and_keeps_its_last_good_point(
    training: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    share = module._share_of_rate
    monkeypatch.setattr(module, "_share_of_rate", lambda step, recipe: 1e30 if step >= 2 else share(step, recipe))
    for _ in range(2):  # the same command again does not take it for finished either
        with pytest.raises(StartError, match=r"diverged: .* holds step 2"):
            again(training, tmp_path, steps=8)
    assert json.loads((tmp_path / "training.json").read_text())["step"] == 2
    read_checkpoint(tmp_path / "policy.safetensors")
    assert all(bool(value.isfinite().all()) for value in load_file(tmp_path / "state.safetensors").values())


@pytest.mark.parametrize("what", ["_held_out", "_one_step"])
def test_a_loss_that_is_no_number_stops_a_training(
    what: str, training: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module.Training, what, lambda self: float("nan"))
    with pytest.raises(StartError, match=r"diverged: the (held-out )?loss is nan .* holds step 0"):
        again(training, tmp_path)
    assert not (tmp_path / "state.safetensors").exists()


def test_weights_that_half_precision_cannot_hold_stop_a_training(training: Make, tmp_path: Path) -> None:
    run = training(tmp_path, steps=1, every=1)
    run._average["state.bias"][0] = 1e6
    with pytest.raises(StartError, match="diverged: a number in average"):
        run.run()


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors, said: tensors.clear(),
        lambda tensors, said: tensors.pop("network.state.bias"),
        lambda tensors, said: tensors.pop("exp_avg_sq.0"),
        lambda tensors, said: tensors.update({"average.state.bias": torch.zeros(3)}),
        lambda tensors, said: tensors.update({"average.state.bias": torch.zeros(32, dtype=torch.float16)}),
        lambda tensors, said: tensors["exp_avg.0"].fill_(float("nan")),
        lambda tensors, said: "",
        lambda tensors, said: "[]",
        lambda tensors, said: "[" * 100_000,
        lambda tensors, said: {"recipe": {}},
        lambda tensors, said: {name: value for name, value in said.items() if name != "step"},
        lambda tensors, said: {**said, "step": "x"},
        lambda tensors, said: {**said, "step": -4},
        lambda tensors, said: {**said, "step": 3},
        lambda tensors, said: {**said, "step": 9, "curve": [*said["curve"], {**said["curve"][1], "step": 9}]},
        lambda tensors, said: {**said, "curve": []},
        lambda tensors, said: {**said, "curve": [{"step": 4}]},
        lambda tensors, said: {**said, "curve": said["curve"][::-1], "step": 2},
        lambda tensors, said: {**said, "curve": [{**said["curve"][1], "loss": float("nan")}]},
        lambda tensors, said: {**said, "curve": [{**said["curve"][1], "loss": 10**400}]},
    ],
)
def test_a_damaged_state_is_not_gone_on_with(change: Any, training: Make, finished: Path) -> None:
    change_state(finished, change)
    policy = (finished / "policy.safetensors").read_bytes()
    with pytest.raises(UsageError, match=r"state\.safetensors is damaged \(.*\); give another folder, or begin again"):
        again(training, finished)
    assert (finished / "policy.safetensors").read_bytes() == policy


@pytest.mark.parametrize("content", [None, b"", b"\xff" * 64])
def test_what_is_no_state_is_damaged(content: bytes | None, training: Make, finished: Path) -> None:
    (finished / "state.safetensors").unlink()
    if content is None:
        (finished / "state.safetensors").mkdir()
    else:
        (finished / "state.safetensors").write_bytes(content)
    with pytest.raises(UsageError, match="is damaged"):
        again(training, finished)


@pytest.mark.parametrize("state", [True, False])
@pytest.mark.parametrize("name", ["name", "recipe", "data", "threads", "device"])
def test_another_training_is_refused_and_named(name: str, state: bool, training: Make, finished: Path) -> None:
    if not state:
        (finished / "state.safetensors").unlink()
    before = (finished / "policy.safetensors").read_bytes()
    run = training(finished, steps=4, every=2, seed=7 if name == "recipe" else 0)
    changed = {"name": "other", "threads": 2, "device": "cuda", "data": run._data}
    if name == "data":
        run._data = module.Dataset(run._data.samples, run._data.design, run._data.scales, {"content": "other"})
    elif name != "recipe":
        setattr(run, f"_{name}", changed[name])
    with pytest.raises(
        UsageError, match=f"holds the training 'tiny', which differs in its {name}; give another folder"
    ):
        run.run()
    assert (finished / "policy.safetensors").read_bytes() == before


def test_a_state_of_before_name_threads_and_device_were_kept_goes_on(training: Make, finished: Path) -> None:
    dropped = ("name", "threads", "device")
    change_state(finished, lambda tensors, said: {key: said[key] for key in said if key not in dropped})
    assert again(training, finished) == ([], [])


def test_a_finished_training_needs_its_state_no_more(training: Make, finished: Path) -> None:
    (finished / "state.safetensors").unlink()
    (finished / "training.json").unlink()
    before = (finished / "policy.safetensors").read_bytes()
    points, notes = again(training, finished)
    assert (points, len(notes)) == ([], 1)
    assert (finished / "policy.safetensors").read_bytes() == before
    assert json.loads((finished / "training.json").read_text())["step"] == 4


def test_a_checkpoint_that_is_not_finished_is_not_begun_anew_without_a_word(training: Make, finished: Path) -> None:
    def stop(point: Any) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training(finished / "cut", steps=4, every=2).run(stop)
    (finished / "cut" / "state.safetensors").unlink()
    with pytest.raises(UsageError, match=r"holds step 2 .* begin again without policy\.safetensors"):
        again(training, finished / "cut")


def test_a_checkpoint_that_tells_of_no_training_is_not_overwritten(training: Make, tmp_path: Path) -> None:
    (tmp_path / "policy.safetensors").write_bytes(b"somebody's")
    with pytest.raises(UsageError, match="tells of no training; give another folder"):
        again(training, tmp_path)
    assert (tmp_path / "policy.safetensors").read_bytes() == b"somebody's"


def test_a_folder_is_trained_in_by_one_process(training: Make, finished: Path) -> None:
    lock = WriterLock(finished / "training.lock")
    assert lock.acquire()
    with pytest.raises(StartError, match=f"is being trained in by process {os.getpid()}; wait for its end"):
        again(training, finished)
    lock.release()
    again(training, finished)


def test_what_a_killed_training_left_half_written_is_removed(training: Make, finished: Path) -> None:
    for name in (".state.safetensors.0123abcd.part", ".policy.safetensors.0123abcd.part", ".other.0123abcd.part"):
        (finished / name).write_bytes(b"x")
    again(training, finished)
    assert sorted(path.name for path in finished.iterdir() if path.name.startswith(".")) == [".other.0123abcd.part"]


@pytest.mark.parametrize(("place", "said"), [("file", "is no folder; give another one"), ("file/in", "another folder")])
def test_a_folder_that_cannot_be_written_is_refused_before_the_first_step(
    place: str, said: str, training: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("mine")
    monkeypatch.setattr(module.Training, "_one_step", lambda self: pytest.fail("it trained"))
    with pytest.raises(RbenchError, match=said) as caught:
        again(training, tmp_path / place)
    assert "the same command" not in str(caught.value)
    assert (tmp_path / "file").read_text() == "mine"


def test_threads_and_device_are_kept_in_the_checkpoint(training: Make, finished: Path) -> None:
    said = read_checkpoint(finished / "policy.safetensors")[1].training
    assert (said["threads"], said["device"]) == (1, "cpu")
