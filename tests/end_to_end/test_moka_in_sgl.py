"""`moka` inside `sgl`: it plans for the refined instruction, and its stages are judged as without a wrapper."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.gl


def test_moka_is_told_the_refined_instruction_and_its_stages_are_told_true(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "moka", "--wrap", "sgl", "--limit", "1", "--workers", "1")
    assert ran.code == 0, ran.err
    (record,) = ran.episodes
    report = record.agent["report"]
    assert report["sgl"]["questions"][0]["question"] == "sgl.scene/1"
    assert [q["question"] for q in report["questions"]] == ["moka.plan/1", "moka.filter/1", "moka.motion/1"]
    assert record.agent["truth"]["lost_at"] is None
    assert "where episodes are lost" in ran.out
