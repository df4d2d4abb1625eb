"""Collecting demonstrations: what varies, what is kept, and going on after any end."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbench.action import JointPositions
from rbench.cli import main
from rbench.collecting.api import collect
from rbench.collecting.collection import Collection, Place, read_collection
from rbench.errors import StoppedEarly, UsageError
from rbench.plugins.catalog import Catalog
from rbench.results.run_directory import RunDirectory
from rbench.running.description import Part
from rbench.running.executors import Execution
from rbench.running.replay import Replayer
from rbench.running.worker import build_world
from rbench.scene import Jitter, jittered
from rbench.suites.loading import load_suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.tasks.monitor import TaskMonitor

pytestmark = pytest.mark.gl
SERIAL = Execution("serial")
Collected = Callable[..., tuple[Path, Collection]]


def contents(path: Path) -> dict[str, bytes]:
    """Every file of the data set itself, without how it came to be."""
    files = [item for item in path.rglob("*") if item.is_file() and "collection" not in item.relative_to(path).parts]
    return {str(item.relative_to(path)): item.read_bytes() for item in files}


def test_only_contexts_and_jitter_vary(collected: Collected, lines_of: Callable[..., Any]) -> None:
    path, _ = collected(episodes=5, form="raw", cameras=("wrist",), height=8, width=8, agent=Part("servo"))
    episodes = lines_of(path / "episodes.jsonl")
    assert len({episode["context"] for episode in episodes}) == 4
    assert len({str(episode["jitter"]) for episode in episodes}) == 5
    assert {episode["levels"]["color"] for episode in episodes} == {"red"}
    assert {episode["levels"]["camera-pose"] for episode in episodes} == {"default"}


def test_the_collecting_suite_is_the_suite_but_for_its_name_contexts_and_jitter(
    collected: Collected, catalog: Catalog, small: Collection
) -> None:
    path, _ = collected()
    suite, run = load_suite(catalog, small.suite), load_suite(catalog, str(Place(path).suite))
    assert run.name == "small-demonstrations"
    assert (run.tasks, run.scenes, run.render) == (suite.tasks, suite.scenes, suite.render)
    assert len(run.contexts) == 4
    assert (run.protocol.jitter_xy, run.protocol.jitter_yaw) == (0.005, 10.0)


def test_the_jitter_can_be_made_wider(collected: Collected, lines_of: Callable[..., Any]) -> None:
    path, _ = collected(episodes=2, cameras=("wrist",), height=8, width=8, agent=Part("servo"), jitter_yaw=45.0)
    yaws = [abs(episode["jitter"]["geometry"]["yaw"]) for episode in lines_of(path / "episodes.jsonl")]
    assert max(yaws) > 10.0


def test_what_is_read_back_is_what_the_run_recorded(collected: Collected, lines_of: Callable[..., Any]) -> None:
    path, _ = collected()
    with RunDirectory.open(Place(path).run).store(readonly=True) as store:
        for episode in lines_of(path / "episodes.jsonl"):
            trajectory = store.trajectory(episode["episode"])
            folder = path / episode["folder"]
            assert np.array_equal(np.load(folder / "executed.npy"), trajectory.commands)
            for name in ("joint_positions", "joint_velocities", "gripper", "end_effector"):
                assert np.array_equal(np.load(folder / f"{name}.npy"), getattr(trajectory, name)[:-1])


def test_pictures_show_the_moment_before_the_action(
    collected: Collected, catalog: Catalog, lines_of: Callable[..., Any]
) -> None:
    path, collection = collected()
    episode = lines_of(path / "episodes.jsonl")[0]
    drawn = []
    with Replayer(catalog, RunDirectory.open(Place(path).run)) as replayer:
        size = collection.height, collection.width
        replayer.replay(episode["episode"], lambda world, record, state: drawn.append(world.render("wrist", *size)))
    pictures = np.load(path / episode["folder"] / "pictures.wrist.npy", mmap_mode="r")
    assert pictures.shape == (episode["length"], 32, 48, 3)
    assert np.array_equal(pictures, drawn[:-1])


def test_labels_are_what_the_agent_wanted_and_not_its_noise(collected: Collected, lines_of: Callable[..., Any]) -> None:
    path, _ = collected()
    gaps = []
    for episode in lines_of(path / "episodes.jsonl"):
        actions = np.load(path / episode["folder"] / "actions.npy")
        executed = np.load(path / episode["folder"] / "executed.npy")
        gaps.append(np.abs(actions[:, :7] - executed[:, :7]).max())
        assert np.abs(actions[:, 7] - executed[:, 7]).max() < 1e-6
    assert max(gaps) > 0.01


def test_without_noise_the_labels_are_the_commands(collected: Collected, lines_of: Callable[..., Any]) -> None:
    path, _ = collected(episodes=1, cameras=("wrist",), height=8, width=8, agent=Part("expert"))
    folder = path / lines_of(path / "episodes.jsonl")[0]["folder"]
    assert np.array_equal(np.load(folder / "actions.npy"), np.load(folder / "executed.npy").astype(np.float32))


def test_executing_what_was_executed_succeeds_again(
    collected: Collected, catalog: Catalog, lines_of: Callable[..., Any]
) -> None:
    path, collection = collected()
    suite = load_suite(catalog, str(Place(path).suite))
    manager = RecursiveVariantTaskManager(suite)
    with closing(build_world(suite)) as world:
        for episode in lines_of(path / "episodes.jsonl"):
            setup = manager.setup(manager.instance(episode["instance"]))
            jitter = {name: Jitter(**values) for name, values in episode["jitter"].items()}
            world.reset(jittered(setup, jitter), control_rate=collection.rate, cameras={})
            executed = np.load(path / episode["folder"] / "executed.npy").astype(np.float32)
            monitor = TaskMonitor(suite.task(episode["task"]))
            for tick in world.execute(JointPositions(executed.astype(np.float64))):
                monitor.update(tick.state)
            assert monitor.succeeded, episode["episode"]


def test_a_damaged_note_is_written_again(catalog: Catalog, small: Collection, collected: Collected) -> None:
    path, wanted = collected(episodes=1)
    note = Place(path).written(0)
    before = note.read_bytes()
    note.write_text("[" * 50)
    collect(catalog, wanted, path, SERIAL)
    assert note.read_bytes() == before


def test_failures_are_left_out_and_counted(
    collected: Collected, unpackaged: Callable[[str], Part], lines_of: Callable[..., Any]
) -> None:
    path, _ = collected(episodes=4, cameras=("wrist",), height=8, width=8, agent=unpackaged("Halfhearted"))
    episodes = lines_of(path / "episodes.jsonl")
    records = {record.episode: record for record in RunDirectory.open(Place(path).run).episodes()}
    assert len(episodes) == 4
    assert all(records[episode["episode"]].success for episode in episodes)
    failures = sum(not record.success for record in records.values())
    assert failures > 0
    last = max(list(records).index(episode["episode"]) for episode in episodes)
    before = sum(not record.success for record in list(records.values())[:last])
    text = (path / "README.md").read_text()
    assert f"| attempts | {last + 1}; left out because they did not succeed: {before} failure |" in text


def test_an_agent_that_never_succeeds_is_refused_in_the_end(
    catalog: Catalog, small: Collection, unpackaged: Callable[[str], Part], tmp_path: Path
) -> None:
    wanted = replace(small, episodes=1, agent=unpackaged("Never"))
    with pytest.raises(UsageError, match=r"succeeded in 0 of 1\d episodes.*choose an agent"):
        collect(catalog, wanted, tmp_path / "demos", SERIAL)


def test_labels_that_are_no_rows_are_refused(
    catalog: Catalog, small: Collection, unpackaged: Callable[[str], Part], tmp_path: Path
) -> None:
    wanted = replace(small, episodes=1, agent=unpackaged("Mumbling"))
    with pytest.raises(UsageError, match="'labels' that are no rows of 8 numbers"):
        collect(catalog, wanted, tmp_path / "demos", SERIAL)


def test_going_on_writes_what_is_missing_and_nothing_again(
    catalog: Catalog, small: Collection, collected: Collected, tmp_path: Path
) -> None:
    whole, _ = collected()

    class Ended(Exception):
        pass

    def end(done: int, planned: int) -> None:
        if done == 2:
            raise Ended

    path = tmp_path / "demos"
    with pytest.raises(Ended):
        collect(catalog, small, path, SERIAL, on_written=end)
    first = path / "episodes/000000/actions.npy"
    (path / "episodes/000002").mkdir(exist_ok=True)
    (path / "episodes/000002/.actions.npy.0123abcd.part").write_bytes(b"half of it")
    before = first.stat().st_mtime_ns
    collect(catalog, small, path, SERIAL)
    assert first.stat().st_mtime_ns == before
    assert contents(path) == contents(whole)


def test_more_episodes_extend_a_collection(catalog: Catalog, small: Collection, collected: Collected) -> None:
    whole, _ = collected()
    path, _ = collected(episodes=2)
    collect(catalog, small, path, SERIAL)
    assert contents(path) == contents(whole)
    assert read_collection(path).episodes == 3


def test_workers_decide_no_byte(catalog: Catalog, small: Collection, collected: Collected, tmp_path: Path) -> None:
    whole, _ = collected()
    collect(catalog, small, tmp_path / "demos", Execution("processes", 2))
    assert contents(tmp_path / "demos") == contents(whole)


@pytest.mark.skipif(sys.platform == "win32", reason="process groups")
def test_a_collection_that_is_killed_goes_on(
    catalog: Catalog, small: Collection, collected: Collected, tmp_path: Path
) -> None:
    whole, _ = collected()
    path = tmp_path / "demos"
    words = ["collect", small.suite, "--agent", "servo", "--option", "noise=1.0", "--episodes", "3", "--format", "raw"]
    words += ["--camera", "wrist", "--camera", "left_top", "--size", "32x48", "--workers", "2", "-o", str(path)]
    for wait_for in ("collection/run/episodes.sqlite", "collection/written/*.json"):
        process = subprocess.Popen(
            [sys.executable, "-m", "rbench", *words],
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not list(path.glob(wait_for)) and process.poll() is None:
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):  # a quick machine may have come to the end
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    collect(catalog, small, path, Execution("processes", 2))
    assert contents(path) == contents(whole)


def test_other_options_are_refused_where_a_collection_lies(
    catalog: Catalog, small: Collection, collected: Collected
) -> None:
    path, _ = collected()
    with pytest.raises(UsageError, match=r"another seed \(0, wanted 1\)"):
        collect(catalog, replace(small, seed=1), path, SERIAL)
    with pytest.raises(UsageError, match="another episodes"):
        collect(catalog, replace(small, episodes=1), path, SERIAL)


def test_a_folder_with_something_else_is_left_alone(catalog: Catalog, small: Collection, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(UsageError, match="is not empty and holds no collection"):
        collect(catalog, small, tmp_path, SERIAL)
    with pytest.raises(UsageError, match="is a file"):
        collect(catalog, small, tmp_path / "thesis.tex", SERIAL)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cameras": ("wrst",)}, "camera 'wrst' is not in scene 'tabletop'. Did you mean 'wrist'"),
        ({"cameras": ("wrist", "wrist")}, "one is there twice"),
        ({"cameras": ()}, "no camera"),
        ({"height": 5000}, "each side has 1 to 2048 pixels"),
        ({"rate": 14}, "nearest that does is 15 Hz"),
        ({"episodes": 0}, "ask for at least 1"),
        ({"jitter_xy": -1.0}, "--jitter-xy -1 is not between 0 and 1"),
        ({"jitter_yaw": float("nan")}, "--jitter-yaw nan is not between"),
        ({"agent": Part("random"), "rate": 15}, "acts at 20 Hz, and 15 Hz are wanted; give --rate 20"),
        ({"agent": Part("servo", {"nois": 1.0})}, "nois"),
        ({"agent": Part("srvo")}, "Did you mean 'servo'"),
        ({"suite": "nosuch"}, "nosuch"),
        ({"form": "hdf5"}, "format 'hdf5' is not known"),
        ({"form": "lerobot-v2.1", "height": 33}, "films need even sides"),
    ],
)
def test_what_cannot_be_collected_is_refused_and_leaves_nothing_behind(
    catalog: Catalog, small: Collection, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        collect(catalog, replace(small, **changes), tmp_path / "demos", SERIAL)
    assert not (tmp_path / "demos").exists()


def test_a_full_disk_ends_it_so_that_it_can_go_on(
    catalog: Catalog, small: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from rbench.collecting.formats import raw

    def full(array: Any, file: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(raw, "_save", full)
    with pytest.raises(StoppedEarly, match="No space left on device; free space"):
        collect(catalog, replace(small, episodes=1), tmp_path / "demos", SERIAL)
    monkeypatch.undo()
    collect(catalog, replace(small, episodes=1), tmp_path / "demos", SERIAL)
    assert (tmp_path / "demos/dataset.json").exists()


def test_the_commands_say_where_their_files_are(
    small: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow")
    demos, recipe = str(tmp_path / "demos"), str(tmp_path / "recipe")
    words = ["collect", small.suite, "--episodes", "1", "--size", "8", "--pictures", "png", "--executor", "serial"]
    assert main([*words, "-o", demos]) == 0
    assert capsys.readouterr().out == f"data set: {demos}\n"
    assert main(["openpi-recipe", demos, "-o", recipe]) == 0
    assert capsys.readouterr().out.startswith(f"recipe: {recipe} (configuration pi0_droid_demos_position;")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--size", "12x"], "--size '12x': give one number of pixels, or HEIGHTxWIDTH"),
        (["--size", "1x2x3"], "give one number of pixels"),
        (["--agent", "exprt"], "Did you mean 'expert'"),
        (["--option", "noise"], "--option 'noise': give KEY=VALUE"),
        (["--option", "noise=1"], "noise"),
        (["--agent", "servo", "--option", "noise=-1"], "noise"),
    ],
)
def test_wrong_use_is_said_in_one_line(
    small: Collection, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    assert main(["collect", small.suite, "-o", str(tmp_path / "demos"), "--format", "raw", *words]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert told.count("\n") == 1
