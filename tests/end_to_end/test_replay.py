"""Replay and instability, on the real world."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from rbench.record import Trajectory
from rbench.running.description import Part, RunDescription
from rbench.running.plan import Selection
from rbench.running.replay import different_arrays
from rbench.running.run import prepare
from rbench.running.worker import Worker


def test_a_replay_equals_the_record_byte_for_byte(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "expert", "--limit", "2")
    for episode in ran.episodes:
        replayed = rbench_command("replay", str(ran.directory), episode.episode)
        assert replayed.code == 0, replayed.out + replayed.err
        assert "identical" in replayed.out


def test_a_replay_of_an_unknown_episode_is_refused(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:GivesUp", "--limit", "1")
    replayed = rbench_command("replay", str(ran.directory), "color/red/base#99")
    assert replayed.code == 2
    assert "color/red/base#99" in replayed.err


@pytest.fixture
def worker(catalog: Any) -> Any:
    prepared = prepare(catalog, RunDescription("roboview-bias", Part("expert"), selection=Selection(limit=3)))
    worker = Worker(prepared.suite, prepared.parts, seed=0)
    yield worker, list(prepared.plan)
    worker.close()


def test_a_changed_command_shows_as_a_difference(worker: Any) -> None:
    runner, (episode, *_) = worker
    trajectory = Trajectory.from_bytes(runner.run(episode).trajectory)
    other = Trajectory.from_bytes(runner.run(episode).trajectory)
    assert different_arrays(trajectory, other) == []
    other.commands[3, 2] += 1e-12
    assert different_arrays(trajectory, other) == ["commands"]


def test_a_diverged_simulation_ends_the_episode_and_the_next_starts_clean(worker: Any) -> None:
    # Known fault D5: the simulator resets itself silently and the episode goes on.
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
