"""What a worker is doing at this moment: decides who is to blame when its process dies or hangs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import IntEnum


class Phase(IntEnum):
    """What a worker is doing. The numbers pass between processes of one run and are never stored."""

    STARTING = 0
    IDLE = 1
    WORLD = 2
    RENDERING = 3
    ASKING = 4
    MAKING_AGENT = 5
    AGENT_RESET = 6
    AGENT_ACT = 7
    AGENT_REPORT = 8
    IMPORTING_AGENT = 9
    CLOSING_AGENT = 10

    @property
    def in_agent(self) -> bool:
        """Whether the code that runs is the agent's."""
        return self >= Phase.MAKING_AGENT

    @property
    def words(self) -> str:
        """The phase as part of a sentence about what happened in it: `in act()`."""
        return _WORDS[self]

    @property
    def doing(self) -> str:
        """The phase as what is being done now: `in act()`, `rendering`."""
        return _DOING.get(self, self.words)


_WORDS = {
    Phase.STARTING: "while it started",
    Phase.IDLE: "between episodes",
    Phase.WORLD: "in the simulation",
    Phase.RENDERING: "while rendering",
    Phase.ASKING: "while a vision model was asked",
    Phase.MAKING_AGENT: "in the agent's constructor",
    Phase.AGENT_RESET: "in reset()",
    Phase.AGENT_ACT: "in act()",
    Phase.AGENT_REPORT: "in report()",
    Phase.IMPORTING_AGENT: "while it was imported",
    Phase.CLOSING_AGENT: "in close()",
}

_DOING = {Phase.STARTING: "starting", Phase.RENDERING: "rendering", Phase.ASKING: "asking a vision model"}


class PhaseMarker:
    """Holds the present phase. A worker process has one that its parent can read, also after its death."""

    def __init__(self) -> None:
        self.now = Phase.STARTING

    def enter(self, phase: Phase) -> None:
        """Say what begins now."""
        self.now = phase

    @contextmanager
    def during(self, phase: Phase) -> Iterator[None]:
        """Say what is done while the block runs; then it is again what it was before."""
        before = self.now
        self.enter(phase)
        try:
            yield
        finally:
            self.enter(before)

    def begin(self) -> None:
        """Say that an attempt at an episode begins now: limits count from here."""
