"""`rbench check-plugin`: whether a plugin keeps the contract."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable
from typing import Any, TextIO

import click

from rbench.cli.check_limit import ended_after
from rbench.cli.limit_options import start_limit_option
from rbench.cli.numbers import SECONDS, FiniteRange
from rbench.cli.output import print_json, print_text
from rbench.cli.plugin_names import split_plugin
from rbench.cli.values import parse_options
from rbench.errors import UsageError, visible
from rbench.plugins.catalog import build_catalog
from rbench.plugins.importing import stdout_to_stderr
from rbench.testing.checks import Check, Result, checked_exemptions, require_check, run_check
from rbench.testing.kinds import KINDS, checks_of, subject
from rbench.testing.subjects import Expectations, Subject
from rbench.testing.wrappers import CHANGEABLE

STYLES = {"ok": "green", "failed": "red", "warning": "yellow", "exempt": "yellow", "skipped": "bright_black"}
#: Width of a line of explanation, and how far it is moved in.
WIDTH, INDENT = 118, " " * 9


@click.command("check-plugin")
@click.argument("plugin", metavar="KIND:NAME")
@click.option("-o", "--option", "options", multiple=True, metavar="KEY=VALUE", help="Of the plugin; @FILE.toml: many.")
@click.option("--vision", metavar="NAME", help="Vision model that it is given; as in runs by default.")
@click.option(
    "-v", "--vision-option", "vision_options", multiple=True, metavar="KEY=VALUE", help="Of the vision model."
)
@click.option("--only", multiple=True, metavar="CHECK", help="Only this check; repeatable.")
@click.option("--exempt", multiple=True, metavar="CHECK=REASON", help="It may fail this one, for a written reason.")
@click.option("--competent", is_flag=True, help="An agent: it solves the task at the baseline, at least sometimes.")
@click.option(
    "--changes",
    multiple=True,
    type=click.Choice(CHANGEABLE),
    help="A wrapper: what it may change; repeatable. By default it is only said.",
)
@click.option("--time-limit", type=FiniteRange(0.001), default=5.0, show_default=True, help="Seconds a call.")
@click.option(
    "--slow", type=click.Choice(["fail", "warn"]), default="fail", show_default=True, help="When it is slower."
)
@click.option(
    "--world", type=click.Choice(["auto", "fake"]), default="auto", show_default=True, help="fake: nothing is drawn."
)
@click.option("--scene", metavar="NAME", default="tabletop", show_default=True, help="A factor: what it is applied to.")
@click.option("--baseline", metavar="LEVEL", help="A factor: the level that shows what the scene shows.")
@start_limit_option("An agent or a wrapper")
@click.option(
    "--check-limit",
    type=SECONDS,
    metavar="SECONDS",
    default=1800.0,
    show_default=True,
    help="Wall time of one check, after which the command ends; 0: no limit.",
)
@click.option("--list", "only_list", is_flag=True, help="List the checks and what each wants; run none.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(
    plugin: str,
    options: tuple[str, ...],
    vision: str | None,
    vision_options: tuple[str, ...],
    only: tuple[str, ...],
    exempt: tuple[str, ...],
    competent: bool,
    changes: tuple[str, ...],
    time_limit: float,
    slow: Any,
    world: Any,
    scene: str,
    baseline: str | None,
    start_limit: float,
    check_limit: float,
    only_list: bool,
    as_json: bool,
) -> int:
    """Check that a plugin keeps the contract: one line a check, and how to mend what failed.

    Exits with 1 when a check failed. An agent or a wrapper is made once in another process first; one that hangs there,
    or ends it, is refused with 3. A check in which a plugin never comes back has failed, and is the last one.
    An unpackaged plugin is named like agent:module:attribute.
    """
    kind, name = split_plugin(plugin, tuple(KINDS))
    checks = _chosen(checks_of(kind), only)
    reasons = checked_exemptions(_exemptions(exempt), checks)
    if only_list:
        _print_checks(checks, as_json)
        return 0
    expectations = Expectations(
        competent=competent,
        time_limit=time_limit,
        slow=slow,
        world=world,
        changes=changes or None,
        scene=scene,
        baseline=baseline,
        start_limit=start_limit,
    )
    tested = subject(
        kind,
        name,
        parse_options(options, "-o"),
        vision=vision,
        vision_options=parse_options(vision_options, "-v"),
        expectations=expectations,
        catalog=build_catalog(),
    )
    tested.prepare()
    results: list[Result] = []

    def say(result: Result, stdout: TextIO | None = None) -> None:
        """Show a result; the last one, after which this process ends, on a standard output of its own."""
        results.append(result)
        if not as_json:
            _print_result(result, stdout)
        if stdout is not None:
            _print_end(tested, results, as_json, stdout)

    for item in checks:
        with ended_after(check_limit, item, say), stdout_to_stderr():  # what a plugin prints is no result
            result = run_check(item, tested, reasons.get(item.name))
        say(result)
    _print_end(tested, results, as_json)
    return 1 if any(result.status == "failed" for result in results) else 0


def _chosen(checks: Iterable[Check], only: tuple[str, ...]) -> list[Check]:
    known = {check.name: check for check in checks}
    for name in only:
        require_check(name, known, "--only")
    return [check for check in known.values() if not only or check.name in only]


def _exemptions(items: tuple[str, ...]) -> dict[str, str]:
    found = {}
    for item in items:
        name, equals, reason = item.partition("=")
        if not equals:
            raise UsageError(f"--exempt {item!r}: give CHECK=REASON")
        found[name] = reason
    return found


def _print_checks(checks: list[Check], as_json: bool) -> None:
    if as_json:
        print_json([{"name": check.name, "statement": check.statement} for check in checks])
    else:
        for check in checks:
            print_text(f"{check.name:26}{check.statement}")


def _print_result(result: Result, stdout: TextIO | None = None) -> None:
    status = click.style(f"{result.status:8}", fg=STYLES[result.status])
    lines = [f"{status} {visible(result.name)}: {visible(result.statement)}"]
    if result.status in ("failed", "warning", "exempt"):
        lines += [_moved_in("found: ", result.detail or "-")]
    elif result.status == "skipped":
        lines += [_moved_in("", result.detail)]
    if result.remedy:
        lines += [_moved_in("mend:  ", result.remedy)]
    if result.reason:
        lines += [_moved_in("exempt because: ", result.reason)]
    click.echo("\n".join([lines[0], *map(visible, lines[1:])]), file=stdout)


def _print_end(tested: Subject, results: list[Result], as_json: bool, stdout: TextIO | None = None) -> None:
    counts = Counter(result.status for result in results)
    if as_json:
        print_json(_summary(tested, results, counts), stdout)
    else:
        print_text(f"{tested.entry.label}: {', '.join(f'{n} {status}' for status, n in counts.items())}", stdout)


def _moved_in(label: str, text: str) -> str:
    return textwrap.fill(
        label + " ".join(text.split()), WIDTH, initial_indent=INDENT, subsequent_indent=INDENT + " " * len(label)
    )


def _summary(tested: Subject, results: list[Result], counts: Counter[Any]) -> dict[str, Any]:
    entry = tested.entry
    return {
        "kind": entry.kind,
        "name": entry.name,
        "distribution": entry.distribution,
        "version": entry.version,
        "passed": not counts["failed"],
        "counts": {status: counts[status] for status in STYLES},
        "checks": [
            {
                "name": result.name,
                "statement": result.statement,
                "status": result.status,
                "detail": result.detail,
                "remedy": result.remedy,
                "reason": result.reason,
                "seconds": round(result.seconds, 3),
            }
            for result in results
        ],
    }
