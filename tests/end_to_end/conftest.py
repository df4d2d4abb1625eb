"""Runs the real command line in this process, from the folder that holds the spoiled agents."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rbench
from rbench.cli import main
from rbench.design import Episode
from rbench.plugins.catalog import Catalog
from rbench.running.plan import Plan, Selection
from rbench.seeding import block_seed, generator
from rbench.simulation.gl import choose_gl, gl_variables
from rbench.suites.loading import load_suite

HERE = Path(__file__).resolve().parent


@dataclass
class Ran:
    """What a command printed and returned."""

    code: int
    out: str
    err: str
    directory: Path | None

    @property
    def episodes(self) -> list[Any]:
        assert self.directory is not None, self.err
        return list(rbench.open_run(self.directory).episodes())

    @property
    def manifest(self) -> dict[str, Any]:
        assert self.directory is not None
        return json.loads((self.directory / "manifest.json").read_text())

    def report(self) -> dict[str, Any]:
        return json.loads(self.out)[0]


@pytest.fixture(scope="session", autouse=True)
def _no_commits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Versions without what git knows: somebody may commit to this working copy between a run and its resume."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GIT_DIR", str(tmp_path_factory.mktemp("no-repository")))
        yield


@pytest.fixture
def rbench_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[..., Ran]:
    """Calls `rbench ARGUMENTS`; a `run` without --out gets one below tmp_path, and is serial unless told otherwise."""
    monkeypatch.chdir(HERE)
    number = 0

    def call(*arguments: str) -> Ran:
        nonlocal number
        directory = None
        words = list(arguments)
        if words[0] == "run" and "--out" not in words:
            number += 1
            directory = tmp_path / f"run-{number}"
            words += ["--out", str(directory)]
        if words[0] == "run" and "--executor" not in words:
            # In this process: no start-up a run, and wrong use is met before any worker starts anyway.
            words += ["--executor", "serial"]
        code = main(words)
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err, directory)

    return call


@dataclass
class Started:
    """`rbench` in a process, a group and a session of its own."""

    process: subprocess.Popen[str]
    directory: Path

    def wait_for(self, done: int) -> None:
        """Until so many episodes are on disk."""
        deadline = time.monotonic() + 120
        while self.done() < done:
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < deadline, "no progress"
            time.sleep(0.02)

    def done(self) -> int:
        try:
            return rbench.open_run(self.directory).counts()["done"]
        except rbench.RbenchError:  # it is only being made
            return 0

    def end(self, number: int, group: bool = False) -> None:
        (os.killpg if group else os.kill)(self.process.pid, number)

    def ended(self) -> Ran:
        """Wait for its end."""
        out, err = self.process.communicate(timeout=60)
        return Ran(self.process.returncode, out, err, self.directory)

    def left(self) -> list[int]:
        """Processes of its session that still run; a zombie does not."""
        found = []
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
            except OSError:
                continue
            if int(session) == self.process.pid and state != "Z":
                found.append(int(stat.parent.name))
        return found


def signals_end_it() -> None:
    """As in a terminal: where tests run without one (nohup), what they start would ignore these."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


@pytest.fixture
def start_rbench(tmp_path: Path) -> Iterator[Callable[..., Started]]:
    """Starts `rbench ARGUMENTS` in a process; a `run` gets the run directory `tmp_path / "run"`."""
    every: list[Started] = []

    def start(*arguments: str) -> Started:
        directory = tmp_path / "run"
        words = [*arguments, "--out", str(directory)] if arguments[0] == "run" else list(arguments)
        process = subprocess.Popen(
            [sys.executable, "-m", "rbench", *words],
            cwd=HERE,
            # Already known here, so nobody need search for it.
            env={**os.environ, **gl_variables(choose_gl())},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=signals_end_it,
        )
        every.append(Started(process, directory))
        return every[-1]

    yield start
    for started in every:
        if started.process.poll() is None:
            started.end(signal.SIGKILL, group=True)
        started.process.communicate()


@pytest.fixture
def drawn(catalog: Catalog) -> Callable[[Episode], float]:
    """The first random number that an agent draws in an episode: how `agents_that_end` knows which it is in."""
    suite = load_suite(catalog, "roboview-bias")

    def number(episode: Episode) -> float:
        i = episode.instance
        sequence = block_seed(0, suite.name, i.task, i.context, episode.repeat, salt=i.id)
        return float(generator(sequence, "agent").random())

    return number


@pytest.fixture
def planned(catalog: Catalog) -> Callable[..., list[Episode]]:
    """The first episodes of the plan of roboview-bias."""

    def episodes(limit: int) -> list[Episode]:
        return list(Plan(load_suite(catalog, "roboview-bias"), Selection(limit=limit)))

    return episodes
