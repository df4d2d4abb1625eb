"""A camera that cannot be had is said to be asked for by the part that asks for it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rbench import Agent, AgentManifest, CameraRequest, Wrapper
from rbench.cli import main
from rbench.errors import UsageError
from rbench.plugins.catalog import build_catalog
from rbench.running.agents import Resolved, ResolvedAgent, camera_askers
from rbench.running.description import Part
from rbench.running.worker import check_world
from rbench.suites.loading import load_suite


class Sees(Agent):
    manifest = AgentManifest(actions=("waypoints",), cameras={"front": CameraRequest(48, 64)})

    def reset(self, start: Any) -> None:
        raise AssertionError

    def act(self, observation: Any) -> Any:
        raise AssertionError


class Adds(Wrapper):
    """Asks for the cameras of its options besides those of the agent inside."""

    @property
    def manifest(self) -> AgentManifest:
        inner = self.inner.manifest
        return replace(inner, cameras={**inner.cameras, **self.options})


def askers(*added: dict[str, CameraRequest]) -> dict[str, str]:
    """Of the agent `sees` inside wrappers `w0`, `w1`, ..., outermost first."""
    entry = build_catalog().get("agent", "idle")
    agent: Agent = Sees()
    for cameras in reversed(added):
        agent = Adds(cameras, None, agent)
    wrappers = tuple(Resolved(Part(f"w{n}"), entry, None) for n in range(len(added)))
    return camera_askers(agent, ResolvedAgent(Resolved(Part("sees"), entry, None), wrappers, None))


def test_without_wrappers_it_is_the_agent() -> None:
    assert askers() == {"front": "agent 'sees'"}


def test_what_a_wrapper_adds_is_its_own_and_the_rest_that_of_the_agent() -> None:
    found = askers({}, {"wrist": CameraRequest(48, 64)}, {})
    assert found == {"front": "agent 'sees'", "wrist": "wrapper 'w1'"}


def test_a_camera_that_a_wrapper_asks_for_otherwise_is_the_wrappers() -> None:
    large = CameraRequest(480, 640)
    assert askers({}, {"front": large}) == {"front": "wrapper 'w1'"}
    assert askers({"front": CameraRequest(48, 64)}) == {"front": "agent 'sees'"}


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("camera=nowhere", "wrapper 'sgl' asks for camera 'nowhere', which scene"),
        ("camera=nowhere", "it has front"),
    ],
)
@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_camera_of_a_wrappers_option_is_the_wrappers(
    capsys: pytest.CaptureFixture[str], tmp_path: Any, option: str, said: str, executor: str
) -> None:
    run = ["run", "roboview-bias", "--agent", "idle", "--wrap", "sgl", "-w", f"sgl.{option}", "--executor", executor]
    assert main([*run, "--out", str(tmp_path / "run")]) == 2
    assert said in capsys.readouterr().err


def test_a_picture_that_is_too_large_names_who_asks_for_it() -> None:
    suite = load_suite(build_catalog(), "roboview-bias")
    large = replace(Sees.manifest, cameras={"front": CameraRequest(5000, 64)})
    with pytest.raises(UsageError, match="wrapper 'w' asks for camera 'front' with 5000 x 64 pixels, more than"):
        check_world(suite, large, {"front": "wrapper 'w'"})
