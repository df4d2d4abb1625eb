"""The template: refuses what cannot be, and what it writes works at once."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.cli import main
from rbench.plugins.catalog import build_catalog
from rbench.testing.scaffold import PluginNames, new_plugin

ROOT = Path(__file__).resolve().parents[2]
KINDS = ("agent", "wrapper", "factor", "metric", "suite")


@pytest.fixture
def command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Calls `rbench new-plugin ARGUMENTS` in an empty folder: exit code, stdout, stderr."""
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(["new-plugin", *arguments])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def files_below(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def test_it_writes_a_whole_distribution_and_names_the_next_three_commands(command: Callable[..., Any]) -> None:
    code, out, err = command("agent", "reach")
    assert (code, err) == (0, "")
    assert out.splitlines()[1:] == [
        "  python -m pip install -e ./rbench-agent-reach",
        "  rbench check-plugin agent:reach",
        "  rbench run roboview-bias --agent reach --limit 8",
    ]
    assert files_below(Path("rbench-agent-reach")) == {
        "README.md",
        "pyproject.toml",
        "rbench_agent_reach/__init__.py",
        "rbench_agent_reach/agent.py",
        "rbench_agent_reach/options.py",
        "rbench_agent_reach/plugin.py",
        "rbench_agent_reach/py.typed",
        "rbench_agent_reach/seeing.py",
        "tests/test_conformance.py",
    }


def test_the_folder_can_be_chosen_and_nothing_else_is_written(command: Callable[..., Any]) -> None:
    code, out, _ = command("wrapper", "careful", "-o", "mine/careful one")
    assert code == 0
    assert "pip install -e './mine/careful one'" in out
    assert {path.name for path in Path("mine").iterdir()} == {"careful one"}
    assert "rbench-wrapper-careful" in Path("mine/careful one/pyproject.toml").read_text()


@pytest.mark.parametrize("kind", KINDS)
def test_no_placeholder_is_left(command: Callable[..., Any], kind: str) -> None:
    command(kind, "some.thing_1", "-o", "new")
    for name in files_below(Path("new")):
        assert "@@" not in (Path("new") / name).read_text(), name


@pytest.mark.parametrize("kind", KINDS)
def test_what_it_writes_is_tidy(command: Callable[..., Any], kind: str) -> None:
    command(kind, "tidy", "-o", "new")
    for arguments in (["check", "--select", "E,F,W,B,UP,RUF,PTH,SIM"], ["format", "--check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", arguments[0], "--isolated", "--line-length", "120", *arguments[1:], "new"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout


def test_what_it_writes_has_complete_types(command: Callable[..., Any], tmp_path: Path) -> None:
    for kind in KINDS:
        command(kind, "typed")
    packages = [f"rbench-{kind}-typed/rbench_{kind}_typed" for kind in KINDS]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), *packages],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    "name", ["My-Agent", "my agent", "-x", "x-", "a--b", "a/b", "../up", "ä", "x" * 61, ".hidden", "a\n"]
)
def test_a_bad_name_is_refused(command: Callable[..., Any], name: str) -> None:
    code, _, err = command("agent", "--", name)
    assert code == 2
    assert "cannot be the name of a plugin" in err
    assert not list(Path().iterdir())


@pytest.mark.parametrize("name", ["class", "match", "1abc", "3d", "import"])
def test_a_name_that_is_none_in_python_is_refused(command: Callable[..., Any], name: str) -> None:
    code, _, err = command("agent", name)
    assert (code, "no name in Python" in err) == (2, True)
    assert not list(Path().iterdir())


@pytest.mark.parametrize("name", ["numpy", "json", "rbench", "sys", "pytest"])
def test_a_name_of_a_module_is_refused(command: Callable[..., Any], name: str) -> None:
    code, _, err = command("factor", name)
    assert (code, f"a module {name!r} already" in err) == (2, True)
    assert not list(Path().iterdir())


