"""The agent and its policy server: what is agreed before the first step, and what a server may do wrong."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import msgpack
import numpy as np
import pytest

from rbench.action import JointPositions, JointVelocities
from rbench.errors import InfrastructureError, StartError
from rbench.interfaces.agent import AgentContext
from rbench.remote import agent_server, link
from rbench_agent_pi0.agent import Pi0
from rbench_agent_pi0.options import Options

Make = Callable[..., Any]


def test_a_query_shows_the_observation_and_executes_the_first_rows(
    policy_server: Make, agent: Make, start: Make, seen: Make, numbered: Make
) -> None:
    server = policy_server(lambda asked: numbered(10))
    pi0 = agent(server)
    pi0.reset(start("Put the cube into the box."))
    action = pi0.act(seen())
    assert isinstance(action, JointPositions)
    assert action.rows[:, 0] == pytest.approx(np.arange(8) / 1000)
    assert server.asked[0]["prompt"] == "Put the cube into the box."
    assert server.asked[0]["observation/exterior_image_1_left"].shape == (224, 224, 3)
    assert pi0.report() == {"queries": 1, "rows": 10, "action_space": "joint_position", "weights": {}}
    assert set(pi0.timing()) == {"inference"}


@pytest.mark.parametrize("said", ["Banish zebras.", ""])
def test_an_instruction_among_the_options_is_said_in_place_of_the_tasks_own(
    said: str, policy_server: Make, agent: Make, start: Make, seen: Make
) -> None:
    server = policy_server()
    pi0 = agent(server, instruction=said)
    for own in ("Put the cube into the box.", "Pick up the object."):
        pi0.reset(start(own))
        pi0.act(seen())
    assert [asked["prompt"] for asked in server.asked] == [said, said]


def test_velocities_are_what_the_manifest_and_the_actions_say(
    policy_server: Make, agent: Make, start: Make, seen: Make, numbered: Make
) -> None:
    pi0 = agent(policy_server(lambda asked: numbered(15, value=1.0)), action_space="joint_velocity")
    pi0.reset(start())
    assert pi0.manifest.actions == ("joint_velocities",)
    assert (pi0.manifest.control_rate, pi0.manifest.primary, sorted(pi0.manifest.cameras)) == (
        15,
        "left_top",
        ["left_top", "wrist"],
    )
    action = pi0.act(seen())
    assert isinstance(action, JointVelocities)
    assert action.rows[0, 1:7] / 15 == pytest.approx([0.2] * 6)


@pytest.mark.parametrize(("open_loop", "queries"), [(10, 3), (4, 7), (8, 4)])
def test_25_steps_take_as_many_queries_as_open_loop_says(
    policy_server: Make, agent: Make, start: Make, seen: Make, numbered: Make, open_loop: int, queries: int
) -> None:
    server = policy_server(lambda asked: numbered(10))
    pi0 = agent(server, open_loop=open_loop)
    pi0.reset(start())
    executed: list[float] = []
    while len(executed) < 25:
        executed += list(pi0.act(seen()).rows[:, 0] * 1000)
    assert len(server.asked) == queries
    assert executed[:25] == pytest.approx([step % open_loop for step in range(25)])


def test_nothing_of_an_episode_is_executed_in_the_next(
    policy_server: Make, agent: Make, start: Make, seen: Make
) -> None:
    def tagged(asked: Any) -> dict[str, Any]:
        return {"actions": np.full((10, 8), float(asked["prompt"]))}

    pi0 = agent(policy_server(tagged), open_loop=3)
    for episode in ("1", "2"):
        pi0.reset(start(episode))
        assert set(pi0.act(seen()).rows[:, 0]) == {float(episode)}
        assert pi0.report()["queries"] == 1


def test_actions_of_another_kind_than_the_options_say_are_refused_with_both(policy_server: Make, agent: Make) -> None:
    server = policy_server(metadata={"action_space": "joint_velocity"})
    with pytest.raises(StartError, match="gives joint_velocity actions, and option action_space is joint_position"):
        agent(server)


def test_what_the_server_says_its_actions_are_is_enough(policy_server: Make, agent: Make) -> None:
    pi0 = agent(policy_server(metadata={"action_space": "joint_velocity"}), action_space=None)
    assert pi0.manifest.actions == ("joint_velocities",)


def test_when_nobody_says_what_the_actions_are_none_is_executed(policy_server: Make, agent: Make) -> None:
    with pytest.raises(StartError, match=r"does not say what its actions are.*joint_velocity for pi0_droid"):
        agent(policy_server(), action_space=None)


@pytest.mark.parametrize(
    ("metadata", "words"),
    [
        ({"action_space": "cartesian_position"}, "cartesian_position.*joint_position and joint_velocity"),
        ({"action_space": ["joint_position"]}, "of kind"),
        ({"action_space": np.zeros(3)}, "of kind"),
        ({"action_space": ""}, "of kind"),
        ({"action_dim": np.int64(7)}, "action_dim = 7"),
        ({"action_dim": 7}, "action_dim = 7, and agent 'pi0' needs 8"),
        ({"action_horizon": 5}, "action_horizon = 5, and agent 'pi0' needs 8 to"),
        ({"fps": 10}, "fps = 10, and agent 'pi0' needs 15"),
        ({"control_rate": 5}, "control_rate = 5"),
        ({"n_external_cameras": 2}, "n_external_cameras = 2"),
        ({"image_resolution": [180, 320]}, "image_size makes them 224 x 224"),
    ],
)
def test_metadata_that_contradicts_the_agent_is_refused_before_the_first_step(
    policy_server: Make, agent: Make, metadata: dict[str, Any], words: str
) -> None:
    server = policy_server(metadata=metadata)
    with pytest.raises(StartError, match=words):
        agent(server)
    assert server.asked == []


@pytest.mark.parametrize(("height", "width"), [(96, 96), (128, None), (180, 320)])
def test_pictures_that_are_sent_as_they_are_have_the_size_that_the_server_asks_for(
    policy_server: Make, agent: Make, height: int, width: int | None
) -> None:
    server = policy_server(metadata={"image_resolution": [128, 128]})
    with pytest.raises(StartError, match=r"asks for pictures of \[128, 128\] pixels, and option height and width make"):
        agent(server, image_size=0, height=height, width=width)
    agent(server, image_size=0, height=128, width=128)


def test_metadata_that_means_nothing_here_is_no_obstacle(policy_server: Make, agent: Make) -> None:
    agent(policy_server(metadata={"reset_pose": [0, 0, 0], "action_dim": 8, "fps": 15, "image_resolution": [224, 224]}))


def test_the_key_is_sent_and_appears_in_no_message(
    policy_server: Make, agent: Make, start: Make, seen: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLICY_KEY", "sesame-12345")
    server = policy_server(lambda asked: "Traceback\nValueError: not with sesame-12345, nor c2VzYW1lLTEyMzQ1")
    pi0 = agent(server, api_key_env="POLICY_KEY")
    assert server.shown == ["Api-Key sesame-12345"]
    pi0.reset(start())
    with pytest.raises(InfrastructureError) as problem:
        pi0.act(seen())
    assert "sesame" not in str(problem.value)
    assert "c2VzYW1l" not in str(problem.value)


def test_without_a_key_no_header_is_sent(policy_server: Make, agent: Make) -> None:
    server = policy_server()
    agent(server)
    assert server.shown == [None]


@pytest.mark.parametrize("value", [None, "", "a\nb-long-enough", "ключ-длинный"])
def test_a_variable_without_a_key_is_named(
    policy_server: Make, agent: Make, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    monkeypatch.delenv("POLICY_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("POLICY_KEY", value)
    with pytest.raises(StartError, match="POLICY_KEY"):
        agent(policy_server(), api_key_env="POLICY_KEY")


def test_an_exception_of_the_policy_is_one_line_and_costs_one_episode(
    policy_server: Make, agent: Make, start: Make, seen: Make, numbered: Make
) -> None:
    answers = iter(["Traceback (most recent call last):\n  File ...\nValueError: no such\x1b[2J key\n", numbered()])
    pi0 = agent(policy_server(lambda asked: next(answers)))
    pi0.reset(start())
    with pytest.raises(InfrastructureError, match=r"failed: ValueError: no such\\x1b\[2J key; see its log"):
        pi0.act(seen())
    pi0.reset(start())
    assert len(pi0.act(seen()).rows) == 8


def test_a_connection_that_is_lost_costs_one_episode(policy_server: Make, agent: Make, start: Make, seen: Make) -> None:
    server = policy_server()
    pi0 = agent(server)
    pi0.reset(start())
    pi0.act(seen())
    server.cut()
    with pytest.raises(InfrastructureError, match="the connection was lost"):
        pi0.act(seen())
    with pytest.raises(InfrastructureError, match="the connection is closed"):
        pi0.act(seen())
    pi0.reset(start())
    assert len(pi0.act(seen()).rows) == 8


def test_a_server_that_is_killed_and_comes_back_is_waited_for(
    policy_server: Make, agent: Make, start: Make, seen: Make
) -> None:
    server = policy_server()
    pi0 = agent(server)
    pi0.reset(start())
    server.stop()
    with pytest.raises(InfrastructureError):
        pi0.act(seen())
    timer = threading.Timer(0.5, policy_server, kwargs={"port": server.port})
    timer.start()
    pi0.reset(start())
    assert len(pi0.act(seen()).rows) == 8
    timer.join()


def test_a_server_that_stays_away_is_an_infrastructure_error(
    policy_server: Make, agent: Make, start: Make, seen: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rbench_agent_pi0.policy_server.PATIENCE", 0.1)
    server = policy_server()
    pi0 = agent(server)
    pi0.reset(start())
    server.stop()
    with pytest.raises(InfrastructureError):
        pi0.act(seen())
    with pytest.raises(InfrastructureError, match="cannot be reached: Connection refused"):
        pi0.reset(start())


def test_another_policy_at_the_same_address_stops_the_run(
    policy_server: Make, agent: Make, start: Make, seen: Make
) -> None:
    server = policy_server()
    pi0 = agent(server, action_space=None) if server.metadata else agent(server)
    pi0.reset(start())
    server.metadata = {"action_space": "joint_velocity"}
    server.cut()
    with pytest.raises(InfrastructureError):
        pi0.act(seen())
    with pytest.raises(StartError, match="joint_velocity"):
        pi0.reset(start())


def test_an_inference_that_takes_too_long_costs_one_episode_and_its_late_answer_is_never_used(
    policy_server: Make, agent: Make, start: Make, seen: Make
) -> None:
    calls = []

    def slow_at_first(asked: Any) -> dict[str, Any]:
        calls.append(asked)
        if len(calls) == 1:
            time.sleep(1.0)
        return {"actions": np.full((10, 8), float(len(calls)))}

    pi0 = agent(policy_server(slow_at_first), timeout=0.3)
    pi0.reset(start())
    with pytest.raises(InfrastructureError, match=r"did not answer within 0.3 s; raise option timeout"):
        pi0.act(seen())
    pi0.reset(start())
    assert set(pi0.act(seen()).rows[:, 0]) == {2.0}


def test_no_keepalive_ends_a_slow_inference(
    policy_server: Make, agent: Make, start: Make, seen: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {}
    connect = link.connect
    monkeypatch.setattr(link, "connect", lambda *a, **options: given.update(options) or connect(*a, **options))
    pi0 = agent(policy_server())
    pi0.reset(start())
    pi0.act(seen())
    assert (given["ping_interval"], given["compression"], given["proxy"]) == (None, None, None)


def test_a_proxy_in_the_environment_is_not_asked_for_the_loopback_address(
    policy_server: Make, agent: Make, start: Make, seen: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "ws_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    pi0 = agent(policy_server())
    pi0.reset(start())
    assert len(pi0.act(seen()).rows) == 8


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_the_loopback_address_has_several_names(policy_server: Make, host: str) -> None:
    server = policy_server()
    Pi0(Options(host=host, port=server.port, action_space="joint_position"), AgentContext()).close()


def test_a_server_that_is_not_ready_is_waited_for(
    policy_server: Make, agent: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rbench_agent_pi0.policy_server.PAUSE", 0.05)
    server = policy_server(health=[503, 503, 200])
    agent(server)
    assert server.health == [200]


def test_a_server_that_is_never_ready_is_named(
    policy_server: Make, agent: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rbench_agent_pi0.policy_server.PAUSE", 0.05)
    with pytest.raises(StartError, match=r"is not ready: http://127.0.0.1:.*/healthz says status 503"):
        agent(policy_server(health=[503]), connect_timeout=0.2)


def test_an_older_server_without_a_health_page_will_do(policy_server: Make, agent: Make) -> None:
    agent(policy_server(health=[404]))


def test_nothing_at_the_address_is_an_error_that_names_it() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(StartError, match=rf"policy server ws://127.0.0.1:{port} cannot be reached: Connection refused"):
        Pi0(Options(host="127.0.0.1", port=port, action_space="joint_position"), AgentContext())


def test_a_plain_http_server_is_an_error_that_names_the_address() -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        port = server.server_port
        with pytest.raises(
            StartError, match=rf"ws://127.0.0.1:{port} cannot be reached: .*is this the right address, and a websocket"
        ):
            Pi0(Options(host="127.0.0.1", port=port, action_space="joint_position"), AgentContext())
        server.shutdown()
        thread.join()


def test_what_listens_and_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        options = Options(host="127.0.0.1", port=port, action_space="joint_position", connect_timeout=0.2)
        with (
            pytest.raises(StartError, match=r"no answer to the handshake within 0.2 s"),
            pytest.MonkeyPatch.context() as m,
        ):
            m.setattr("rbench_agent_pi0.policy_server.HEALTH", 0.2)
            Pi0(options, AgentContext())


@pytest.mark.parametrize("metadata", ["Traceback\nRuntimeError: no weights", b"\xc1", msgpack.packb(None)])
def test_a_greeting_that_is_none_is_told_at_once(policy_server: Make, agent: Make, metadata: Any) -> None:
    with pytest.raises(StartError, match=r"agent 'pi0': policy server ws://127.0.0.1"):
        agent(policy_server(metadata=metadata))


@pytest.mark.parametrize(
    "options",
    [
        {"host": "ws://somewhere"},
        {"host": ""},
        {"url": "http://127.0.0.1"},
        {"url": "ws://user:secret@127.0.0.1"},
        {"url": "ws://127.0.0.1/?key=1"},
        {"url": "ws://"},
        {"port": 0},
        {"port": 70000},
        {"timeout": 0},
        {"timeout": float("inf")},
        {"open_loop": 0},
        {"action_space": "ee_delta"},
        {"hots": "x"},
        {"api_key_env": "sk-live-12345"},
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="validation error"):
        Options(**options)


def test_the_protocols_largest_message_is_bounded() -> None:
    assert agent_server.MAX_MESSAGE == 64 * 2**20


@pytest.mark.parametrize(
    "option", ["url=ws://user:sesame-12345@host", "url=ws://host/?key=sesame-12345", "api_key_env=sesame-12345"]
)
def test_a_key_in_the_wrong_place_is_not_shown(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    from rbench.cli import main

    assert main(["describe", "agent:pi0", "-o", option]) == 2
    shown = capsys.readouterr()
    assert "(hidden)" in shown.err
    assert "sesame" not in shown.err + shown.out
