"""A wrapper may put a vision model of its own around the one that the agent inside asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

pytestmark = pytest.mark.gl
DECORATES = ("--wrap", "vision_wrappers_under_test:Decorates")
RUN = ("run", "roboview-bias", "--agent", "simple", "--limit", "3")


def questions(report: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Everything that was asked, by the agent and by wrappers."""
    for key, value in report.items():
        if key == "questions":
            yield from value
        elif isinstance(value, Mapping):
            yield from questions(value)


def asked(episode: Any) -> dict[str, list[str]]:
    """The questions of an episode by name, with what was noted beside their answers; each must be there once.

    The runner, which counts at the model itself, must have counted as many.
    """
    found = list(questions(episode.agent["report"]))
    assert len({q["question"] for q in found}) == len(found)
    assert {q["model"] for q in found} == {"opencv"}
    assert episode.agent["vision"]["calls"] == len(found)
    return {q["question"]: q["repairs"] for q in found}


def test_what_it_puts_in_the_way_is_asked_and_changes_nothing_else(rbench_command: Callable[..., Any]) -> None:
    plain, wrapped = rbench_command(*RUN), rbench_command(*RUN, *DECORATES)
    assert (plain.code, wrapped.code) == (0, 0), wrapped.err
    assert [asked(e) for e in plain.episodes] == [{"simple.locate/1": []}] * 3
    assert [asked(e) for e in wrapped.episodes] == [{"simple.locate/1": ["passed_on"]}] * 3
    for one, other in zip(plain.episodes, wrapped.episodes, strict=True):
        assert (one.outcome, one.reason, one.steps, one.hashes) == (
            other.outcome,
            other.reason,
            other.steps,
            other.hashes,
        )


@pytest.mark.parametrize(
    ("wrappers", "marks"),
    [
        ((*DECORATES, "--wrap", "sgl"), (["passed_on"], ["passed_on"])),
        (("--wrap", "sgl", *DECORATES), ([], ["passed_on"])),
        ((*DECORATES, *DECORATES), (None, ["passed_on", "passed_on"])),
    ],
    ids=["outside sgl", "inside sgl", "twice"],
)
def test_it_stands_before_everything_inside_it_and_nothing_outside(
    rbench_command: Callable[..., Any], wrappers: tuple[str, ...], marks: tuple[list[str] | None, list[str]]
) -> None:
    ran = rbench_command(*RUN, *wrappers)
    assert ran.code == 0, ran.err
    scene, locate = marks
    expected = {"simple.locate/1": locate} | ({} if scene is None else {"sgl.scene/1": scene})
    assert [asked(e) for e in ran.episodes] == [expected] * 3


def test_a_dry_run_counts_each_question_once(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(*RUN, *DECORATES, "--wrap", "sgl", "--dry-run")
    assert ran.code == 0, ran.err
    assert "(2.0 an episode)" in ran.out
