"""Collects an episode's control ticks into a `Trajectory`."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rbench.geometry import Array
from rbench.interfaces.world import Tick
from rbench.record import Trajectory
from rbench.world_state import WorldState


class TrajectoryRecorder:
    """Keeps references to per-tick arrays and stacks them once, at the end of the episode."""

    def __init__(self, control_rate: int, start: WorldState) -> None:
        self._control_rate = control_rate
        self._states = [start]
        self._commands: list[Array] = []

    def add(self, tick: Tick) -> None:
        """Append one tick."""
        self._commands.append(tick.command)
        self._states.append(tick.state)

    @property
    def ticks(self) -> int:
        """Ticks recorded so far."""
        return len(self._commands)

    def trajectory(self) -> Trajectory:
        """The recording; row 0 is the state at reset."""
        states = self._states
        robots = [s.robot for s in states]
        pairs, contacts = self._contacts()
        return Trajectory(
            control_rate=self._control_rate,
            time=np.array([s.time for s in states]),
            joint_positions=_rows([r.joint_positions for r in robots], len(robots)),
            joint_velocities=_rows([r.joint_velocities for r in robots], len(robots)),
            gripper=np.array([r.gripper for r in robots], dtype=np.float32),
            end_effector=_poses([(r.end_effector_position, r.end_effector_quaternion) for r in robots]),
            commands=np.array(self._commands, dtype=np.float64).reshape(len(self._commands), 8),
            bodies={
                name: _poses([(s.bodies[name].position, s.bodies[name].quaternion) for s in states])
                for name in states[0].bodies
            },
            contact_pairs=tuple("|".join(pair) for pair in pairs),
            contacts=contacts,
        )

    def _contacts(self) -> tuple[list[tuple[str, str]], npt.NDArray[np.bool_]]:
        """Every pair that ever touched, and (n, pairs) when; most moments have the contacts of the one before."""
        different = list(dict.fromkeys(s.contacts for s in self._states))
        pairs = sorted(frozenset().union(*different))
        table = np.array([[pair in contacts for pair in pairs] for contacts in different], dtype=np.bool_)
        number = {contacts: i for i, contacts in enumerate(different)}
        table = table.reshape(len(different), len(pairs))
        return pairs, table[[number[s.contacts] for s in self._states]]


def _rows(parts: list[Array], rows: int) -> npt.NDArray[np.float32]:
    """Short arrays one after the other as a table of so many rows; `np.array` takes several times as long."""
    return np.concatenate(parts).reshape(rows, -1).astype(np.float32)


def _poses(poses: list[tuple[Array, Array]]) -> npt.NDArray[np.float32]:
    """(n, 7) out of n positions (3,) and quaternions (4,)."""
    return _rows([part for pose in poses for part in pose], len(poses))
