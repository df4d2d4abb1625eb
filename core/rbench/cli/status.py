"""`rbench status`: how far a run is."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from rbench.cli.durations import duration
from rbench.cli.output import print_json, print_text
from rbench.cli.progress import success_interval
from rbench.reporting.questions_asked import questions_asked
from rbench.results.run_directory import RunDirectory, open_run
from rbench.results.vision_usage import vision_usage
from rbench.running.merge import shard_line, shard_of


@click.command("status")
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="A JSON object: state, counts, rate, time left, process.")
def command(directory: Path, as_json: bool) -> None:
    """How far the run in DIR is; also while it runs.

    The rate is that of the present session: episodes a second since it started or was resumed.
    """
    run = open_run(directory)
    facts = _facts(run)
    if as_json:
        print_json(facts)
        return
    counts = facts["counts"]
    outcomes = ", ".join(f"{name} {n}" for name, n in counts.items() if name not in ("planned", "done", "missing"))
    print_text(
        f"{facts['state']}: {counts['done']} of {counts['planned']} episodes, {counts['missing']} missing ({outcomes})"
    )
    if (shard := shard_line(run.manifest)) is not None:
        print_text(shard)
    if facts["success_rate"] is not None:
        low, high = facts["success_rate_interval"]
        print_text(
            f"success {100 * facts['success_rate']:.1f} % [{100 * low:.1f}, {100 * high:.1f}] of all episodes"
            " (Wilson's interval, episodes taken as independent; rbench report takes blocks)"
        )
    if facts["rate"]:
        left = "" if facts["seconds_left"] is None else f", {duration(facts['seconds_left'])} left"
        print_text(f"{60 * facts['rate']:.1f} episodes a minute{left}")
    if facts["vision_usage"] is not None:
        print_text(questions_asked(facts["vision_usage"]))
    if facts["pid"] is not None:
        print_text(f"process {facts['pid']}, executor {facts['executor']}, workers {facts['workers']}")
    elif facts["state"] != "finished":
        print_text(f"go on with: rbench resume {run.path}")


def _facts(run: RunDirectory) -> dict[str, Any]:
    counts = run.counts()
    state = run.state
    running = state == "running"
    rate = _rate(run, counts["done"]) if running else None
    low_high = success_interval(counts["success"], counts["done"]) if counts["done"] else None
    return {
        "state": state,
        "counts": counts,
        "shard": shard_of(run.manifest),
        "merged": [part.shard or part.run for part in run.manifest.merged],
        "success_rate": counts["success"] / counts["done"] if counts["done"] else None,
        "success_rate_interval": None if low_high is None else list(low_high),
        "success_rate_interval_over": "episodes",  # that of a report, of the same name, is over blocks
        "rate": rate,
        "seconds_left": counts["missing"] / rate if rate else None,
        "vision_usage": _usage(run),
        "pid": run.writer if running else None,
        "executor": run.manifest.executor,
        "workers": run.manifest.workers,
    }


def _usage(run: RunDirectory) -> dict[str, Any] | None:
    with run.store(readonly=True) as store:
        return vision_usage(store)


def _rate(run: RunDirectory, done: int) -> float | None:
    """Episodes a second in the present session; None when it has none yet."""
    if not run.manifest.sessions:
        return None
    session = run.manifest.sessions[-1]
    seconds = (datetime.now(UTC) - datetime.fromisoformat(session.started)).total_seconds()
    return (done - session.done) / seconds if done > session.done and seconds > 0 else None
