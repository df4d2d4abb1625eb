"""In the simulator: what is lifted lies where it was seen, and with perfect perception the task is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import beta

from rbench.design import Episode, Instance
from rbench.geometry import Pose, rotation_matrix
from rbench.interfaces.agent import AgentContext
from rbench.interfaces.world import World
from rbench.observation import CameraRequest
from rbench.record import EpisodeRecord
from rbench.running.episode import EpisodeRunner
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.things import things_of
from rbench.vision.opencv import OpenCv
from rbench.vision.scripted import ScriptedVision
from rbench_agent_moka.agent import Moka
from rbench_agent_moka.backends.ground_truth import visible_masks
from rbench_agent_moka.keypoints import outline
from rbench_agent_moka.lifting import body_of, lift
from rbench_agent_moka.options import Options
from rbench_agent_moka.sight import Sight

pytestmark = pytest.mark.gl

SIZE = 448
REQUEST = CameraRequest(SIZE, SIZE, ("rgb", "depth"))
TRUE = {"detector": "ground-truth", "segmenter": "ground-truth"}


def viewpoints(suite: Suite) -> Iterator[tuple[Instance, str]]:
    """Every camera that the benchmark has: all levels of its viewpoint factors, and the cameras that never move."""
    manager = RecursiveVariantTaskManager(suite)
    dimensions = [d for d in suite.dimensions if d.name in ("camera-pose", "camera-euler", "camera-distance")]
    for instance in manager.instances(dimensions):
        if instance.context == "shape-prism":
            yield instance, "front"
    for camera in ("front", "left_top", "right_top"):
        yield manager.instance("color/red/shape-prism"), camera


def looked_at(suite: Suite, world: World, instance: Instance, camera: str) -> Sight:
    setup = RecursiveVariantTaskManager(suite).setup(instance)
    world.reset(setup, control_rate=20, cameras={camera: REQUEST})
    return Sight.of(world.observe(privileged=True), Pose(), Options(camera=camera), privileged=True)


@dataclass(frozen=True)
class Lifted:
    """What lifting gave from one camera, m.

    Attributes:
        pixels, keypoints: how far they lie from the surface of their thing, at most; of the pixels of the simulator's
            masks 98 %, because the edges of masks and depth are drawn apart.
        middle: how far the middle of the object lies from the true one. table: its height.
    """

    camera: str
    pixels: float
    keypoints: float
    middle: float
    table: float


@pytest.fixture(scope="module")
def lifted(suite: Suite, world: World) -> list[Lifted]:
    """From every camera of the benchmark."""
    found = []
    for instance, camera in viewpoints(suite):
        sight = looked_at(suite, world, instance, camera)
        drawn, masks = world.masks(camera, SIZE, SIZE), visible_masks(sight)
        pixels, keypoints = [], []
        for thing in things_of(world.setup.scene):
            away = thing.outside(sight.in_body_frame(thing.name))
            pixels.append(np.quantile(away[drawn[thing.name]], 0.98))
            seen = outline(thing.name, masks[thing.name], (0.0, 0.0, 1.0, 1.0), 6)
            points = np.array([lift(sight, p) for p in seen.keypoints[1:]])
            body = world.state().bodies[thing.name]
            keypoints.append(thing.outside((points - body.position) @ rotation_matrix(body.quaternion)).max())
        body = body_of(sight, masks["geometry"], masks["box"])
        middle = np.linalg.norm(body.middle - world.state().bodies["geometry"].position[:2])
        found.append(Lifted(f"{instance.id} {camera}", max(pixels), max(keypoints), float(middle), body.table))
    return found


def test_the_benchmark_has_so_many_cameras(lifted: list[Lifted]) -> None:
    assert len(lifted) == 21 + 9 + 9 + 3


def test_a_lifted_pixel_is_less_than_2_mm_off_from_every_camera(lifted: list[Lifted]) -> None:
    assert {view.camera: view.pixels for view in lifted if view.pixels >= 0.002} == {}


def test_every_keypoint_is_lifted_onto_its_thing_from_every_camera(lifted: list[Lifted]) -> None:
    assert {view.camera: view.keypoints for view in lifted if view.keypoints >= 0.002} == {}


def test_the_middle_of_the_object_is_less_than_2_mm_off_from_every_camera(lifted: list[Lifted]) -> None:
    assert {view.camera: view.middle for view in lifted if view.middle >= 0.002} == {}
    assert max(abs(view.table) for view in lifted) < 0.002


def test_true_masks_are_those_of_the_simulator(suite: Suite, world: World) -> None:
    manager = RecursiveVariantTaskManager(suite)
    for context in ("shape-cube", "shape-cylinder", "shape-pyramid", "shape-prism"):
        sight = looked_at(suite, world, manager.instance(f"color/red/{context}"), "front")
        expected = world.masks("front", SIZE, SIZE)
        for name, mask in visible_masks(sight).items():
            both, either = (mask & expected[name]).sum(), (mask | expected[name]).sum()
            assert both / either > 0.94, (context, name)


ALL = slice(None)
#: A cube, a cylinder and another instruction.
FEW = slice(4, 11, 3)


def episodes(suite: Suite, world: World, made: Moka, repeats: int, contexts: slice = ALL) -> list[EpisodeRecord]:
    """At the baseline colour and camera."""
    runner = EpisodeRunner(suite, world, made, "moka", made.manifest, 0)
    manager = RecursiveVariantTaskManager(suite)
    instances = [manager.instance(f"color/red/{context.name}") for context in suite.contexts[contexts]]
    records = [runner.run(Episode(i, repeat)).record for i in instances for repeat in range(repeats)]
    assert {r.outcome for r in records} <= {"success", "failure"}
    return records


def lower_bound(successes: int, n: int) -> float:
    """Clopper-Pearson, 95 %, two-sided."""
    return float(beta.ppf(0.025, successes, n - successes + 1)) if successes else 0.0


def test_with_perfect_perception_more_than_80_percent_succeed(
    suite: Suite, world: World, scripted: Callable[..., ScriptedVision]
) -> None:
    records = episodes(suite, world, Moka(Options(**TRUE), AgentContext(vision=scripted())), repeats=5)
    assert len(records) == 55
    assert lower_bound(sum(r.success for r in records), 55) >= 0.80


def test_the_record_says_what_was_true_at_every_stage(
    suite: Suite, world: World, scripted: Callable[..., ScriptedVision]
) -> None:
    made = Moka(Options(**TRUE), AgentContext(vision=scripted()))
    (record,) = episodes(suite, world, made, 1, slice(1))
    truth = record.agent["truth"]
    assert truth["lost_at"] is None
    assert all(stage["right"] for stage in truth["stages"])
    assert truth["stages"][-1]["error_mm"] < 2.0
    assert truth["motion"]["held"]
    assert not truth["motion"]["slipped"]


def test_without_weights_or_key_80_percent_succeed(suite: Suite, world: World) -> None:
    records = episodes(suite, world, Moka(Options(), AgentContext(vision=OpenCv())), repeats=1)
    assert np.mean([r.success for r in records]) >= 0.8


def test_naming_the_wrong_thing_is_lost_at_the_plan(
    suite: Suite, world: World, scripted: Callable[..., ScriptedVision]
) -> None:
    step = {"instruction": "x", "object_grasped": "box", "object_unattached": "geometry", "motion_direction": ""}
    (record,) = episodes(suite, world, Moka(Options(**TRUE), AgentContext(vision=scripted(step))), 1, slice(1))
    assert not record.success
    assert record.agent["truth"]["lost_at"] == "plan object"


@pytest.mark.parametrize("options", [{"mode": "paper"}, {"grasp": "antipodal"}, {"camera": "left_top"}])
def test_other_ways_work_too(
    suite: Suite, world: World, scripted: Callable[..., ScriptedVision], options: dict
) -> None:
    records = episodes(suite, world, Moka(Options(**TRUE, **options), AgentContext(vision=scripted())), 1, FEW)
    assert np.mean([r.success for r in records]) >= 0.5
