"""Whole runs with agents that are served: records as in process, and what a lost server costs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rbench.plugins.catalog import Catalog
from rbench.remote import agent_server
from rbench.remote.agent_server import AgentServer
from rbench.remote.served import ServedAgent
from rbench.running.agents import resolve_agent
from rbench.running.description import Part, RunDescription

Command = Callable[..., Any]


@pytest.fixture
def serve() -> Iterator[Callable[..., AgentServer]]:
    running: list[tuple[AgentServer, threading.Thread]] = []

    def start(make: Callable[[], Any], **options: Any) -> AgentServer:
        server = AgentServer(make, **{"port": 0, **options})
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.stop()
        thread.join(5)


@pytest.fixture
def served(catalog: Catalog, serve: Any) -> Callable[..., str]:
    """Serves an installed agent; returns the option that names its port."""

    def start(name: str) -> str:
        parts = resolve_agent(catalog, RunDescription("", Part(name)))
        return f"port={serve(lambda: ServedAgent(parts, False), name=name).port}"

    return start


def records(ran: Any) -> list[Any]:
    """All of the records but their timing."""
    return [replace(record, timing={}) for record in ran.episodes]


@pytest.mark.parametrize(
    ("agent", "more"), [("expert", ()), pytest.param("simple", ("--vision", "opencv"), marks=pytest.mark.gl)]
)
def test_records_through_remote_are_those_in_process(
    rbench_command: Command, served: Any, agent: str, more: tuple[str, ...]
) -> None:
    here = rbench_command("run", "roboview-bias", "--agent", agent, *more, "--limit", "3")
    there = rbench_command("run", "roboview-bias", "--agent", "remote", "-o", served(agent), *more, "--limit", "3")
    assert (here.code, there.code) == (0, 0)
    assert records(there) == records(here)
    assert all(record.outcome == "success" for record in records(here))


def test_records_do_not_depend_on_the_number_of_workers(rbench_command: Command, served: Any) -> None:
    port = served("random")
    words = ("run", "roboview-bias", "--agent", "remote", "-o", port, "--limit", "4", "--executor", "processes")
    one, two = (rbench_command(*words, "--workers", workers) for workers in ("1", "2"))
    key = lambda record: record.episode  # noqa: E731
    assert sorted(records(one), key=key) == sorted(records(two), key=key)
    assert len(records(two)) == 4


class Still:
    """Holds still for a few calls; `calls` counts those of all instances."""

    manifest = {  # noqa: RUF012
        "actions": ["joint_positions"],
        "cameras": {"front": {"height": 64, "width": 64}},
        "primary": "front",
        "control_rate": 20,
    }
    calls = 0

    def reset(self, start: agent_server.Start) -> None:
        self.left = 3

    def act(self, observation: agent_server.Observation) -> Any:
        type(self).calls += 1
        self.left -= 1
        if self.left < 0:
            return agent_server.stop("still")
        return agent_server.joint_positions(np.tile([*observation.joint_positions, 0.0], (5, 1)))


def test_a_server_that_is_killed_in_mid_episode_costs_an_attempt(rbench_command: Command, serve: Any) -> None:
    servers: list[AgentServer] = []

    class Fragile(Still):
        def act(self, observation: agent_server.Observation) -> Any:
            if type(self).calls == 5:  # the second call of the second episode: the process is gone ...
                threading.Thread(target=servers[0].stop, args=(0.0,)).start()
                type(self).calls += 1
                threading.Timer(0.5, serve, (Fragile,), {"port": servers[0].port}).start()  # ... and comes back
                threading.Event().wait(0.3)
            return super().act(observation)

    servers.append(serve(Fragile))
    ran = rbench_command("run", "roboview-bias", "--agent", "remote", "-o", f"port={servers[0].port}", "--limit", "3")
    assert [(record.outcome, record.reason) for record in ran.episodes] == [("failure", "still")] * 3
    assert Fragile.calls > 12


def test_a_server_that_stays_away_is_no_error_of_the_agent(
    rbench_command: Command, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rbench_agent_remote.agent.PATIENCE", 0.1)
    servers: list[AgentServer] = []

    class Gone(Still):
        def act(self, observation: agent_server.Observation) -> Any:
            if type(self).calls == 5:
                threading.Thread(target=servers[0].stop, args=(0.0,)).start()
                threading.Event().wait(0.3)
            return super().act(observation)

    servers.append(serve(Gone))
    ran = rbench_command("run", "roboview-bias", "--agent", "remote", "-o", f"port={servers[0].port}", "--limit", "3")
    assert ran.code == 1
    assert [record.outcome for record in ran.episodes] == ["failure", "infrastructure_error", "infrastructure_error"]
    assert "Connection refused" in str(ran.episodes[-1].error)


def test_an_exception_of_the_served_agent_is_its_error(rbench_command: Command, serve: Any) -> None:
    class Failing(Still):
        def act(self, observation: agent_server.Observation) -> Any:
            raise RuntimeError("the model ran out of memory")

    port = serve(Failing, name="vla").port
    ran = rbench_command("run", "roboview-bias", "--agent", "remote", "-o", f"port={port}", "--limit", "1")
    record = ran.episodes[0]
    assert (ran.code, record.outcome) == (1, "agent_error")
    assert record.error == "agent 'vla': act() raised RuntimeError: the model ran out of memory"


def test_no_server_is_an_error_before_any_episode(rbench_command: Command) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "remote", "-o", "port=1", "--limit", "1")
    assert ran.code == 3
    assert "cannot be reached: Connection refused" in ran.err
    assert "rbench serve-agent NAME" in ran.err


def test_workers_share_the_server_that_a_command_starts(
    rbench_command: Command, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    spawn = f"spawn={sys.executable} -m rbench serve-agent expert --idle-exit 3"
    words = ("run", "roboview-bias", "--agent", "remote", "-o", spawn, "--limit", "4", "--executor", "processes")
    ran = rbench_command(*words, "--workers", "2")
    assert ran.code == 0, ran.err
    assert [record.outcome for record in ran.episodes] == ["success"] * 4
    assert len(list(tmp_path.glob("rbench-*/*.json"))) == 1
