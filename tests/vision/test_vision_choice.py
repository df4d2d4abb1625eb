"""Which vision model a part of the run is given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.errors import UsageError
from rbench.plugins.catalog import Catalog
from rbench.running.agents import build_agent, resolve_agent
from rbench.running.description import Part, RunDescription
from rbench.vision.opencv import OpenCv

PARTS = """
from pydantic import BaseModel
from rbench import Agent, AgentManifest, Reply, Stop, VisionModel, Wrapper
from dataclasses import replace


class AskingOptions(BaseModel, extra="forbid"):
    vision: str | None = None
    vision_options: dict = {}


class Asking(Agent):
    Options = AskingOptions

    def __init__(self, options, context):
        self.vision = context.vision

    manifest = AgentManifest(actions=("waypoints",))

    def reset(self, start): ...

    def act(self, observation):
        return Stop()


class Blind(Asking):
    Options = None


class Tinted(VisionModel):
    def __init__(self, inner):
        self.inner = inner

    def ask(self, question, rng):
        return self.inner.ask(question, rng)


class Tint(Wrapper):
    @classmethod
    def wrap_context(cls, options, context):
        return replace(context, vision=Tinted(context.vision))


class Asker(Wrapper):
    Options = AskingOptions
"""


@pytest.fixture
def made(catalog: Catalog, tmp_path: Path) -> Callable[..., Any]:
    """Builds an agent out of `PARTS` and gives it with what was resolved."""
    (tmp_path / "vision_parts.py").write_text(PARTS)

    def part(name: str, options: dict[str, Any] | None = None) -> Part:
        return Part(f"vision_parts:{name}", options or {}, str(tmp_path))

    def build(agent: str, options: dict[str, Any] | None = None, wrappers: Any = (), vision: Part | None = None) -> Any:
        description = RunDescription(
            "roboview-bias", part(agent, options), tuple(part(*w) for w in wrappers), vision=vision
        )
        parts = resolve_agent(catalog, description)
        return build_agent(parts), parts

    return build


def test_a_part_that_asks_is_given_the_embedded_model_by_default(made: Callable[..., Any]) -> None:
    agent, parts = made("Asking")
    assert isinstance(agent.vision, OpenCv)
    assert parts.vision.part.name == "opencv"


def test_a_part_that_does_not_ask_is_given_the_runs_model_or_none(made: Callable[..., Any]) -> None:
    agent, parts = made("Blind")
    assert agent.vision is None
    assert parts.vision is None
    agent, _ = made("Blind", vision=Part("opencv"))
    assert isinstance(agent.vision, OpenCv)


def test_the_option_vision_wins_over_the_runs_model(made: Callable[..., Any]) -> None:
    own = {"vision": "rbench/opencv", "vision_options": {"contrast": 11}}
    agent, parts = made("Asking", own, vision=Part("opencv", {"contrast": 9}))
    assert agent.vision.options.contrast == 11
    assert parts.vision.options.contrast == 9
    assert "rbench" in parts.distributions


def test_a_part_with_a_model_of_its_own_needs_no_model_of_the_run(made: Callable[..., Any]) -> None:
    _, parts = made("Asking", {"vision": "opencv"})
    assert parts.vision is None


def test_options_of_an_own_model_are_checked(made: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="contrast"):
        made("Asking", {"vision": "opencv", "vision_options": {"contrst": 11}})
    with pytest.raises(UsageError, match="opencv"):
        made("Asking", {"vision": "opencvv"})


def test_a_wrapper_decorates_the_model_of_what_it_wraps_also_an_own_one(made: Callable[..., Any]) -> None:
    agent, _ = made("Asking", {"vision": "opencv", "vision_options": {"contrast": 11}}, [("Tint",)])
    assert type(agent.inner.vision).__name__ == "Tinted"
    assert agent.inner.vision.inner.options.contrast == 11


def test_every_part_may_ask_a_model_of_its_own(made: Callable[..., Any]) -> None:
    wrappers = [("Asker", {"vision": "opencv", "vision_options": {"contrast": 12}}), ("Tint",)]
    agent, _ = made("Asking", {}, wrappers, vision=Part("opencv", {"contrast": 9}))
    assert agent.context.vision.options.contrast == 12
    assert type(agent.inner.context.vision).__name__ == "OpenCv"
    assert agent.inner.inner.vision.inner.options.contrast == 9
