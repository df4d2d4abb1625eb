"""Agents that end their process, or leave a trace of every episode they begin; used as `agents_that_end:NAME`."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import Literal

import pydantic

from rbench import Agent, AgentManifest, CameraRequest, InfrastructureError, Stop, StoppedEarly


class Options(pydantic.BaseModel, extra="forbid"):
    """`at`: the first random number of the episode in which it happens. `trace`: a file that gets those of all."""

    how: str = ""
    at: float = -1.0
    where: Literal["reset", "act", "report", "init", "close"] = "act"
    trace: str = ""
    pause: float = 0.0
    api_key: str = ""


class Traced(Agent):
    """Stops at once. What it drew is in its report and, one line an episode that began, in the trace."""

    Options = Options
    cameras = {"front": CameraRequest(48, 64)}  # noqa: RUF012

    def __init__(self, options, context):
        self.options = options
        self.at("init")

    @property
    def manifest(self):
        return AgentManifest(actions=("joint_positions",), cameras=self.cameras)

    def reset(self, start):
        self.drawn = float(start.rng.random())
        if self.options.trace:
            with Path(self.options.trace).open("a") as file:
                file.write(f"{self.drawn!r}\n")
        self.at("reset")

    def act(self, observation):
        time.sleep(self.options.pause)
        self.at("act")
        return Stop("done")

    def report(self):
        self.at("report")
        return {"drawn": self.drawn}

    def at(self, where):
        pass


class Ends(Traced):
    """Ends its process in one episode, in one method, in one way."""

    def at(self, where):
        if where == self.options.where and (where == "init" or self.drawn == self.options.at):
            getattr(self, self.options.how)()

    def exit(self):
        os._exit(7)

    def kill(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def exit_in_worker(self):
        if sys.argv == ["rbench worker"]:
            os._exit(7)

    def stop(self):
        raise StoppedEarly("the budget is spent; raise it")

    def stop_once(self):
        if self.first_time():
            self.stop()

    def unreachable_at_first(self):
        # Three times: that is how often an episode is tried in one session.
        if any(self.first_time(f".{i}") for i in range(3)):
            raise InfrastructureError("no answer from the server; start it")

    def first_time(self, mark=""):
        path = Path(self.options.trace + ".once" + mark)
        known = path.exists()
        path.touch()
        return not known

    def terminate(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(10)

    def system_exit(self):
        raise SystemExit(3)

    def keyboard(self):
        raise KeyboardInterrupt

    def segfault(self):
        sys.stderr.flush()
        ctypes.string_at(0)

    def world(self):
        """The simulator takes the process down, as a driver might."""
        from rbench.simulation.world import MujocoWorld

        MujocoWorld.settle = lambda *_, **__: os._exit(9)

    def world_once(self):
        if self.first_time():
            self.world()


class Renders(Ends):
    """Looks at a picture, and has the renderer fail."""

    def act(self, observation):
        self.at("act")
        self.sum = int(observation.cameras["front"].rgb.sum())
        return Stop("seen")

    def report(self):
        return {"drawn": self.drawn, "sum": self.sum}

    def drawing_exits(self):
        self.draw_with(lambda *_: os._exit(9))

    def drawing_fails(self):
        def fail(*_):
            raise OSError("no more memory on the card")

        self.draw_with(fail)

    def draw_with(self, draw):
        from rbench.simulation.stage import Stage

        Stage.draw = draw


class Stubborn(Traced):
    """Its second episode in a process never ends, whatever it is told."""

    episodes = 0

    def at(self, where):
        if where == "act":
            self.episodes += 1
        while self.episodes == 2:
            with contextlib.suppress(KeyboardInterrupt):
                time.sleep(60)


class Surroundings(Traced):
    """Reports what its process looks like."""

    def report(self):
        names = ("OMP_NUM_THREADS", "LP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MUJOCO_GL", "SURROUNDINGS")
        return {
            "pid": os.getpid(),
            "environment": {name: os.environ.get(name) for name in names},
            "loaded": sorted(name for name in sys.modules if name.startswith("rbench_")),
        }


class Noisy(Traced):
    """Prints everywhere, at every moment."""

    def at(self, where):
        print(f"noise-print {where}")
        os.write(1, f"noise-write {where}\n".encode())
        os.system(f"echo noise-child {where}")
        sys.__stdout__.write(f"noise-stdout {where}\n")
        assert sys.stdin.read() == ""
