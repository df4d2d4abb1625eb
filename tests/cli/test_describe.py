"""`rbench describe`: options, needs, cameras, origin and use of one contribution."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from rbench.cli import main
from rbench.cli.option_facts import attribute_lines, option_facts

AGENTS = Path(__file__).resolve().parents[1] / "testing"


@pytest.fixture
def describe(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Calls `rbench describe ARGUMENTS`: exit code, stdout, stderr."""
    monkeypatch.chdir(AGENTS)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["describe", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def facts(describe: Callable[..., Any]) -> Callable[..., dict[str, Any]]:
    """The JSON object that `rbench describe ARGUMENTS --json` prints."""

    def call(*arguments: str) -> dict[str, Any]:
        code, out, err = describe(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return call


def test_an_agent_has_options_with_types_defaults_and_meanings(facts: Callable[..., Any]) -> None:
    speed = facts("agent:expert")["options"]["speed"]
    assert speed["type"] == "number, more than 0, at most 1"
    assert (speed["default"], speed["required"]) == (0.4, False)
    assert speed["description"].startswith("of the fingertips")


def test_an_agent_has_cameras_actions_and_the_mark(facts: Callable[..., Any]) -> None:
    expert, idle = facts("agent:expert"), facts("agent:idle")
    assert expert["manifest"]["privileged"] is True
    assert idle["manifest"]["cameras"]["front"]["width"] == 256
    assert idle["manifest"]["actions"] == ["joint_positions"]
    assert idle["options"] == {}


def test_where_it_comes_from_and_how_it_is_used(facts: Callable[..., Any]) -> None:
    found = facts("agent:rbench-agent-scripted/expert")
    assert (found["distribution"], found["version"]) == ("rbench-agent-scripted", "0.1.0")
    assert found["verified"]
    assert found["usage"].startswith("rbench run SUITE --agent expert")


def test_options_change_what_is_described(facts: Callable[..., Any]) -> None:
    assert facts("agent:simple", "-o", "width=448")["manifest"]["cameras"]["front"]["width"] == 448


def test_a_factor_has_its_levels(facts: Callable[..., Any]) -> None:
    found = facts("factor:position")
    assert found["levels"] == ["p1", "p2", "p3", "p4"]
    assert found["tolerance"] > 0


@pytest.mark.parametrize("plugin", ["metric:bias", "suite:roboview-bias", "vision-model:opencv"])
def test_every_kind_can_be_described(describe: Callable[..., Any], plugin: str) -> None:
    code, out, _ = describe(plugin)
    assert code == 0
    assert plugin.partition(":")[2] in out
    assert "verified" in out and "use" in out


def test_the_page_for_people_says_all_of_it(describe: Callable[..., Any]) -> None:
    code, out, _ = describe("agent:simple")
    assert code == 0
    for words in ("rbench-agent-simple 0.1.0", "(primary)", "privileged", "one of depth, surface", "needs"):
        assert words in out


def test_an_unpackaged_agent_can_be_described(facts: Callable[..., Any]) -> None:
    found = facts("agent:honest_agent:Honest")
    assert found["distribution"] == "(unpackaged)"
    assert found["options"]["speed"]["description"] == "Speed of the fingertips, m/s."


def test_what_cannot_be_made_is_described_all_the_same_and_says_why(facts: Callable[..., Any]) -> None:
    found = facts("agent:bad_agents:NeedsMore")
    assert found["manifest"] is None
    assert "weights" in found["manifest_error"]


HANGING = """
import time
from rbench import Agent

class Hangs(Agent):
    manifest = reset = act = None

    def __init__(self, options, context):
        time.sleep(600)
"""


def test_an_agent_whose_constructor_hangs_is_given_up(
    facts: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hanging.py").write_text(HANGING)
    monkeypatch.chdir(tmp_path)
    found = facts("agent:hanging:Hangs", "--start-limit", "2")
    assert found["manifest"] is None
    assert "not ready after 2 s, the --start-limit" in found["manifest_error"]


NEEDY = """
from rbench.contributions import AgentContribution
from rbench.hookspecs import hookimpl

@hookimpl
def rbench_agents():
    yield AgentContribution(name="needy", summary="Needs.", target="needy_dist:Agent", needs=("no_such_library",))
"""


def test_what_is_missing_is_named(
    facts: Callable[..., Any],
    describe: Callable[..., Any],
    fake_distribution: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(fake_distribution("needy-dist", NEEDY)))
    found = facts("agent:needy")
    assert (found["needs"], found["missing"]) == (["no_such_library"], ["no_such_library"])
    assert "no_such_library" in found["manifest_error"]
    assert "no_such_library (not installed)" in describe("agent:needy")[1]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["agent:exprt"], 2, "Did you mean 'expert'"),
        (["expert"], 2, "agent:expert"),
        (["agnt:expert"], 2, "Did you mean 'agent'"),
        (["agent:expert", "-o", "sped=1"], 2, "Did you mean 'speed'"),
        (["wrapper:expert"], 2, "another kind: agent"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_use_names_the_word(describe: Callable[..., Any], arguments: list[str], code: int, said: str) -> None:
    got, out, err = describe(*arguments)
    assert (got, out) == (code, "")
    assert said in err


def test_a_broken_plugin_is_an_error_of_this_machine(
    describe: Callable[..., Any], fake_distribution: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(fake_distribution("broken-dist", "raise RuntimeError('no')")))
    code, _, err = describe("agent:broken-dist/thing")
    assert code == 3
    assert "RuntimeError" in err


class Documented(BaseModel):
    """Options.

    Attributes:
        rate: of something,
            over two lines.
        low, high: limits.

    More text: not an option.
    """

    model_config = ConfigDict(extra="forbid")

    rate: int = Field(default=1, ge=1, le=5)
    low: float
    high: float | None = None
    mode: Literal["a", "b"] = "a"
    names: list[str] = []
    table: dict[str, float] = {}
    flag: bool = Field(default=False, description="Its own words.")


def test_options_in_words() -> None:
    found = option_facts(Documented)
    assert {name: option["type"] for name, option in found.items()} == {
        "rate": "whole number, at least 1, at most 5",
        "low": "number",
        "high": "number or none",
        "mode": "one of a, b",
        "names": "list of text",
        "table": "table",
        "flag": "true or false",
    }
    assert [name for name, option in found.items() if option["required"]] == ["low"]
    assert found["rate"]["description"] == "of something, over two lines."
    assert found["low"]["description"] == found["high"]["description"] == "limits."
    assert found["flag"]["description"] == "Its own words."
    assert found["mode"]["choices"] == ["a", "b"]


def test_a_docstring_without_a_section_describes_nothing() -> None:
    assert attribute_lines("Options.\n\nnot: an attribute") == {}
