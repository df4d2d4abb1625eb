"""Agents and wrappers with one thing wrong each are caught by the check that says so, and by no other."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from rbench.testing.checks import Result

HERE = Path(__file__).resolve().parent
#: Checks that take a second or more. They are run on every agent where they are expected to fail, and on some.
SLOW = {"memory", "same-in-another-process"}
#: What the wrappers under test say that they change.
CHANGES = {
    "Polite": ("instruction", "report"),
    "HidesReport": ("report",),
    "CountsEpisodes": ("report",),
    "ActsAlone": ("actions", "report"),
}


def tables(name: str) -> ModuleType:
    """A module of this folder: what must catch what stands beside each agent."""
    if name not in sys.modules:
        sys.path.append(str(HERE))
        spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
        assert spec and spec.loader
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


AGENTS: dict[str, set[str]] = tables("bad_agents").EXPECTED
WRAPPERS: dict[str, set[str]] = tables("wrappers_under_test").EXPECTED


@pytest.fixture(autouse=True)
def end_children() -> Iterator[None]:
    yield
    children = tables("bad_agents").CHILDREN
    while children:
        child = children.pop()
        child.kill()
        child.wait()


def failed(found: dict[str, Result]) -> set[str]:
    return {name for name, result in found.items() if result.status == "failed"}


def told(found: dict[str, Result]) -> bool:
    """Whether every failure says what was found and how to mend it."""
    return all(result.detail and result.remedy for result in found.values() if result.status == "failed")


@pytest.mark.parametrize("name", sorted(set(AGENTS) - {"Slow"}))
def test_an_agent_is_caught_by_the_named_check_and_no_other(results: Callable[..., Any], name: str) -> None:
    found = results(f"agent:bad_agents:{name}", without=tuple(SLOW - AGENTS[name]))
    assert failed(found) == AGENTS[name], {name: found[name].detail for name in failed(found)}
    assert told(found)


def test_a_slow_agent_is_caught_by_its_check(results: Callable[..., Any]) -> None:
    found = results("agent:bad_agents:Slow", "time-per-call", "deterministic", "in-range", time_limit=0.3)
    assert failed(found) == AGENTS["Slow"]
    assert told(found)


@pytest.mark.parametrize("name", WRAPPERS)
def test_a_wrapper_is_caught_by_the_named_check_and_no_other(results: Callable[..., Any], name: str) -> None:
    found = results(f"wrapper:wrappers_under_test:{name}", without=tuple(SLOW), changes=CHANGES.get(name, ()))
    assert failed(found) == WRAPPERS[name], {name: found[name].detail for name in failed(found)}
    assert told(found)


@pytest.mark.parametrize("plugin", ["agent:bad_agents:Blameless", "wrapper:wrappers_under_test:Transparent"])
def test_what_is_blameless_passes_the_slow_checks_too(results: Callable[..., Any], plugin: str) -> None:
    assert {name: result.status for name, result in results(plugin, *SLOW).items()} == dict.fromkeys(SLOW, "ok")


@pytest.mark.parametrize("plugin", ["agent:expert", "agent:idle", "agent:random"])
def test_skipped_checks_say_why(results: Callable[..., Any], plugin: str) -> None:
    found = results(plugin, without=tuple(SLOW))
    assert failed(found) == set()
    assert all(result.detail for result in found.values() if result.status == "skipped")


@pytest.mark.gl
@pytest.mark.parametrize(
    ("name", "check"),
    [
        ("FlippedGripper", "gripper-direction"),
        ("UpsideDown", "image-upright"),
        ("Bgr", "channel-order"),
    ],
)
def test_conventions_are_found_out_in_the_real_world_too(results: Callable[..., Any], name: str, check: str) -> None:
    result = results(f"agent:bad_agents:{name}", check, world="auto")[check]
    assert result.status == "failed", result.detail


@pytest.mark.gl
def test_an_honest_agent_solves_the_task_in_the_real_world(results: Callable[..., Any]) -> None:
    found = results("agent:honest_agent:Honest", world="auto", competent=True)
    assert failed(found) == set()
    assert found["competent"].detail == "3 of 3 starts in the real world"
    assert {name for name, result in found.items() if result.status != "ok"} <= {"stop"}


def test_what_an_agent_writes_stays_in_the_folder_of_the_test(results: Callable[..., Any], tmp_path: Path) -> None:
    results("agent:bad_agents:LeavesAFile", "leaves-nothing-behind", "lifecycle")
    written = [path.name for path in tmp_path.iterdir()]
    assert "last-instruction.txt" in written
    assert any(name.startswith("tmp") for name in written)


def test_leaks_are_traced_to_their_line(results: Callable[..., Any]) -> None:
    detail = results("agent:bad_agents:LeaksMemory", "memory")["memory"].detail
    assert "bad_agents.py:" in detail


def test_an_action_that_differs_is_told_by_its_number(results: Callable[..., Any]) -> None:
    detail = results("agent:bad_agents:CarriesState", "no-carry-over")["no-carry-over"].detail
    assert "call 1 of act()" in detail and "speed of row 0" in detail
