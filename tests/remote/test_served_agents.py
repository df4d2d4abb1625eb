"""Installed agents through `remote`: they see, do and report what they do in process."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rbench.action import Answer, JointPositions, JointVelocities, Stop, Waypoint, Waypoints
from rbench.errors import InfrastructureError, StartError
from rbench.interfaces.agent import AgentManifest
from rbench.observation import CameraRequest
from rbench.plugins.catalog import Catalog
from rbench.remote.agent_server import packed, unpacked
from rbench.remote.messages import (
    action_message,
    action_of,
    ground_truth_message,
    ground_truth_of,
    manifest_message,
    manifest_of,
)
from rbench.remote.served import ServedAgent
from rbench.running.agents import build_agent, resolve_agent
from rbench.running.description import Part, RunDescription
from rbench.testing import FakeWorld, baselines, play
from rbench.vision.metering import VisionMeter

Make = Callable[..., Any]


def sent(value: Any) -> Any:
    """What arrives."""
    return unpacked(packed(value))


@pytest.mark.parametrize(
    "manifest",
    [
        AgentManifest(actions=("waypoints",), privileged=True),
        AgentManifest(
            actions=("joint_positions", "joint_velocities", "answer"),
            cameras={"front": CameraRequest(224, 320, ("rgb", "depth")), "wrist": CameraRequest(64, 64)},
            primary="front",
            kinds=("manipulation", "question"),
            control_rate=15,
        ),
    ],
)
def test_a_manifest_arrives_as_it_was(manifest: AgentManifest) -> None:
    assert manifest_of(sent(manifest_message(manifest))) == manifest


@pytest.mark.parametrize("message", [None, 3, {}, {"actions": 1}, {"actions": ["waypoints"], "more": 1}])
def test_what_is_no_manifest_is_a_value_error(message: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        manifest_of(message)


@pytest.mark.parametrize("kind", [JointPositions, JointVelocities])
def test_joint_rows_arrive_bit_for_bit(kind: Any) -> None:
    rows = np.random.default_rng(0).standard_normal((5, 8))
    arrived = action_of(sent(action_message(kind(rows))))
    assert type(arrived) is kind
    assert arrived.rows.tobytes() == rows.tobytes()


@pytest.mark.parametrize(
    "action",
    [
        Waypoints((Waypoint((0.1, 0.2, 1 / 3), (0.0, 1.0, 0.0, 0.0), 0.5), Waypoint((0, 0, 0), (1, 0, 0, 0), 1, 0.1))),
        Stop("not_detected"),
        Answer({"count": 3, "names": ["a"]}),
    ],
)
def test_an_action_arrives_as_it_was(action: Any) -> None:
    assert action_of(sent(action_message(action))) == action


@pytest.mark.parametrize(
    "message",
    [
        None,
        [],
        {},
        {"kind": "fly"},
        {"kind": ["stop"]},
        {"kind": "stop"},
        {"kind": "joint_positions"},
        {"kind": "waypoints", "goals": 3},
        {"kind": "waypoints", "goals": [[1, 2]]},
    ],
)
def test_what_is_no_action_is_a_value_error(message: Any) -> None:
    with pytest.raises(ValueError, match="action"):
        action_of(message)


def test_ground_truth_arrives_as_it_was() -> None:
    world = FakeWorld()
    world.reset(baselines()[0].setup, control_rate=20, cameras={})
    truth = world.observe(privileged=True).ground_truth
    arrived = ground_truth_of(sent(ground_truth_message(truth)))
    assert arrived.scene == truth.scene
    assert arrived.scene.hash() == truth.scene.hash()
    assert arrived.state.contacts == truth.state.contacts
    assert arrived.state.cavities == truth.state.cavities
    for name, body in truth.state.bodies.items():
        assert [a.tolist() for a in arrived.state.bodies[name]] == [a.tolist() for a in body]
    assert arrived.state.robot.joint_positions.tolist() == truth.state.robot.joint_positions.tolist()


@pytest.fixture
def made(catalog: Catalog) -> Iterator[Make]:
    """Makes an agent by name, with the vision model of a run when one is named; closed afterwards."""
    with contextlib.ExitStack() as stack:

        def make(name: str, vision: str | None = None, **options: Any) -> Any:
            description = RunDescription("", Part(name, options), vision=Part(vision) if vision else None)
            meter = VisionMeter()
            agent = build_agent(resolve_agent(catalog, description), meter)
            stack.callback(meter.close)
            stack.callback(agent.close)
            agent.meter = meter  # type: ignore[attr-defined]
            return agent

        yield make


@pytest.fixture
def served_agent(catalog: Catalog, served: Make) -> Make:
    """Serves an installed agent; returns the port."""

    def serve(name: str, vision: str | None = None, wrappers: tuple[str, ...] = (), **options: Any) -> int:
        description = RunDescription(
            "", Part(name, options), wrappers=tuple(map(Part, wrappers)), vision=Part(vision) if vision else None
        )
        parts = resolve_agent(catalog, description)
        port: int = served(lambda: ServedAgent(parts, vision is not None), name=name).port
        return port

    return serve


@pytest.mark.parametrize(
    ("name", "vision", "options"),
    [
        ("expert", None, {}),
        ("idle", None, {}),
        ("random", None, {"scale": 0.5}),
        ("simple", "opencv", {}),
        ("moka", "opencv", {}),
    ],
)
def test_an_agent_does_through_remote_what_it_does_in_process(
    made: Make, served_agent: Make, name: str, vision: str | None, options: dict[str, Any]
) -> None:
    here = made(name, vision, **options)
    there = made("remote", vision, port=served_agent(name, **options))
    assert there.manifest == here.manifest
    for scenario in baselines():
        expected, played = play(here, FakeWorld(), scenario), play(there, FakeWorld(), scenario)
        assert played.signature == expected.signature, expected.difference(played)
        assert played.read == expected.read
        assert played.outcome != "raised"
        assert there.meter.usage() == here.meter.usage()


def test_wrappers_can_be_on_either_side(made: Make, served_agent: Make) -> None:
    port = served_agent("simple", wrappers=("sgl",))
    played = play(made("remote", "opencv", port=port), FakeWorld(), baselines()[0])
    assert played.outcome != "raised"
    assert "sgl" in str(played.report)


def test_a_vision_model_of_the_server_is_not_that_of_the_run(made: Make, served_agent: Make) -> None:
    agent = made("remote", "opencv", port=served_agent("simple", vision="opencv"))
    assert play(agent, FakeWorld(), baselines()[0]).outcome == "success"
    assert agent.meter.usage()["calls"] == 0


def test_without_a_vision_model_in_the_run_the_servers_default_is_asked(made: Make, served_agent: Make) -> None:
    agent = made("remote", port=served_agent("simple"))
    assert play(agent, FakeWorld(), baselines()[0]).outcome == "success"


def test_privileged_passes_through(made: Make, served_agent: Make) -> None:
    assert made("remote", port=served_agent("expert")).manifest.privileged
    assert not made("remote", port=served_agent("random")).manifest.privileged


def test_an_error_of_the_agent_reads_as_in_process(
    made: Make, served_agent: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    agent = made("remote", port=served_agent("expert", object="no-such-thing"))
    played = play(agent, FakeWorld(), baselines()[0])
    assert played.outcome == "raised"
    assert "agent 'expert': act() raised KeyError" in str(played.raised)
    assert agent.report() == {"grasps": 1}
    capfd.readouterr()


def test_the_instruction_can_be_changed_by_a_wrapper_here(
    made: Make, served_agent: Make, served: Make, echo: Any
) -> None:
    server = served(echo)
    agent = made("remote", port=server.port)
    scenario = baselines()[0]
    play(agent, FakeWorld(), scenario, calls=1)
    told = agent.report()["told"][0]
    play(agent, FakeWorld(), replace(scenario, setup=replace(scenario.setup, instruction="Other.")), calls=1)
    assert (told, agent.report()["told"][0]) == (scenario.setup.instruction, "Other.")


def test_an_answer_model_that_is_not_installed_here_is_named(made: Make, served: Make, echo: Any) -> None:
    class Asking(echo):  # type: ignore[misc]
        def reset(self, start: Any) -> None:
            message = {"name": "q/1", "prompt": "?", "images": [], "model": "os:system", "rng": "{}"}
            start.ask({"want": "answer", **message, "rng": '{"bit_generator": "PCG64"}'})

    agent = made("remote", "opencv", port=served(Asking).port)
    played = play(agent, FakeWorld(), baselines()[0])
    assert isinstance(played.raised, InfrastructureError)


@pytest.mark.parametrize(
    "model", ["os:system", "subprocess:Popen", "no.such.module:Answer", "rbench.errors:StartError"]
)
def test_only_answer_models_of_rbench_and_its_plugins_are_imported(
    made: Make, served: Make, echo: Any, model: str
) -> None:
    class Asking(echo):  # type: ignore[misc]
        def reset(self, start: Any) -> None:
            from rbench.remote.agent_server import generator_state

            start.ask(
                {
                    "want": "answer",
                    "name": "q/1",
                    "prompt": "?",
                    "images": [],
                    "model": model,
                    "rng": generator_state(start.rng),
                }
            )

    played = play(made("remote", "opencv", port=served(Asking).port), FakeWorld(), baselines()[0])
    assert isinstance(played.raised, StartError)
    assert "which is not installed here" in str(played.raised)
