"""Wrappers, good and with one thing wrong each. `EXPECTED` says which check must catch which."""

from __future__ import annotations

from dataclasses import replace

from pydantic import BaseModel, ConfigDict

from rbench import AgentManifest, Observation, Stop, Waypoints, Wrapper

#: Wrapper -> the checks that must fail, and no other.
EXPECTED: dict[str, set[str]] = {}


def caught_by(*checks):
    def remember(cls):
        EXPECTED[cls.__name__] = set(checks)
        return cls

    return remember


@caught_by()
class Transparent(Wrapper):
    """Passes everything through."""


class PoliteOptions(BaseModel):
    model_config = ConfigDict(extra="forbid")

    word: str = "please"


@caught_by()
class Polite(Wrapper):
    """Changes the instruction and adds to the report."""

    Options = PoliteOptions

    def reset(self, start):
        super().reset(replace(start, instruction=f"{self.options.word}: {start.instruction}"))

    def report(self):
        return {**super().report(), "word": self.options.word}


@caught_by("calls-reach-inner", "stacks")
class ResetsTwice(Wrapper):
    def reset(self, start):
        super().reset(start)
        super().reset(start)


@caught_by("calls-reach-inner")
class ResetsLate(Wrapper):
    """Resets the inner agent when it is first asked to act."""

    def reset(self, start):
        self.start = start

    def act(self, observation):
        if self.start is not None:
            start, self.start = self.start, None
            self.inner.reset(start)
        return super().act(observation)


@caught_by("calls-reach-inner")
class NeverCloses(Wrapper):
    def close(self):
        pass


@caught_by("calls-reach-inner")
class ActsAlone(Wrapper):
    def act(self, observation):
        return Stop("my_own")


@caught_by("report-kept")
class HidesReport(Wrapper):
    def report(self):
        return {"mine": 1}


@caught_by("manifest-follows", "privileged-shows")
class FixedManifest(Wrapper):
    @property
    def manifest(self):
        return AgentManifest(actions=("waypoints",), cameras=self.inner.manifest.cameras, primary="front")


@caught_by("privileged-shows")
class DropsGroundTruth(Wrapper):
    """Makes observations of its own and forgets what a privileged agent needs."""

    def act(self, observation):
        seen = Observation(
            time=observation.time,
            cameras=dict(observation.cameras),
            joint_positions=observation.joint_positions,
            joint_velocities=observation.joint_velocities,
            gripper=observation.gripper,
            end_effector=observation.end_effector,
        )
        return super().act(seen)


@caught_by("errors-pass")
class SwallowsErrors(Wrapper):
    def act(self, observation):
        try:
            return super().act(observation)
        except Exception:
            return Stop("inner_failed")


@caught_by("passes-through")
class ChangesInSilence(Wrapper):
    """Slows every motion down and does not say so."""

    def act(self, observation):
        action = super().act(observation)
        if not isinstance(action, Waypoints):
            return action
        return Waypoints(tuple(replace(goal, speed=goal.speed / 2) for goal in action.goals))


@caught_by("passes-through")
class DrawsFromTheAgent(Wrapper):
    """Uses up random numbers of the inner agent."""

    def reset(self, start):
        start.rng.random()
        super().reset(start)


@caught_by("is-a-wrapper", "construct")
class LosesInner(Wrapper):
    def __init__(self, options, context, inner):
        super().__init__(options, context, inner)
        self.agent, self.inner = inner, None

    manifest = property(lambda self: self.agent.manifest)

    def reset(self, start):
        self.agent.reset(start)

    def act(self, observation):
        return self.agent.act(observation)

    def report(self):
        return self.agent.report()

    def close(self):
        self.agent.close()


@caught_by("context")
class WrongContext(Wrapper):
    @classmethod
    def wrap_context(cls, options, context):
        return {"vision": None}


@caught_by("no-carry-over")
class CountsEpisodes(Wrapper):
    """Carries a count from one episode to the next."""

    episodes = 0

    def reset(self, start):
        self.episodes += 1
        super().reset(start)

    def report(self):
        return {**super().report(), "episodes": self.episodes}


@caught_by("report-kept")
class HidesTimes(Wrapper):
    def timing(self):
        return {}
