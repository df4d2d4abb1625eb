"""The task that checks play: put the object of core's table-top scene into the box, from several starts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from math import radians

from rbench.geometry import Pose, axis_angle
from rbench.scene import Color, SceneDescription, Setup
from rbench.suites.scene_files import load_scene
from rbench.tasks.task import Condition, Subtask, Task

OBJECT, BOX = "geometry", "box"
INSTRUCTION = "Pick up the object and put it into the box."

#: The same task as in the built-in suite, which needs factor plugins to load.
TASK = Task(
    name="object-in-box",
    kind="manipulation",
    scene="tabletop",
    instruction=INSTRUCTION,
    goal=(
        Condition("in_container", {"object": OBJECT, "container": BOX}),
        Condition("released", {"object": OBJECT}),
        Condition("at_rest", {"object": OBJECT}),
    ),
    hold=0.2,
    subtasks=(
        Subtask("grasped", (Condition("grasped", {"object": OBJECT}),)),
        Subtask("in_box", (Condition("in_box", {"object": OBJECT, "container": BOX}),)),
    ),
    limit=15.0,
)


@dataclass(frozen=True)
class Scenario:
    """One start of the task: a setup and the seed of the agent's generator."""

    name: str
    setup: Setup
    seed: int = 0

    def told(self, instruction: str) -> Scenario:
        """The same start with another instruction."""
        return replace(self, setup=replace(self.setup, instruction=instruction))


def scenario(name: str, x: float, y: float, yaw: float, color: Color | None = None, seed: int = 0) -> Scenario:
    """The object at (x, y) m on the table, turned by `yaw` degrees."""
    scene = _table_top()
    item = scene.object(OBJECT)
    pose = Pose((x, y, item.size[2] / 2), axis_angle((0.0, 0.0, 1.0), radians(yaw)))
    return Scenario(
        name, Setup(scene.with_object(replace(item, pose=pose, color=color or item.color)), INSTRUCTION), seed
    )


@cache
def _table_top() -> SceneDescription:
    return load_scene("tabletop")


@cache
def baselines() -> tuple[Scenario, ...]:
    """The starts that most checks play: within the protocol's jitter of three start positions."""
    return (
        scenario("a", 0.490, 0.035, 14.0, seed=1),
        scenario("b", 0.560, -0.030, -16.0, seed=2),
        scenario("c", 0.525, 0.010, 5.0, seed=3),
    )
