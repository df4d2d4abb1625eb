"""The wrapper `sgl` around agents that read instructions, and around some that do not."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.gl
SGL = ("--wrap", "sgl")


def run(agent: str, *more: str) -> tuple[str, ...]:
    return ("run", "roboview-bias", "--agent", agent, "--limit", "3", *more)


@pytest.mark.parametrize("agent", ["simple", "expert", "idle", "agents_under_test:GivesUp"])
def test_it_goes_around_any_agent_and_changes_nothing_but_the_words(
    rbench_command: Callable[..., Any], agent: str
) -> None:
    plain, wrapped = rbench_command(*run(agent)), rbench_command(*run(agent, *SGL))
    assert wrapped.code == plain.code, wrapped.err
    for one, other in zip(plain.episodes, wrapped.episodes, strict=True):
        trace = other.agent["report"]["sgl"]
        assert trace["original"] == one.instruction == other.instruction
        assert not trace["fallback"]
        assert "object" in trace["refined"] and "box" in trace["refined"]
        # None of these agents acts on words: the eye that `simple` asks does not read them.
        assert (one.outcome, one.steps, one.hashes.state) == (other.outcome, other.steps, other.hashes.state)


def test_it_says_which_object_by_its_colour(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(
        "run", "roboview-bias-sgl", "--agent", "idle", *SGL, "--instances", "color/blue/position-p3", "--repeats", "1"
    )
    (episode,) = ran.episodes
    assert episode.agent["report"]["sgl"]["refined"] == "Put the blue object into the yellow box."


def test_a_scripted_agent_stays_marked_as_privileged(rbench_command: Callable[..., Any]) -> None:
    assert rbench_command(*run("expert", *SGL)).manifest["agent"]["privileged"] is True


def test_two_runs_are_identical(rbench_command: Callable[..., Any]) -> None:
    first, second = (rbench_command(*run("simple", *SGL)).episodes for _ in range(2))
    assert [e.agent for e in first] == [e.agent for e in second]
    assert [e.events for e in first] == [e.events for e in second]


def test_a_recording_answers_it_again(rbench_command: Callable[..., Any]) -> None:
    recorded = rbench_command(*run("simple", *SGL, "--vision", "opencv", "-v", "transcripts=true"))
    again = rbench_command(*run("simple", *SGL, "--vision", "replay", "-v", f"recording={recorded.directory}"))
    assert again.code == 0, again.err
    assert [e.agent["report"] for e in again.episodes] == [e.agent["report"] for e in recorded.episodes]


def test_with_and_without_are_compared(rbench_command: Callable[..., Any]) -> None:
    directories = [rbench_command(*run("simple", *more)).directory for more in ((), SGL)]
    text = rbench_command("compare", *map(str, directories))
    assert text.code == 0, text.err
    assert "second: sgl(simple)" in text.out
    facts = json.loads(rbench_command("compare", *map(str, directories), "--json").out)
    assert facts["episodes"]["common"] == 3
    assert facts["overall"]["difference"] == 0
    assert all(row["verdict"] for row in facts["dimensions"].values())


def test_where_words_matter_the_comparison_shows_it(rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    """With a made-up model that overlooks unusual colours unless they are named: bias falls, and fig7 shows it."""
    made_up = ("--vision", "vision_wrappers_under_test:ReadsColours")
    study = ("run", "roboview-bias-sgl", "--agent", "simple", *made_up, "--preset", "quick", "--repeats", "1")
    study = (*study, "--instances", "color/[rgyp]*/position-p3")
    directories = [str(rbench_command(*study, *more).directory) for more in ((), SGL)]
    facts = json.loads(rbench_command("compare", *directories, "--json").out)
    row = facts["dimensions"]["color"]
    # A yellow object is told from the yellow box as the solid one, not by its colour, and is overlooked as before.
    assert row["success_rates"] == pytest.approx([2 / 6, 5 / 6])
    assert row["cv"][0] > 100 > 50 > row["cv"][1]
    assert rbench_command("report", *directories, "--format", "csv", "-o", str(tmp_path / "csv")).code == 0
    (line,) = csv.DictReader((tmp_path / "csv" / "wrappers.csv").read_text().splitlines())
    assert float(line["cv_reduction"]) == pytest.approx(100 * (1 - row["cv"][1] / row["cv"][0]))


def test_it_can_ask_a_model_of_its_own(rbench_command: Callable[..., Any]) -> None:
    options = ("-w", "sgl.vision=opencv", "-w", 'sgl.vision_options={"contrast": 200}')
    ran = rbench_command(*run("simple", *SGL, *options))
    assert ran.code == 0, ran.err
    for episode in ran.episodes:
        trace = episode.agent["report"]["sgl"]
        assert (trace["fallback"], trace["reason"], trace["attempts"]) == (True, "0 manipulation objects", 3)
        assert trace["refined"] == trace["original"]


def test_a_model_that_cannot_answer_it_is_refused_by_name(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(*run("simple", *SGL, "-w", "sgl.action=model"))
    assert ran.code == 2
    assert "sgl.action/1" in ran.err and "--vision" in ran.err


@pytest.mark.parametrize("option", ["sgl.max_attribute=2", "sgl.shared=some", "sgl.priority=[]"])
def test_a_wrong_option_is_named(rbench_command: Callable[..., Any], option: str) -> None:
    ran = rbench_command(*run("simple", *SGL, "-w", option))
    assert ran.code == 2
    assert option.split(".")[1].split("=")[0] in ran.err


def test_a_camera_that_the_scene_has_not_is_named(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(*run("idle", *SGL, "-w", "sgl.camera=attic"))
    assert ran.code == 2
    assert "attic" in ran.err
