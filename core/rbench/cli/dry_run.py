"""`rbench run --dry-run`: what a run would take."""

from __future__ import annotations

from rbench.cli.durations import duration
from rbench.cli.output import print_text
from rbench.running.executors import usable_cores
from rbench.running.probe import Probe, probe
from rbench.running.process_facts import machine_memory
from rbench.running.run import PreparedRun

#: Share of an episode's time from which an agent is said to wait.
WAITS = 0.5


def print_dry_run(prepared: PreparedRun) -> None:
    """Print the episodes, and from a short probe time, model calls and cost. Nothing is written.

    Raises:
        StartError, StoppedEarly: as the run itself would.
    """
    manifest, plan = prepared.manifest, prepared.plan
    workers = prepared.execution.at_once
    print_text(f"{manifest.suite.name}: {manifest.agent.name}, {plan.count} episodes")
    width = max(map(len, plan.counts))
    for name, number in plan.counts.items():
        print_text(f"  {name:{width}}  {number:>6}")
    probed = probe(prepared)
    likely, shortest, longest = probed.duration(plan.count, workers)
    each = f"{duration(min(probed.seconds))} to {duration(max(probed.seconds))}"
    print_text(
        f"time: about {duration(likely)} with {workers} worker(s), between {duration(shortest)} and {duration(longest)}"
        f" (probe: {len(probed.records)} episodes of {each} each, {duration(probed.starting)} to start)"
    )
    _print_workers(probed, plan.count, workers)
    _print_questions(probed, plan.count)
    _print_problems(probed)
    print_text("nothing was written")


def _print_workers(probed: Probe, episodes: int, workers: int) -> None:
    """Memory, and how many workers would do when an agent mostly waits for a server."""
    if probed.memory is not None:
        print_text(f"memory: about {probed.memory / 1e6:.0f} MB a worker")
    more = min(episodes, probed.useful_workers(usable_cores(), machine_memory()))
    if probed.waiting < WAITS or more < 2 * workers:
        return
    likely, _, _ = probed.duration(episodes, more)
    memory = "" if probed.memory is None else f" and {more * probed.memory / 1e9:.1f} GB of memory"
    print_text(
        f"the agent waits {100 * probed.waiting:.0f} % of its time: --workers {more} would take about"
        f" {duration(likely)}{memory}, if what it waits for keeps up"
    )


def _print_questions(probed: Probe, episodes: int) -> None:
    """What vision models would be asked; the probe has asked and cost its share already."""
    calls, tokens_in, tokens_out, cost = (probed.asked(key) for key in ("calls", "tokens_in", "tokens_out", "cost"))
    if calls is None:
        print_text("model calls: not reported by the agent")
        print_text("cost: not known")
        return
    print_text(f"model calls: about {calls * episodes:.0f} ({calls:.1f} an episode)")
    if tokens_in is not None and tokens_out is not None:
        print_text(f"tokens: about {tokens_in * episodes:.0f} in, {tokens_out * episodes:.0f} out")
    else:
        print_text("tokens: not known")
    if cost is None:
        print_text("cost: not known (a model with prices, price_in and price_out, says it)")
    else:
        spent = cost * len(probed.records)
        print_text(f"cost: about {cost * episodes:.2f} US dollars (the probe took {spent:.4f})")


def _print_problems(probed: Probe) -> None:
    """An agent that fails in the probe is worth knowing of before the night."""
    failed = [record for record in probed.records if record.error is not None]
    if failed:
        print_text(f"probe: {len(failed)} of {len(probed.records)} episodes ended with an error: {failed[0].error}")
