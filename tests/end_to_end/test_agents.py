"""What happens to an episode when an agent misbehaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ERRORS = {
    "Raises": "ValueError: no plan found",
    "Exits": "SystemExit",
    "RaisesAtReset": "reset() raised RuntimeError",
    "WrongShape": "(4, 7)",
    "Empty": "empty",
    "NotANumber": "NaN",
    "WrongKind": "answer",
    "AnswersAnyway": "manipulation",
    "Nothing": "NoneType",
    "ReportsAnObject": "report()",
    "EvilRows": "no array",
    "EvilReason": "no text",
    "RaisesTheUnspeakable": "Unspeakable: (its message cannot be read)",
    "TextRows": "real numbers",
    "WaypointsOfNothing": "tuple of Waypoint",
    "ReportsItself": "report()",
    "TimesInAList": "timing()",
    "TakesForEver": "inf is no time",
    "RaisesGeneratorExit": "GeneratorExit",
}


@pytest.mark.parametrize("name", ERRORS)
def test_a_broken_agent_costs_its_episodes_and_is_named(rbench_command: Callable[..., Any], name: str) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", f"agents_under_test:{name}", "--limit", "2")
    assert ran.code == 1
    assert [e.outcome for e in ran.episodes] == ["agent_error"] * 2
    for episode in ran.episodes:
        assert ERRORS[name] in episode.error
        assert name in episode.error
        assert "\n" not in episode.error


def test_what_is_lost_while_an_agent_reports_is_not_its_fault(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:LostInReport", "--limit", "1")
    assert [(e.outcome, e.error) for e in ran.episodes] == [
        ("infrastructure_error", "the server is gone; start it again")
    ]


def test_crashes_stay_in_the_denominator(rbench_command: Callable[..., Any]) -> None:
    # Seen elsewhere: crashed samples vanish from the denominator.
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "expert", "--wrap", "agents_under_test:SometimesBroken",
        "--dimension", "color", "--limit", "10",
    )  # fmt: skip
    assert ran.code == 1
    report = rbench_command("report", str(ran.directory), "--format", "json").report()
    counts = report["counts"]
    assert (counts["success"], counts["failure"], counts["agent_error"]) == (6, 2, 2)
    assert (counts["planned"], counts["done"], counts["missing"]) == (10, 10, 0)
    assert report["dimensions"]["color"]["success_rate"] == pytest.approx(0.6)
    assert report["dimensions"]["color"]["episodes"] == 10
    assert "agent_error" in ran.out or "agent error" in ran.out


def test_huge_numbers_are_clipped_counted_and_harmless(rbench_command: Callable[..., Any]) -> None:
    # 1e7 on all joints. Seen elsewhere: physics blow up, the simulator resets itself, and the episode goes on.
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:Huge", "--limit", "2")
    assert [e.outcome for e in ran.episodes] == ["failure"] * 2
    assert all(e.agent["clipped"] >= 8 * e.steps for e in ran.episodes)


def test_stop_settles_one_second_and_keeps_its_reason(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:GivesUp", "--limit", "1")
    (episode,) = ran.episodes
    assert (episode.outcome, episode.reason, episode.sim_seconds) == ("failure", "not_detected", 1.0)


@pytest.mark.gl
def test_an_agent_that_looks_leaves_the_hash_of_its_first_frame(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:Looks", "--limit", "3")
    assert ran.code == 0, ran.err
    assert [e.reason for e in ran.episodes] == ["looked"] * 3
    assert len({e.hashes.first_frame["front"] for e in ran.episodes}) == 3


@pytest.mark.gl
def test_an_image_of_the_past_is_refused(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:ReadsStale", "--limit", "1")
    assert [e.outcome for e in ran.episodes] == ["agent_error"]
    assert "StaleObservation" in ran.episodes[0].error


def test_a_wrapper_changes_the_start_and_is_recorded(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_under_test:GivesUp", "--wrap", "agents_under_test:Polite",
        "--limit", "1",
    )  # fmt: skip
    (episode,) = ran.episodes
    assert episode.agent["report"]["instruction"] == "please: " + episode.instruction
    report = rbench_command("report", str(ran.directory), "--format", "json").report()
    assert report["wrappers"] == ["agents_under_test:Polite"]


def test_a_wrapper_does_not_hide_that_its_agent_is_privileged(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "expert", "--wrap", "agents_under_test:Transparent", "--limit", "1"
    )
    report = rbench_command("report", str(ran.directory), "--format", "json").report()
    assert report["privileged"] is True


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_child_that_an_agent_forked_does_not_go_on_as_a_worker(
    rbench_command: Callable[..., Any], executor: str
) -> None:
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_under_test:Forks", "--limit", "3", "--executor", executor,
        "--workers", "1",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert [e.reason for e in ran.episodes] == ["parent"] * 3


def test_what_an_agent_started_ends_with_its_worker(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_under_test:LeavesAProcess", "--limit", "2",
        "--executor", "processes", "--workers", "1",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    for episode in ran.episodes:
        assert not _runs(episode.agent["report"]["left"])


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_an_agent_that_cannot_close_costs_nothing(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:ClosesBadly", "--limit", "1")
    assert ran.code == 0, ran.err
    assert [e.reason for e in ran.episodes] == ["done"]


def test_no_secret_reaches_the_run_directory_or_the_terminal(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_under_test:TellsItsSecrets", "-o", "api_key=sk-canary-7Q",
        "--limit", "1",
    )  # fmt: skip
    assert [e.outcome for e in ran.episodes] == ["agent_error"]
    written = b"".join(f.read_bytes() for f in ran.directory.rglob("*") if f.is_file())
    for secret in ("sk-canary-7Q", "hunter2hunter2", "querysecret"):
        assert secret not in ran.out + ran.err
        assert secret.encode() not in written
    assert "[redacted]" in ran.episodes[0].error


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("rate-text", "control_rate"),
        ("rate-7", "nearest"),
        ("cameras-list", "cameras"),
        ("camera-tuple", "CameraRequest"),
        ("camera-float", "64.0"),
        ("camera-huge", "5000"),
        ("privileged-text", "privileged"),
        ("actions-text", "actions"),
        ("none", "AgentManifest"),
        ("raises", "undecided"),
    ],
)
def test_a_wrong_manifest_is_refused_before_the_run(rbench_command: Callable[..., Any], what: str, said: str) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:Declares", "-o", f"what={what}")
    assert ran.code == 2, ran.err
    assert said in ran.err
    assert not ran.directory.exists()


def test_numpy_settings_of_an_agent_end_with_its_call(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:SetsNumpyErrors", "--limit", "1")
    assert [e.reason for e in ran.episodes] == ["time_limit"], ran.err


def test_ground_truth_is_a_copy(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:PrivilegedVandal", "--limit", "2")
    assert [e.reason for e in ran.episodes] == ["time_limit"] * 2, ran.err
    assert rbench_command("replay", str(ran.directory), ran.episodes[0].episode).code == 0


@pytest.mark.gl
def test_what_an_agent_writes_into_reaches_no_record(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_under_test:Vandal", "--limit", "1")
    assert [e.reason for e in ran.episodes] == ["vandalised"], ran.episodes[0].error
    assert rbench_command("replay", str(ran.directory), ran.episodes[0].episode).code == 0
