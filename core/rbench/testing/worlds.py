"""The worlds that checks play in, made when they are needed: importing the simulator fixes its GL backend."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rbench.errors import StartError
from rbench.simulation.gl import DISABLED, VARIABLE, choose_gl, use_gl

if TYPE_CHECKING:
    from rbench.testing.fake_world import Altered, FakeWorld


def fake_world(alter: Altered | None = None) -> FakeWorld:
    """A world without physics and graphics; `alter` changes its pictures."""
    if os.environ.get(VARIABLE):
        # The user chose a backend: the simulator, which knows the arm, must find it settled.
        use_gl(choose_gl())
    from rbench.testing.fake_world import FakeWorld

    return FakeWorld() if alter is None else FakeWorld(alter)


def drawing_problem() -> str | None:
    """Why the real world cannot draw here, or None."""
    try:
        return "no picture can be drawn here: `rbench doctor` says why" if choose_gl() == DISABLED else None
    except StartError as problem:
        return str(problem)
