"""Factors with one thing wrong each are caught by the check that says so, and by no other."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.errors import UsageError
from rbench.testing.kinds import checks_of, subject

HERE = Path(__file__).resolve().parent
#: Checks that start another process or build many worlds: run where they are expected to fail, and on the blameless.
SLOW = {"no-simulator", "same-in-another-process", "composes", "visible"}


def expected() -> dict[str, set[str]]:
    spec = importlib.util.spec_from_file_location("bad_factors_table", HERE / "bad_factors.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found: dict[str, set[str]] = module.EXPECTED
    return found


EXPECTED = expected()


def failed(found: dict[str, Any]) -> set[str]:
    return {name for name, result in found.items() if result.status == "failed"}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_factor_is_caught_by_the_named_checks_and_no_other(results: Callable[..., Any], name: str) -> None:
    found = results(f"factor:bad_factors:{name}", without=tuple(SLOW - EXPECTED[name]), world="auto")
    assert failed(found) == EXPECTED[name], {check: found[check].detail for check in failed(found)}
    assert all(found[check].detail and found[check].remedy for check in failed(found))


@pytest.mark.parametrize("name", ["Blameless", "Lamp"])
def test_what_is_blameless_passes_every_check(results: Callable[..., Any], name: str) -> None:
    found = results(f"factor:bad_factors:{name}", world="auto")
    assert {check for check, result in found.items() if result.status != "ok"} == set()


def test_every_check_but_that_of_options_catches_some_factor() -> None:
    caught = set().union(*EXPECTED.values())
    assert {check.name for check in checks_of("factor")} - caught == {"options"}


def test_a_baseline_that_is_said_must_be_the_one_that_shows_nothing_new(results: Callable[..., Any]) -> None:
    assert results("factor:bad_factors:Blameless", "visible", world="auto", baseline="red")["visible"].status == "ok"
    assert "'white'" in results("factor:bad_factors:Weights", "visible", baseline="light", world="auto")[
        "visible"
    ].detail.replace("heavy", "white")


def test_a_baseline_that_is_no_level_is_named(results: Callable[..., Any]) -> None:
    found = results("factor:bad_factors:Blameless", "baseline-words", baseline="rot")["baseline-words"]
    assert (found.status, "'rot'" in found.detail) == ("failed", True)


def test_a_level_that_reads_back_otherwise_is_told_with_both_values(results: Callable[..., Any]) -> None:
    detail = results("factor:bad_factors:ForgetsBlue", "read-back", world="auto")["read-back"].detail
    assert "(255, 255, 255)" in detail and "(255, 255, 250)" in detail


def test_a_factor_is_given_no_vision_model() -> None:
    with pytest.raises(UsageError, match="no vision model"):
        subject("factor", "color", vision="opencv")


def test_a_scene_that_does_not_exist_is_an_error(results: Callable[..., Any]) -> None:
    found = results("factor:bad_factors:Blameless", "applies", scene="kitchen")["applies"]
    assert (found.status, "kitchen" in found.detail) == ("failed", True)
