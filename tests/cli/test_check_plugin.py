"""`rbench check-plugin`: what it prints and how it exits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.cli import main

AGENTS = Path(__file__).resolve().parents[1] / "testing"


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Calls `rbench check-plugin ARGUMENTS` where the agents with one thing wrong are: exit code, stdout, stderr."""
    monkeypatch.chdir(AGENTS)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["check-plugin", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


FAKE = ("--world", "fake")


def test_a_plugin_that_keeps_the_contract_exits_with_0(check: Callable[..., Any]) -> None:
    code, out, _ = check("agent:expert", *FAKE, "--only", "options", "--only", "lifecycle")
    assert code == 0
    assert out.splitlines()[0].startswith("ok       options: ")
    assert out.splitlines()[-1] == "agent 'expert' (rbench-agent-scripted 0.1.0): 2 ok"


def test_a_failed_check_says_what_was_found_and_how_to_mend_it_and_exits_with_1(check: Callable[..., Any]) -> None:
    code, out, _ = check("agent:bad_agents:FlippedGripper", *FAKE, "--only", "gripper-direction")
    assert code == 1
    first, found, mend, _ = out.splitlines()
    assert first == "failed   gripper-direction: The gripper is 0 for open and 1 for closed."
    assert "0 of 3 starts as it is, and 3 when" in found
    assert "mend:  send 0 to open" in mend


def test_an_exempt_check_may_fail_and_shows_the_reason(check: Callable[..., Any]) -> None:
    code, out, _ = check("agent:bad_agents:Prints", *FAKE, "--only", "quiet", "--exempt", "quiet=shows its thoughts")
    assert code == 0
    assert out.startswith("exempt   quiet")
    assert "exempt because: shows its thoughts" in out


def test_an_exemption_that_is_not_needed_is_reported(check: Callable[..., Any]) -> None:
    code, out, _ = check("agent:expert", *FAKE, "--only", "options", "--exempt", "options=old")
    assert code == 0
    assert "it passes now: remove the exemption" in out


def test_what_a_plugin_prints_does_not_reach_stdout(check: Callable[..., Any]) -> None:
    code, out, _ = check("agent:bad_agents:Prints", *FAKE, "--only", "lifecycle", "--json")
    assert code == 0
    assert json.loads(out)["counts"]["ok"] == 1


def test_json_has_every_check_with_its_remedy(check: Callable[..., Any]) -> None:
    code, out, _ = check("agent:bad_agents:NotANumber", *FAKE, "--only", "finite-numbers", "--json")
    report = json.loads(out)
    assert code == 1
    assert (report["kind"], report["name"], report["passed"]) == ("agent", "bad_agents:NotANumber", False)
    (result,) = report["checks"]
    assert set(result) == {"name", "statement", "status", "detail", "remedy", "reason", "seconds"}
    assert "nan" in result["detail"] and result["remedy"]


def test_a_slow_agent_fails_or_is_warned_of(check: Callable[..., Any]) -> None:
    slow = ("agent:bad_agents:Slow", *FAKE, "--only", "time-per-call", "--time-limit", "0.3")
    code, out, _ = check(*slow)
    assert (code, out.startswith("failed")) == (1, True)
    code, out, _ = check(*slow, "--slow", "warn")
    assert (code, out.startswith("warning")) == (0, True)


def test_a_claim_of_competence_is_checked(check: Callable[..., Any]) -> None:
    code, out, _ = check("agent:idle", *FAKE, "--only", "competent", "--competent")
    assert code == 1
    assert "0 of 3 starts in the fake world (time_limit)" in out


def test_what_a_wrapper_may_change_can_be_said(check: Callable[..., Any]) -> None:
    polite = ("wrapper:wrappers_under_test:Polite", *FAKE, "--only", "passes-through")
    assert check(*polite)[0] == 0
    assert check(*polite, "--changes", "report")[0] == 1
    assert check(*polite, "--changes", "report", "--changes", "instruction")[0] == 0


def test_the_list_names_every_check_and_runs_none(check: Callable[..., Any]) -> None:
    code, out, _ = check("agent:no-such-agent", "--list", "--json")
    assert code == 0
    checks = json.loads(out)
    assert len(checks) > 40
    assert all(entry["statement"].endswith(".") for entry in checks)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["agent:exprt"], 2, "Did you mean 'expert'"),
        (["expert"], 2, "agent:expert"),
        (["agnt:expert"], 2, "Did you mean 'agent'"),
        (["suite:roboview-bias"], 2, "agent, factor, metric, wrapper"),
        (["factor:colour"], 2, "Did you mean 'color'"),
        (["factor:color", "--vision", "opencv"], 2, "no vision model"),
        (["factor:color", "--scene", "tabeltop"], 2, "Did you mean 'tabletop'"),
        (["metric:bais"], 2, "Did you mean 'bias'"),
        (["agent:"], 2, "KIND:NAME"),
        (["agent:expert", "-o", "sped=1"], 2, "Did you mean 'speed'"),
        (["agent:expert", "--only", "lifecyle"], 2, "Did you mean 'lifecycle'"),
        (["agent:expert", "--exempt", "quiet"], 2, "CHECK=REASON"),
        (["agent:expert", "--exempt", "quiet= "], 2, "no reason"),
        (["agent:expert", "--exempt", "quite=x"], 2, "Did you mean 'quiet'"),
        (["agent:no_such_module:Agent"], 2, "no_such_module"),
        (["agent:expert", "--vision", "opencw"], 2, "Did you mean 'opencv'"),
        (["wrapper:wrappers_under_test:Polite", "--changes", "mood"], 2, "mood"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_use_names_the_word_and_the_remedy(
    check: Callable[..., Any], arguments: list[str], code: int, said: str
) -> None:
    got, out, err = check(*arguments)
    assert (got, out) == (code, "")
    assert said in err
    assert "Traceback" not in err


def test_a_plugin_that_needs_a_library_that_is_missing_cannot_start(
    check: Callable[..., Any], fake_distribution: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
from rbench.contributions import AgentContribution
from rbench.hookspecs import hookimpl

@hookimpl
def rbench_agents():
    yield AgentContribution(name="needy", summary="Needs.", target="needy_dist:Agent", needs=("no_such_library",))
"""
    monkeypatch.syspath_prepend(str(fake_distribution("needy-dist", source)))
    code, _, err = check("agent:needy")
    assert code == 3
    assert "no_such_library" in err


TROUBLE = """
import os, subprocess, time
from rbench import Agent

class Hangs(Agent):
    manifest = reset = act = None

    def __init__(self, options, context):
        child = subprocess.Popen(["sleep", "600"])
        with open("child", "w") as file:
            file.write(str(child.pid))
        time.sleep(600)

class Ends(Hangs):
    def __init__(self, options, context):
        os._exit(7)
"""


@pytest.mark.parametrize(
    ("name", "said"), [("Hangs", "not made and closed within 4 s"), ("Ends", "ended the process (exit status 7)")]
)
def test_an_agent_that_cannot_be_made_at_all_is_refused(
    check: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trouble.py").write_text(TROUBLE)
    code, out, err = check(f"agent:trouble:{name}", *FAKE, "--start-limit", "4" if name == "Hangs" else "60")
    assert (code, out) == (3, "")
    assert said in err
    if (child := tmp_path / "child").exists():
        stat = Path(f"/proc/{child.read_text()}/stat")
        assert not stat.exists() or stat.read_text().rpartition(")")[2].split()[0] == "Z"
