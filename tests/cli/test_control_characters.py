"""What plugins and records say cannot steer the terminal it is shown on."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rbench.cli import main
from rbench.cli.check_plugin import _print_result
from rbench.cli.output import print_error, print_json, print_note, print_rich, print_text
from rbench.errors import PluginError, visible
from rbench.reporting.layout import Visible
from rbench.reporting.terminal import as_text
from rbench.testing.checks import Result

HOSTILE = "a\x1b[2Jb\x00c\u202ed"
SHOWN = r"a\x1b[2Jb\x00c\u202ed"


def _table() -> Table:
    table = Table(box=None, header_style="bold")
    table.add_column(Text(HOSTILE))
    table.add_row(Text(HOSTILE, style="bold"))
    return table


def test_control_characters_are_escaped_and_nothing_else() -> None:
    assert visible(HOSTILE) == SHOWN
    assert visible("\x9b1m\x7f\r\x07\u2066\u2028") == r"\x9b1m\x7f\r\x07\u2066\u2028"
    ordinary = "two\nlines\tand é 中 م\u200cی 👩\u200d🔬 \u00a0 °C \\x1b"
    assert visible(ordinary) == ordinary


@pytest.mark.parametrize("write", [print_text, print_note])
def test_lines_are_printed_without_control_characters(
    write: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    write(f"{HOSTILE}\nsecond")
    assert "".join(capsys.readouterr()) == f"{SHOWN}\nsecond\n"


@pytest.mark.parametrize("debug", [False, True])
def test_errors_are_printed_without_control_characters(debug: bool, capsys: pytest.CaptureFixture[str]) -> None:
    print_error(PluginError(HOSTILE), debug)
    printed = capsys.readouterr().err
    assert printed.endswith(f"error: {SHOWN}\n")
    assert visible(printed) == printed


def test_tables_are_printed_without_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_rich(_table())
    for printed in (capsys.readouterr().out, as_text(_table())):
        assert printed.split() == [SHOWN, SHOWN]


def test_tables_on_a_terminal_keep_their_own_styles_only() -> None:
    stream = io.StringIO()
    terminal = Console(file=stream, force_terminal=True, color_system="standard", width=80)
    terminal.print(Visible(_table()))
    assert stream.getvalue().count(f"\x1b[1m{SHOWN}\x1b[0m") == 2
    assert not any(steering in stream.getvalue() for steering in ("\x1b[2J", "\x00", "\u202e"))


def test_json_keeps_every_character_in_its_own_escapes(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"summary": HOSTILE})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"summary": HOSTILE}
    assert r"\u001b" in printed


def test_the_summary_of_a_plugin_cannot_steer_the_terminal(
    fake_distribution: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = f"""
from rbench.contributions import AgentContribution
from rbench.hookspecs import hookimpl

@hookimpl
def rbench_agents():
    yield AgentContribution(name="hostile", target="hostile_plugin:Agent", summary={HOSTILE!r})
"""
    monkeypatch.syspath_prepend(str(fake_distribution("hostile-plugin", source)))
    assert main(["list-plugins"]) == 0
    printed = capsys.readouterr().out
    assert SHOWN in printed
    assert visible(printed) == printed


def test_what_a_check_found_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    _print_result(Result("a-check", "The plugin behaves.", "failed", detail=HOSTILE, remedy=HOSTILE))
    printed = capsys.readouterr().out
    assert printed.count(SHOWN) == 2
    assert HOSTILE not in printed
