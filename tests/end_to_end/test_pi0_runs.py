"""Whole runs with a policy server: what it is shown, how its answers move the arm, and what a lost one costs."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from rbench.plugins.catalog import Catalog
from rbench.remote.agent_server import packed, unpacked
from rbench.running.agents import build_agent, resolve_agent
from rbench.running.description import Part, RunDescription
from rbench.running.worker import build_world
from rbench.scene import Color
from rbench.suites.loading import load_suite
from rbench.testing import Scenario, play, scenario

Infer = Callable[[Mapping[str, Any]], Any]

pytestmark = pytest.mark.gl


class Policy:
    """A policy server whose every connection asks `infer`."""

    def __init__(self, infer: Infer) -> None:
        self.infer, self.asked = infer, []  # type: ignore[var-annotated]
        self.links: list[ServerConnection] = []
        self.server = serve(self.converse, "127.0.0.1", 0, max_size=None, compression=None)
        self.port = self.server.socket.getsockname()[1]

    def converse(self, link: ServerConnection) -> None:
        self.links.append(link)
        with contextlib.suppress(ConnectionClosed, OSError):
            link.send(packed({}))
            while True:
                asked = unpacked(link.recv())
                self.asked.append(asked)
                link.send(packed(self.infer(asked)))


@pytest.fixture
def policy() -> Iterator[Callable[[Infer], Policy]]:
    running = []

    def start(infer: Infer) -> Policy:
        one = Policy(infer)
        thread = threading.Thread(target=one.server.serve_forever, daemon=True)
        thread.start()
        running.append((one, thread))
        return one

    yield start
    for one, thread in running:
        one.server.shutdown()
        thread.join(5)


def holding(asked: Mapping[str, Any], gripper: float = 0.0) -> dict[str, Any]:
    """Rows that keep the arm where it is."""
    rows = np.tile(np.append(asked["observation/joint_position"], gripper), (45, 1))
    return {"actions": rows.astype(np.float32)}


def words(policy: Policy, *more: str) -> tuple[str, ...]:
    return ("--agent", "pi0", "-o", "host=127.0.0.1", "-o", f"port={policy.port}", *more)


POSITIONS = ("-o", "action_space=joint_position")


@pytest.mark.parametrize(("open_loop", "queries"), [(8, 29), (10, 23)])
def test_an_episode_of_225_ticks_asks_as_often_as_open_loop_says(
    rbench_command: Any, policy: Any, open_loop: int, queries: int
) -> None:
    server = policy(holding)
    more = words(server, *POSITIONS, "-o", f"open_loop={open_loop}", "-o", "height=48", "-o", "width=64")
    record = rbench_command("run", "roboview-bias", *more, "--limit", "1").episodes[0]
    assert (record.outcome, record.reason, record.steps) == ("failure", "time_limit", 225)
    assert len(server.asked) == queries == record.agent["report"]["queries"] == record.agent["calls"]
    assert "agent.inference" in record.timing
    assert set(record.hashes.first_frame) == {"left_top", "wrist"}


def test_records_do_not_depend_on_workers(rbench_command: Any, policy: Any) -> None:
    server = policy(holding)
    small = ("-o", "height=48", "-o", "width=64", "-o", "open_loop=45")
    more = words(server, *POSITIONS, *small, "--limit", "2", "--executor", "processes")
    runs = [rbench_command("run", "roboview-bias", *more, "--workers", workers).episodes for workers in ("1", "2")]
    plain = [sorted((r.episode, r.outcome, r.steps, str(r.agent), r.hashes.state) for r in run) for run in runs]
    assert plain[0] == plain[1]


def test_a_connection_that_is_lost_in_mid_episode_costs_an_attempt(rbench_command: Any, policy: Any) -> None:
    def cut_once(asked: Mapping[str, Any]) -> Any:
        if len(server.asked) == 5:
            server.links[-1].socket.shutdown(2)
        return holding(asked)

    server = policy(cut_once)
    more = words(server, *POSITIONS, "-o", "height=48", "-o", "width=64", "-o", "open_loop=10", "--limit", "1")
    record = rbench_command("run", "roboview-bias", *more).episodes[0]
    assert (record.outcome, record.reason) == ("failure", "time_limit")
    assert len(server.asked) == 5 + 23


def test_actions_with_seven_numbers_are_the_agents_error(rbench_command: Any, policy: Any) -> None:
    server = policy(lambda asked: {"actions": np.zeros((10, 7), dtype=np.float32)})
    ran = rbench_command("run", "roboview-bias", *words(server, *POSITIONS), "--limit", "1")
    assert (ran.code, ran.episodes[0].outcome) == (1, "agent_error")
    assert "shape (10, 7) instead of (rows, 8)" in str(ran.episodes[0].error)
    assert ran.episodes[0].steps == 0


def test_without_a_word_on_what_actions_are_no_episode_is_run(rbench_command: Any, policy: Any) -> None:
    server = policy(holding)
    ran = rbench_command("run", "roboview-bias", *words(server), "--limit", "1")
    assert (ran.code, server.asked) == (3, [])
    assert "-o action_space=joint_velocity" in ran.err


def test_without_a_server_and_without_torch_no_episode_is_run(
    rbench_command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "rbench_agent_pi0.embedded.policy", raising=False)
    ran = rbench_command("run", "roboview-bias", "--agent", "pi0", "--limit", "1")
    assert ran.code == 3
    assert "pip install torch safetensors, or name a policy server: -o host=" in ran.err


@pytest.fixture
def played(catalog: Catalog) -> Iterator[Callable[..., Any]]:
    """Plays some calls of `pi0` in the real world."""
    world = build_world(load_suite(catalog, "roboview-bias"))

    def run(policy: Policy, space: str, calls: int, start: Scenario | None = None, **options: Any) -> Any:
        given = {"host": "127.0.0.1", "port": policy.port, "action_space": space, **options}
        agent = build_agent(resolve_agent(catalog, RunDescription("", Part("pi0", given))))
        try:
            result = play(agent, world, start or scenario("s", 0.5, 0.0, 0.0), calls=calls)
        finally:
            agent.close()
        assert result.raised is None
        return world

    yield run
    world.close()


def test_velocity_a_half_moves_a_joint_by_a_tenth_of_a_radian_a_step(policy: Any, played: Any) -> None:
    """A half is 1.5 rad/s, within Franka's limits; 1 is beyond them, and the world would clip it."""
    sent = np.zeros((10, 8), dtype=np.float32)
    sent[:2, 0] = 0.5
    server = policy(lambda asked: {"actions": sent if len(server.asked) == 1 else np.zeros_like(sent)})
    state = played(server, "joint_velocity", 3).state()
    before = server.asked[0]["observation/joint_position"][0]
    assert float(state.robot.joint_positions[0] - before) == pytest.approx(0.2, abs=0.01)


