"""Shards on the command line, and what `rbench merge` makes of them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rbench
from rbench.cli import main
from rbench.record import identical
from rbench.results.atomic import replacing
from rbench.results.run_directory import RunDirectory

ARGUMENTS = ("roboview-bias", "--agent", "agents_that_end:Traced", "--limit", "13", "--executor", "serial")


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run as a whole, and in three shards."""
    folder = tmp_path_factory.mktemp("parts")
    before = Path.cwd()
    os.chdir(Path(__file__).parent)
    try:
        assert main(["run", *ARGUMENTS, "--out", str(folder / "whole")]) == 0
        for number in (1, 2, 3):
            assert main(["run", *ARGUMENTS, "--shard", f"{number}/3", "--out", str(folder / f"s{number}")]) == 0
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def copies(parts: Path, tmp_path: Path) -> Path:
    """Copies that a test may spoil."""
    return Path(shutil.copytree(parts, tmp_path / "copies"))


def stored(directory: Path) -> dict[str, tuple[dict[str, Any], bytes]]:
    with rbench.open_run(directory).store(readonly=True) as store:
        return {plain["episode"]: ({**plain, "timing": {}}, blob) for plain, blob in store.stored()}


def change_manifest(directory: Path, change: Callable[[dict[str, Any]], None]) -> None:
    manifest = json.loads((directory / "manifest.json").read_text())
    change(manifest)
    with replacing(directory / "manifest.json") as file:
        json.dump(manifest, file)


def change_record(directory: Path, **changes: Any) -> str:
    """Change the first record of a run, as somebody with another program might; returns its id."""
    with sqlite3.connect(directory / "episodes.sqlite") as connection:
        position, text = connection.execute("SELECT position, record FROM episodes ORDER BY position").fetchone()
        record = {**json.loads(text), **changes}
        connection.execute(
            "UPDATE episodes SET record = ?, outcome = ?, crc = NULL WHERE position = ?",
            (json.dumps(record), record["outcome"], position),
        )
    connection.close()
    return str(record["episode"])


