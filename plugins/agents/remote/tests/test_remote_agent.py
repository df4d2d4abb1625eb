"""The agent `remote`: what is agreed at the start, and what a server may do wrong."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rbench.errors import AgentError, InfrastructureError, StartError
from rbench.interfaces.agent import AgentContext
from rbench.remote import agent_server
from rbench.testing import FakeWorld, baselines, play
from rbench_agent_remote.agent import Remote
from rbench_agent_remote.options import Options

Make = Callable[..., Any]


def played(agent: Remote, calls: int = 3) -> Any:
    return play(agent, FakeWorld(), baselines()[0], calls=calls)


def test_the_default_port_is_that_of_the_serving_file() -> None:
    assert Options().port == agent_server.DEFAULT_PORT


def test_an_agent_made_with_the_serving_file_plays_episodes(served: Make, remote: Make) -> None:
    agent = remote(served().port)
    for _ in range(2):
        result = played(agent)
        assert (result.outcome, result.report) == ("cut", {"calls": 3})
        assert result.read == {("front", "rgb"), ("front", "depth")}


def test_a_picture_that_is_not_read_is_not_drawn(served: Make, remote: Make, sway: Any) -> None:
    def blind(self: Any, observation: Any) -> Any:
        return agent_server.joint_positions([[*observation.joint_positions, 0.0]])

    assert played(remote(served(type("Blind", (sway,), {"act": blind})).port)).read == set()


def test_a_picture_of_an_earlier_moment_is_not_to_be_had(
    served: Make, remote: Make, sway: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    def late(self: Any, observation: Any) -> Any:
        kept, self.kept = getattr(self, "kept", None), observation
        if kept is not None:
            kept.cameras["front"].rgb  # noqa: B018
        return agent_server.joint_positions([[*observation.joint_positions, 0.0]])

    result = played(remote(served(type("Late", (sway,), {"act": late})).port))
    assert isinstance(result.raised, AgentError)
    assert "StaleObservation" in str(result.raised)
    capfd.readouterr()


def test_a_picture_that_was_read_in_reset_is_not_drawn_again(served: Make, remote: Make, sway: Any) -> None:
    def reset(self: Any, start: Any) -> None:
        sway.reset(self, start)
        start.observation.cameras["front"].rgb  # noqa: B018

    assert played(remote(served(type("Early", (sway,), {"reset": reset})).port)).outcome == "cut"


def test_a_server_that_is_killed_costs_one_episode_and_is_found_again(served: Make, remote: Make) -> None:
    server = served()
    agent = remote(server.port)
    assert played(agent).outcome == "cut"
    server.stop()
    lost = played(agent)
    assert isinstance(lost.raised, InfrastructureError)
    assert lost.report == {}
    timer = threading.Timer(0.3, served, kwargs={"port": server.port})
    timer.start()
    assert played(agent).outcome == "cut"
    timer.join()


def test_another_agent_at_the_same_address_stops_the_run(served: Make, remote: Make, sway: Any) -> None:
    server = served()
    agent = remote(server.port)
    server.stop()
    assert isinstance(played(agent).raised, InfrastructureError)
    served(type("Other", (sway,), {"manifest": {**sway.manifest, "control_rate": 10}}), port=server.port)
    assert "another manifest than before" in str(played(agent).raised)


def test_an_exception_of_the_agent_is_its_error_in_one_line(
    served: Make, remote: Make, sway: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    failing = type("Failing", (sway,), {"act": lambda self, seen: 1 / 0})
    agent = remote(served(failing).port)
    for _ in range(2):
        problem = played(agent).raised
        assert isinstance(problem, AgentError)
        assert str(problem) == "agent 'sway': act() raised ZeroDivisionError: division by zero"
    capfd.readouterr()


@pytest.mark.parametrize(("kind", "error"), [("infrastructure", InfrastructureError), ("start", StartError)])
def test_an_agent_can_say_that_it_is_not_to_blame(served: Make, remote: Make, sway: Any, kind: str, error: Any) -> None:
    def act(self: Any, seen: Any) -> Any:
        raise agent_server.Failure(kind, "The GPU is gone.")

    problem = played(remote(served(type("Failing", (sway,), {"act": act})).port)).raised
    assert type(problem) is error
    assert "The GPU is gone." in str(problem)


def test_an_agent_that_takes_too_long_costs_one_episode(served: Make, remote: Make, sway: Any) -> None:
    free = threading.Event()

    def act(self: Any, seen: Any) -> Any:
        free.wait(10)
        return agent_server.stop()

    agent = remote(served(type("Slow", (sway,), {"act": act})).port, timeout=0.3)
    problem = played(agent).raised
    free.set()
    assert "did not answer within 0.3 s" in str(problem)
    assert played(agent).outcome != "raised"


def test_an_agent_that_cannot_be_made_is_told_before_any_episode(
    served: Make, remote: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    def make() -> Any:
        raise RuntimeError("no weights in /nowhere")

    with pytest.raises(StartError, match="its constructor raised RuntimeError: no weights in /nowhere"):
        remote(served(make).port)
    capfd.readouterr()


def test_nothing_at_the_address_says_how_to_start_a_server(remote: Make) -> None:
    with pytest.raises(StartError, match=r"ws://127.0.0.1:1 cannot be reached.*rbench serve-agent NAME"):
        remote(1)


def test_the_token_is_shown_and_appears_in_no_message(
    served: Make, remote: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = served(token="sesame-12345").port
    monkeypatch.setenv("AGENT_TOKEN", "sesame-12345")
    assert played(remote(port, token_env="AGENT_TOKEN")).outcome == "cut"
    monkeypatch.setenv("AGENT_TOKEN", "wrong-token")
    with pytest.raises(StartError, match=r"refuses the key or token \(HTTP status 401\)") as problem:
        remote(port, token_env="AGENT_TOKEN")
    assert "wrong-token" not in str(problem.value)


def test_a_variable_without_a_token_is_named(served: Make, remote: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_TOKEN", raising=False)
    with pytest.raises(StartError, match="token_env names the environment variable AGENT_TOKEN, which holds no key"):
        remote(1, token_env="AGENT_TOKEN")


def test_more_calls_at_once_must_be_said_on_both_sides(served: Make, remote: Make) -> None:
    port = served(at_once=2).port
    with pytest.raises(StartError, match=r"works on 2 call.s. at once and option at_once is 1"):
        remote(port)
    assert played(remote(port, at_once=2)).outcome == "cut"


GREETING = {"protocol": "rbench-agent", "version": 1, "name": "x", "at_once": 1}


@pytest.mark.parametrize(
    ("greeting", "words"),
    [
        ({}, "serves no rbench agent; a policy server of openpi is for `--agent pi0`"),
        ({**GREETING, "protocol": np.zeros(3)}, "serves no rbench agent"),
        ({**GREETING, "at_once": np.zeros(3)}, "call.s. at once"),
        ({**GREETING, "manifest": np.zeros(3)}, "the manifest of its agent"),
        ({**GREETING, "manifest": {"actions": ["waypoints"], "primary": np.zeros(3)}}, "the manifest of its agent"),
        ({**GREETING, "version": 2}, "speaks version 2 of the protocol, this rbench version 1"),
        ({**GREETING}, "the manifest of its agent"),
        ({**GREETING, "manifest": {"actions": "all"}}, "the manifest of its agent"),
        ({**GREETING, "manifest": {"actions": ["waypoints"], "surprise": 1}}, "unknown key 'surprise'"),
        ({**GREETING, "error": {"kind": "start", "text": "no\nweights\x1b[2J"}}, r"no weights\\x1b\[2J"),
        (b"\xc1", "a message that cannot be read"),
        ("hello", "failed: hello"),
    ],
)
def test_a_greeting_that_does_not_fit_is_told_before_any_episode(
    impostor: Make, remote: Make, greeting: Any, words: str
) -> None:
    with pytest.raises(StartError, match=words):
        remote(impostor({}, greeting=greeting))


OK = {"result": None}


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"result": None, "want": "image"},
        {"error": "no"},
        {"want": np.zeros(3)},
        {"want": "image"},
        {"want": "image", "observation": 0, "camera": "wrist", "channel": "rgb"},
        {"want": "image", "observation": 0, "camera": "front", "channel": "__class__"},
        {"want": "image", "observation": [], "camera": "front", "channel": "rgb"},
        {"want": "image", "observation": 0, "camera": ["front"], "channel": "rgb"},
        {"want": "ground_truth", "observation": 0},
        {"want": "answer"},
        {"want": "password", "observation": 0},
        b"\xc1",
        "Traceback",
        [1, 2],
    ],
    ids=repr,
)
def test_a_reply_that_is_none_is_an_infrastructure_error(impostor: Make, remote: Make, reply: Any) -> None:
    problem = played(remote(impostor(reply))).raised
    assert type(problem) is InfrastructureError


def test_a_server_that_never_has_enough_is_given_up(
    impostor: Make, remote: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rbench_agent_remote.agent.MOST_WANTS", 20)
    wanted = {"want": "image", "observation": 0, "camera": "front", "channel": "rgb"}
    assert type(played(remote(impostor(wanted))).raised) is InfrastructureError


@pytest.mark.parametrize(
    "result",
    [
        None,
        {"kind": "fly"},
        {"kind": "joint_positions", "rows": np.full((3, 8), np.nan)},
        {"kind": "joint_positions", "rows": np.zeros((3, 7))},
        {"kind": "joint_positions", "rows": np.zeros((0, 8))},
        {"kind": "joint_positions", "rows": "text"},
        {"kind": "waypoints", "goals": []},
        {"kind": "joint_velocities", "rows": np.zeros((1, 8))},
    ],
    ids=["nothing", "unknown", "nan", "7-D", "empty", "text", "no goal", "not in the manifest"],
)
def test_an_action_that_cannot_be_executed_is_the_agents_error(impostor: Make, remote: Make, result: Any) -> None:
    outcome = played(remote(impostor(OK, {"result": result})))
    assert outcome.outcome == "flawed" or isinstance(outcome.raised, AgentError)


@pytest.mark.parametrize("result", [None, 3, {"report": []}, {"report": {}, "timing": 3}])
def test_a_report_that_is_none_is_the_agents_error(impostor: Make, remote: Make, result: Any) -> None:
    agent = remote(impostor({"result": result}))
    with pytest.raises(AgentError, match="its report is no map of plain data"):
        agent.report()


@pytest.mark.parametrize(
    "options",
    [{"at_once": 0}, {"spawn": ""}, {"spawn": "'open quote"}, {"start_timeout": 0}, {"token": "x"}, {"host": "a b"}],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Options(**options)


SERVING = """
import os, sys
sys.path.insert(0, {folder!r})
import rbench.remote.agent_server as server