def test_the_gripper_opens_and_closes(policy: Any, played: Any) -> None:
    server = policy(lambda asked: holding(asked, gripper=1.0 if len(server.asked) > 2 else 0.0))
    seen = played(server, "joint_position", 5).state()
    assert server.asked[2]["observation/gripper_position"][0] < 0.1  # wider than 7 cm of 8
    assert seen.robot.gripper > 0.88  # narrower than 1 cm


def test_the_policy_sees_upright_rgb_pictures(policy: Any, played: Any) -> None:
    server = policy(holding)
    red: Color = (230, 10, 10)
    world = played(server, "joint_position", 1, scenario("red", 0.5, 0.0, 0.0, color=red), height=240, width=320)
    for camera, key in (("left_top", "exterior_image_1_left"), ("wrist", "wrist_image_left")):
        picture = server.asked[0][f"observation/{key}"].astype(int)
        assert not picture[:28].any()
        assert not picture[-28:].any()
        truth = world.render(camera, 168, 224).astype(int)  # as the world draws it for a person
        views = {"as it is": truth, "turned": truth[::-1, ::-1], "flipped": truth[::-1], "mirrored": truth[:, ::-1]}
        views["BGR"] = truth[..., ::-1]
        distance = {name: np.abs(picture[28:196] - view).mean() for name, view in views.items()}
        assert min(distance, key=distance.__getitem__) == "as it is"
