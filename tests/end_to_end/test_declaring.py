"""The agent is made once before the run, to learn what it declares: with a worker's limits, and nothing is left."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import rbench
from rbench.errors import AgentError, InfrastructureError, PluginError, StartError, SuiteError
from rbench.plugins.catalog import Catalog
from rbench.running import declared
from rbench.running.description import Part, RunDescription
from rbench.running.executors.declaring import declared_apart
from rbench.running.executors.messages import failure, raise_failure
from rbench.running.limits import Limits
from rbench.running.run import prepare

AGENT = "agents_that_misbehave:Misbehaves"


def arguments(how: str, where: str, *more: str) -> list[str]:
    return [
        "run", "roboview-bias", "--agent", AGENT, "-o", f"how={how}", "-o", f"where={where}", "-o", "always=true",
        "--limit", "1", "--executor", "processes", "--workers", "1", *more,
    ]  # fmt: skip


@pytest.mark.parametrize(("where", "words"), [("init", "in the agent's constructor"), ("close", "in close()")])
def test_an_agent_that_hangs_before_the_run_is_not_waited_for(
    rbench_command: Callable[..., Any], where: str, words: str
) -> None:
    # Enough to import everything on a busy machine.
    ran = rbench_command(*arguments("deaf", where, "--start-limit", "6"))
    assert ran.code == 3
    assert f"agent {AGENT!r}" in ran.err
    assert f"{words} (not ready after 6 s, the --start-limit)" in ran.err
    assert not ran.directory.exists()


@pytest.mark.parametrize(("where", "words"), [("init", "in the agent's constructor"), ("close", "in close()")])
def test_an_agent_that_ends_its_process_before_the_run_ends_no_more_than_that(
    rbench_command: Callable[..., Any], where: str, words: str
) -> None:
    ran = rbench_command(*arguments("print_and_exit", where))
    assert ran.code == 3
    assert f"error: agent {AGENT!r}: " in ran.err
    assert f"was lost {words} (exit status 7); run with --executor serial" in ran.err


def test_an_agent_that_closes_all_descriptors_before_the_run_is_told(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(*arguments("close_all", "init"))
    assert ran.code == 3
    assert "in the agent's constructor (the agent closed file descriptors that are not its own)" in ran.err


def test_an_agent_that_takes_too_much_memory_before_the_run_is_ended(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(*arguments("allocate", "init", "-o", "amount=1000", "--worker-memory", "600"))
    assert ran.code == 3
    assert "in the agent's constructor (more than 600 MB used, the --worker-memory)" in ran.err


def test_a_module_that_ends_its_process_ends_no_run(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(
        "run", "roboview-bias", "--agent", "agents_that_end_imports:Never", "--limit", "1", "--executor", "processes"
    )
    assert ran.code == 3
    assert "agent 'agents_that_end_imports:Never'" in ran.err
    assert "while it was imported (exit status 5)" in ran.err


def test_a_gigabyte_printed_before_the_run_is_not_passed_on(start_rbench: Callable[..., Any]) -> None:
    ran = start_rbench(*arguments("print_much", "close", "-o", "amount=1000")).ended()
    assert ran.code == 0, ran.err[-2000:]
    assert "note: the agent printed 1000.0 MB when it was made before the run; 999.9 MB of it were dropped" in ran.err
    assert len(ran.err) < 400_000


def test_what_an_agent_starts_before_the_run_is_gone_after_it(
    rbench_command: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    mark = secrets.token_hex(8)
    monkeypatch.setenv("LEFT_BEHIND", mark)
    trace = tmp_path / "trace"
    ran = rbench_command(*arguments("leave_behind", "init", "-o", f"trace={trace}"))
    assert ran.code == 0, ran.err
    made = trace.with_name("trace.left").read_text().splitlines()
    assert len(made) == 2  # once before the run, once in the worker
    for line in made:
        with socket.socket() as client:
            assert client.connect_ex(("127.0.0.1", int(line.split()[0]))) != 0
    assert not [file for file in Path("/proc").glob("[0-9]*/environ") if _carries(file, mark)]


def _carries(file: Path, mark: str) -> bool:
    try:
        return file.parent.name != str(os.getpid()) and f"LEFT_BEHIND={mark}".encode() in file.read_bytes().split(b"\0")
    except OSError:
        return False


def test_the_process_that_leads_a_run_makes_no_agent(rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    assert rbench_command(*arguments("write_pid", "init", "-o", f"trace={trace}")).code == 0
    pids = set(trace.with_name("trace.pids").read_text().split())
    assert len(pids) == 2  # one that learns, one worker
    assert str(os.getpid()) not in pids


def test_serial_runs_make_the_agent_here(rbench_command: Callable[..., Any], tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    words = ["-o", f"trace={trace}", "--executor", "serial"]
    agent = ["--agent", AGENT, "-o", "how=write_pid", "-o", "where=init", "--limit", "1"]
    assert rbench_command("run", "roboview-bias", *agent, *words).code == 0
    assert set(trace.with_name("trace.pids").read_text().split()) == {str(os.getpid())}


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["--agent", "agents_that_misbehave:Missing"], 2, "has no 'Missing'"),
        (["--agent", AGENT, "-o", "amount=much"], 2, "amount"),
        (["--agent", AGENT, "-o", "how=raise_it", "-o", "where=init"], 3, "could not be made: ValueError: on purpose"),
        (["--agent", "ideal"], 2, "Did you mean 'idle'"),
    ],
)
def test_errors_are_those_of_a_serial_run(
    rbench_command: Callable[..., Any], words: list[str], code: int, part: str
) -> None:
    serial = rbench_command("run", "roboview-bias", *words, "--limit", "1")
    apart = rbench_command("run", "roboview-bias", *words, "--limit", "1", "--executor", "processes")
    assert serial.code == apart.code == code
    assert part in serial.err
    assert apart.err == serial.err


def test_the_traceback_of_a_constructor_is_shown_in_debug_mode(rbench_command: Callable[..., Any]) -> None:
    ran = rbench_command(*arguments("raise_it", "init"), "--debug")
    assert ran.code == 3
    assert "in raise_it" in ran.err
    assert "ValueError: on purpose" in ran.err


def test_what_is_learnt_is_the_same_here_and_apart(catalog: Catalog) -> None:
    for description in (
        RunDescription("roboview-bias", Part("expert")),
        RunDescription("roboview-bias", Part("simple"), (Part("sgl"),)),
    ):
        assert declared_apart(catalog, description, Limits()) == declared.declared_here(catalog, description)


def test_an_option_that_is_no_number_is_refused_as_one(catalog: Catalog) -> None:
    part = Part("expert", {"control_rate": float("nan")})
    with pytest.raises(rbench.RbenchError) as here:
        declared.declared_here(catalog, RunDescription("roboview-bias", part))
    with pytest.raises(type(here.value)) as apart:
        declared_apart(catalog, RunDescription("roboview-bias", part), Limits())
    assert str(apart.value) == str(here.value)


def test_what_is_known_is_not_learnt_again(catalog: Catalog) -> None:
    known = declared.declared_here(catalog, RunDescription("roboview-bias", Part("idle")))
    ending = RunDescription("roboview-bias", Part("agents_that_end_imports:Never"))
    assert prepare(catalog, ending, declared=known).declared is known


@pytest.mark.parametrize("kind", [StartError, PluginError, SuiteError])
def test_errors_keep_their_kind_between_processes(kind: type[rbench.RbenchError]) -> None:
    own = type("Mine", (kind,), {})
    with pytest.raises(kind, match="mend it"):
        raise_failure(failure(own("mend it")))


@pytest.mark.parametrize("kind", [InfrastructureError, AgentError])
def test_errors_that_do_not_end_runs_elsewhere_end_one_that_has_not_begun(kind: type[rbench.RbenchError]) -> None:
    with pytest.raises(StartError, match=f"{kind.__name__}: mend it"):
        raise_failure(failure(kind("mend it")))
