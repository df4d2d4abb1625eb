"""The agent `remote`: passes every call to a server and answers what the agent there wants to see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rbench.action import Action
from rbench.errors import AgentError, InfrastructureError, StaleObservation, StartError
from rbench.interfaces.agent import Agent, AgentContext, AgentManifest, EpisodeStart
from rbench.observation import Observation
from rbench.remote.agent_server import PROTOCOL, VERSION
from rbench.remote.link import Link
from rbench.remote.messages import (
    action_of,
    ground_truth_message,
    manifest_of,
    observation_message,
    start_message,
)
from rbench.remote.options import secret_from
from rbench.remote.questions import answered
from rbench_agent_remote.options import Options
from rbench_agent_remote.spawning import spawned

#: Seconds in which a server that went away may come back, for each attempt at an episode.
PATIENCE = 5.0
#: Most things that an agent may want within one call.
MOST_WANTS = 1000


class Remote(Agent):
    """One connection, and behind it an agent that is ours alone. A connection that is lost costs an episode."""

    def __init__(self, options: Options, context: AgentContext) -> None:
        self._options = options
        self._vision = context.vision
        self._token = secret_from(options.token_env, "token_env", "remote")
        try:
            self._link = self._connected(0.0)
            self._manifest = self._greeted(self._link)
        except InfrastructureError as problem:
            raise StartError(
                f"agent 'remote': {problem}. A server is started with `rbench serve-agent NAME`, or as"
                " docs/remote-agents.md says"
            ) from problem
        self._seen: dict[int, Observation] = {}

    @property
    def manifest(self) -> AgentManifest:
        return self._manifest

    def reset(self, start: EpisodeStart) -> None:
        self._timing: dict[str, float] = {}
        if not self._link.open:
            self._link = self._connected(PATIENCE)
            if self._greeted(self._link) != self._manifest:
                self._link.close()
                raise StartError(
                    f"{self._link.address}: the agent that is served there has another manifest than before; leave the"
                    " server as it is during a run"
                )
        self._serial = 0
        self._seen = {0: start.observation}
        first = observation_message(start.observation, 0)
        self._call({"call": "reset", "start": start_message(start, first, self._vision is not None)})

    def act(self, observation: Observation) -> Action:
        self._serial += 1
        self._seen = {0: self._seen[0], self._serial: observation}
        returned = self._call({"call": "act", "observation": observation_message(observation, self._serial)})
        try:
            return action_of(returned)
        except ValueError as problem:
            raise AgentError(f"{self._link.address} returned {self._link.said(problem)}") from None

    def report(self) -> Mapping[str, Any]:
        """What the served agent reports; nothing after the connection was lost."""
        if not self._link.open:
            return {}
        told = self._call({"call": "report"})
        report, timing = (told.get("report"), told.get("timing")) if isinstance(told, dict) else (None, None)
        if not isinstance(report, dict) or not isinstance(timing, dict):
            raise AgentError(f"{self._link.address}: its report is no map of plain data")
        self._timing = timing
        return report

    def timing(self) -> Mapping[str, float]:
        return self._timing

    def close(self) -> None:
        self._seen = {}
        self._link.close()

    def _connected(self, patience: float) -> Link:
        if self._options.spawn is not None:
            return spawned(self._options)
        return Link(self._options.address("agent server", "Bearer", self._token), patience)

    def _greeted(self, link: Link) -> AgentManifest:
        """The manifest in the first message of a connection.

        Raises:
            StartError: the agent could not be made, or this is no server of agents, or not as the options say.
        """
        greeting = link.receive()
        try:
            return _checked(greeting, link, self._options.at_once)
        except BaseException:
            link.close()
            raise

    def _call(self, message: Mapping[str, Any]) -> Any:
        link = self._link
        try:
            reply = link.ask(message)
            for _ in range(MOST_WANTS):
                if "want" not in reply:
                    break
                reply = link.ask(self._given(reply))
        except BaseException:  # half a call cannot be taken up again
            link.close()
            raise
        if "result" in reply:
            return reply["result"]
        error = reply.get("error")
        if not isinstance(error, dict):
            link.close()
            raise InfrastructureError(
                f"{link.address}: {link.said(str(reply)[:80])!r} is neither a result nor an error"
            )
        text, kind = link.said(error.get("text")), str(error.get("kind"))
        if kind == "infrastructure":
            raise InfrastructureError(f"{link.address}: {text}")
        raise StartError(text) if kind == "start" else AgentError(text)

    def _given(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        """What the agent wants to see or know.

        Raises:
            InfrastructureError: something that there is not.
        """
        link, want = self._link, wanted.get("want")
        try:
            if want == "answer":
                if self._vision is None:
                    raise ValueError("a question, and the run has no vision model")
                return answered(wanted, self._vision)
            observation = self._seen.get(wanted["observation"])
            if observation is None:
                return {"stale": "the world moved on; read pictures in the call that brings their observation"}
            if want == "ground_truth" and self._manifest.privileged:
                return {"ground_truth": ground_truth_message(observation.ground_truth)}
            if want == "image" and wanted["channel"] in observation.cameras[wanted["camera"]].channels:
                return {"image": getattr(observation.cameras[wanted["camera"]], wanted["channel"])}
        except StaleObservation as problem:
            return {"stale": str(problem)}
        except (KeyError, TypeError, ValueError) as problem:
            raise InfrastructureError(f"{link.address} asks for {link.said(problem)}") from None
        raise InfrastructureError(f"{link.address} asks for {link.said(want)}, which its manifest does not name")


def _checked(greeting: Mapping[str, Any], link: Link, at_once: int) -> AgentManifest:
    address = link.address
    if str(greeting.get("protocol")) != PROTOCOL:
        raise StartError(f"{address} serves no rbench agent; a policy server of openpi is for `--agent pi0`")
    if str(greeting.get("version")) != str(VERSION):
        raise StartError(
            f"{address} speaks version {link.said(greeting.get('version'))} of the protocol, this rbench version"
            f" {VERSION}; install the same on both sides, or write its file again: `rbench serve-agent --write FILE`"
        )
    if isinstance(error := greeting.get("error"), dict):
        raise StartError(f"{address}: {link.said(error.get('text'))}")
    if str(greeting.get("at_once")) != str(at_once):
        raise StartError(
            f"{address} works on {link.said(greeting.get('at_once'))} call(s) at once and option at_once is {at_once};"
            " give both the same: with more than one, records may depend on the number of workers"
        )
    try:
        return manifest_of(greeting.get("manifest"))
    except ValueError as problem:
        raise StartError(f"{address}: the manifest of its agent: {link.said(problem)}; correct it there") from None
