"""`rbench list-plugins` as a user runs it: a process of its own, with the worst plugins installed."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HEAD = "from rbench.contributions import *\nfrom rbench.hookspecs import hookimpl\n@hookimpl\n"
AGENT = "    yield AgentContribution(name='half-registered', summary='x', target='m:A')\n"

#: The five worst: distribution -> (source of its plugin, reason that must be shown).
WORST = {
    "stub-import-error": ("import no_such_library", "ModuleNotFoundError: No module named 'no_such_library'"),
    "stub-syntax-error": ("def broken(:", "SyntaxError: "),
    "stub-exit": ("print('bye'); raise SystemExit(7)", "SystemExit: 7"),
    "stub-half": (f"{HEAD}def rbench_agents():\n{AGENT}    raise RuntimeError('half way')", "RuntimeError: half way"),
    "stub-argument": (f"{HEAD}def rbench_agents(config):\n{AGENT}", "Argument(s) {'config'}"),
}

Rbench = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def rbench() -> Rbench:
    """Runs the real command line; `site` holds fake distributions, other keywords are environment variables."""

    def run(*arguments: str, site: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("RBENCH_", "COLUMNS"))}
        path = [str(site)] if site else []
        path += [p for p in (os.environ.get("PYTHONPATH"),) if p]
        return subprocess.run(
            [sys.executable, "-c", "import sys; from rbench.cli import main; sys.exit(main())", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            env={**variables, "PYTHONPATH": os.pathsep.join(path), **environ},
        )

    return run


@pytest.fixture
def worst(fake_distribution: Callable[..., Path]) -> Path:
    """The folder with the five worst stubs, and a healthy one."""
    site = fake_distribution("stub-good", f"{HEAD}def rbench_agents():\n{AGENT.replace('half-registered', 'healthy')}")
    for name, (source, _) in WORST.items():
        fake_distribution(name, source, version="0.7")
    return site


def rows(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    assert done.returncode == 0, done.stderr
    listed: list[dict[str, Any]] = json.loads(done.stdout)
    return listed


def test_five_worst_plugins_cost_themselves_only(rbench: Rbench, worst: Path) -> None:
    healthy = rows(rbench("list-plugins", "--json"))
    with_stubs = rows(rbench("list-plugins", "--json", site=worst))
    stubs = {row["distribution"]: row for row in with_stubs if row["distribution"].startswith("stub-")}
    assert [row for row in with_stubs if not row["distribution"].startswith("stub-")] == healthy
    assert (stubs["stub-good"]["name"], stubs["stub-good"]["status"]) == ("healthy", "ok")
    for name, (_, reason) in WORST.items():
        assert (stubs[name]["kind"], stubs[name]["version"], stubs[name]["status"]) == (None, "0.7", "broken")
        assert reason in stubs[name]["error"]
    assert "half-registered" not in {row["name"] for row in with_stubs}


def test_the_table_names_each_culprit_with_its_reason_on_one_line(rbench: Rbench, worst: Path) -> None:
    done = rbench("list-plugins", site=worst)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    for name, (_, reason) in WORST.items():
        (line,) = [line for line in lines if f" {name} " in line]
        assert "broken" in line
        assert reason in line
    assert any("healthy" in line and "stub-good" in line for line in lines)


def test_what_a_plugin_prints_is_not_in_the_output(rbench: Rbench, worst: Path) -> None:
    done = rbench("list-plugins", "--json", site=worst)
    assert "bye" not in done.stdout
    assert "bye" in done.stderr


def test_help_works_and_loads_no_plugin(rbench: Rbench, worst: Path) -> None:
    done = rbench("--help", site=worst)
    assert (done.returncode, done.stderr) == (0, "")
    assert "list-plugins" in done.stdout


def test_a_run_that_needs_none_of_them_works(rbench: Rbench, worst: Path, tmp_path: Path) -> None:
    done = rbench("run", "roboview-bias", "--agent", "idle", "--limit", "1", "--out", str(tmp_path / "run"), site=worst)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == f"run directory: {tmp_path / 'run'}"


def test_a_run_that_needs_one_of_them_says_which_and_why(rbench: Rbench, worst: Path) -> None:
    done = rbench("run", "roboview-bias", "--agent", "half-registered", "--limit", "1", site=worst)
    assert done.returncode == 3
    assert "stub-half 0.7 did not load: RuntimeError: half way" in done.stderr


def test_a_strict_switch_makes_them_fatal(rbench: Rbench, worst: Path) -> None:
    done = rbench("list-plugins", site=worst, RBENCH_STRICT_PLUGINS="1")
    assert (done.returncode, done.stdout) == (3, "")
    assert all(f"{name} 0.7" in done.stderr for name in WORST)
    assert "Traceback" not in done.stderr


def test_blocked_plugins_are_listed_and_not_imported(rbench: Rbench, worst: Path) -> None:
    done = rbench("list-plugins", "--json", site=worst, RBENCH_PLUGINS="stub-good,stub-typo")
    status = {row["distribution"]: row["status"] for row in rows(done) if row["distribution"].startswith("stub-")}
    assert status == {"stub-good": "ok", **dict.fromkeys(WORST, "blocked")}
    assert "names 'stub-typo'" in done.stderr
    assert "bye" not in done.stderr


def test_one_kind_only(rbench: Rbench, worst: Path) -> None:
    done = rbench("list-plugins", "--kind", "agent", "--json", site=worst)
    assert {row["kind"] for row in rows(done)} == {"agent"}
    assert "did not load" in done.stderr


def test_an_unknown_kind_is_refused_with_what_there_is(rbench: Rbench) -> None:
    done = rbench("list-plugins", "--kind", "agents")
    assert done.returncode == 2
    assert "vision-model" in done.stderr


@pytest.mark.parametrize("columns", [110, 75, 70, 40, 24])
def test_a_narrow_terminal_loses_nothing(worst: Path, columns: int) -> None:
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (24, columns))
    code = "import sys; from rbench.cli import main; sys.exit(main())"
    environ = {**os.environ, "PYTHONPATH": str(worst), "TERM": "xterm"}
    environ.pop("COLUMNS", None)
    with subprocess.Popen(
        [sys.executable, "-c", code, "list-plugins"], stdout=follower, stderr=subprocess.DEVNULL, env=environ
    ) as process:
        os.close(follower)
        shown = re.sub(r"\x1b\[[0-9;]*m", "", b"".join(iter(lambda: read_terminal(leader), b"")).decode())
        assert process.wait(60) == 0
    os.close(leader)
    assert max(map(len, shown.splitlines())) <= columns
    together = "".join(shown.split())
    for text in (*WORST, "roboview-bias", "healthy", "rbench-factor-appearance", "camera-distance"):
        assert text in together
    assert "Visualbiasinmanipulation" in together
    assert "Nomodulenamed'no_such_library'" in together
    assert "…" not in shown


def test_an_output_without_unicode_is_no_problem(rbench: Rbench, fake_distribution: Callable[..., Path]) -> None:
    source = HEAD + "def rbench_agents():\n" + AGENT.replace("'x'", "'30° → 40°'")
    done = rbench("list-plugins", site=fake_distribution("stub-good", source), PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "half-registered" in done.stdout


def read_terminal(descriptor: int) -> bytes:
    """What stands on the terminal; empty once the process behind it has ended (Linux raises EIO then)."""
    try:
        return os.read(descriptor, 4096)
    except OSError:
        return b""
