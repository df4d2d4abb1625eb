"""The judge of one episode: confirmed success, graded score, events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from rbench.record import Event
from rbench.tasks.predicates import PREDICATES, grasped, in_box, released
from rbench.tasks.task import Condition, Task
from rbench.world_state import WorldState

#: Simulated times are sums of steps; two that should be equal differ by less than this (s).
_TIME_ROUNDING = 1e-6


class TaskMonitor:
    """Watches one episode of a task. Feed it the state at reset, then the state after every control tick.

    Success is confirmed when all goal conditions hold uninterrupted for `Task.hold` seconds; it and the
    subtasks, once reached, stay reached. Events, each with its simulated time:

    - `grasped` (detail: the object): the gripper took hold of an object of the goal;
    - `dropped` (detail: the object): the robot lost or put down such an object outside its receptacle;
    - `subtask_reached` (detail: the subtask);
    - `goal_confirmed`.

    Attributes:
        goal_holds: whether all goal conditions held in the latest state.
        held_at_reset: whether they held in the first state, which makes the episode meaningless.
        succeeded: whether success is confirmed.
        events: in the order in which they happened.
    """

    def __init__(self, task: Task) -> None:
        self._task = task
        self._containers = {name: task.containers_of(name) for name in task.objects}
        self._holding: set[str] = set()
        self._open = [(subtask.name, _test(subtask.when)) for subtask in task.subtasks]
        self._goal = _test(task.goal)
        self._holds_since: float | None = None
        self._started = False
        self._now = 0.0
        self.goal_holds = False
        self.held_at_reset = False
        self.succeeded = False
        self.events: list[Event] = []

    @property
    def score(self) -> float:
        """The share of subtasks reached, 0..1; 1 after success, 0 without subtasks and success."""
        if self.succeeded:
            return 1.0
        total = len(self._task.subtasks)
        return (total - len(self._open)) / total if total else 0.0

    def update(self, state: WorldState) -> None:
        """Take notice of a state; times must not run backwards."""
        self._now = state.time
        self._watch_grasps(state)
        self._watch_subtasks(state)
        self._watch_goal(state)
        self._started = True

    def ticks_before(self, end: float, control_rate: int) -> int:
        """Ticks after which, at the earliest, success can be confirmed or a time (s) is reached; 1 or more."""
        if self._holds_since is None:  # the goal may hold after the next tick
            confirmed = self._now + 1.0 / control_rate + self._task.hold
        else:
            confirmed = self._holds_since + self._task.hold
        return max(1, ceil((min(confirmed, end) - self._now) * control_rate - _TIME_ROUNDING))

    def _watch_grasps(self, state: WorldState) -> None:
        for name, containers in self._containers.items():
            if name not in self._holding:
                if grasped(state, name):
                    self._holding.add(name)
                    self._happened(state, "grasped", name)
            elif released(state, name):
                # Only the loss of every contact ends a grasp: a finger that lets go for a tick does not.
                self._holding.remove(name)
                if not any(in_box(state, name, container) for container in containers):
                    self._happened(state, "dropped", name)

    def _watch_subtasks(self, state: WorldState) -> None:
        for subtask in tuple(self._open):
            name, reached = subtask
            if reached(state):
                self._open.remove(subtask)
                self._happened(state, "subtask_reached", name)

    def _watch_goal(self, state: WorldState) -> None:
        self.goal_holds = self._goal(state)
        if not self._started:
            self.held_at_reset = self.goal_holds
        if not self.goal_holds:
            self._holds_since = None
            return
        if self._holds_since is None:
            self._holds_since = state.time
        if not self.succeeded and state.time - self._holds_since >= self._task.hold - _TIME_ROUNDING:
            self.succeeded = True
            self._happened(state, "goal_confirmed")

    def _happened(self, state: WorldState, name: str, detail: str = "") -> None:
        self.events.append(Event(state.time, name, detail))


def _test(conditions: Sequence[Condition]) -> Callable[[WorldState], bool]:
    """Whether all conditions hold, looked up once: this is asked at every tick."""
    predicates = [(PREDICATES[c.predicate].function, dict(c.arguments)) for c in conditions]

    def holds(state: WorldState) -> bool:
        return all(predicate(state, **arguments) for predicate, arguments in predicates)

    return holds
