"""`rbench validate`: whether every instance of a suite can be seen."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rbench.cli.output import print_json, print_note, print_rich
from rbench.cli.progress import RunProgress
from rbench.cli.values import parse_options
from rbench.errors import UsageError
from rbench.plugins.catalog import build_catalog
from rbench.results.run_directory import RunDirectory
from rbench.running.agents import resolve
from rbench.running.description import Part
from rbench.running.executors import Execution
from rbench.running.run import PreparedRun, execute
from rbench.suites.loading import load_suite
from rbench.validation.directory import CONTACT_SHEET, Validation, ValidationDirectory
from rbench.validation.procedure import SAMPLE, Wishes, accepted_place, passes, validate
from rbench.values import to_plain

if TYPE_CHECKING:
    from rich.console import RenderableType

DEFAULT_PARENT = Path("rbench-validations")
#: Seconds between two lines of progress, and failing instances that are listed on the terminal.
INTERVAL, LISTED = 10.0, 40


@click.command("validate")
@click.argument("suite")
@click.option("-o", "output", type=click.Path(path_type=Path), metavar="DIR", help="Default: rbench-validations/SUITE.")
@click.option("--dimension", multiple=True, metavar="D", help="Only this dimension; repeatable.")
@click.option("--instances", multiple=True, metavar="GLOB", help="Only instances whose id matches; repeatable.")
@click.option("--workers", type=click.IntRange(min=1), help="Processes; default one for each usable core.")
@click.option("--vision", metavar="NAME", help="Ask this vision model about every picture too.")
@click.option(
    "-v", "--vision-option", "vision_options", multiple=True, metavar="KEY=VALUE", help="Of the vision model."
)
@click.option("--expert/--no-expert", default=True, show_default=True, help="Whether the expert tries every context.")
@click.option(
    "--sample", default=str(SAMPLE), show_default=True, metavar="N|all", help="Unsuspicious pictures to read."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
def command(
    suite: str,
    output: Path | None,
    dimension: tuple[str, ...],
    instances: tuple[str, ...],
    workers: int | None,
    vision: str | None,
    vision_options: tuple[str, ...],
    expert: bool,
    sample: str,
    as_json: bool,
) -> int:
    """Measure whether the instances of SUITE are clear in its viewpoint cameras, by the suite's own rules.

    The same command goes on after any end; rbench review DIR then lets people read what is left to judge. Ends with
    exit code 1 when a stage is below the suite's rule.
    """
    if vision is None and vision_options:
        raise UsageError("-v is given but no --vision; name the vision model whose option it is")
    wanted = _sample(sample)
    catalog = build_catalog()
    loaded = load_suite(catalog, suite)
    model = (
        None
        if vision is None
        else resolve(catalog, "vision-model", Part(vision, parse_options(vision_options, "--vision-option")))
    )
    execution = Execution(workers=workers)
    directory = ValidationDirectory.create(DEFAULT_PARENT / loaded.name if output is None else output)
    wishes = Wishes(dimension, instances, model, expert, wanted)
    progress = _Progress()
    found = validate(catalog, loaded, directory, wishes, execution, _with_progress, progress.tell)
    accepted = accepted_place(loaded, directory)
    if as_json:
        print_json({**to_plain(found), "accepted": accepted.exists(), "directory": str(directory.path)})
    else:
        print_rich(*_tables(found, directory))
        if accepted.exists():
            print_note(f"to let runs and tables say so, put {accepted} beside the suite's own file")
        click.echo(f"validation directory: {directory.path}")
    return 0 if passes(found) else 1


def _sample(text: str) -> int | None:
    if text == "all":
        return None
    if text.isascii() and text.isdigit() and len(text) <= 9:
        return int(text)
    raise UsageError(f"--sample {text!r} is neither a number of pictures nor 'all'; give one of them")


def _with_progress(prepared: PreparedRun, directory: RunDirectory) -> None:
    with RunProgress(prepared.plan.count, directory.store().counts()) as progress:
        execute(prepared, directory, progress.advance, progress.waiting)


class _Progress:
    """Tells how far it is, now and then."""

    _WORDS: Mapping[str, str] = {"look": "views looked at", "ask": "pictures answered"}

    def __init__(self) -> None:
        self._told = -INTERVAL

    def tell(self, what: str, done: int, planned: int) -> None:
        now = time.monotonic()
        if now - self._told < INTERVAL and done < planned:
            return
        self._told = now
        sys.stderr.write(f"{done}/{planned} {self._WORDS[what]}\n")
        sys.stderr.flush()


def _tables(found: Validation, directory: ValidationDirectory) -> list[RenderableType]:
    from rich.text import Text

    measured = found.stages["measured"]
    parts: list[RenderableType] = [
        Text(f"{found.suite}: {found.instances:,} instances in {', '.join(found.cameras)}", style="bold")
    ]
    if not found.whole:
        parts.append(Text("a part of the suite: it cannot be accepted from this", style="yellow"))
    parts += [_stages(found), Text("")]
    for title, counts in (("rules broken", measured["reasons"]), ("noted, no reason to fail", measured["notes"])):
        if counts:
            parts.append(Text(f"{title} (instances): " + ", ".join(f"{k} {v:,}" for k, v in counts.items())))
    parts += [Text(""), *_levels(measured["levels"])]
    parts += [Text(line) for line in measured["suggestions"]]
    if measured["failing"]:
        parts += [Text(""), Text("failing instances", style="bold"), *_failing(measured["failing"], directory)]
    if "model" in found.stages:
        parts += [Text(""), *_agreement(found.stages["model"])]
    parts += [Text(""), Text(f"the worst pictures: {directory.path / CONTACT_SHEET}", no_wrap=True)]
    return parts


def _stages(found: Validation) -> RenderableType:
    from rich.table import Table

    table = Table("stage", "pass", "rate", f"rule {found.rule:.0%}")
    for name, stage in found.stages.items():
        if name == "solvable":
            tried = sum(row["episodes"] for row in stage["contexts"])
            good = sum(row["successes"] for row in stage["contexts"])
            numbers = f"{good}/{tried} episodes, {len(stage['contexts'])} contexts"
            rate = good / tried
        elif name == "people":
            numbers, rate = f"{stage['decided']} of {stage['queue']} pictures read", stage["pass_rate"]
        else:
            numbers, rate = f"{stage['passed']:,}/{stage['instances']:,}", stage["pass_rate"]
        table.add_row(name, numbers, f"{100 * rate:.1f} %", "met" if stage["accepted"] else "NOT MET")
    return table


def _levels(rows: list[Mapping[str, Any]]) -> list[RenderableType]:
    """Levels of which something is to be said; the others in one line a factor."""
    from rich.table import Table
    from rich.text import Text

    table = Table("factor", "level", "pass", "low contrast", "like the box", "reasons")
    quiet: dict[str, list[int]] = {}
    for row in rows:
        failed = row["instances"] - row["passed"]
        if not (failed or row["low_contrast"] or row["like_the_box"]):
            count = quiet.setdefault(row["factor"], [0, 0])
            count[0] += 1
            count[1] += row["instances"]
            continue
        reasons = ", ".join(f"{name} {count}" for name, count in row["reasons"].items())
        table.add_row(
            row["factor"],
            row["level"],
            f"{row['passed']}/{row['instances']}",
            str(row["low_contrast"] or ""),
            str(row["like_the_box"] or ""),
            reasons,
        )
    return [
        table,
        *(
            Text(f"{name}: {count} other levels pass in all of their {cells:,} instances")
            for name, (count, cells) in quiet.items()
        ),
    ]


def _failing(rows: list[Mapping[str, Any]], directory: ValidationDirectory) -> list[RenderableType]:
    from rich.text import Text

    lines: list[RenderableType] = []
    for row in rows[:LISTED]:
        said = "; ".join(f"{camera}: {', '.join(reasons)}" for camera, reasons in row["cameras"].items())
        lines.append(Text(f"{row['instance']}  {said}"))
    if len(rows) > LISTED:
        lines.append(Text(f"and {len(rows) - LISTED} more: {directory.path / 'verdicts.jsonl'}"))
    return lines


def _agreement(stage: Mapping[str, Any]) -> list[RenderableType]:
    from rich.table import Table
    from rich.text import Text

    agreement, pictures = stage["agreement"], stage["pictures"]
    table = Table(f"{stage['vision']} (pictures)", "says yes", "says no")
    table.add_row("gate passes", str(agreement["both_pass"]), str(agreement["only_gate_passes"]))
    table.add_row("gate fails", str(agreement["only_model_passes"]), str(agreement["both_fail"]))
    for word, count in agreement["by_reason"].items():
        table.add_row(f"  {word}", str(count["yes"]), str(count["no"]))
    cost = "not known" if stage["cost"] is None else f"${stage['cost']:.4f}"
    tokens = "" if stage["tokens_in"] is None else f", {stage['tokens_in']:,} + {stage['tokens_out']:,} tokens"
    return [
        table,
        Text(f"{pictures['asked']} pictures asked, {pictures['no_answer']} without an answer{tokens}, cost {cost}"),
    ]
