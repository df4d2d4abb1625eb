"""Tasks: what must be achieved, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from rbench.tasks.predicates import PREDICATES
from rbench.world_state import WorldState


@dataclass(frozen=True)
class Condition:
    """A predicate with its arguments, for example `in_container(object=geometry, container=box)`."""

    predicate: str
    arguments: Mapping[str, str] = field(hash=False)

    def holds(self, state: WorldState) -> bool:
        """Whether it is true in a state.

        Raises:
            KeyError: the predicate or a body it names does not exist (a suite's are checked when it is loaded).
        """
        return PREDICATES[self.predicate].function(state, **self.arguments)


@dataclass(frozen=True)
class Subtask:
    """A step on the way: reached once all its conditions have held at the same moment."""

    name: str
    when: tuple[Condition, ...]


@dataclass(frozen=True)
class Task:
    """What must be achieved.

    Attributes:
        scene: name of the scene it starts from.
        instruction: what the agent is told, unless an instruction factor says otherwise.
        goal: conditions that must all hold, uninterrupted for `hold` s of simulated time.
        subtasks: steps that give the graded score.
        limit: time limit, s of simulated time.
    """

    name: str
    kind: Literal["manipulation", "question"]
    scene: str
    instruction: str
    goal: tuple[Condition, ...]
    hold: float
    subtasks: tuple[Subtask, ...]
    limit: float

    @property
    def objects(self) -> tuple[str, ...]:
        """The bodies that the goal is about, in the order of their first mention."""
        return tuple(dict.fromkeys(c.arguments["object"] for c in self.goal if "object" in c.arguments))

    def containers_of(self, object: str) -> tuple[str, ...]:
        """The receptacles in which the goal wants an object."""
        wanted = [c.arguments for c in self.goal if c.arguments.get("object") == object and "container" in c.arguments]
        return tuple(dict.fromkeys(arguments["container"] for arguments in wanted))
