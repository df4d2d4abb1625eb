"""Agents that do what good agents do not; imported as `agents_under_test:NAME` from this folder."""

from __future__ import annotations

import contextlib
import os
import subprocess

import numpy as np
from pydantic import BaseModel

from rbench import Agent, AgentManifest, Answer, CameraRequest, JointPositions, Stop, Waypoints, Wrapper
from rbench.errors import InfrastructureError


class Base(Agent):
    """Holds its pose; the subclasses spoil one thing each."""

    cameras = {"front": CameraRequest(64, 64)}  # noqa: RUF012
    actions = ("joint_positions",)

    def __init__(self, options, context):
        self.calls = 0

    @property
    def manifest(self):
        return AgentManifest(actions=self.actions, cameras=self.cameras)

    def reset(self, start):
        self.start = start

    def rows(self, observation, count=20):
        return np.tile(np.append(observation.joint_positions, 0.0), (count, 1))

    def act(self, observation):
        return JointPositions(self.rows(observation))


class Raises(Base):
    def act(self, observation):
        raise ValueError("no plan\nfound")


class Exits(Base):
    def act(self, observation):
        raise SystemExit(3)


class RaisesAtReset(Base):
    def reset(self, start):
        raise RuntimeError("not ready")


class WrongShape(Base):
    def act(self, observation):
        return JointPositions(np.zeros((4, 7)))


class Empty(Base):
    def act(self, observation):
        return JointPositions(np.zeros((0, 8)))


class NotANumber(Base):
    def act(self, observation):
        rows = self.rows(observation)
        rows[2, 3] = np.nan
        return JointPositions(rows)


class WrongKind(Base):
    def act(self, observation):
        return Answer(1)


class AnswersAnyway(Base):
    actions = ("answer",)

    def act(self, observation):
        return Answer(1)


class Nothing(Base):
    def act(self, observation):
        return None


class Huge(Base):
    def act(self, observation):
        return JointPositions(np.full((20, 8), 1e7))


class GivesUp(Base):
    def act(self, observation):
        return Stop("not_detected")


class ReportsAnObject(Base):
    def act(self, observation):
        return Stop()

    def report(self):
        return {"secret": object()}


class LostInReport(ReportsAnObject):
    """What it asks is gone when it is asked for its report."""

    def report(self):
        raise InfrastructureError("the server is gone; start it again")


class Looks(Base):
    """Reads its camera at the first observation, and again what it should not."""

    def act(self, observation):
        image = observation.cameras["front"].rgb
        assert image.shape == (64, 64, 3) and image.dtype == np.uint8 and image.std() > 0
        return Stop("looked")


class ReadsStale(Base):
    def act(self, observation):
        if self.calls == 0:
            self.first = observation
            self.calls += 1
            return JointPositions(self.rows(observation, 1))
        self.calls = 0
        self.first.cameras["front"].rgb  # noqa: B018
        return Stop()


class Blind(Base):
    cameras = {"wrist": CameraRequest(64, 64)}  # noqa: RUF012


class RandomStops(Base):
    """Draws from its own generator; what it drew is in the record."""

    def reset(self, start):
        self.drawn = float(start.rng.random())

    def act(self, observation):
        return Stop("drawn")

    def report(self):
        return {"drawn": self.drawn}


class Polite(Wrapper):
    """Refines the instruction and marks the report."""

    def reset(self, start):
        from dataclasses import replace

        self.inner.reset(replace(start, instruction="please: " + start.instruction))

    def report(self):
        return {
            **self.inner.report(),
            "instruction": getattr(self.inner, "start", None) and self.inner.start.instruction,
        }


class Transparent(Wrapper):
    """Passes everything through."""


class SometimesBroken(Wrapper):
    """Around the expert: 6 episodes succeed, 2 fail, 2 raise."""

    episodes = 0

    def reset(self, start):
        type(self).episodes += 1
        self.inner.reset(start)

    def act(self, observation):
        number = type(self).episodes
        if number in (3, 7):
            raise RuntimeError("broken on purpose")
        if number in (4, 9):
            return Stop("gave_up")
        return self.inner.act(observation)


