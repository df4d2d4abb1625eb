"""Wrappers under test, and the checks of what they pass on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from rbench.errors import InfrastructureError, UsageError, did_you_mean, one_line
from rbench.interfaces.agent import Agent, AgentContext, AgentManifest
from rbench.interfaces.vision import VisionModel
from rbench.interfaces.wrapper import Wrapper
from rbench.observation import Observation
from rbench.plugins.catalog import Catalog
from rbench.running.agents import effective_manifest
from rbench.running.description import Part, RunDescription
from rbench.testing.actions import plain
from rbench.testing.checks import CheckFailed, CheckSkipped, check
from rbench.testing.playing import play
from rbench.testing.probes import MANIFEST, OTHER_MANIFEST, Call, Marker, ProbeAgent, privileged
from rbench.testing.scenarios import baselines
from rbench.testing.subjects import SUITE, AgentSubject, Expectations
from rbench.testing.worlds import fake_world
from rbench.values import to_plain

#: What a wrapper may declare that it changes.
CHANGEABLE = ("manifest", "instruction", "start", "observations", "actions", "report", "context")
#: Calls of `act` in the episodes of these checks: more than the probe needs.
CALLS = 8


class WrapperSubject(AgentSubject):
    """A wrapper under test, around an agent that writes down what reaches it."""

    kind = "wrapper"

    def __init__(
        self,
        name: str,
        options: Mapping[str, Any] | None = None,
        *,
        vision: str | None = None,
        vision_options: Mapping[str, Any] | None = None,
        folder: str | Path | None = None,
        expectations: Expectations | None = None,
        catalog: Catalog | None = None,
    ) -> None:
        super().__init__(
            name,
            options,
            vision=vision,
            vision_options=vision_options,
            folder=folder,
            expectations=expectations,
            catalog=catalog,
        )
        for word in self.expect.changes or ():
            if word not in CHANGEABLE:
                raise UsageError(
                    f"a wrapper cannot declare that it changes {word!r}.{did_you_mean(word, CHANGEABLE)}"
                    f" It can: {', '.join(CHANGEABLE)}."
                )

    @property
    def description(self) -> RunDescription:
        probe = Part(f"{ProbeAgent.__module__}:{ProbeAgent.__name__}", {}, str(Path.cwd()))
        return RunDescription(SUITE, agent=probe, wrappers=(self.part,), vision=self.vision)

    def around(self, inner: Agent) -> Agent:
        """The wrapper around an agent of ours, with a context of its own.

        Raises:
            CheckSkipped: it cannot be made, or does not keep the agent, which other checks say.
        """
        agent = self.made_around(inner)
        if getattr(agent, "inner", None) is not inner:
            raise CheckSkipped("it does not keep the inner agent; see check 'is-a-wrapper'")
        return agent

    def made_around(self, inner: Agent) -> Agent:
        """What the target gives when it is called with an agent of ours."""
        resolved = self.parts.wrappers[0]
        chosen = (self.parts.own_vision[-1] if self.parts.own_vision else None) or self.parts.vision
        vision = chosen.entry.load()(chosen.options) if chosen else None
        try:
            agent: Agent = resolved.entry.load()(resolved.options, AgentContext(vision=vision), inner)
        except Exception as problem:
            raise CheckSkipped(f"it could not be made ({one_line(problem)}); see check 'construct'") from problem
        return agent


@check("is-a-wrapper")
def is_a_wrapper(subject: WrapperSubject) -> None:
    """It subclasses rbench.Wrapper and keeps the inner agent as `inner`."""
    probe = ProbeAgent()
    agent = subject.made_around(probe)
    if not isinstance(agent, Wrapper):
        raise CheckFailed(f"the target gave a {type(agent).__name__}", "subclass rbench.Wrapper")
    if getattr(agent, "inner", None) is not probe:
        raise CheckFailed(
            "`inner` is not the agent that it was given",
            "call super().__init__(options, context, inner): the host follows `inner` to see what is inside",
        )


@check("calls-reach-inner")
def calls_reach_inner(subject: WrapperSubject) -> None:
    """Calls go inwards at once, outermost first: reset once an episode, act inside act, report, close."""
    log, agent = _watched(subject)
    names = [call.name for call in log]
    resets = names.count("inner.reset")
    once = (
        "call self.inner.reset(start) exactly once, in reset(): an inner agent must not see two starts in one episode"
    )
    if resets != 1:
        raise CheckFailed(f"the inner agent was reset {resets} times in an episode", once)
    if names.index("inner.reset") > names.index("outer.act"):
        raise CheckFailed("the inner agent was reset only when act() was called", once)
    if "inner.act" not in names:
        raise CheckFailed("act() never reached the inner agent", "call self.inner.act(observation) in act()")
    if names.index("inner.act") < names.index("outer.act"):
        raise CheckFailed("the inner agent was asked to act before act()", "ask it in act(), not in reset()")
    agent.close()
    if "inner.close" not in [call.name for call in log]:
        raise CheckFailed("close() did not reach the inner agent", "call self.inner.close() in close()")


@check("report-kept")
def report_kept(subject: WrapperSubject) -> None:
    """What the inner agent reports is still in the report, at any depth, and its times in timing()."""
    log, _ = _watched(subject)
    outer, inner = (_of([call for call in log if call.where == where], "report") for where in ("outer", "inner"))
    if not inner or not _holds(outer[-1].gave, "probe", inner[-1].gave["probe"]):
        raise CheckFailed(
            f"the inner agent's report is not in {outer[-1].gave!r:.120}",
            "start from it: {**self.inner.report(), ...}",
        )
    times = _of(log, "timing")[0].gave
    if not _holds(times, "probe", 0.5):
        raise CheckFailed(
            f"the inner agent's times are not in {times!r:.120}", "start from them: {**self.inner.timing(), ...}"
        )


@check("stacks")
def stacks(subject: WrapperSubject) -> None:
    """It can stand around itself."""
    probe = ProbeAgent()
    played = play(subject.around(subject.around(probe)), fake_world(), baselines()[0], calls=CALLS)
    if played.raised is not None:
        raise CheckFailed(
            f"around itself, {played.method}() raised {one_line(played.raised)}",
            "keep state in the instance, and expect any agent inside",
        )
    if probe.resets != 1:
        raise CheckFailed(f"around itself it resets the inner agent {probe.resets} times", "reset the inner agent once")


@check("passes-through")
def passes_through(subject: WrapperSubject) -> str:
    """What it does not say it changes passes through it unchanged: start, observations, actions, report."""
    found = changed_by(subject)
    declared = subject.expect.changes
    if declared is not None and (more := [word for word in found if word not in declared]):
        raise CheckFailed(
            f"it changes {', '.join(more)}, which it does not say ({found[more[0]]})",
            f"pass on what you do not mean to change, or say so: changes={tuple(sorted({*declared, *more}))!r}",
        )
    return f"it changes {', '.join(found)}" if found else "it changes nothing here"


@check("manifest-follows")
def manifest_follows(subject: WrapperSubject) -> None:
    """Its manifest follows the inner agent's: another agent inside shows in every field."""
    first, second = (subject.around(ProbeAgent(manifest=m)).manifest for m in (MANIFEST, OTHER_MANIFEST))
    for field in fields(AgentManifest):
        if getattr(MANIFEST, field.name) == getattr(OTHER_MANIFEST, field.name):
            continue
        if to_plain(getattr(first, field.name)) == to_plain(getattr(second, field.name)):
            if "manifest" in (subject.expect.changes or ()):
                continue
            raise CheckFailed(
                f"`{field.name}` of the manifest is {getattr(first, field.name)!r} whatever agent is inside",
                "start from the inner manifest: dataclasses.replace(self.inner.manifest, ...); if it must be so, say"
                ' changes=("manifest",)',
            )


