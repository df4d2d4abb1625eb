"""An agent that leaves a trace of where it runs; used as `agents_placed:Placed`."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from agents_that_end import Traced


class Placed(Traced):
    """Writes a line an episode that began: what it drew, its process, the actor around it, and the node's raylet."""

    def reset(self, start):
        self.drawn = float(start.rng.random())
        node = os.environ.get("RAY_RAYLET_PID", "0")
        line = f"{self.drawn!r} {os.getpid()} {os.getppid()} {node}\n"
        with Path(self.options.trace).open("a") as file:
            file.write(line)


class EndsSlot(Placed):
    """Takes the process around its own down in one episode."""

    def reset(self, start):
        super().reset(start)
        if self.drawn == self.options.at:
            os.kill(os.getppid(), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGSTOP)
