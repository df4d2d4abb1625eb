"""What commands print: results on stdout, everything else on stderr."""

from __future__ import annotations

import io
import json
import os
import sys
import traceback
from typing import TYPE_CHECKING, Any, TextIO

import click

from rbench.errors import RbenchError, one_line, visible

if TYPE_CHECKING:
    from rich.console import RenderableType


def open_standard_streams() -> None:
    """Send what goes to a closed stdout or stderr (`>&-`) nowhere, as `print` does.

    Else the next file that is opened would get their descriptor, and with it whatever a library prints.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):  # each takes the lowest free descriptor
        if getattr(sys, name) is None:
            stream = open(os.devnull, mode)  # noqa: SIM115, PTH123 - it stays open as long as the process lives
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def accept_any_character() -> None:
    """Let stdout escape what its encoding lacks: a summary with a degree sign must not fail under `LANG=C`."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors == "strict":
        sys.stdout.reconfigure(errors="backslashreplace")


def print_json(value: Any, stdout: TextIO | None = None) -> None:
    """Print one JSON document; NaN is refused, for it has no JSON form.

    Raises:
        ValueError: the value holds NaN or an infinity.
    """
    print_text(json.dumps(value, allow_nan=False, indent=2), stdout)


def print_text(text: str, stdout: TextIO | None = None) -> None:
    """Print lines to stdout, or to what stands for it, with control characters escaped."""
    (stdout or sys.stdout).write(visible(text).rstrip("\n") + "\n")


def print_rich(*renderables: RenderableType) -> None:
    """Print tables and the like; plain, complete and as wide as needed when stdout is not a terminal."""
    # Not at the top: help needs no rich.
    from rich.console import Console

    from rbench.reporting.layout import Visible

    if sys.stdout.isatty():
        console = Console(file=sys.stdout, highlight=False)
        for renderable in renderables:
            console.print(Visible(renderable))
        return
    console = Console(file=sys.stdout, highlight=False, width=10_000)
    with console.capture() as capture:
        for renderable in renderables:
            console.print(Visible(renderable))
    print_text("\n".join(line.rstrip() for line in capture.get().splitlines()))


def print_note(text: str) -> None:
    """Print a line to stderr, with control characters escaped."""
    sys.stderr.write(visible(text).rstrip("\n") + "\n")


def print_error(problem: BaseException, debug: bool) -> None:
    """Say on stderr what went wrong and what to do, in one line; with the traceback before it in debug mode."""
    if debug:
        print_note("".join(traceback.format_exception(problem)))
    if isinstance(problem, click.ClickException):
        message = problem.format_message()
        if isinstance(problem, click.UsageError) and problem.ctx is not None:
            message = f"{message.rstrip('.')}. See: {problem.ctx.command_path} --help"
    elif isinstance(problem, RbenchError):
        message = str(problem)
    elif isinstance(problem, OSError) and problem.filename is not None and problem.strerror:
        message = f"{problem.filename}: {problem.strerror}. Check the path; --debug shows where it was used."
    else:
        message = f"{one_line(problem)}. This was not expected; run again with --debug for the traceback."
    print_note(f"error: {message}")


def debug_wanted(arguments: list[str]) -> bool:
    """Take `--debug` out of the arguments, wherever it stands; true when it was there or RBENCH_DEBUG is set."""
    end = arguments.index("--") if "--" in arguments else len(arguments)
    given = "--debug" in arguments[:end]
    arguments[:end] = [argument for argument in arguments[:end] if argument != "--debug"]
    return given or os.environ.get("RBENCH_DEBUG", "0") not in ("", "0")
