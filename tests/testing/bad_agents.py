"""Agents with one thing wrong each, around the honest one. `EXPECTED` says which check must catch which."""

from __future__ import annotations

import os
import random
import subprocess
import tempfile
import threading
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from honest_agent import Honest
from pydantic import BaseModel

from rbench import AgentManifest, CameraRequest, JointPositions, Stop, Waypoints

#: Agent -> the checks that must fail, and no other.
EXPECTED: dict[str, set[str]] = {}
#: Processes that `LeavesAProcess` started; whoever runs it ends them.
CHILDREN: list[subprocess.Popen] = []


def caught_by(*checks):
    def remember(cls):
        EXPECTED[cls.__name__] = set(checks)
        return cls

    return remember


@caught_by()
class Blameless(Honest):
    """Nothing wrong."""


# --- the ten of the kit's promise ------------------------------------------------------------------------------------


@caught_by("no-carry-over")
class CarriesState(Honest):
    """Starts every episode a little faster than the last."""

    episodes = 0

    def reset(self, start):
        super().reset(start)
        self.episodes += 1
        self.speed = 0.25 + 0.01 * self.episodes


@caught_by("no-carry-over")
class CarriesQueue(Honest):
    """Goes on with the plan of an episode that was cut off."""

    def __init__(self, options, context):
        super().__init__(options, context)
        self.queue = []

    def act(self, observation):
        if not self.queue:
            action = super().act(observation)
            if not isinstance(action, Waypoints):
                return action
            self.queue = [Waypoints((goal,)) for goal in action.goals]
        return self.queue.pop(0)


@caught_by("deterministic")
class DrawsUnseeded(Honest):
    def act(self, observation):
        self.speed = float(np.random.default_rng().uniform(0.2, 0.3))
        return super().act(observation)


@caught_by("hand-direction")
class QuaternionXyzw(Honest):
    """Gives quaternions as scipy does."""

    def hand(self, turn):
        w, x, y, z = super().hand(turn)
        return (x, y, z, w)


@caught_by("hand-turns-with-object")
class QuaternionSign(Honest):
    """One sign is wrong: the hand turns against the object."""

    def hand(self, turn):
        w, x, y, z = super().hand(turn)
        return (w, x, -y, z)


@caught_by("hand-direction")
class HandUp(Honest):
    """Another sign is wrong: the hand points up."""

    def hand(self, turn):
        return (0.0, 0.0, 0.0, 1.0)


@caught_by("gripper-direction")
class FlippedGripper(Honest):
    open, closed = 1.0, 0.0


@caught_by("image-upright")
class UpsideDown(Honest):
    def look(self, observation):
        rgb, depth = super().look(observation)
        return rgb[::-1], depth[::-1]


@caught_by("image-upright")
class UpsideDownColours(Honest):
    def look(self, observation):
        rgb, depth = super().look(observation)
        return rgb[::-1], depth


@caught_by("image-upright", "hand-turns-with-object")
class Mirrored(Honest):
    def look(self, observation):
        rgb, depth = super().look(observation)
        return rgb[:, ::-1], depth[:, ::-1]


@caught_by("channel-order")
class Bgr(Honest):
    def look(self, observation):
        rgb, depth = super().look(observation)
        return rgb[:, :, ::-1], depth


@caught_by("depth-unit")
class Millimetres(Honest):
    def look(self, observation):
        rgb, depth = super().look(observation)
        return rgb, depth / 1000


@caught_by("chunk-not-empty")
class EmptyChunk(Honest):
    def act(self, observation):
        action = super().act(observation)
        return Waypoints(()) if isinstance(action, Waypoints) else action


@caught_by("finite-numbers")
class NotANumber(Honest):
    def act(self, observation):
        action = super().act(observation)
        if not isinstance(action, Waypoints):
            return action
        first, *others = action.goals
        return Waypoints((replace(first, position=(float("nan"), *first.position[1:])), *others))


@caught_by("time-per-call")
class Slow(Honest):
    def act(self, observation):
        time.sleep(0.35)
        return super().act(observation)


@caught_by("memory")
class LeaksMemory(Honest):
    log: list[np.ndarray] = []  # noqa: RUF012

    def act(self, observation):
        self.log.append(observation.cameras["front"].rgb.astype(np.float32))
        return super().act(observation)


@caught_by("forgets-observations", "memory")
class KeepsPictures(Honest):
    def __init__(self, options, context):
        super().__init__(options, context)
        self.history = []

    def act(self, observation):
        self.history.append(observation.cameras["front"].rgb)
        return super().act(observation)


@caught_by("leaves-nothing-behind")
class LeavesAThread(Honest):
    def __init__(self, options, context):
        super().__init__(options, context)
        self.waiting = threading.Event()
        threading.Thread(target=self.waiting.wait, args=(30,), daemon=True, name="forgotten").start()


@caught_by("leaves-nothing-behind")
class LeavesAFile(Honest):
    def reset(self, start):
        super().reset(start)
        Path("last-instruction.txt").write_text(start.instruction)
        with tempfile.NamedTemporaryFile(delete=False) as file:
            file.write(b"debug")


