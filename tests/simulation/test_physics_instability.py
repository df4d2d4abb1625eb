"""A simulation that diverges is noticed, and is gone after the next reset."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rbench.errors import UnstableSimulation
from rbench.geometry import Pose
from rbench.scene import SceneDescription, Setup
from rbench.simulation.profiles import render_profile
from rbench.simulation.world import MujocoWorld


@pytest.mark.parametrize("velocity", [1e3, 1e6, 1e12, float("nan"), float("inf")])
def test_a_diverged_simulation_is_unstable(started: MujocoWorld, velocity: float) -> None:
    started.data.qvel[:] = velocity
    with pytest.raises(UnstableSimulation, match="diverged"):
        list(started.settle(0.5))


def test_a_runaway_body_is_unstable_before_mujoco_warns(started: MujocoWorld) -> None:
    started.data.qvel[-6] = 1e5
    with pytest.raises(UnstableSimulation, match=r"diverged \(speed"):
        list(started.settle(0.1))


def test_ticks_before_it_diverged_are_good_however_far_physics_runs_ahead(tabletop: SceneDescription) -> None:
    good = []
    for ahead in (1, 50):
        world = MujocoWorld(render_profile("fast"))
        world.reset(Setup(tabletop, ""), control_rate=20, cameras={})
        world.model.opt.gravity[:] = (0.0, 0.0, 2000.0)  # things fall upwards, too fast after half a second
        ticks = []
        with pytest.raises(UnstableSimulation, match="diverged"):
            for tick in world.settle(2.5, ahead=lambda: ahead):  # noqa: B023 - used up at once
                ticks.append(repr(tick.state))
        good.append(ticks)
        world.close()
    assert good[0] == good[1] != []


def test_the_message_names_mujocos_warning(started: MujocoWorld) -> None:
    started.data.qpos[0] = float("nan")
    with pytest.raises(UnstableSimulation, match="BADQPOS"):
        list(started.settle(0.1))


def test_the_next_reset_starts_clean(started: MujocoWorld, tabletop: SceneDescription) -> None:
    expected = started.fingerprint()
    started.data.qvel[:] = 1e9
    with pytest.raises(UnstableSimulation):
        list(started.settle(0.1))
    started.reset(Setup(tabletop, ""), control_rate=20, cameras={})
    assert started.fingerprint() == expected
    assert len(list(started.settle(0.5))) == 10


def test_mujoco_writes_no_file_about_it(started: MujocoWorld, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    started.data.qvel[:] = 1e9
    with pytest.raises(UnstableSimulation):
        list(started.settle(0.1))
    assert list(tmp_path.iterdir()) == []


def test_a_scene_that_never_comes_to_rest_is_refused(world: MujocoWorld, tabletop: SceneDescription) -> None:
    falling = replace(tabletop.objects[0], pose=Pose((0.5, 0.0, 20.0)))
    with pytest.raises(UnstableSimulation, match="does not come to rest"):
        world.reset(Setup(tabletop.with_object(falling), ""), control_rate=20, cameras={})


def test_a_body_dropped_from_a_hand_width_comes_to_rest(world: MujocoWorld, tabletop: SceneDescription) -> None:
    dropped = replace(tabletop.objects[0], pose=Pose((0.5, 0.0, 0.1)))
    world.reset(Setup(tabletop.with_object(dropped), ""), control_rate=20, cameras={})
    assert np.abs(world.data.qvel).max() < 0.01
    assert world.state().bodies["geometry"].position[2] == pytest.approx(0.025, abs=1e-3)
