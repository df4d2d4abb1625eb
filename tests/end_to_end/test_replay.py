"""Replay: what was recorded happens again, byte for byte, and what does not is named."""

from __future__ import annotations

import hashlib
import sqlite3
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import rbench
from rbench.plugins.catalog import Catalog
from rbench.record import Hashes, Trajectory
from rbench.results.run_directory import RunDirectory
from rbench.running.agents import resolve_agent
from rbench.running.description import Part, RunDescription
from rbench.running.filming import video_name
from rbench.running.plan import Selection
from rbench.running.replay import Replayer, different_arrays
from rbench.running.run import prepare
from rbench.running.worker import Worker


@pytest.fixture(scope="module")
def expert_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two episodes of the expert."""
    return rbench.run(
        "roboview-bias", "expert", limit=2, executor="serial", out=tmp_path_factory.mktemp("runs") / "expert"
    ).path


@pytest.fixture
def looking_run(rbench_command: Callable[..., Any]) -> Path:
    """Two episodes of a second each, of which the first frame was looked at; they fail."""
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:Looks", "--limit", "2")
    assert ran.code == 0, ran.err
    return Path(ran.directory)


def changed_copy(run: Path, target: Path, change: Callable[[Any, Any], tuple[Any, Any]]) -> Path:
    """The run with what `change` makes of its records and trajectories."""
    original = rbench.open_run(run)
    with RunDirectory.create(target, original.manifest) as copy, original.store(readonly=True) as store:
        for record in store.records():
            record, trajectory = change(record, store.trajectory(record.episode))
            copy.store().append(record, trajectory.to_bytes())
        copy.update(state="finished")
    return target


def first_episode(run: Path) -> str:
    return next(iter(rbench.open_run(run).episodes())).episode


def test_a_replay_equals_the_record_byte_for_byte(rbench_command: Callable[..., Any], expert_run: Path) -> None:
    for record in rbench.open_run(expert_run).episodes():
        replayed = rbench_command("replay", str(expert_run), record.episode)
        assert replayed.code == 0, replayed.out + replayed.err
        assert f"{record.episode}: identical ({record.steps} ticks, outcome success)" in replayed.out


@pytest.mark.gl
def test_a_replay_equals_the_first_frames_too(rbench_command: Callable[..., Any], looking_run: Path) -> None:
    replayed = rbench_command("replay", str(looking_run), first_episode(looking_run))
    assert replayed.code == 0
    assert "identical (20 ticks, 1 first frames, outcome failure)" in replayed.out


def test_a_replay_asks_no_agent(rbench_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:GivesUp", "--limit", "1")
    monkeypatch.setitem(sys.modules, "agents_under_test", None)  # it could not even be imported
    replayed = rbench_command("replay", str(ran.directory), ran.episodes[0].episode)
    assert replayed.code == 0, replayed.err


def test_a_replay_of_an_unknown_episode_is_refused(rbench_command: Callable[..., Any], expert_run: Path) -> None:
    replayed = rbench_command("replay", str(expert_run), "color/red/base#99")
    assert replayed.code == 2
    assert "color/red/base#99" in replayed.err


def test_an_episode_that_never_began_is_refused_by_name(rbench_command: Callable[..., Any], expert_run: Path) -> None:
    def forgotten(record: Any, trajectory: Any) -> Any:
        return replace(record, steps=0), trajectory

    copy = changed_copy(expert_run, expert_run.parent / "never-began", forgotten)
    connection = sqlite3.connect(copy / "episodes.sqlite")
    connection.execute("UPDATE trajectories SET trajectory = x'', crc = 0")
    connection.commit()
    connection.close()
    replayed = rbench_command("replay", str(copy), first_episode(copy))
    assert replayed.code == 2
    assert f"episode {first_episode(copy)!r} has no readable trajectory" in replayed.err


def commands_shifted(record: Any, trajectory: Any) -> Any:
    commands = trajectory.commands.copy()
    commands[10, 2] += 0.01
    return record, replace(trajectory, commands=commands)


CHANGES: dict[str, tuple[Callable[[Any, Any], Any], list[str]]] = {
    "commands": (commands_shifted, ["joint_positions (from 0.55 s on, by up to", "end_effector (from 0.5"]),
    "score": (lambda r, t: (replace(r, score=0.25), t), ["score (0.25, now 1)"]),
    "outcome": (
        lambda r, t: (replace(r, outcome="failure", success=False), t),
        ["success (False, now True)"],
    ),
    "events": (lambda r, t: (replace(r, events=r.events[1:]), t), ["event grasped at"]),
    "instruction": (lambda r, t: (replace(r, instruction="Do it."), t), ["instruction"]),
    "values": (lambda r, t: (replace(r, values={**r.values, "color": [0, 0, 1]}), t), ["values"]),
    "seed": (lambda r, t: (replace(r, seed=r.seed + 1), t), ["seed"]),
    "state": (lambda r, t: (replace(r, hashes=replace(r.hashes, state="0" * 64)), t), ["initial state"]),
    "scene": (lambda r, t: (replace(r, hashes=replace(r.hashes, scene="0" * 64)), t), ["scene description"]),
    "length": (
        lambda r, t: (r, replace(t, joint_positions=t.joint_positions[:-1])),
        ["joint_positions (", "rows, now"],
    ),
    "contacts": (lambda r, t: (r, replace(t, contacts=~t.contacts)), ["contacts (from 0.00 s on"]),
}


@pytest.mark.parametrize("what", CHANGES)
def test_what_differs_is_named(rbench_command: Callable[..., Any], expert_run: Path, tmp_path: Path, what: str) -> None:
    change, words = CHANGES[what]
    copy = changed_copy(expert_run, tmp_path / "copy", change)
    replayed = rbench_command("replay", str(copy), first_episode(copy))
    assert replayed.code == 1, replayed.out + replayed.err
    assert "DIFFERENT in" in replayed.out
    for word in words:
        assert word in replayed.out


@pytest.mark.gl
def test_another_first_frame_is_named(rbench_command: Callable[..., Any], looking_run: Path, tmp_path: Path) -> None:
    def repainted(record: Any, trajectory: Any) -> Any:
        hashes = Hashes(record.hashes.scene, record.hashes.state, {"front": "0" * 64})
        return replace(record, hashes=hashes), trajectory

    copy = changed_copy(looking_run, tmp_path / "copy", repainted)
    replayed = rbench_command("replay", str(copy), first_episode(copy))
    assert replayed.code == 1
    assert "DIFFERENT in first frame of front (20 ticks" in replayed.out


def test_other_versions_are_said_where_something_differs(
    rbench_command: Callable[..., Any], expert_run: Path, tmp_path: Path
) -> None:
    copy = changed_copy(expert_run, tmp_path / "copy", CHANGES["score"][0])
    with rbench.open_run(copy) as run:
        run.store()
        run.update(versions={**run.manifest.versions, "mujoco": "4.0.0.dev1+gabc"})
    replayed = rbench_command("replay", str(copy), first_episode(copy))
    assert "recorded with mujoco 4.0.0.dev1+gabc, here" in replayed.err


@pytest.mark.gl
class TestFilms:
    def test_a_film_shows_the_episode_from_reset_to_its_end(
        self, rbench_command: Callable[..., Any], looking_run: Path, tmp_path: Path
    ) -> None:
        av = pytest.importorskip("av")
        film = tmp_path / "film.mp4"
        size = ["--height", "96", "--width", "128"]
        episode = first_episode(looking_run)
        replayed = rbench_command("replay", str(looking_run), episode, "--video", str(film), *size)
        assert replayed.code == 0, replayed.err
        assert f"{episode}: identical" in replayed.out
        assert str(film) in replayed.out
        with av.open(str(film)) as container:
            frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
            assert container.streams.video[0].average_rate == 20
        assert len(frames) == 21
        # Its first picture is what `rbench render` shows of that episode.
        instance, _, repeat = episode.partition("#")
        picture = tmp_path / "picture.png"
        rbench_command("render", "roboview-bias", instance, "-o", str(picture), "--repeat", repeat, *size)
        rendered = np.asarray(Image.open(picture)).astype(int)
        assert np.abs(frames[0][4:100, 4:132] - rendered).mean() < 4

    def test_bare_frames_are_what_the_agent_saw(
        self, rbench_command: Callable[..., Any], looking_run: Path, tmp_path: Path
    ) -> None:
        record = next(iter(rbench.open_run(looking_run).episodes()))
        frames = tmp_path / "frames"
        arguments = ["--frames", str(frames), "--camera", "front", "--camera", "wrist", "--fps", "5"]
        replayed = rbench_command(
            "replay", str(looking_run), record.episode, *arguments, "--height", "64", "--width", "64"
        )
        assert replayed.code == 0, replayed.err
        for camera in ("front", "wrist"):
            names = [f"{tick:06d}.png" for tick in (0, 4, 8, 12, 16, 20)]
            assert sorted(path.name for path in (frames / camera).iterdir()) == names
        pixels = np.asarray(Image.open(frames / "front" / "000000.png"))
        assert hashlib.sha256(pixels.tobytes()).hexdigest() == record.hashes.first_frame["front"]

    def test_failures_are_filmed_into_a_folder(
        self, rbench_command: Callable[..., Any], looking_run: Path, tmp_path: Path
    ) -> None:
        pytest.importorskip("av")
        arguments = ["--failures", "5", "--video-folder", str(tmp_path / "films"), "--height", "32", "--width", "48"]
        replayed = rbench_command("replay", str(looking_run), *arguments)
        assert replayed.code == 0, replayed.err
        names = {f"{video_name(record.episode)}.mp4" for record in rbench.open_run(looking_run).episodes()}
        assert len(names) == 2
        assert {path.name for path in (tmp_path / "films").iterdir()} == names

    def test_rendering_changes_nothing_of_the_replay(self, catalog: Catalog, expert_run: Path) -> None:
        def look_now_and_then(world: Any, record: Any, state: Any) -> None:
            if round(20 * state.time) % 12 == 0:
                world.render("wrist", 16, 16)

        with Replayer(catalog, rbench.open_run(expert_run)) as replayer:
            result = replayer.replay(first_episode(expert_run), look_now_and_then)
        assert result.differences == ()

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["EPISODE", "--video", "x.mp4", "--camera", "fornt"], "camera 'fornt' is not in scene"),
            (["EPISODE", "--video", "x.mp4", "--fps", "21"], "ask for at most 20"),
            (["EPISODE", "--video", "x.webm"], "choose .mp4, .gif or .png"),
            (["EPISODE", "EPISODE", "--video", "x.mp4"], "--video-folder for several"),
            ([], "--failures N"),
        ],
    )
    def test_wrong_use_is_said_before_anything_is_drawn(
        self, rbench_command: Callable[..., Any], expert_run: Path, arguments: list[str], said: str
    ) -> None:
        words = [first_episode(expert_run) if word == "EPISODE" else word for word in arguments]
        replayed = rbench_command("replay", str(expert_run), *words)
        assert replayed.code == 2
        assert said in replayed.err


def test_a_run_without_failures_says_so(rbench_command: Callable[..., Any], expert_run: Path) -> None:
    replayed = rbench_command("replay", str(expert_run), "--failures", "3")
    assert (replayed.code, replayed.out) == (0, "")
    assert "no episode" in replayed.err


@pytest.mark.parametrize(
    ("episode", "name"),
    [
        ("color/crimson/position-p2#0", "color~crimson~position-p2~0"),
        ("task-1/camera-pose+color/r2a4+red/base#12", "task-1~camera-pose+color~r2a4+red~base~12"),
    ],
)
def test_names_of_films_say_the_episode(episode: str, name: str) -> None:
    assert video_name(episode) == name


@pytest.fixture
def worker(catalog: Catalog) -> Iterator[Any]:
    prepared = prepare(catalog, RunDescription("roboview-bias", Part("expert"), selection=Selection(limit=3)))
    worker = Worker(prepared.suite, resolve_agent(catalog, prepared.description), seed=0)
    yield worker, list(prepared.plan)
    worker.close()


def test_a_changed_command_shows_as_a_difference(worker: Any) -> None:
    runner, (episode, *_) = worker
    trajectory = Trajectory.from_bytes(runner.run(episode).trajectory)
    other = Trajectory.from_bytes(runner.run(episode).trajectory)
    assert different_arrays(trajectory, other) == []
    other.commands[3, 2] += 1e-12
    assert different_arrays(trajectory, other) == ["commands (from 0.15 s on, by up to 1e-12)"]


def test_a_zero_with_another_sign_is_a_difference(worker: Any) -> None:
    runner, (episode, *_) = worker
    trajectory = Trajectory.from_bytes(runner.run(episode).trajectory)
    zero = replace(trajectory, gripper=np.zeros_like(trajectory.gripper))
    assert different_arrays(zero, replace(zero, gripper=-zero.gripper)) == ["gripper (from 0.00 s on, by up to 0)"]


def test_a_diverged_simulation_ends_the_episode_and_the_next_starts_clean(worker: Any) -> None:
    # Seen elsewhere: the simulator resets itself silently and the episode goes on.
    runner, (first, second, *_) = worker
    clean = runner.run(second)
    sane = runner.agent.act

    def explode(observation: Any) -> Any:
        runner.world.data.qvel[:] = 1e12
        return sane(observation)

    runner.agent.act = explode
    broken = runner.run(first)
    runner.agent.act = sane
    assert broken.record.outcome == "unstable"
    assert broken.record.error
    assert not broken.record.success
    assert runner.run(second).trajectory == clean.trajectory