class Still:
    manifest = {manifest!r}
    def reset(self, start): pass
    def act(self, seen): return server.joint_positions([[*seen.joint_positions, 0.0]])
    def report(self): return {{"process": os.getpid()}}

server.serve(Still, name="still", idle_exit=1.0)
"""


def test_a_command_is_started_once_and_found_again(
    remote: Make, sway: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    program = tmp_path / "still.py"
    program.write_text(SERVING.format(folder=str(tmp_path), manifest=sway.manifest))
    command = f"{__import__('sys').executable} {program}"
    first, second = remote(8765, spawn=command), remote(8765, spawn=command)
    process = played(first).report["process"]
    assert played(second).report["process"] == process
    states = list(tmp_path.glob("rbench-*/*.json"))
    assert len(states) == 1
    assert states[0].stat().st_mode & 0o077 == 0
    first.close()
    second.close()
    deadline = time.monotonic() + 15
    while time.monotonic() < deadline and _alive(process):
        time.sleep(0.1)
    assert not _alive(process)
    third = remote(8765, spawn=command)
    assert played(third).report["process"] != process


def _alive(process: int) -> bool:
    from rbench_agent_remote.spawning import _runs

    return _runs(process)


@pytest.mark.parametrize(
    ("command", "words"),
    [("/no/such/program --serve", "cannot be started"), ("false", "the command of option spawn ended")],
)
def test_a_command_that_serves_nothing_is_told(
    remote: Make, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, command: str, words: str
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(StartError, match=words):
        remote(8765, spawn=command)


def test_a_command_that_does_not_listen_in_time_is_ended(
    remote: Make, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    with pytest.raises(StartError, match=r"was not there after 0.5 s"):
        remote(8765, spawn="sleep 60", start_timeout=0.5)


def test_a_folder_that_others_can_enter_is_not_used(
    remote: Make, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    folder = tmp_path / f"rbench-{os.getuid()}"
    folder.mkdir(mode=0o777)
    folder.chmod(0o777)
    with pytest.raises(StartError, match="is open to other users"):
        remote(8765, spawn="false")


def test_an_agent_is_made_from_options_and_context(served: Make) -> None:
    agent = Remote(Options(url=f"ws://127.0.0.1:{served().port}"), AgentContext())
    assert agent.manifest.primary == "front"
    agent.close()
