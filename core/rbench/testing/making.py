"""Checks of how an agent is made, described and called."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from rbench.action import ACTION_KINDS, Stop
from rbench.errors import RbenchError, one_line
from rbench.interfaces.agent import Agent, AgentManifest
from rbench.interfaces.world import World
from rbench.running.agents import effective_manifest
from rbench.testing.checks import CheckFailed, CheckSkipped, check
from rbench.testing.playing import play, start_of
from rbench.testing.scenarios import Scenario, baselines
from rbench.testing.subjects import CALLS, AgentSubject
from rbench.testing.worlds import fake_world
from rbench.values import to_plain

#: Physics steps a second, which a control rate must divide (design of the world).
PHYSICS_RATE = 480
#: Pixels of the longer side beyond which a picture request is taken for a mistake.
LARGEST = 4096
#: Characters of JSON that a report may have: it is kept for every episode.
LARGEST_REPORT = 100_000


@check("options")
def options(subject: AgentSubject) -> str | None:
    """Its options have a model that refuses unknown ones, and survive the way through JSON to a worker."""
    model = subject.entry.options_model()
    if model is None:
        return "it takes none"
    resolved = subject.entry.resolve_options(subject.part.options)
    assert resolved is not None
    try:
        written = json.loads(json.dumps(resolved.model_dump(mode="json"), allow_nan=False))
        again = model.model_validate(written)
    except (TypeError, ValueError, RbenchError) as problem:
        raise CheckFailed(
            f"the options do not survive JSON: {one_line(problem)}",
            "use numbers, text, lists, tables and enums as types of options, and no infinite numbers",
        ) from problem
    if again != resolved:
        raise CheckFailed(
            f"the options come back from JSON as {again!r} instead of {resolved!r}",
            "use types that pydantic writes and reads alike",
        )
    return None


@check("construct")
def construct(subject: AgentSubject) -> None:
    """It is made with (options, context), gives an Agent, and is made again as easily."""
    try:
        _ = subject.parts
    except RbenchError as problem:
        raise CheckSkipped("its options are not usable; see check 'options'") from problem
    for _ in range(2):
        try:
            agent = subject.build()
            effective_manifest(agent)
        except Exception as problem:
            raise CheckFailed(
                f"it could not be made: {problem if isinstance(problem, RbenchError) else one_line(problem)}",
                "the target takes (options, context), a wrapper (options, context, inner); options that it cannot do"
                " without are given with -o",
            ) from problem
        if not isinstance(agent, Agent):
            raise CheckFailed(
                f"the target gave a {type(agent).__name__}, which is no rbench.Agent", "subclass rbench.Agent"
            )
        agent.close()


@check("manifest")
def manifest(subject: AgentSubject) -> str:
    """Its manifest is valid, plain, and the same whenever it is read."""
    with subject.fresh() as agent:
        first = agent.manifest
        _require_valid(first)
        _require_equal(first, agent.manifest, "when it was read again")
        with subject.fresh() as other:
            _require_equal(first, other.manifest, "from a second instance")
        subject.require_playable()
        play(agent, fake_world(), baselines()[0], calls=CALLS)
        _require_equal(first, agent.manifest, "after an episode")
    cameras = ", ".join(f"{name} {r.width} x {r.height} {'+'.join(r.channels)}" for name, r in first.cameras.items())
    return f"{', '.join(first.actions)}; cameras: {cameras or 'none'}"


@check("lifecycle")
def lifecycle(subject: AgentSubject) -> None:
    """It can be closed at any time and twice, reset at any time, and reports whenever an episode ended."""
    with subject.fresh() as agent:
        _call("close() before any episode", agent.close)
        _call("a second close()", agent.close)
    subject.require_playable()
    first, second, _ = baselines()
    with subject.fresh() as agent:
        world = fake_world()
        _reset(agent, world, first, "reset()")
        _call("report() of an episode without a call of act()", agent.report)
        observation = _reset(agent, world, second, "reset() of an episode after one without a call of act()")
        try:
            agent.act(observation)
        except Exception as problem:
            raise CheckSkipped(f"act() raised {one_line(problem)}; see check 'no-exceptions'") from problem
        report = _call("report()", agent.report)
        if not isinstance(report, Mapping):
            raise CheckFailed(f"report() returned {type(report).__name__}", "return a dict of plain data, {} for none")
        _call("close() in the middle of an episode", agent.close)
        _call("a second close()", agent.close)


@check("no-exceptions")
def no_exceptions(subject: AgentSubject) -> None:
    """No method raises in an ordinary episode."""
    for played in subject.all_played():
        if played.raised is not None and type(played.raised).__name__ != "StaleObservation":
            raise CheckFailed(
                f"{played.method}() raised {one_line(played.raised)} in episode {played.scenario!r}",
                "see the traceback of `rbench run ... --debug`; return Stop(reason) when there is nothing to do",
            ) from played.raised


@check("stop")
def stop(subject: AgentSubject) -> str:
    """A Stop gives its reason in a word that tables can show."""
    reasons = {str(a.reason) for p in subject.all_played() for a in p.returned if isinstance(a, Stop)}
    for reason in sorted(reasons):
        if not reason or len(reason) > 60 or not reason.isprintable() or " " in reason:
            raise CheckFailed(
                f"it stopped with the reason {reason[:80]!r}",
                "give one short word, the same for the same cause (not_detected); details belong into report()",
            )
    if not reasons:
        raise CheckSkipped("it never stopped in these episodes")
    return ", ".join(sorted(reasons))


@check("timing")
def timing(subject: AgentSubject) -> None:
    """Wall times of an episode are seconds by name, told apart from its report."""
    for played in subject.all_played():
        times = played.timing
        if not isinstance(times, Mapping) or any(
            not isinstance(name, str) or isinstance(value, bool) or not isinstance(value, (int, float))
            for name, value in times.items()
        ):
            raise CheckFailed(f"timing() returned {times!r:.120}", "return a dict: name -> seconds, {} for none")


@check("report")
def report(subject: AgentSubject) -> None:
    """A report is a small dict of plain data."""
    for played in subject.all_played():
        try:
            text = json.dumps(to_plain(played.report))
        except (TypeError, ValueError) as problem:
            raise CheckFailed(
                f"report() holds what JSON cannot: {one_line(problem)}",
                "return numbers, text, lists and dicts; call .tolist() on arrays",
            ) from problem
        if len(text) > LARGEST_REPORT:
            raise CheckFailed(
                f"report() of episode {played.scenario!r} is {len(text):,} characters of JSON",
                "report what a table or a reader needs, not pictures or logs: it is kept for every episode",
            )


CHECKS = (options, construct, manifest, lifecycle, no_exceptions, stop, report, timing)


def _require_valid(found: Any) -> None:
    if not isinstance(found, AgentManifest):
        raise CheckFailed(f"manifest is a {type(found).__name__}", "make `manifest` a property of an AgentManifest")
    known = [kind for kind in ACTION_KINDS if kind != "stop"]
    if wrong := [action for action in found.actions if action not in known]:
        raise CheckFailed(
            f"the manifest declares the action {wrong[0]!r}", f"declare actions out of {', '.join(known)}"
        )
    if not found.kinds or any(kind not in ("manipulation", "question") for kind in found.kinds):
        raise CheckFailed(f"the manifest takes tasks of kinds {found.kinds!r}", "manipulation, question, or both")
    if found.primary is not None and found.primary not in found.cameras:
        raise CheckFailed(f"the primary camera {found.primary!r} is not among the cameras", "name one of them")
    if found.control_rate < 1 or PHYSICS_RATE % found.control_rate:
        raise CheckFailed(
            f"the control rate is {found.control_rate} Hz", f"choose one that divides {PHYSICS_RATE}: 10, 15, 20, 30 .."
        )
    for name, request in found.cameras.items():
        sides = (request.height, request.width)
        if any(type(side) is not int or not 1 <= side <= LARGEST for side in sides):
            raise CheckFailed(f"camera {name!r} is {sides[0]} x {sides[1]} pixels", f"ask for 1 to {LARGEST} pixels")
        if not request.channels or any(channel not in ("rgb", "depth") for channel in request.channels):
            raise CheckFailed(
                f"camera {name!r} has the channels {request.channels!r}", 'ask for "rgb", "depth" or both'
            )
    try:
        to_plain(found)
    except TypeError as problem:
        raise CheckFailed(f"the manifest is not plain data: {problem}", "use tuples, text and numbers") from problem


def _require_equal(first: AgentManifest, other: AgentManifest, when: str) -> None:
    if to_plain(first) != to_plain(other):
        raise CheckFailed(
            f"the manifest was another one {when}: {other!r} instead of {first!r}",
            "build it from the options once, in the constructor",
        )


def _reset(agent: Agent, world: World, scenario: Scenario, what: str) -> Any:
    manifest = effective_manifest(agent)
    world.reset(scenario.setup, control_rate=manifest.control_rate, cameras=manifest.cameras)
    observation = world.observe(privileged=manifest.privileged)
    _call(what, agent.reset, start_of(scenario, world, observation, manifest))
    return observation


def _call(what: str, call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except Exception as problem:
        raise CheckFailed(
            f"{what} raised {one_line(problem)}",
            "the host calls reset() before every episode, also after one that was broken off, and close() at the end,"
            " also after an error: both must do with any state",
        ) from problem
