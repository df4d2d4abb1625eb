"""Collects an episode's control ticks into a `Trajectory`."""

from __future__ import annotations

import numpy as np

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
        single = np.float32
        pairs = sorted(set().union(*(s.contacts for s in states)))
        contacts = np.array([[pair in s.contacts for pair in pairs] for s in states], dtype=np.bool_)
        return Trajectory(
            control_rate=self._control_rate,
            time=np.array([s.time for s in states]),
            joint_positions=np.array([r.joint_positions for r in robots], dtype=single),
            joint_velocities=np.array([r.joint_velocities for r in robots], dtype=single),
            gripper=np.array([r.gripper for r in robots], dtype=single),
            end_effector=np.array(
                [np.concatenate([r.end_effector_position, r.end_effector_quaternion]) for r in robots], dtype=single
            ),
            commands=np.array(self._commands, dtype=np.float64).reshape(len(self._commands), 8),
            bodies={
                name: np.array(
                    [np.concatenate([s.bodies[name].position, s.bodies[name].quaternion]) for s in states],
                    dtype=single,
                )
                for name in states[0].bodies
            },
            contact_pairs=tuple("|".join(pair) for pair in pairs),
            contacts=contacts.reshape(len(states), len(pairs)),
        )
