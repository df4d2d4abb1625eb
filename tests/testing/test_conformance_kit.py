"""The kit itself: names, statements, exemptions, and how pytest meets it."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import rbench.testing
from rbench.errors import UsageError
from rbench.testing import CheckFailed, agent_checks, factor_checks, metric_checks, wrapper_checks
from rbench.testing.checks import Check, CheckSkipped, run_check, run_checks
from rbench.testing.kinds import KINDS, checks_of

HERE = Path(__file__).resolve().parent


@pytest.mark.parametrize("kind", KINDS)
def test_every_check_has_a_name_of_its_own_and_a_statement_of_one_line(kind: str) -> None:
    checks = checks_of(kind)
    assert len({check.name for check in checks}) == len(checks)
    for check in checks:
        assert check.name == check.name.lower() and " " not in check.name
        assert check.statement.endswith(".") and "\n" not in check.statement


def test_kinds_without_checks_are_refused_by_name() -> None:
    with pytest.raises(UsageError, match="agent"):
        checks_of("agnt")


@pytest.mark.parametrize("name", rbench.testing.__all__)
def test_every_exported_name_can_be_imported(name: str) -> None:
    assert getattr(rbench.testing, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rbench.testing.nothing  # noqa: B018


def test_collecting_checks_imports_neither_simulator_nor_plugin() -> None:
    code = (
        "import sys; from rbench.testing import agent_checks; agent_checks('expert');"
        "print([m for m in sys.modules if m in ('mujoco', 'scipy', 'trimesh') or m.startswith('rbench_agent')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


# --- results ---------------------------------------------------------------------------------------------------------


def raising(problem: BaseException | None) -> Check:
    def run(subject: Any) -> str | None:
        if problem is not None:
            raise problem
        return "seen"

    return Check("sample", "It holds.", run)


def test_a_check_that_returns_is_ok_with_its_note() -> None:
    result = run_check(raising(None), None)
    assert (result.status, result.detail, result.remedy) == ("ok", "seen", "")


def test_a_failure_has_problem_and_remedy() -> None:
    result = run_check(raising(CheckFailed("it is so", "do this")), None)
    assert (result.status, result.detail, result.remedy) == ("failed", "it is so", "do this")


def test_a_skip_has_its_reason() -> None:
    assert run_check(raising(CheckSkipped("no camera")), None).detail == "no camera"


def test_an_exception_of_the_plugin_is_a_failure_not_a_crash() -> None:
    result = run_check(raising(ZeroDivisionError("by nought")), None)
    assert result.status == "failed"
    assert "ZeroDivisionError: by nought" in result.detail


@pytest.mark.parametrize("module, name", [(os, "_exit"), (sys, "exit")])
def test_a_plugin_that_ends_the_process_fails_its_check(module: ModuleType, name: str) -> None:
    def run(subject: Any) -> str | None:
        getattr(module, name)(0)
        return None

    real = os._exit
    result = run_check(Check("sample", "It holds.", run), None)
    assert (result.status, result.detail) == ("failed", "it asked to end the process (status 0)")
    assert os._exit is real


def test_a_child_that_a_plugin_forks_ends_as_it_likes() -> None:
    def run(subject: Any) -> str:
        child = os.fork()
        if child == 0:
            os._exit(7)
        return str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

    assert run_check(Check("sample", "It holds.", run), None).detail == "7"


def test_an_interrupt_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_check(raising(KeyboardInterrupt()), None)


def test_an_exempt_check_may_fail_and_keeps_its_reason() -> None:
    result = run_check(raising(CheckFailed("it is so", "do this")), None, "on purpose")
    assert (result.status, result.reason, result.detail) == ("exempt", "on purpose", "it is so")


def test_an_exempt_check_that_passes_is_reported() -> None:
    result = run_check(raising(None), None, "long ago")
    assert (result.status, result.detail) == ("exempt", "it passes now: remove the exemption")


def test_a_skipped_check_stays_skipped_when_it_is_exempt() -> None:
    assert run_check(raising(CheckSkipped("no camera")), None, "on purpose").status == "skipped"


def test_one_failure_stops_no_other_check() -> None:
    checks = [raising(CheckFailed("a", "b")), raising(None)]
    assert [result.status for result in run_checks(None, checks)] == ["failed", "ok"]


# --- exemptions and pytest -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bound", [agent_checks, wrapper_checks, factor_checks, metric_checks])
def test_an_exemption_of_no_check_is_refused_with_near_names(bound: Callable[..., Any]) -> None:
    with pytest.raises(UsageError, match="same-in-another-process"):
        bound("anything", exemptions={"same-in-an-other-process": "reason"})


@pytest.mark.parametrize("reason", ["", "  ", None])
def test_an_exemption_without_a_reason_is_refused(reason: Any) -> None:
    with pytest.raises(UsageError, match="no reason"):
        agent_checks("anything", exemptions={"quiet": reason})


def test_a_change_that_no_wrapper_can_say_is_refused() -> None:
    with pytest.raises(UsageError, match="actions"):
        wrapper_checks("anything", changes=("action",))


def bound_to(name: str, check: str, **details: Any) -> Any:
    checks = agent_checks(f"bad_agents:{name}", folder=HERE, world="fake", **details)
    return next(bound for bound in checks if str(bound) == check)


def test_a_bound_check_fails_with_statement_finding_and_remedy() -> None:
    with pytest.raises(CheckFailed) as caught:
        bound_to("Prints", "quiet")()
    for words in ("It prints nothing on stdout", "thinking ...", "Remedy: use context.logger"):
        assert words in str(caught.value)


def test_a_bound_check_that_is_skipped_is_a_skip() -> None:
    with pytest.raises(unittest.SkipTest, match="fake world"):
        bound_to("Blameless", "real-episodes")()


def test_a_bound_check_that_is_exempt_is_an_expected_failure() -> None:
    with pytest.raises(pytest.xfail.Exception, match="on purpose"):
        bound_to("Prints", "quiet", exemptions={"quiet": "on purpose"})()


def test_an_exemption_that_is_not_needed_is_a_warning() -> None:
    with pytest.warns(UserWarning, match="remove it"):
        bound_to("Blameless", "quiet", exemptions={"quiet": "long ago"})()


def test_a_slow_agent_can_be_a_warning() -> None:
    with pytest.warns(UserWarning, match="time-per-call"):
        bound_to("Slow", "time-per-call", time_limit=0.3, slow="warn")()


def test_an_agent_that_does_not_exist_fails_by_name() -> None:
    with pytest.raises(UsageError, match="expert"):
        agent_checks("exprt")[0]()


def test_an_agent_whose_library_is_missing_is_skipped(
    fake_distribution: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
from rbench.contributions import AgentContribution
from rbench.hookspecs import hookimpl

@hookimpl
def rbench_agents():
    yield AgentContribution(name="needy", summary="Needs.", target="needy_dist:Agent", needs=("no_such_library",))
"""
    monkeypatch.syspath_prepend(str(fake_distribution("needy-dist", source)))
    with pytest.raises(unittest.SkipTest, match="no_such_library"):
        agent_checks("needy")[0]()


FIVE_LINES = """
import pytest
from rbench.testing import agent_checks

@pytest.mark.parametrize("check", agent_checks({arguments}), ids=str)
def test_conformance(check):
    check()
"""


def test_five_lines_of_pytest_are_enough(tmp_path: Path) -> None:
    arguments = (
        f"'bad_agents:Prints', folder={str(HERE)!r}, world='fake',"
        " exemptions={'quiet': 'it shows its thoughts', 'deterministic': 'old'}"
    )
    (tmp_path / "test_it.py").write_text(FIVE_LINES.format(arguments=arguments))
    chosen = "quiet or deterministic or options or real-episodes or lifecycle"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-k", chosen, "test_it.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "3 passed, 1 skipped" in done.stdout and "1 xfailed, 1 warning" in done.stdout
    assert "exempt: it shows its thoughts" in done.stdout
    assert "exemption 'deterministic' is not needed" in done.stdout