@caught_by("leaves-nothing-behind")
class LeavesAProcess(Honest):
    def __init__(self, options, context):
        super().__init__(options, context)
        CHILDREN.append(subprocess.Popen(["sleep", "20"]))


# --- and others ------------------------------------------------------------------------------------------------------


@caught_by("own-randomness")
class GlobalNumpy(Honest):
    """Seeds the global generator, so that everything seems well."""

    def act(self, observation):
        np.random.seed(1)  # noqa: NPY002
        self.speed = 0.25 + 0.01 * np.random.rand()  # noqa: NPY002
        return super().act(observation)


@caught_by("own-randomness", "deterministic")
class GlobalRandom(Honest):
    def act(self, observation):
        self.speed = random.uniform(0.2, 0.3)
        return super().act(observation)


@caught_by("same-in-another-process")
class HashOrder(Honest):
    """Depends on the hash seed of the process."""

    def act(self, observation):
        self.speed = 0.2 + (hash(self.start.instruction) % 1000) / 10000
        return super().act(observation)


@caught_by("leaves-observations-alone")
class WritesIntoPictures(Honest):
    def look(self, observation):
        rgb, depth = super().look(observation)
        rgb.flags.writeable = True
        rgb[:2] = 0
        return rgb, depth


@caught_by("reads-in-time")
class ReadsLate(Honest):
    """Looks at the observation before the last one."""

    previous = None

    def reset(self, start):
        super().reset(start)
        self.previous = None

    def act(self, observation):
        previous, self.previous = self.previous, observation
        if previous is None:
            rows = np.tile(np.append(observation.joint_positions, 0.0), (5, 1))
            return JointPositions(rows)
        previous.cameras["front"].rgb  # noqa: B018
        return Stop("looked")

    @property
    def manifest(self):
        return replace(super().manifest, actions=("joint_positions",))


@caught_by("black-frames", "white-frames")
class CrashesInTheDark(Honest):
    def act(self, observation):
        image = observation.cameras["front"].rgb
        assert 0 < image.mean() < 255, "no picture"
        return super().act(observation)


@caught_by("instructions")
class FormatsInstruction(Honest):
    def reset(self, start):
        super().reset(start)
        self.prompt = ("{robot}: " + start.instruction).format(robot="panda")


@caught_by("ground-truth")
class Peeks(Honest):
    def act(self, observation):
        try:
            self.truth = observation.ground_truth
        except AttributeError:
            self.truth = None
        return super().act(observation)


@caught_by("actions-declared")
class Undeclared(Honest):
    @property
    def manifest(self):
        return replace(super().manifest, actions=("joint_positions",))


@caught_by("chunk-shape")
class SevenColumns(Honest):
    def act(self, observation):
        return JointPositions(np.zeros((5, 7)))

    @property
    def manifest(self):
        return replace(super().manifest, actions=("joint_positions",))


@caught_by("in-range")
class Degrees(Honest):
    def act(self, observation):
        rows = np.tile(np.append(np.degrees(observation.joint_positions), 0.0), (10, 1))
        return JointPositions(rows)

    @property
    def manifest(self):
        return replace(super().manifest, actions=("joint_positions",))


@caught_by("in-range")
class GripperTo255(Honest):
    closed = 255.0


@caught_by("unit-quaternions")
class LongQuaternion(Honest):
    def hand(self, turn):
        return tuple(2.0 * value for value in super().hand(turn))


@caught_by("stop")
class LongReason(Honest):
    def act(self, observation):
        return Stop(f"I looked everywhere at {observation.time} and did not find it")


@caught_by("report")
class ReportsAnArrayType(Honest):
    def report(self):
        return {"manifest": AgentManifest, "speed": self.speed}


@caught_by("lifecycle")
class ClosesOnce(Honest):
    def __init__(self, options, context):
        super().__init__(options, context)
        self.server = object()

    def close(self):
        del self.server


@caught_by("manifest")
class ChangingManifest(Honest):
    looked = False

    def act(self, observation):
        self.looked = True
        return super().act(observation)

    @property
    def manifest(self):
        size = 160 if self.looked else 150
        return replace(super().manifest, cameras={"front": CameraRequest(120, size, ("rgb", "depth"))})


@caught_by("no-exceptions")
class Raises(Honest):
    def act(self, observation):
        raise ValueError("no plan left")


@caught_by("construct")
class NeedsMore(Honest):
    def __init__(self, options, context, weights):
        super().__init__(options, context)


@caught_by("quiet")
class Prints(Honest):
    def act(self, observation):
        print("thinking ...")
        return super().act(observation)


@caught_by("leaves-the-process-alone")
class SetsEnvironment(Honest):
    def __init__(self, options, context):
        super().__init__(options, context)
        os.environ["BAD_AGENT"] = str(int(os.environ.get("BAD_AGENT", "0")) + 1)


class LooseOptions(BaseModel):
    speed: float = 0.3


@caught_by("options")
class AnyOption(Honest):
    Options = LooseOptions


@caught_by("timing")
class TimesAsText(Honest):
    def timing(self):
        return {"thinking": "2 s"}


@caught_by("deterministic")
class TimesInReport(Honest):
    def report(self):
        return {"clock": time.perf_counter()}
