from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import click
import pytest

from rbench import cli
from rbench.cli import COMMANDS, main
from rbench.errors import PluginError, RbenchError, StoppedEarly, UsageError

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], object]], None]:
    """Makes `rbench probe` call a function."""

    def install(action: Callable[[], object]) -> None:
        module = type(sys)("fake_probe_command")
        module.command = click.command("probe")(action)  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "fake_probe_command", module)
        monkeypatch.setitem(cli.COMMANDS, "probe", ("fake_probe_command:command", "A probe."))

    return install


def raising(problem: BaseException) -> Callable[[], object]:
    def action() -> object:
        raise problem

    return action


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (UsageError("no"), 2),
        (click.UsageError("no"), 2),
        (click.FileError("no"), 2),
        (PluginError("no"), 3),
        (StoppedEarly("no"), 4),
        (RbenchError("no"), 1),
        (ZeroDivisionError("no"), 1),
        (FileNotFoundError(2, "no", "there"), 1),
        (KeyboardInterrupt(), 130),
        (click.Abort(), 130),
        (cli.Terminated(signal.SIGTERM), 143),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_failure_has_its_exit_code_and_no_traceback(
    command: Callable[..., None], capsys: Capture, problem: BaseException, code: int
) -> None:
    command(raising(problem))
    assert main(["probe"]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(("value", "code"), [(None, 0), (0, 0), (1, 1)])
def test_a_command_returns_its_exit_code(command: Callable[..., None], value: int | None, code: int) -> None:
    command(lambda: value)
    assert main(["probe"]) == code


def test_the_unexpected_is_named_with_its_type_and_a_way_on(command: Callable[..., None], capsys: Capture) -> None:
    command(raising(ZeroDivisionError("one\ntwo")))
    main(["probe"])
    assert capsys.readouterr().err == (
        "error: ZeroDivisionError: one two. This was not expected; run again with --debug for the traceback.\n"
    )


@pytest.mark.parametrize("arguments", [["--debug", "probe"], ["probe", "--debug"]])
def test_debug_shows_the_traceback(command: Callable[..., None], capsys: Capture, arguments: list[str]) -> None:
    command(raising(UsageError("no")))
    assert main(arguments) == 2
    assert "Traceback" in capsys.readouterr().err


def test_debug_can_be_set_in_the_environment(
    command: Callable[..., None], capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RBENCH_DEBUG", "1")
    command(raising(UsageError("no")))
    main(["probe"])
    assert "Traceback" in capsys.readouterr().err


def test_an_unknown_command_is_refused_with_near_names(capsys: Capture) -> None:
    assert main(["list-plugin"]) == 2
    said = capsys.readouterr().err
    assert "there is no command 'list-plugin'. Did you mean 'list-plugins'" in said
    assert "See: rbench --help" in said


def test_an_unknown_option_says_where_to_look(capsys: Capture) -> None:
    assert main(["list-plugins", "--jsno"]) == 2
    assert "See: rbench list-plugins --help" in capsys.readouterr().err


def test_an_unknown_global_option_is_wrong_use(capsys: Capture) -> None:
    assert main(["--jsno"]) == 2
    assert "--jsno" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_help_names_every_command(capsys: Capture, arguments: list[str]) -> None:
    assert main(arguments) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert [name for name in COMMANDS if f"\n  {name} " not in out] == []


def test_the_version_is_that_of_the_distribution(capsys: Capture) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"rbench {version('rbench')}\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_exists_and_explains_itself(capsys: Capture, name: str) -> None:
    assert main([name, "--help"]) == 0
    assert f"Usage: rbench {name}" in capsys.readouterr().out


def test_a_handler_for_sigterm_is_only_borrowed(command: Callable[..., None]) -> None:
    before = signal.getsignal(signal.SIGTERM)
    command(lambda: None)
    main(["probe"])
    assert signal.getsignal(signal.SIGTERM) is before


def test_sigterm_interrupts_work(command: Callable[..., None], capsys: Capture) -> None:
    command(lambda: os.kill(os.getpid(), signal.SIGTERM))
    assert main(["probe"]) == 143
    assert capsys.readouterr().err == "interrupted\n"


def test_a_reader_that_goes_away_is_no_error() -> None:
    code = "import sys; from rbench.cli import main; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", code, "list-plugins"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(60) == 141


CALL = "import sys; from rbench.cli import main; sys.exit(main())"


def in_shell(line: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", line, sys.executable, CALL]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("arguments", ["list-plugins", "list-plugins --json", "--help"])
def test_a_stdout_that_takes_no_more_is_named(arguments: str) -> None:
    done = in_shell(f'"$0" -c "$1" {arguments} > /dev/full')
    assert done.returncode == 1
    assert done.stderr.startswith("error: standard output: No space left on device. Send it to")
    assert len(done.stderr.splitlines()) == 1


def test_another_error_stays_that_when_stdout_is_fine(command: Callable[..., None], capsys: Capture) -> None:
    command(raising(OSError(28, "No space left on device")))
    assert main(["probe"]) == 1
    assert "standard output" not in capsys.readouterr().err


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-", "<&- >&-"])
def test_closed_standard_streams_take_what_is_said_to_nobody(closed: str) -> None:
    done = in_shell(f'"$0" -c "$1" list-plugins {closed}')
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_closed_stdout_changes_no_exit_code() -> None:
    done = in_shell('"$0" -c "$1" list-plugin >&-')
    assert done.returncode == 2
    assert "Did you mean 'list-plugins'" in done.stderr


def test_a_broken_pipe_to_something_else_is_an_error(command: Callable[..., None], capfd: Capture) -> None:
    command(raising(BrokenPipeError(32, "Broken pipe")))
    assert main(["probe"]) == 1
    assert "BrokenPipeError" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "roboview-bias", "--agent", ""], "--agent is given nothing"),
        (["run", "roboview-bias", "--agent", "idle", "--vision", ""], "--vision is given nothing"),
        (["run", "roboview-bias", "--agent", "idle", "--wrap", ""], "--wrap is given nothing"),
        (["run", "roboview-bias", "--agent", "idle", "--out", ""], "--out is given nothing"),
        (["run", "roboview-bias", "--agent", "idle", "--out="], "--out is given nothing"),
        (["run", "", "--agent", "idle"], "argument 2 is empty"),
        (["report", "somewhere", "-o", ""], "-o is given nothing"),
        (["export", "somewhere", "--format", "csv", "-o", ""], "-o is given nothing"),
        (["render", "roboview-bias", "color/red/base", "-o", ""], "-o is given nothing"),
        (["new-plugin", "agent", "reach", "-o", ""], "-o is given nothing"),
        (["new-plugin", "agent", "--", ""], "argument 4 is empty"),
        (["status", ""], "argument 2 is empty"),
        ([""], "argument 1 is empty"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_an_empty_argument_is_refused_by_name_and_nothing_is_written(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    assert said in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("line", ['agent = ""', 'agent = "idle"\nwrap = [""]', 'vision = ""', 'out = ""', 'suite = ""'])
def test_an_empty_name_in_a_configuration_is_refused(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    config = tmp_path / "run.toml"
    config.write_text(line + "\n")
    assert main(["run", "--config", str(config)]) == 2
    assert "empty" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == [config]