@check("privileged-shows")
def privileged_shows(subject: WrapperSubject) -> None:
    """That the inner agent is privileged shows in the manifest, and its ground truth reaches it."""
    reached: list[bool] = []

    def look(observation: Observation) -> None:
        reached.append(observation.ground_truth is not None)

    agent = subject.around(ProbeAgent(manifest=privileged(MANIFEST), on_act=look))
    if not agent.manifest.privileged:
        raise CheckFailed(
            "its manifest says privileged=False around a privileged agent",
            "start from the inner manifest: dataclasses.replace(self.inner.manifest, ...)",
        )
    played = play(agent, fake_world(), baselines()[0], calls=CALLS)
    if not reached:
        if played.raised is None:
            raise CheckSkipped("the inner agent was never asked to act; see check 'calls-reach-inner'")
        raise CheckFailed(
            f"ground truth did not reach the inner agent: {played.method}() raised {one_line(played.raised)}",
            "pass on observation.ground_truth when you make an Observation for a privileged agent",
        )


@check("errors-pass")
def errors_pass(subject: WrapperSubject) -> None:
    """An infrastructure error of the inner agent reaches the host, which tries the episode again."""
    asked: list[bool] = []

    def fail(observation: Observation) -> None:
        asked.append(True)
        raise InfrastructureError("the policy server does not answer")

    played = play(subject.around(ProbeAgent(on_act=fail)), fake_world(), baselines()[0], calls=CALLS)
    if not asked:
        raise CheckSkipped("the inner agent was never asked to act; see check 'calls-reach-inner'")
    if not isinstance(played.raised, InfrastructureError):
        what = one_line(played.raised) if played.raised else f"{played.outcome} {played.reason!r}"
        raise CheckFailed(
            f"an InfrastructureError of the inner agent became {what}",
            "do not catch rbench.InfrastructureError (nor `except Exception` without raising it again)",
        )


