"""The checkpoints that come with the plugin: what they are, and that they are asked as they should be."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from websockets.sync.client import connect

pytest.importorskip("torch", reason="the embedded policy needs PyTorch, not installed here")
pytest.importorskip("safetensors", reason="checkpoints need safetensors, not installed here")

import rbench_agent_pi0.embedded.policy
from rbench.action import JointPositions
from rbench.errors import AgentError, StartError
from rbench.interfaces.agent import AgentContext
from rbench.remote.agent_server import packed, unpacked
from rbench_agent_pi0.agent import Pi0
from rbench_agent_pi0.cli import main
from rbench_agent_pi0.doctor import examine
from rbench_agent_pi0.embedded.checkpoint import read_checkpoint
from rbench_agent_pi0.embedded.policy import EmbeddedPolicy, checkpoint_path
from rbench_agent_pi0.embedded.server import EmbeddedPolicyServer
from rbench_agent_pi0.options import SHIPPED, Options

Make = Callable[..., Any]


@pytest.fixture(scope="module")
def policy() -> EmbeddedPolicy:
    return EmbeddedPolicy("hue")


@pytest.fixture(scope="module")
def served() -> Iterator[EmbeddedPolicyServer]:
    server = EmbeddedPolicyServer(EmbeddedPolicy("hue"), 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join(5)


def answer(policy: EmbeddedPolicy, asked: dict[str, Any], seed: int = 0) -> np.ndarray:
    policy.reset(np.random.default_rng(seed))
    return np.asarray(policy.infer(asked)["actions"])


def test_together_they_are_small() -> None:
    assert sum(checkpoint_path(name).stat().st_size for name in SHIPPED) <= 20_000_000


@pytest.mark.parametrize("name", SHIPPED)
def test_each_says_what_it_was_trained_on(name: str) -> None:
    head = read_checkpoint(checkpoint_path(name))[1]
    changes = head.training["recipe"]["augmentation"]
    assert head.name == name
    assert (changes["hue"] > 0, changes["saturation"] > 0) == (name == "hue", name == "hue")
    assert head.training["data"]["demonstrations"] >= 100
    assert head.training["curve"][-1]["held_out"] < 0.25


@pytest.mark.parametrize("name", SHIPPED)
def test_each_has_a_card_that_does_not_call_it_openpis(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["card", name]) == 0
    card = capsys.readouterr().out
    assert f"# rbench-pi0 {name}" in card
    assert "not openpi's pi0" in card


def test_the_generator_of_the_episode_decides_the_noise_and_nothing_else_does(
    policy: EmbeddedPolicy, asked: Make
) -> None:
    first = answer(policy, asked())
    answer(policy, asked(5), seed=9)
    assert np.array_equal(answer(policy, asked()), first)
    assert not np.array_equal(answer(policy, asked(), seed=1), first)


def test_its_chunk_starts_at_the_joints_and_stays_near_them(policy: EmbeddedPolicy, asked: Make) -> None:
    rows = answer(policy, asked())
    assert rows.shape == (12, 8)
    assert np.abs(rows[:, :7] - asked()["observation/joint_position"]).max() < 1.5
    assert ((rows[:, 7] >= 0) & (rows[:, 7] <= 1)).all()


@pytest.mark.parametrize(
    "change",
    [
        {"observation/exterior_image_1_left": np.full((128, 128, 3), 128, dtype=np.uint8)},
        {"observation/wrist_image_left": np.full((128, 128, 3), 128, dtype=np.uint8)},
        {"observation/gripper_position": np.ones(1, dtype=np.float32)},
    ],
    ids=["exterior", "wrist", "gripper"],
)
def test_every_input_reaches_the_actions(policy: EmbeddedPolicy, asked: Make, change: dict[str, Any]) -> None:
    assert np.abs(answer(policy, asked(**change)) - answer(policy, asked())).max() > 1e-3


@pytest.mark.parametrize(
    "change",
    [
        {"observation/wrist_image_left": None},
        {"observation/wrist_image_left": np.zeros((128, 128, 3))},
        {"observation/wrist_image_left": np.zeros((96, 128, 3), dtype=np.uint8)},
        {"observation/joint_position": np.zeros(6)},
        {"observation/joint_position": np.full(7, np.nan)},
        {"observation/joint_position": np.full(7, 1e30)},
        {"observation/exterior_image_1_left": np.zeros((0, 0, 3), dtype=np.uint8)},
        {"observation/gripper_position": "open"},
    ],
)
def test_an_observation_that_does_not_fit_is_refused(policy: EmbeddedPolicy, asked: Make, change: Any) -> None:
    with pytest.raises(AgentError, match="agent 'pi0'"):
        answer(policy, asked(**change))


def test_without_options_the_agent_asks_it_for_joint_positions(start: Make, seen: Make) -> None:
    pi0 = Pi0(Options(), AgentContext())
    request = pi0.manifest.cameras["left_top"]
    assert (request.height, request.width, pi0.manifest.control_rate) == (128, 128, 15)
    pi0.reset(start())
    action = pi0.act(seen(128, 128))
    pi0.close()
    assert isinstance(action, JointPositions)
    assert action.rows.shape == (8, 8)


def test_served_the_same_question_has_the_same_answer(served: EmbeddedPolicyServer, asked: Make) -> None:
    with connect(f"ws://127.0.0.1:{served.port}", proxy=None, max_size=None) as link:
        metadata = unpacked(link.recv())
        answers = []
        for seed in (0, 1, 0):
            link.send(packed(asked(seed)))
            answers.append(unpacked(link.recv())["actions"])
    assert (metadata["action_space"], metadata["gripper"]) == ("joint_position", "continuous")
    assert np.array_equal(answers[0], answers[2])
    assert not np.array_equal(answers[0], answers[1])


@pytest.mark.parametrize("message", [b"\xc1", packed([1, 2]), packed({"prompt": "x"}), "text"])
def test_served_a_question_that_is_none_gets_an_error_as_text(served: EmbeddedPolicyServer, message: Any) -> None:
    with connect(f"ws://127.0.0.1:{served.port}", proxy=None, max_size=None) as link:
        link.recv()
        link.send(message)
        assert isinstance(link.recv(), str)


def test_the_agent_asks_the_served_one_and_keeps_fractions_of_the_gripper(
    served: EmbeddedPolicyServer, start: Make, seen: Make
) -> None:
    pi0 = Pi0(Options(host="127.0.0.1", port=served.port, height=128, width=128, image_size=0), AgentContext())
    pi0.reset(start())
    action = pi0.act(seen(128, 128, gripper=0.5))
    pi0.close()
    assert isinstance(action, JointPositions)
    assert pi0._policy.fractions


def test_the_doctor_reads_the_shipped_checkpoints() -> None:
    (check,) = examine({})
    assert check.status == "ok"
    assert "hue 7d80a0d1b712" in check.detail


def test_the_doctor_says_which_checkpoint_is_broken(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(name: str) -> Any:
        raise StartError(f"{name} is damaged")

    monkeypatch.setattr(rbench_agent_pi0.embedded.policy, "EmbeddedPolicy", broken)
    (check,) = examine({})
    assert (check.status, check.detail) == ("problem", "hue is damaged")
