"""Checks of what an agent does with what it is shown and told."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.errors import StaleObservation, one_line
from rbench.observation import Channel
from rbench.testing.checks import Check, CheckFailed, CheckSkipped, check
from rbench.testing.pictures import FAR
from rbench.testing.playing import Played, play
from rbench.testing.scenarios import baselines
from rbench.testing.subjects import CALLS, AgentSubject
from rbench.testing.worlds import fake_world

Image = npt.NDArray[Any]

#: Instructions that nobody foresaw: languages, marks that mean something to somebody, nothing, far too much.
INSTRUCTIONS = {
    "in other scripts": "把物体放进盒子里。 Κύβος → коробка 🤖📦 \u202eright to left\u202c",
    "full of marks": 'Put "it" into {box}; <object> %s %d {0} $HOME `rm` \\n \\u0041 \' -- ${x} {{y}}\n\ttwo lines',
    "empty": "",
    "very long": "Put the object into the box. " * 2000,
}


def _odd(name: str, statement: str) -> Check:
    def run(subject: AgentSubject) -> None:
        _require_ordinary(subject)
        if not subject.manifest.cameras:
            raise CheckSkipped("it asks for no camera")

        _require_decision(
            _all_odd(subject)[name],
            f"with {name}",
            'expect to find nothing: return Stop("not_detected"), or look again',
        )

    run.__doc__ = statement
    return check(name)(run)


def _noise(image: Image) -> Image:
    return np.random.Generator(np.random.PCG64(0)).integers(0, 256, image.shape).astype(np.uint8)


def _stripes(image: Image) -> Image:
    rows = np.arange(image.shape[0])[:, None, None] // 4 % 2
    return np.broadcast_to(rows * np.array([255, 0, 0]), image.shape).astype(np.uint8)


#: Check -> what becomes of a picture's channels.
ODD: Mapping[str, Mapping[Channel, Callable[[Image], Image]]] = {
    "black-frames": {"rgb": np.zeros_like},
    "white-frames": {"rgb": lambda image: np.full_like(image, 255)},
    "noise-frames": {"rgb": _noise},
    "striped-frames": {"rgb": _stripes},
    "no-depth": {"depth": lambda image: np.full_like(image, 0.01)},
    "far-depth": {"depth": lambda image: np.full_like(image, FAR)},
}
PICTURE_CHECKS = (
    _odd("black-frames", "Black pictures end in an action or a Stop."),
    _odd("white-frames", "White pictures end in an action or a Stop."),
    _odd("noise-frames", "Pictures of noise end in an action or a Stop."),
    _odd("striped-frames", "Pictures full of edges in one colour end in an action or a Stop."),
    _odd("no-depth", "Depth of nearly nothing ends in an action or a Stop."),
    _odd("far-depth", "Depth without any surface ends in an action or a Stop."),
)


def _all_odd(subject: AgentSubject) -> dict[str, Played]:
    """An episode with every kind of odd pictures, by one agent; played once."""
    if not subject.odd:
        with subject.fresh() as agent:
            for name, alter in ODD.items():
                subject.odd[name] = play(agent, fake_world(_altered(alter)), baselines()[0], calls=CALLS)
    return subject.odd


def _altered(alter: Mapping[Channel, Callable[[Image], Image]]) -> Callable[[Channel, Image], Image]:
    return lambda channel, image: alter[channel](image) if channel in alter else image


@check("instructions")
def instructions(subject: AgentSubject) -> None:
    """Instructions in any script, with any marks, empty or very long end in an action or a Stop."""
    _require_ordinary(subject)
    with subject.fresh() as agent:
        for kind, text in INSTRUCTIONS.items():
            played = play(agent, fake_world(), baselines()[0].told(text), calls=2)
            _require_decision(
                played,
                f"with an instruction that is {kind}",
                "take the instruction as text and nothing else: no format strings, no fixed length or encoding",
            )


@check("reads-in-time")
def reads_in_time(subject: AgentSubject) -> None:
    """Pictures are read before the action that follows them is returned."""
    for played in subject.all_played():
        if isinstance(played.raised, StaleObservation):
            raise CheckFailed(
                f"{played.method}() read a picture of the past in episode {played.scenario!r}: {played.raised}",
                "read observation.cameras[name].rgb (and .depth) inside the call of act() that got the observation, and"
                " keep the arrays, not the observation",
            )


@check("leaves-observations-alone")
def leaves_observations_alone(subject: AgentSubject) -> None:
    """It does not write into the arrays of observations."""
    for played in subject.all_played():
        if played.written:
            raise CheckFailed(
                f"it changed {', '.join(sorted(played.written))} in episode {played.scenario!r}",
                "work on a copy: numpy.array(image); the arrays are read-only for a reason",
            )


@check("ground-truth")
def ground_truth(subject: AgentSubject) -> str | None:
    """Only an agent that declares `privileged` asks for ground truth."""
    peeked = any(played.peeked for played in subject.all_played())
    if subject.manifest.privileged:
        return "privileged, and reads it" if peeked else "privileged, and did not read it here: is the mark needed?"
    if peeked:
        raise CheckFailed(
            "it asked for observation.ground_truth, which its manifest does not declare",
            "set privileged=True in the manifest (results then carry that mark), or do without",
        )
    return None


CHECKS = (*PICTURE_CHECKS, instructions, reads_in_time, leaves_observations_alone, ground_truth)


def _require_ordinary(subject: AgentSubject) -> None:
    """What fails in ordinary episodes says nothing about unusual ones."""
    if any(played.outcome in ("raised", "flawed") for played in subject.series):
        raise CheckSkipped("it fails in ordinary episodes too; see the checks before this one")


def _require_decision(played: Played, when: str, remedy: str) -> None:
    if played.raised is not None:
        raise CheckFailed(f"{when}: {played.method}() raised {one_line(played.raised)}", remedy) from played.raised
    if played.outcome == "flawed":
        flaw = played.flaws[0]
        raise CheckFailed(f"{when}: {flaw.problem}", flaw.remedy)
