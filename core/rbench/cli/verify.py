"""`rbench verify`: whether a run is whole, and happens again."""

from __future__ import annotations

import time
from pathlib import Path

import click

from rbench.cli.numbers import FiniteRange
from rbench.cli.output import print_note, print_text
from rbench.plugins.catalog import Catalog, build_catalog
from rbench.reporting.summary import summarise
from rbench.results.inspection import salvage
from rbench.results.run_directory import RunDirectory, open_run
from rbench.running.replay import Replayer, ReplayResult
from rbench.running.verify import (
    StoreCheck,
    check_counts,
    check_plan,
    check_store,
    check_table,
    replay_all,
    sample,
    stored_tables,
)

#: Findings that are printed one by one.
_MOST_FINDINGS = 20
#: Seconds between two lines of progress.
_INTERVAL = 15.0


@click.command("verify")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--share", type=FiniteRange(0.0, 1.0), help="Replay this share of the episodes; default 0.05.")
@click.option("--episodes", type=click.IntRange(min=0), metavar="N", help="Replay N episodes instead; 0: none.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Which ones.")
@click.option("--salvage", "target", type=click.Path(path_type=Path), metavar="NEW", help="Copy whole episodes there.")
def command(directory: Path, share: float | None, episodes: int | None, seed: int, target: Path | None) -> int:
    """Read every byte of the run in DIR, count its table again, and replay a random part of it.

    Nothing in DIR is written. Exit code 1: something differs or is damaged; each finding is named. --salvage NEW copies
    the episodes that are whole to a new run directory, which `rbench resume NEW` completes.
    """
    if share is not None and episodes is not None:
        raise click.UsageError("--share and --episodes exclude each other")
    run = open_run(directory)
    check = check_store(run)
    findings = [*_said(f"store: {len(check.outcomes)} whole episodes", check.findings)]
    if target is not None:
        count = salvage(run, target)
        print_text(f"salvaged: {count} episodes; rbench resume {target}")
        return 1 if findings else 0
    catalog = build_catalog()
    if not findings:  # no table can be made of a damaged store
        findings += _said("table: computed again", _table_findings(run, catalog, check))
    with Replayer(catalog, run) as replayer:
        findings += _said(f"plan: {run.manifest.planned} episodes", check_plan(replayer.suite, run, check))
        if share is None and episodes is None:
            share = 0.05
        chosen = sample(check.playable, share=share, number=episodes, seed=seed)
        different = replay_all(replayer, chosen, _Progress(len(chosen)).advance)
        findings += _said(f"replayed: {len(chosen)} of {len(check.playable)} episodes (seed {seed})", different)
        if different and replayer.changes:
            print_note(f"recorded with {'; '.join(replayer.changes)}")
    print_text(f"{directory}: DIFFERENT, {len(findings)} findings" if findings else f"{directory}: verified")
    if check.findings:
        print_note(f"rbench verify {directory} --salvage NEW copies the whole episodes to a new run directory")
    return 1 if findings else 0


def _said(what: str, findings: list[str]) -> list[str]:
    print_text(f"{what}: {'ok' if not findings else f'{len(findings)} findings'}")
    for finding in findings[:_MOST_FINDINGS]:
        print_text(f"  {finding}")
    if len(findings) > _MOST_FINDINGS:
        print_text(f"  and {len(findings) - _MOST_FINDINGS} more")
    return findings


def _table_findings(run: RunDirectory, catalog: Catalog, check: StoreCheck) -> list[str]:
    computed = {"default": summarise(run, catalog)}
    findings = check_counts(check, computed["default"])
    for name, stored in stored_tables(run):
        convention = stored.get("convention")
        if convention == "paper" and "paper" not in computed:
            computed["paper"] = summarise(run, catalog, "paper")
        findings += check_table(name, stored, computed.get(str(convention), computed["default"]))
    return findings


class _Progress:
    """Says now and then how far the replays are."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._said = total, 0, time.monotonic()

    def advance(self, result: ReplayResult) -> None:
        self._done += 1
        if time.monotonic() - self._said >= _INTERVAL:
            self._said = time.monotonic()
            print_note(f"replayed {self._done} of {self._total}")
