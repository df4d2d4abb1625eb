"""The value `WorldState` out of MuJoCo's arrays, at every control tick, and what tells that a simulation diverged.

A tick of physics leaves nothing of Python in the processor's caches. So between ticks there is a copy and a check and
no more (`copy`, `check`), and what several ticks left is looked at together (`read`). Few and plain calls count: `dot`
takes half as long as `@` on short arrays.
"""

from __future__ import annotations

from typing import NamedTuple

import mujoco
import numpy as np

from rbench.errors import UnstableSimulation
from rbench.geometry import Array, Pose, Vec3, rotation_matrix
from rbench.scene import SceneDescription
from rbench.simulation.compile import CompiledScene
from rbench.simulation.control import gripper_of
from rbench.world_state import BodyState, RobotState, WorldState

#: Nothing on a table top moves this fast (m/s and rad/s, root of the sum of squares).
RUNAWAY = 1000.0
_Contacts = frozenset[tuple[str, str]]
_KEPT_CONTACTS = 4096


class Moment(NamedTuple):
    """What a tick of physics left, as bytes: positions, velocities, and the pairs of geoms in contact."""

    qpos: bytes
    qvel: bytes
    contacts: bytes


class StateReader:
    """Reads the state of one model and its data, which stay where they are in memory."""

    def __init__(self, compiled: CompiledScene, data: mujoco.MjData, scene: SceneDescription) -> None:
        self._model, self._data = compiled.model, data
        self._entities = compiled.entity_of_geom
        self._warnings = data.warning.number
        self._no_warnings = bytes(self._warnings.nbytes)
        self._qpos, self._qvel = data.qpos, data.qvel
        self._fingertip = data.site_xpos[compiled.fingertip]
        self._hand = data.xquat[compiled.hand]
        self._base = scene.robot.pose
        self._to_base = None if self._base == Pose() else rotation_matrix(self._base.quaternion).T
        self._bodies = [
            (name, slice(b.qpos, b.qpos + 3), slice(b.qpos + 3, b.qpos + 7), slice(b.dof, b.dof + 3),
             slice(b.dof + 3, b.dof + 6), data.xmat[b.body].reshape(3, 3))
            for name, b in compiled.bodies.items()
        ]  # fmt: skip
        self._cavities: dict[str, Vec3] = {r.name: r.inner for r in scene.receptacles}
        self._floors = {r.name: r.wall for r in scene.receptacles}
        self._seen_contacts: dict[bytes, _Contacts] = {}

    def copy(self) -> Moment:
        """The present moment."""
        return Moment(self._qpos.tobytes(), self._qvel.tobytes(), self._data.contact.geom.tobytes())

    def read(self, time: float, moment: Moment) -> WorldState:
        """The state at a moment, which shares nothing with one read before.

        Positions and poses of the data become those of the moment: read the present one last.
        """
        qpos, qvel = np.frombuffer(moment.qpos), np.frombuffer(moment.qvel)  # read-only
        self._qpos[:] = qpos
        mujoco.mj_kinematics(self._model, self._data)
        bodies = {
            name: BodyState(qpos[position], qpos[quaternion], qvel[linear], rotation.dot(qvel[angular]))
            for name, position, quaternion, linear, angular, rotation in self._bodies
        }
        position, orientation = self._end_effector()
        robot = RobotState(qpos[:7], qvel[:7], position, orientation, gripper_of(qpos[7], qpos[8]))
        return WorldState(
            time, robot, bodies, self._contacts(moment.contacts), self._cavities.copy(), self._floors.copy()
        )

    def check(self) -> None:
        """Notice that the simulation diverged.

        Raises:
            UnstableSimulation: MuJoCo warned, or a number is not finite or absurdly large; it names which.
        """
        speed = float(self._qvel.dot(self._qvel))
        # Written so that NaN fails, too; with a finite velocity the position is finite. Bytes compare fastest.
        if speed < RUNAWAY**2 and self._warnings.tobytes() == self._no_warnings:
            return
        raised = [n for n, w in mujoco.mjtWarning.__members__.items() if n != "mjNWARNING" and self._warnings[int(w)]]
        what = ", ".join(n.removeprefix("mjWARN_") for n in raised) or f"speed {speed**0.5:.3g}"
        raise UnstableSimulation(
            f"the simulation diverged ({what}) at {self._data.time:.3f} s; command smaller motions, or check the"
            " scene for bodies that overlap"
        )

    def _end_effector(self) -> tuple[Array, Array]:
        position, orientation = self._fingertip.copy(), self._hand.copy()
        if self._to_base is not None:
            position = self._to_base @ (position - self._base.position)
            w, x, y, z = self._base.quaternion
            mujoco.mju_mulQuat(orientation, (w, -x, -y, -z), self._hand)
        return position, orientation

    def _contacts(self, geoms: bytes) -> _Contacts:
        # The same geoms touch for many ticks in a row.
        found = self._seen_contacts.get(geoms)
        if found is None:
            pairs = np.frombuffer(geoms, np.int32).reshape(-1, 2).tolist()
            named = ((self._entities[a], self._entities[b]) for a, b in pairs)
            found = frozenset((a, b) if a < b else (b, a) for a, b in named if a != b)
            if len(self._seen_contacts) >= _KEPT_CONTACTS:
                self._seen_contacts.clear()
            self._seen_contacts[geoms] = found
        return found
