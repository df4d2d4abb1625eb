from __future__ import annotations

import json
from pathlib import Path

import pytest

from rbench.suites.accepted import Accepted, accepted_name, read_accepted, validation_line
from rbench.values import to_plain

STAGES = {
    "measured": {"pass_rate": 0.98777, "instances": 2127},
    "people": {"pass_rate": 1.0, "instances": 2716},
}


def accepted(**changes: object) -> dict[str, object]:
    return {**to_plain(Accepted("s", "h" * 64, "2026-01-01T00:00:00+00:00", "0.1.0", 0.95, STAGES)), **changes}


def test_a_suite_without_one_is_not_validated() -> None:
    assert validation_line(None).startswith("suite not validated")


def test_the_line_says_which_stages_were_done_and_which_were_not() -> None:
    line = validation_line(accepted())
    assert line == "suite validated: measured 98.8 % of 2,127, by people 100.0 % of 2,716; not yet by a vision model"


def test_a_model_is_called_by_its_name() -> None:
    stages = {"model": {"pass_rate": 1.0, "instances": 9, "vision": "rbench/opencv"}}
    assert "by rbench/opencv 100.0 % of 9;" in validation_line(accepted(stages=stages))


@pytest.mark.parametrize(
    ("changes", "found"),
    [({}, True), ({"suite_hash": "other"}, False), ({"schema": 99}, False), ({"added_later": 1}, True)],
)
def test_it_counts_for_the_suite_of_its_hash_alone(changes: dict[str, object], found: bool, tmp_path: Path) -> None:
    (tmp_path / accepted_name("my-suite.toml")).write_text(json.dumps(accepted(**changes)))
    assert (read_accepted(tmp_path, "my-suite.toml", "h" * 64) is not None) == found


def test_without_the_file_there_is_none(tmp_path: Path) -> None:
    assert read_accepted(tmp_path, "my-suite.toml", "h" * 64) is None