@check("context")
def context(subject: WrapperSubject) -> None:
    """wrap_context gives the inner agent an AgentContext, with a vision model or None."""
    resolved = subject.parts.wrappers[0]
    given = AgentContext()
    cls = resolved.entry.load()
    wrapped = cls.wrap_context(resolved.options, given) if hasattr(cls, "wrap_context") else given
    if not isinstance(wrapped, AgentContext) or not isinstance(wrapped.vision, (VisionModel, type(None))):
        raise CheckFailed(
            f"wrap_context() returned {wrapped!r:.120}", "return dataclasses.replace(context, vision=...), or context"
        )


CHECKS = (
    is_a_wrapper,
    calls_reach_inner,
    report_kept,
    stacks,
    passes_through,
    manifest_follows,
    privileged_shows,
    errors_pass,
    context,
)


def changed_by(subject: WrapperSubject) -> dict[str, str]:
    """What a wrapper changes in one episode, of what goes in and of what comes out: word -> an example."""
    log, agent = _watched(subject)
    found: dict[str, str] = {}
    if to_plain(effective_manifest(agent)) != to_plain(MANIFEST):
        found["manifest"] = "the manifest is not that of the inner agent"
    outer, inner = ([call for call in log if call.where == where] for where in ("outer", "inner"))
    for method in ("reset", "act"):
        pairs = zip(_of(outer, method), _of(inner, method), strict=False)
        for given, got in ((a.given, b.given) for a, b in pairs):
            for word in given:
                if given[word] != got[word]:
                    found.setdefault(word, _example(word, got[word]))
    if [plain(call.gave) for call in _of(outer, "act")] != [plain(call.gave) for call in _of(inner, "act")]:
        found["actions"] = "the actions are not those that the inner agent returned"
    if [call.gave for call in _of(outer, "report")] != [call.gave for call in _of(inner, "report")]:
        found["report"] = f"{_of(outer, 'report')[-1].gave!r:.80}"
    return found


def _watched(subject: WrapperSubject) -> tuple[list[Call], Agent]:
    """The calls of one episode between two markers, and the agent that played it."""
    log: list[Call] = []
    agent = Marker("outer", subject.around(Marker("inner", ProbeAgent(), log)), log)
    played = play(agent, fake_world(), baselines()[0], calls=CALLS)
    if played.raised is not None:
        raise CheckSkipped(f"{played.method}() raised {one_line(played.raised)}; see check 'no-exceptions'")
    return log, agent


def _of(calls: list[Call], method: str) -> list[Call]:
    return [call for call in calls if call.method == method]


def _example(word: str, value: Any) -> str:
    return f"{value!r:.80}" if word == "instruction" else f"what the inner agent is given as {word} is not what came in"


def _holds(report: Any, key: str, value: Any) -> bool:
    """Whether a report has the entry, at any depth."""
    if isinstance(report, Mapping):
        return report.get(key) == value or any(_holds(item, key, value) for item in report.values())
    return isinstance(report, (list, tuple)) and any(_holds(item, key, value) for item in report)
