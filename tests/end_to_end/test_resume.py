"""`rbench resume`: exactly what is missing, for exactly what the run was made with."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rbench
from rbench.record import identical
from rbench.results.run_directory import RunDirectory

LIMIT = 6


@pytest.fixture
def half_done(
    rbench_command: Callable[..., Any], drawn: Callable[..., float], planned: Callable[..., Any], tmp_path: Path
) -> Callable[..., Any]:
    """A run of 6 episodes that stopped itself at the fourth, and would not do so again."""

    def run(how: str = "stop_once", *options: str, agent: str = "Ends") -> Any:
        at = drawn(planned(LIMIT)[3])
        return rbench_command(
            "run", "roboview-bias", "--agent", f"agents_that_end:{agent}", "-o", f"how={how}", "-o", f"at={at!r}",
            "-o", f"trace={tmp_path / 'trace'}", *options, "--limit", str(LIMIT),
        )  # fmt: skip

    return run


@pytest.fixture
def change_manifest() -> Callable[[Path, str, Any], None]:
    """Writes another value at a dotted path into the manifest, as if the run had been made with that."""

    def change(directory: Path, path: str, value: Any) -> None:
        file = directory / "manifest.json"
        data = json.loads(file.read_text())
        *parents, last = path.split(".")
        place = data
        for name in parents:
            place = place[name]
        assert place.get(last) != value
        place[last] = value
        file.write_text(json.dumps(data))

    return change


def test_a_resumed_run_equals_one_that_was_never_stopped(
    half_done: Callable[..., Any], rbench_command: Callable[..., Any], tmp_path: Path
) -> None:
    stopped = half_done()
    assert stopped.code == 4
    assert len(stopped.episodes) == 3
    begun = (tmp_path / "trace").read_text().splitlines()
    resumed = rbench_command("resume", str(stopped.directory))
    assert resumed.code == 0, resumed.err
    assert resumed.out.splitlines()[-1] == f"run directory: {stopped.directory}"
    assert stopped.manifest["state"] == "finished"
    again = Counter((tmp_path / "trace").read_text().splitlines()[len(begun) :])
    assert len(again) == 3
    assert set(again.values()) == {1}
    whole = half_done("stop_once")  # its mark is there, so that it goes through
    assert whole.code == 0
    assert [e.episode for e in whole.episodes] == [e.episode for e in stopped.episodes]
    assert all(identical(a, b) for a, b in zip(whole.episodes, stopped.episodes, strict=True))


def test_sessions_are_written_down(half_done: Callable[..., Any], rbench_command: Callable[..., Any]) -> None:
    run = half_done()
    rbench_command("resume", str(run.directory), "--executor", "processes", "--workers", "2")
    first, second = run.manifest["sessions"]
    assert (first["done"], first["executor"], first["workers"]) == (0, "serial", 1)
    assert (second["done"], second["executor"], second["workers"]) == (3, "processes", 2)
    assert first["started"] < second["started"]
    assert len(run.episodes) == LIMIT


def test_a_finished_run_is_left_alone(rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    agent = ["--agent", "agents_that_end:Traced", "-o", f"trace={trace}"]
    ran = rbench_command("run", "roboview-bias", *agent, "--limit", "3")
    before = trace.read_text(), ran.manifest
    again = rbench_command("resume", str(ran.directory))
    assert again.code == 0
    assert "nothing to do" in again.err
    assert (trace.read_text(), ran.manifest) == before


def test_infrastructure_errors_run_again(half_done: Callable[..., Any], rbench_command: Callable[..., Any]) -> None:
    ran = half_done("unreachable_at_first")
    assert ran.code == 1
    assert Counter(e.outcome for e in ran.episodes) == {"failure": 5, "infrastructure_error": 1}
    assert rbench_command("resume", str(ran.directory)).code == 0
    assert Counter(e.outcome for e in ran.episodes) == {"failure": 6}


@pytest.mark.parametrize(
    ("path", "recorded"),
    [
        ("versions.mujoco", "3.9.0"),
        ("versions.rbench-factor-appearance", "0.0.1"),
        ("suite.hash", "0123456789abcdef"),
        ("agent.options.resolved.pause", 0.25),
        ("agent.version", "sha256:000000000000"),
        ("agent.manifest.control_rate", 60),
        ("render", "fast"),
    ],
)
def test_what_has_changed_is_refused_by_name_and_can_be_accepted(
    half_done: Callable[..., Any],
    rbench_command: Callable[..., Any],
    change_manifest: Callable[..., None],
    path: str,
    recorded: Any,
) -> None:
    run = half_done()
    change_manifest(run.directory, path, recorded)
    refused = rbench_command("resume", str(run.directory))
    assert refused.code == 3
    assert f"{path} was {recorded} and is " in refused.err
    assert "--accept-changes" in refused.err
    assert len(run.episodes) == 3
    assert rbench_command("resume", str(run.directory), "--accept-changes").code == 0
    accepted = run.manifest["sessions"][-1]["accepted"]
    assert list(accepted) == [path]
    assert accepted[path][0] == recorded
    assert len(run.episodes) == LIMIT


@pytest.mark.gl
def test_pictures_of_another_renderer_are_refused_before_they_are_stored(
    half_done: Callable[..., Any], rbench_command: Callable[..., Any], change_manifest: Callable[..., None]
) -> None:
    run = half_done(agent="Renders")
    assert run.manifest["gl"]["renderer"]
    change_manifest(run.directory, "gl.renderer", "another card")
    refused = rbench_command("resume", str(run.directory))
    assert refused.code == 3
    assert "another card" in refused.err
    assert len(run.episodes) == 3
    assert rbench_command("resume", str(run.directory), "--accept-changes").code == 0
    assert run.manifest["sessions"][-1]["accepted"]["gl"][0]["renderer"] == "another card"
    assert run.manifest["gl"]["renderer"] != "another card"
    assert len(run.episodes) == LIMIT


def test_a_plugin_that_is_gone_is_named(
    half_done: Callable[..., Any], rbench_command: Callable[..., Any], change_manifest: Callable[..., None]
) -> None:
    run = half_done()
    change_manifest(run.directory, "versions.rbench-agent-gone", "1.0")
    change_manifest(run.directory, "agent.name", "gone")
    refused = rbench_command("resume", str(run.directory))
    assert refused.code == 3
    assert "versions.rbench-agent-gone was 1.0 and is nothing" in refused.err


def test_a_suite_file_that_was_edited_is_refused(
    rbench_command: Callable[..., Any], tmp_path: Path, drawn: Any, planned: Any
) -> None:
    source = Path(rbench.__file__).parent / "suites" / "roboview-bias.toml"
    suite = tmp_path / "mine.toml"
    suite.write_text(source.read_text())
    ran = rbench_command(
        "run", str(suite), "--agent", "agents_that_end:Ends", "-o", "how=stop", "-o",
        f"at={drawn(planned(2)[1])!r}", "--limit", "3",
    )  # fmt: skip
    assert ran.code == 4, ran.err
    suite.write_text(source.read_text().replace("xy = 0.010", "xy = 0.020"))
    refused = rbench_command("resume", str(ran.directory))
    assert refused.code == 3
    assert "suite.hash was" in refused.err


def test_a_secret_option_cannot_be_resumed_and_is_not_written(
    half_done: Callable[..., Any], rbench_command: Callable[..., Any]
) -> None:
    run = half_done("stop_once", "-o", "api_key=sk-canary-7Q")
    assert run.code == 4
    refused = rbench_command("resume", str(run.directory))
    assert refused.code == 3
    assert "agents_that_end:Ends.api_key was a secret" in refused.err
    for file in run.directory.rglob("*"):
        assert not file.is_file() or b"canary" not in file.read_bytes()


def test_repeats_may_grow(rbench_command: Callable[..., Any]) -> None:
    agent = ["--agent", "agents_that_end:Traced"]
    instances = ["--instances", "color/teal/position-p*", "--instances", "*+*/r1a1+red/base"]
    ran = rbench_command("run", "roboview-bias", *agent, *instances, "--repeats", "1")
    assert len(ran.episodes) == 5
    grown = rbench_command("resume", str(ran.directory), "--repeats", "3")
    assert grown.code == 0, grown.err
    assert len({e.episode for e in ran.episodes}) == len(ran.episodes) == 15
    assert ran.manifest["planned"] == 15
    assert ran.manifest["design"]["planned"] == {"color": 12, "camera-pose+color": 3}
    assert ran.manifest["selection"]["repeats"] == 3


def test_a_limit_may_grow(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_that_end:Traced", "--limit", "4")
    first = {e.episode: e for e in ran.episodes}
    assert rbench_command("resume", str(ran.directory), "--limit", "7").code == 0
    episodes = {e.episode: e for e in ran.episodes}
    assert len(episodes) == 7
    assert all(episodes[name] == e for name, e in first.items())


@pytest.mark.parametrize("option", ["--repeats", "--limit"])
def test_a_run_cannot_shrink(rbench_command: Callable[..., Any], option: str) -> None:
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_that_end:Traced", "--instances", "color/teal/*", "--repeats", "2",
        "--limit", "3",
    )  # fmt: skip
    refused = rbench_command("resume", str(ran.directory), option, "1")
    assert refused.code == 2
    assert option in refused.err


def test_a_stale_lock_does_not_block(half_done: Callable[..., Any], rbench_command: Callable[..., Any]) -> None:
    run = half_done()
    (run.directory / "episodes.lock").write_text("1\n")  # of a process that lives, but holds no lock
    (run.directory / ".manifest.json.0123abcd.part").write_text("{")
    assert rbench_command("resume", str(run.directory)).code == 0
    assert not list(run.directory.glob(".*.part"))


def test_a_lock_that_is_held_is_named(half_done: Callable[..., Any], start_rbench: Callable[..., Any]) -> None:
    run = half_done()
    with RunDirectory.open(run.directory) as ours:
        ours.store()
        ran = start_rbench("resume", str(run.directory)).ended()
    assert ran.code == 3
    assert "is being written by process" in ran.err


def test_a_run_that_was_killed_before_it_began_can_be_started_again(
    rbench_command: Callable[..., Any], tmp_path: Path
) -> None:
    place = tmp_path / "run"
    arguments = ["run", "roboview-bias", "--agent", "agents_that_end:Traced", "--limit", "1", "--out", str(place)]
    assert rbench_command(*arguments).code == 0
    (place / "manifest.json").unlink()
    assert rbench_command(*arguments).code == 2  # it has an episode
    (place / "episodes.sqlite").write_bytes(b"")
    assert rbench_command("resume", str(place)).code == 2
    assert rbench_command(*arguments).code == 0


def test_an_empty_folder_is_no_run(rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    ran = rbench_command("resume", str(tmp_path))
    assert ran.code == 2
    assert "holds no run" in ran.err


def test_the_version_of_an_unpackaged_agent_is_the_hash_of_its_file(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command("run", "roboview-bias", "--agent", "agents_that_end:Traced", "--limit", "1")
    used = ran.manifest["agent"]
    assert used["version"].startswith("sha256:")
    assert used["folder"] == str(Path(__file__).parent)