def test_a_name_whose_package_is_there_already_is_refused(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "rbench_metric_pace.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    code, _, err = command("metric", "pace")
    assert (code, "'rbench_metric_pace' already" in err) == (2, True)


def test_a_folder_that_is_called_like_it_is_no_obstacle(
    command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "pace").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert command("metric", "pace")[0] == 0


def test_a_name_that_is_taken_is_refused(command: Callable[..., Any]) -> None:
    code, _, err = command("agent", "expert")
    assert code == 2
    assert "rbench-agent-scripted" in err and "another name" in err


def test_an_existing_folder_is_left_alone(command: Callable[..., Any]) -> None:
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine")
    code, _, err = command("agent", "reach", "-o", "mine")
    assert code == 2
    assert "mine exists already" in err
    assert files_below(Path("mine")) == {"notes.txt"}


def test_a_kind_without_a_template_is_refused(command: Callable[..., Any]) -> None:
    code, _, err = command("vision-model", "eye")
    assert code == 2
    assert all(kind in err for kind in KINDS)


def test_a_folder_that_cannot_be_written_is_an_error_of_this_machine(command: Callable[..., Any]) -> None:
    Path("file").write_text("")
    code, _, err = command("agent", "reach", "-o", "file/below")
    assert code == 3
    assert "file/below" in err and "-o" in err


@pytest.mark.parametrize(
    ("name", "class_name"),
    [
        ("reach", "ReachAgent"),
        ("my-agent", "MyAgent"),
        ("agent", "AgentAgent"),
        ("none", "NoneAgent"),
        ("3d", "Plugin3dAgent"),
    ],
)
def test_class_names_are_names_that_python_takes(name: str, class_name: str) -> None:
    names = PluginNames("agent", name)
    assert names.class_name == class_name
    assert names.package.isidentifier()


def test_the_templates_are_in_the_wheel_of_rbench(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="needs the build backend (requirements-test.txt)")
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("rbench/testing/templates/")}
    source = ROOT / "core"
    assert packed == {str(p.relative_to(source)) for p in (source / "rbench/testing/templates").rglob("*.txt")}


@pytest.mark.timeout(600)
def test_a_new_agent_and_a_new_wrapper_install_are_listed_pass_and_run_in_workers(
    environment: Any, tmp_path: Path
) -> None:
    # Seen elsewhere: an editable plugin is not found, or found and not accepted, or not known to worker processes.
    catalog = build_catalog()
    agent = new_plugin("agent", "reach", tmp_path / "reach", catalog)
    wrapper = new_plugin("wrapper", "careful", tmp_path / "careful", catalog)
    environment.succeed("python", "-m", "pip", "install", "-q", str(agent), cwd=tmp_path)
    environment.succeed("python", "-m", "pip", "install", "-q", "-e", str(wrapper), cwd=tmp_path)
    _are_listed(environment, tmp_path, {"reach": "agent", "careful": "wrapper"})
    environment.succeed("rbench", "check-plugin", "agent:reach", "--world", "fake", cwd=tmp_path)
    environment.succeed("rbench", "check-plugin", "wrapper:careful", "--world", "fake", cwd=tmp_path)
    # The other way round: what was a wheel is editable now.
    environment.succeed("python", "-m", "pip", "uninstall", "-q", "-y", "rbench-agent-reach", cwd=tmp_path)
    environment.succeed("python", "-m", "pip", "install", "-q", "-e", str(agent), cwd=tmp_path)
    _are_listed(environment, tmp_path, {"reach": "agent", "careful": "wrapper"})


