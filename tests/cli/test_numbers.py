"""Numbers on the command line that are none, or too large."""

from __future__ import annotations

import pytest

from rbench.cli import main

COMMANDS = [
    "check-plugin agent:expert --time-limit",
    "check-plugin agent:expert --start-limit",
    "check-plugin agent:expert --check-limit",
    "describe agent:expert --start-limit",
    "serve-agent expert --idle-exit",
    "run roboview-bias --agent expert --dry-run --episode-limit",
    "run roboview-bias --agent expert --dry-run --start-limit",
    "run roboview-bias --agent expert --dry-run --worker-memory",
    "verify somewhere --share",
    "compare one another --margin",
]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("number", ["nan", "inf", "-1"])
def test_it_is_refused_by_the_name_of_its_option(command: str, number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), number]) == 2
    said = capsys.readouterr().err
    assert command.split()[-1] in said
    assert "Traceback" not in said


@pytest.mark.parametrize("command", [command for command in COMMANDS if "--time-limit" not in command])
def test_a_number_beyond_every_clock_is_refused(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "1e300"]) == 2
    assert command.split()[-1] in capsys.readouterr().err
