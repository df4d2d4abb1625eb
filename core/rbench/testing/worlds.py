"""The worlds that checks play in, made when they are needed: importing the simulator fixes its GL backend."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rbench.errors import StartError
from rbench.simulation.gl import DISABLED, VARIABLE, choose_gl, use_gl

if TYPE_CHECKING:
    from rbench.testing.fake_world import Altered, FakeWorld


def settle_gl() -> None:
    """Settle the GL backend when the user chose one: the simulator must find it settled, whoever imports it first."""
    if os.environ.get(VARIABLE):
        use_gl(choose_gl())


def fake_world(alter: Altered | None = None) -> FakeWorld:
    """A world without physics and graphics; `alter` changes its pictures."""
    settle_gl()  # the fake world knows the arm from the simulator
    from rbench.testing.fake_world import FakeWorld

    return FakeWorld() if alter is None else FakeWorld(alter)


def drawing_problem() -> str | None:
    """Why the real world cannot draw here, or None."""
    try:
        return "no picture can be drawn here: `rbench doctor` says why" if choose_gl() == DISABLED else None
    except StartError as problem:
        return str(problem)
