"""Factor `instruction`: the words of the task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from rbench.design import Level
from rbench.errors import UsageError
from rbench.interfaces.factor import Factor
from rbench.interfaces.world import World
from rbench.scene import Setup

#: "Identical semantics but different syntax" (paper, section 3): a command, a command in two parts, a statement.
#: None names a colour or a shape, so that they hold at every level of the other factors.
_INSTRUCTIONS = {
    "i1": "Put the geometry into the box.",
    "i2": "Pick up the object and place it in the box.",
    "i3": "The geometry should end up inside the box.",
}


class Options(BaseModel):
    """Options of the factor.

    Attributes:
        instructions: for every level its text.
    """

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    instructions: dict[str, str] = Field(default=_INSTRUCTIONS, min_length=1)


class Instruction(Factor):
    """A level's value is the text that the agent is given."""

    def __init__(self, options: Options) -> None:
        self._instructions = options.instructions

    def levels(self) -> Sequence[Level]:
        return tuple(Level(name, text) for name, text in self._instructions.items())

    def sample(self, rng: np.random.Generator) -> Level:
        """One of the levels, each as likely as the others."""
        return self.levels()[int(rng.integers(len(self._instructions)))]

    def apply(self, setup: Setup, level: Level) -> Setup:
        if not isinstance(level.value, str):
            raise UsageError(f"factor instruction: level {level.name!r} has no text ({level.value!r}); give its words")
        return replace(setup, instruction=level.value)

    def read_back(self, world: World) -> str:
        return world.setup.instruction