def test_shards_merged_are_the_run(parts: Path, rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    out = tmp_path / "merged"
    ran = rbench_command("merge", *(str(parts / f"s{n}") for n in (3, 1, 2)), "-o", str(out))
    assert ran.code == 0, ran.err
    assert ran.out.splitlines() == ["3 runs: 13 of 13 episodes", f"run directory: {out}"]
    assert stored(out) == stored(parts / "whole")
    manifest, whole = (json.loads((place / "manifest.json").read_text()) for place in (out, parts / "whole"))
    for key in ("planned", "design", "selection", "agent", "suite", "unseen"):
        assert manifest[key] == whole[key]
    assert manifest["state"] == "finished"
    assert [run["shard"] for run in manifest["merged"]] == ["3/3", "1/3", "2/3"]
    assert rbench_command("verify", str(out)).code == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["merged"]


def test_a_missing_shard_is_shown_and_can_be_run_or_merged_later(
    parts: Path, rbench_command: Callable[..., Any], tmp_path: Path
) -> None:
    out = tmp_path / "some"
    ran = rbench_command("merge", str(parts / "s1"), str(parts / "s3"), "-o", str(out))
    assert ran.code == 0
    assert "shards 1/3, 3/3; not there: 2/3" in ran.out
    assert f"rbench resume {out}" in ran.err
    asked = json.loads(rbench_command("status", str(out), "--json").out)
    assert (asked["state"], asked["merged"], asked["shard"]) == ("stopped", ["1/3", "3/3"], None)
    assert asked["counts"]["missing"] > 0
    assert "not there: 2/3" in rbench_command("status", str(out)).out
    assert "not there: 2/3" in rbench_command("report", str(out)).out
    assert rbench_command("verify", str(out)).code == 0
    again = rbench_command("merge", str(out), str(parts / "s2"), "-o", str(tmp_path / "all"))
    assert again.code == 0, again.err
    assert stored(tmp_path / "all") == stored(parts / "whole")
    assert rbench_command("resume", str(out)).code == 0
    assert stored(out) == stored(parts / "whole")


def test_status_and_report_say_that_a_run_is_a_shard(parts: Path, rbench_command: Callable[..., Any]) -> None:
    assert json.loads(rbench_command("status", str(parts / "s2"), "--json").out)["shard"] == "2/3"
    for command in ("status", "report"):
        assert "shard 2/3 of the plan" in rbench_command(command, str(parts / "s2")).out


def test_a_shard_is_resumed_as_that_shard(copies: Path, rbench_command: Callable[..., Any]) -> None:
    before = stored(copies / "s1")
    with sqlite3.connect(copies / "s1" / "episodes.sqlite") as connection:
        connection.execute("DELETE FROM trajectories WHERE position > 1")
        connection.execute("DELETE FROM episodes WHERE position > 1")
    connection.close()
    assert len(stored(copies / "s1")) == 1
    assert rbench_command("resume", str(copies / "s1")).code == 0
    assert stored(copies / "s1") == before


def test_episodes_that_several_runs_have_are_taken_once(
    copies: Path, rbench_command: Callable[..., Any], tmp_path: Path
) -> None:
    change_record(copies / "s1", timing={"total": 99.0})
    out = tmp_path / "merged"
    ran = rbench_command("merge", str(copies / "whole"), str(copies / "s1"), "-o", str(out))
    assert ran.code == 0, ran.err
    assert stored(out) == stored(copies / "whole")


def test_an_episode_that_differs_is_named(copies: Path, rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    episode = change_record(copies / "s1", outcome="success", success=True, score=1.0)
    ran = rbench_command("merge", str(copies / "whole"), str(copies / "s1"), "-o", str(tmp_path / "merged"))
    assert ran.code == 2
    assert f"episode {episode!r}" in ran.err
    assert "outcome, success, score differ" in ran.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copies"]


@pytest.mark.parametrize("order", [("whole", "s1"), ("s1", "whole")])
def test_an_infrastructure_error_gives_way_to_what_another_run_has(
    copies: Path, rbench_command: Callable[..., Any], tmp_path: Path, order: tuple[str, str]
) -> None:
    change_record(copies / "s1", outcome="infrastructure_error", reason="worker_lost")
    out = tmp_path / "merged"
    assert rbench_command("merge", *(str(copies / name) for name in order), "-o", str(out)).code == 0
    assert stored(out) == stored(copies / "whole")


def test_artifacts_go_along(copies: Path, rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    for number in (1, 2):
        folder = copies / f"s{number}" / "artifacts" / "images"
        folder.mkdir(parents=True)
        (folder / f"{number}.png").write_bytes(b"picture %d" % number)
        (folder / "both.png").write_bytes(b"the same")
        (folder / "link.png").symlink_to("/etc/hostname")
    out = tmp_path / "merged"
    assert rbench_command("merge", str(copies / "s1"), str(copies / "s2"), "-o", str(out)).code == 0
    assert sorted(p.name for p in (out / "artifacts" / "images").iterdir()) == ["1.png", "2.png", "both.png"]


def set_seed(manifest: dict[str, Any]) -> None:
    manifest["seed"] = 5


def set_option(manifest: dict[str, Any]) -> None:
    manifest["agent"]["options"]["resolved"]["pause"] = 3.0


def set_limit(manifest: dict[str, Any]) -> None:
    manifest["selection"]["limit"] = 14


def set_hash(manifest: dict[str, Any]) -> None:
    manifest["suite"]["hash"] = "0" * 64


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (set_seed, "seed is 0 there and 5 here"),
        (set_option, "agent.options.resolved.pause is 0.0 there and 3.0 here"),
        (set_limit, "selection.limit is 13 there and 14 here"),
        (set_hash, "suite.hash is"),
    ],
)
def test_runs_of_different_plans_are_refused_by_key(
    copies: Path, rbench_command: Callable[..., Any], tmp_path: Path, change: Callable[..., None], told: str
) -> None:
    change_manifest(copies / "s2", change)
    for accept in ([], ["--accept-changes"]):
        ran = rbench_command("merge", str(copies / "s1"), str(copies / "s2"), "-o", str(tmp_path / "m"), *accept)
        assert ran.code == 2
        assert told in ran.err
        assert "--shard" in ran.err
    assert not (tmp_path / "m").exists()


def test_other_versions_are_refused_unless_accepted_and_then_written_down(
    copies: Path, rbench_command: Callable[..., Any], tmp_path: Path
) -> None:
    def older(manifest: dict[str, Any]) -> None:
        manifest["versions"]["mujoco"] = "3.9.0"

    change_manifest(copies / "s2", older)
    words = ["merge", str(copies / "s1"), str(copies / "s2"), "-o", str(tmp_path / "merged")]
    refused = rbench_command(*words)
    assert refused.code == 3
    assert "versions.mujoco is 4" in refused.err
    assert rbench_command(*words, "--accept-changes").code == 0
    manifest = json.loads((tmp_path / "merged" / "manifest.json").read_text())
    assert manifest["sessions"][-1]["accepted"]["versions.mujoco"][1] == "3.9.0"


@pytest.mark.parametrize("shard", ["0/2", "3/2", "x", "1/0", "1/1000000", "2/14"])
def test_shards_that_cannot_be_are_wrong_use(rbench_command: Callable[..., Any], shard: str) -> None:
    ran = rbench_command("run", *ARGUMENTS, "--shard", shard)
    assert ran.code == 2
    assert "shard" in ran.err
    assert not ran.directory.exists()


def test_merging_wants_runs(parts: Path, rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    one, out = str(parts / "s1"), str(tmp_path / "out")
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    wrong = {
        "two or more": [one],
        "name it once": [one, f"{one}/../s1"],
        "does not exist": [one, str(tmp_path / "nothing")],
        "holds no run": [one, str(tmp_path / "folder")],
        "file holds no run": [one, str(tmp_path / "file")],
    }
    for told, places in wrong.items():
        ran = rbench_command("merge", *places, "-o", out)
        assert ran.code == 2, told
        assert told in ran.err
    assert rbench_command("merge", "-o", out).code == 2
    assert rbench_command("merge", one, str(parts / "s2")).code == 2
    assert not Path(out).exists()


def test_the_place_must_be_free(parts: Path, rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    sources = [str(parts / "s1"), str(parts / "s2")]
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    for place in (str(parts / "whole"), str(tmp_path / "file"), str(tmp_path / "link"), str(tmp_path / "file" / "in")):
        ran = rbench_command("merge", *sources, "-o", place)
        assert ran.code in (2, 3)
        assert place in ran.err
    assert (tmp_path / "file").read_text() == "x"
    assert rbench_command("merge", *sources, "-o", str(tmp_path / "empty")).code == 0
    assert rbench_command("merge", *sources, "-o", str(tmp_path / "new" / "deep")).code == 0
    inside = parts / "s1" / "sub"
    ran = rbench_command("merge", *sources, "-o", str(inside))
    assert ran.code == 2
    assert "lies inside" in ran.err
    assert not inside.exists()


def test_a_run_that_is_being_written_is_refused(
    parts: Path, copies: Path, rbench_command: Callable[..., Any], tmp_path: Path
) -> None:
    with rbench.open_run(copies / "s2") as writer:
        writer.store()
        change_manifest(copies / "s2", lambda manifest: manifest.update(state="running"))
        ran = rbench_command("merge", str(parts / "s1"), str(copies / "s2"), "-o", str(tmp_path / "m"))
    assert ran.code == 3
    assert "is being written" in ran.err


def test_a_merge_that_is_killed_leaves_nothing_that_looks_finished(parts: Path, tmp_path: Path) -> None:
    script = (
        "import os, signal, sys\n"
        "from rbench.cli import main\n"
        "from rbench.results.store import EpisodeStore\n"
        "insert = EpisodeStore._insert\n"
        "def dying(self, row, blob):\n"
        "    if row[0] == sys.argv[1]: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    insert(self, row, blob)\n"
        "EpisodeStore._insert = dying\n"
        "main(sys.argv[2:])\n"
    )
    last = list(stored(parts / "s2"))[-1]
    words = ["merge", str(parts / "s1"), str(parts / "s2"), "-o", str(tmp_path / "merged")]
    died = subprocess.run([sys.executable, "-c", script, last, *words], capture_output=True, timeout=120)
    assert died.returncode == -signal.SIGKILL
    (part,) = tmp_path.iterdir()
    assert part.name.startswith(".merged.")
    assert rbench.open_run(part).state == "interrupted"
    assert main(words) == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["merged"]


def test_merging_needs_no_memory_for_episodes(parts: Path, tmp_path: Path) -> None:
    (record,) = [plain for plain, _ in list(stored(parts / "whole").values())[:1]]
    runs = []
    for name in ("a", "b"):
        with rbench.open_run(parts / "s1") as source:
            place = RunDirectory.create(tmp_path / name, source.manifest)
        with place:
            place.store().append_all(
                ({**record, "episode": f"{record['instance']}#{k}", "repeat": k}, bytes(1000))
                for k in range(3000 if name == "b" else 0)
            )
        runs.append(str(tmp_path / name))
    tracemalloc.start()
    assert main(["merge", *runs, "-o", str(tmp_path / "merged")]) == 0
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6
    assert rbench.open_run(tmp_path / "merged").counts()["done"] == 3000


def test_records_of_shards_on_worker_processes_are_those_of_the_whole(
    parts: Path, rbench_command: Callable[..., Any]
) -> None:
    words = [*ARGUMENTS[:-1], "processes", "--workers", "2", "--shard", "2/3"]
    ran = rbench_command("run", *words)
    whole = {e.episode: e for e in rbench.open_run(parts / "whole").episodes()}
    assert ran.code == 0, ran.err
    assert all(identical(e, whole[e.episode]) for e in ran.episodes)
    assert {e.episode for e in ran.episodes} == set(stored(parts / "s2"))
