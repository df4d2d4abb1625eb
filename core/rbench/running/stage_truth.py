"""What was true at each stage that an agent reported, and where a failed episode was lost.

An agent whose `report()` has a key `stages` says there what it claimed, in order; a list of

======== =======================================================================================================
key      meaning
======== =======================================================================================================
`stage`  name of the stage: `plan`, `detect`, `lift`, `grasp`, ...
`role`   what the claim is about: `object`, what the goal moves, or `destination`, where it goes
`named`  what the agent calls it
`point`  [x, y, z] where the agent says it is, m, robot base frame
`time`   simulated seconds at which it saw what it claims; 0 when not given
`failed` the reason, when the agent could not go on at this stage
======== =======================================================================================================

of which all but `stage` may be missing; other keys are kept and not looked at. The truth is computed from the
recorded trajectory after the agent has made its report, and goes to the record alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.geometry import Array, rotation_matrix
from rbench.record import Trajectory
from rbench.scene import SceneDescription, Setup
from rbench.tasks.task import Task
from rbench.things import Thing, thing_called, things_of
from rbench.world_state import LEFT_FINGER, RIGHT_FINGER, TABLE

#: A point farther than this (m) from everything is on nothing.
_ON_NOTHING = 0.02
#: Fingertips this near (m) to an object have reached it; a command above this closes the gripper.
_REACHED, _CLOSED = 0.01, 0.5
#: Stages looked at in one episode, and characters kept of their names.
_MOST, _LONGEST = 200, 60


def stage_truth(
    report: Any, trajectory: Trajectory | None, setup: Setup | None, task: Task, success: bool
) -> dict[str, Any]:
    """The truth about the stages of an episode as plain data under the key `truth`; empty when none were reported.

    Args:
        report: what the agent reported; nothing is taken for granted.

    Returns:
        `stages`, an entry for each reported one: `stage`, `role`, `thing` (what is at the point, or else what the name
        means), `right` (it is what the goal is about; None: cannot be said), `error_mm` (of the point from the middle
        of what it should be, seen from above), `outside_mm` (from its hull), `failed`.
        `motion`: `reached` and `reach_mm` (fingertips from the object when the gripper closed), `held`, `slipped`,
        `over` (it was let go there) and `release_mm` (middle of the object from that of its destination at the end of
        the grasp).
        `lost_at`: the stage, or `reach`, `hold`, `carry`, `release`, `settle`; None after success.
    """
    claims = _claims(report)
    if claims is None or trajectory is None or setup is None or not task.objects:
        return {}
    if not all(np.isfinite(poses).all() for poses in trajectory.bodies.values()):
        return {}  # of a simulation that diverged nothing is true
    truth = _Truth(trajectory, setup.scene, task)
    stages = [truth.of(claim) for claim in claims]
    motion = truth.motion()
    return {"truth": {"stages": stages, "motion": motion, "lost_at": None if success else _lost_at(stages, motion)}}


def _claims(report: Any) -> list[Mapping[str, Any]] | None:
    stages = report.get("stages") if isinstance(report, Mapping) else None
    if not isinstance(stages, Sequence) or isinstance(stages, str):
        return None
    return [s for s in stages[:_MOST] if isinstance(s, Mapping) and isinstance(s.get("stage"), str)]


def _lost_at(stages: Sequence[Mapping[str, Any]], motion: Mapping[str, Any]) -> str:
    """The first stage that failed, or after which the agent was never right again about the same thing."""
    for i, stage in enumerate(stages):
        recovered = any(later["right"] for later in stages[i + 1 :] if later["role"] == stage["role"])
        if "failed" in stage or (stage["right"] is False and not recovered):
            return label(stage)
    if not motion["reached"]:
        return "reach"
    if not motion["held"]:
        return "hold"
    if motion["slipped"]:
        return "carry"
    return "settle" if motion["over"] else "release"


def label(stage: Mapping[str, Any]) -> str:
    """A stage and what it is about, in words."""
    return f"{stage['stage']} {stage['role']}" if stage["role"] else str(stage["stage"])


@dataclass(frozen=True, eq=False)
class _Truth:
    trajectory: Trajectory
    scene: SceneDescription
    task: Task

    def of(self, claim: Mapping[str, Any]) -> dict[str, Any]:
        """What is true of one claim."""
        role = claim.get("role")
        role = role if role in ("object", "destination") else None
        result: dict[str, Any] = {"stage": claim["stage"][:_LONGEST], "role": role, "right": None}
        if isinstance(claim.get("failed"), str):
            result["failed"] = claim["failed"][:_LONGEST]
        point = _point(claim.get("point"))
        named = claim.get("named")
        if point is not None:
            result |= self._of_point(point, self._row(claim.get("time")), role)
        elif isinstance(named, str) and role is not None:
            thing = thing_called(self.scene, named)
            result["thing"] = None if thing is None else thing.name
            result["right"] = None if thing is None else thing.name in self._meant(role)
        return result

    def _of_point(self, point: Array, row: int, role: str | None) -> dict[str, Any]:
        world = rotation_matrix(self.scene.robot.pose.quaternion) @ point + np.array(self.scene.robot.pose.position)
        away = {t.name: float(t.outside(self._local(t, world, row))) for t in things_of(self.scene)}
        nearest = min(away, key=lambda name: away[name])
        thing = nearest if away[nearest] <= _ON_NOTHING else None
        if role is None:
            return {"thing": thing}
        meant = min(self._meant(role), key=lambda name: away[name], default=None)
        if meant is None:
            return {"thing": thing}
        middle = self.trajectory.bodies[meant][row, :2]
        return {
            "thing": thing,
            "right": thing in self._meant(role),
            "error_mm": round(1000 * float(np.linalg.norm(world[:2] - middle)), 2),
            "outside_mm": round(1000 * away[meant], 2),
        }

    def motion(self) -> dict[str, Any]:
        """What became of the object that the hand took, or tried to, last."""
        object_, grasps = max(
            ((name, self._grasps(name)) for name in self.task.objects), key=lambda pair: any(g.held for g in pair[1])
        )
        if not grasps:
            return {"reached": False, "held": False, "slipped": False, "over": False}
        grasp = next((g for g in reversed(grasps) if g.held), grasps[-1])
        thing = next(t for t in things_of(self.scene) if t.name == object_)
        base = self.scene.robot.pose
        tip = self.trajectory.end_effector[grasp.closed, :3].astype(np.float64)
        tip = rotation_matrix(base.quaternion) @ tip + np.array(base.position)
        reach = float(thing.outside(self._local(thing, tip, grasp.closed)))
        return {
            "object": object_,
            "reached": reach <= _REACHED,
            "reach_mm": round(1000 * reach, 2),
            "held": grasp.held,
            "slipped": grasp.held and not grasp.touching_at_end,
            **self._release(object_, grasp),
        }

    def _release(self, object_: str, grasp: _Grasp) -> dict[str, Any]:
        """Whether it was let go over its destination."""
        containers, row = self.task.containers_of(object_), grasp.opened
        if not containers:
            return {"over": grasp.let_go}
        box = self.scene.receptacle(containers[0])
        thing = next(t for t in things_of(self.scene) if t.name == box.name)
        x, y, _ = self._local(thing, self.trajectory.bodies[object_][row, :3].astype(np.float64), row)
        over = abs(x) < box.inner[0] / 2 and abs(y) < box.inner[1] / 2
        return {"over": bool(over) and grasp.let_go, "release_mm": round(1000 * float(np.hypot(x, y)), 2)}

    def _grasps(self, object_: str) -> list[_Grasp]:
        """Every time the gripper was told to close, as rows of the trajectory."""
        closed = np.concatenate([[False], self.trajectory.commands[:, 7] >= _CLOSED, [False]])
        edges = np.flatnonzero(np.diff(closed.astype(np.int8)))
        left, right = self._contact(object_, LEFT_FINGER), self._contact(object_, RIGHT_FINGER)
        held = left & right & ~self._contact(object_, TABLE)
        # Command k leads from row k to row k + 1: the last row that a closed command led to is `opened`.
        return [
            _Grasp(
                closed=int(begin),
                opened=int(end),
                held=bool(held[begin : end + 1].any()),
                touching_at_end=bool(left[end] or right[end]),
                let_go=bool(end < len(self.trajectory.commands)),
            )
            for begin, end in zip(edges[::2], edges[1::2], strict=True)
        ]

    def _contact(self, a: str, b: str) -> npt.NDArray[np.bool_]:
        pair = "|".join(sorted((a, b)))
        if pair not in self.trajectory.contact_pairs:
            return np.zeros(len(self.trajectory.time), dtype=np.bool_)
        return self.trajectory.contacts[:, self.trajectory.contact_pairs.index(pair)]

    def _local(self, thing: Thing, point: Array, row: int) -> Array:
        """A point of the world in the frame of a thing at a moment."""
        pose = self.trajectory.bodies[thing.name][row].astype(np.float64)
        return np.asarray((point - pose[:3]) @ rotation_matrix(pose[3:]))

    def _meant(self, role: str) -> tuple[str, ...]:
        """The things that the goal is about."""
        if role == "object":
            return self.task.objects
        return tuple(dict.fromkeys(box for name in self.task.objects for box in self.task.containers_of(name)))

    def _row(self, time: Any) -> int:
        last = len(self.trajectory.time) - 1
        if not isinstance(time, (int, float)) or not np.isfinite(time):
            return 0
        return int(min(max(round(float(time) * self.trajectory.control_rate), 0), last))


@dataclass(frozen=True)
class _Grasp:
    """Rows in which the gripper was first and last told to be closed, what it held meanwhile, and whether it opened."""

    closed: int
    opened: int
    held: bool
    touching_at_end: bool
    let_go: bool


def _point(value: Any) -> Array | None:
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 3:
        return None
    if not all(isinstance(v, (int, float)) and abs(v) < 1e6 for v in value):
        return None
    return np.array(value, dtype=np.float64)