@pytest.mark.gl
@pytest.mark.timeout(600)
def test_a_new_wrapper_runs_around_a_new_agent_in_spawned_workers(environment: Any, tmp_path: Path) -> None:
    catalog = build_catalog()
    for kind, name in (("agent", "reach"), ("wrapper", "careful")):
        folder = new_plugin(kind, name, tmp_path / name, catalog)
        environment.succeed("python", "-m", "pip", "install", "-q", "-e", str(folder), cwd=tmp_path)
    run = ["rbench", "run", "roboview-bias", "--agent", "reach", "-o", "speed=0.5", "--wrap", "careful"]
    run += ["-w", "careful.speed=0.8", "--limit", "4", "--executor", "processes", "--workers", "2", "--out", "run"]
    environment.succeed(*run, cwd=tmp_path)
    environment.succeed("rbench", "export", "run", "--format", "jsonl", "-o", "records.jsonl", cwd=tmp_path)
    records = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    assert [record["outcome"] for record in records] == ["failure"] * 4
    assert {record["reason"] for record in records} <= {"arrived", "not_detected", "out_of_reach"}
    assert all(record["agent"]["report"]["careful"]["slowed"] in (0, 1) for record in records)


@pytest.mark.timeout(600)
def test_a_new_factor_metric_and_suite_install_are_listed_and_pass_their_checks(
    environment: Any, tmp_path: Path
) -> None:
    catalog = build_catalog()
    kinds = {"lamp": "factor", "pace": "metric", "four-places": "suite"}
    for name, kind in kinds.items():
        folder = new_plugin(kind, name, tmp_path / name, catalog)
        editable = ["-e"] if kind == "factor" else []
        environment.succeed("python", "-m", "pip", "install", "-q", *editable, str(folder), cwd=tmp_path)
    _are_listed(environment, tmp_path, kinds)
    for plugin in ("factor:lamp", "metric:pace"):
        said = json.loads(environment.succeed("rbench", "check-plugin", plugin, "--json", cwd=tmp_path))
        assert {check["name"] for check in said["checks"] if check["status"] != "ok"} <= {"compare"}
    for name in kinds:
        environment.succeed("python", "-m", "pytest", "-q", "-p", "no:cacheprovider", name, cwd=tmp_path)
    shown = json.loads(environment.succeed("rbench", "show", "four-places", "--json", cwd=tmp_path))
    assert (shown["instances"], shown["episodes"]) == (141 * 4, 141 * 4 * 3)
    for name, dimensions in (("lamp", {"lamp": 4}), ("pace", {"color": 141})):
        shown = json.loads(environment.succeed("rbench", "show", f"{name}/study.toml", "--json", cwd=tmp_path))
        assert {key: len(found["levels"]) for key, found in shown["dimensions"].items()} == dimensions


@pytest.mark.gl
@pytest.mark.timeout(600)
def test_a_new_factor_and_a_new_metric_are_studied_in_a_run(environment: Any, tmp_path: Path) -> None:
    catalog = build_catalog()
    for kind, name in (("factor", "lamp"), ("metric", "pace")):
        folder = new_plugin(kind, name, tmp_path / name, catalog)
        environment.succeed("python", "-m", "pip", "install", "-q", "-e", str(folder), cwd=tmp_path)
    study = tmp_path / "lamp" / "study.toml"
    study.write_text(study.read_text().replace('["bias"]', '["bias", "pace"]'))
    run = ["rbench", "run", str(study), "--agent", "expert", "--limit", "4", "--workers", "2", "--out", "run"]
    environment.succeed(*run, cwd=tmp_path)
    (report,) = json.loads(environment.succeed("rbench", "report", "run", "--format", "json", cwd=tmp_path))
    assert report["problems"] == []
    row = report["dimensions"]["lamp"]
    assert row["episodes"] == 4
    assert 1 < row["seconds_to_success"] < 15
    assert report["metrics"]["pace"]["successes_timed"] == row["successes"]


def _are_listed(environment: Any, folder: Path, wanted: dict[str, str]) -> None:
    rows = json.loads(environment.succeed("rbench", "list-plugins", "--json", cwd=folder))
    found = {row["name"]: (row["kind"], row["status"]) for row in rows if row["name"] in wanted}
    assert found == {name: (kind, "ok") for name, kind in wanted.items()}