class Forks(Base):
    """Its child must not go on as a second worker."""

    def act(self, observation):
        child = os.fork()
        if child:
            os.waitpid(child, 0)
        return Stop("child" if child == 0 else "parent")


class LeavesAProcess(Base):
    """Starts a process and forgets it; the report says which."""

    def act(self, observation):
        self.left = subprocess.Popen(["sleep", "300"]).pid
        return Stop("left one")

    def report(self):
        return {"left": self.left}


class ClosesBadly(Base):
    def act(self, observation):
        return Stop("done")

    def close(self):
        raise RuntimeError("close fails")


class TellsItsSecrets(Base):
    class Options(BaseModel, extra="forbid"):
        api_key: str
        server: str = "http://user:hunter2hunter2@localhost/?token=querysecret"

    def __init__(self, options, context):
        super().__init__(options, context)
        self.options = options

    def act(self, observation):
        raise ValueError(f"failed with {self.options!r}")

    def report(self):
        return {"options": self.options.model_dump(), self.options.api_key: 1}


class Evil:
    """Raises whatever is done with it."""

    def __array__(self, *arguments, **options):
        raise RuntimeError("no array")

    def __str__(self):
        raise RuntimeError("no text")


class EvilRows(Base):
    def act(self, observation):
        return JointPositions(Evil())


class EvilReason(Base):
    def act(self, observation):
        return Stop(Evil())


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no text")


class RaisesTheUnspeakable(Base):
    def act(self, observation):
        raise Unspeakable


class TextRows(Base):
    def act(self, observation):
        return JointPositions([["0.1"] * 8])


class WaypointsOfNothing(Base):
    actions = ("waypoints",)

    def act(self, observation):
        return Waypoints(5)


class ReportsItself(Base):
    def act(self, observation):
        return Stop()

    def report(self):
        report = {}
        report["me"] = report
        return report


class TimesInAList(Base):
    def act(self, observation):
        return Stop()

    def timing(self):
        return [1.0]


class TakesForEver(TimesInAList):
    def timing(self):
        return {"infer": float("inf")}


class RaisesGeneratorExit(Base):
    def act(self, observation):
        raise GeneratorExit


class SetsNumpyErrors(Base):
    def act(self, observation):
        np.seterr(all="raise")
        return JointPositions(self.rows(observation))


class Vandal(Base):
    """Writes into everything that it is given."""

    def act(self, observation):
        for array in (observation.joint_positions, observation.cameras["front"].rgb):
            assert array.base is None or array.base.shape == array.shape
            array.flags.writeable = True
            array[:] = 0
        return Stop("vandalised")


class PrivilegedVandal(Base):
    cameras = {}  # noqa: RUF012

    @property
    def manifest(self):
        return AgentManifest(actions=self.actions, privileged=True)

    def act(self, observation):
        state = observation.ground_truth.state
        state.cavities["box"] = (9.0, 9.0, 9.0)
        state.bodies["intruder"] = state.bodies["box"]
        with contextlib.suppress(ValueError):
            state.bodies["geometry"].position[:] = 0
        return JointPositions(self.rows(observation))


class Declares(Base):
    """Declares what its option says."""

    class Options(BaseModel, extra="forbid"):
        what: str

    WRONG = {  # noqa: RUF012
        "rate-text": {"control_rate": "20"},
        "rate-7": {"control_rate": 7},
        "cameras-list": {"cameras": ["front"]},
        "camera-tuple": {"cameras": {"front": (64, 64)}},
        "camera-float": {"cameras": {"front": CameraRequest(64.0, 64)}},
        "camera-huge": {"cameras": {"front": CameraRequest(64, 5000)}},
        "privileged-text": {"privileged": "no"},
        "actions-text": {"actions": "joint_positions"},
    }

    def __init__(self, options, context):
        self.what = options.what

    @property
    def manifest(self):
        if self.what == "none":
            return None
        if self.what == "raises":
            raise ValueError("undecided")
        return AgentManifest(**{"actions": self.actions, "cameras": self.cameras, **self.WRONG[self.what]})
