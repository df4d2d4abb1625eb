"""`rbench review`: people read the pictures of a validation on a page of this machine."""

from __future__ import annotations

import math
import secrets
import sys
from pathlib import Path
from typing import Any

import click

from rbench.cli.numbers import FiniteRange
from rbench.cli.output import print_json, print_note, print_text
from rbench.errors import StartError, UsageError
from rbench.review.ledger import Ledger
from rbench.review.questions import SECOND_READINGS, Questions
from rbench.review.reviewers import reviewer_name
from rbench.review.summary import summarise
from rbench.review.summary_text import summary_lines
from rbench.validation.directory import DECISIONS, ValidationDirectory


@click.command("review")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--reviewer", metavar="NAME", help="Who reads; else the page asks, and several people can.")
@click.option(
    "--second",
    type=FiniteRange(0, 1),
    default=SECOND_READINGS,
    show_default=True,
    help="Share of the pictures that two people read, neither knowing what the other said.",
)
@click.option("--summary", is_flag=True, help="Print what people said and how far they agree, and end.")
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port; default: a free one.")
def command(
    directory: Path, reviewer: str | None, second: float, summary: bool, as_json: bool, host: str, port: int
) -> int:
    """Read the pictures that `rbench validate` has put into the queue of DIR, on a page for this machine alone.

    Prints the address of the page, which holds a secret, and serves it until Ctrl-C. Every answer is on disk before
    the next picture is shown. Several people can read at once, at one server or at several.
    """
    if as_json and not summary:
        raise UsageError("--json is for the summary; give --summary too")
    if math.isnan(second):
        raise UsageError("--second nan: not a share; give a number from 0 to 1")
    name = None if reviewer is None else reviewer_name(reviewer)
    validation = ValidationDirectory.open(directory)
    questions = Questions(validation, second)
    ledger = Ledger(validation.path / DECISIONS)
    ledger.refresh()
    if summary:
        _print(summarise(questions, ledger.standing()), as_json)
        return 0
    _serve(questions, ledger, name, host, port)
    return 0


def _serve(questions: Questions, ledger: Ledger, reviewer: str | None, host: str, port: int) -> None:
    # Not at the top: the summary needs no server.
    try:
        from rbench.review.server import application, listen, serve
    except ModuleNotFoundError as problem:
        raise StartError(
            f"`rbench review` needs {problem.name}, not installed here: pip install 'rbench[review]'"
        ) from (problem)
    from rbench.review.desk import Desk
    from rbench.review.guard import is_loopback

    try:
        listening = listen(host, port)
    except OSError as problem:
        what = f"port {port}" if port else "a free port"
        raise StartError(
            f"cannot listen at {host}, {what}: {problem.strerror or problem}; choose another with --host or --port"
        ) from problem
    token, desk = secrets.token_urlsafe(24), Desk(questions, ledger)
    app = application(desk, token, host, reviewer)
    shown = f"[{host}]" if ":" in host else host
    try:
        print_text(f"http://{shown}:{listening.getsockname()[1]}/{token}/")
        sys.stdout.flush()
        _explain(questions, is_loopback(host), host)
        serve(app, listening)
    except KeyboardInterrupt as stop:
        found = desk.summary()
        print_note(
            f"{found['decisions']} decision(s) so far: {found['read']} of {found['pictures']} picture(s) read,"
            f" {found['to_adjudicate']} to adjudicate"
        )
        if type(stop) is not KeyboardInterrupt:  # SIGTERM and SIGHUP have exit codes of their own
            raise


def _explain(questions: Questions, is_private: bool, host: str) -> None:
    print_note(f"{len(questions.items)} picture(s) of {questions.suite}; open the address above, end with Ctrl-C")
    if questions.gone:
        print_note(f"{len(questions.gone)} of them cannot be shown: their files are gone; validate the suite again")
    if not is_private:
        print_note(f"{host}: other machines reach this address, and whoever sees it or the traffic can read and answer")


def _print(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        print_text("\n".join(summary_lines(found)))
