"""Whether the tasks can be done at all: the expert, once for every distinct physical context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rbench.design import Instance
from rbench.errors import StartError, StoppedEarly
from rbench.plugins.catalog import Catalog
from rbench.record import COUNTED
from rbench.results.run_directory import RunDirectory
from rbench.running.description import Part, RunDescription
from rbench.running.executors import Execution
from rbench.running.plan import Selection
from rbench.running.resume import prepare_resume
from rbench.running.run import PreparedRun, execute, prepare
from rbench.scene import SceneDescription
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.validation.directory import SOLVABILITY, ValidationDirectory
from rbench.validation.looking import geometry_of

EXPERT = "expert"


@dataclass(frozen=True)
class PhysicalContext:
    """Instances that are the same to a robot without eyes.

    Attributes:
        tried: id of the instance that the expert runs in place of all. instances: ids of all.
        contexts: names of the contexts that they are of.
    """

    tried: str
    instances: tuple[str, ...]
    contexts: tuple[str, ...]


def physical_contexts(suite: Suite, instances: Iterable[Instance]) -> list[PhysicalContext]:
    """The distinct ones, in the order of the design: neither colours, lights, cameras nor words make a difference."""
    manager = RecursiveVariantTaskManager(suite)
    alike: dict[tuple[str, SceneDescription], list[Instance]] = {}
    for instance in instances:
        scene = replace(geometry_of(manager.setup(instance).scene), cameras=(), lights=())
        alike.setdefault((instance.task, scene), []).append(instance)
    return [
        PhysicalContext(group[0].id, tuple(i.id for i in group), tuple(dict.fromkeys(i.context for i in group)))
        for group in alike.values()
    ]


def solve(
    catalog: Catalog,
    suite: Suite,
    contexts: Sequence[PhysicalContext],
    directory: ValidationDirectory,
    execution: Execution,
    run_it: Callable[[PreparedRun, RunDirectory], Any] = execute,
) -> dict[str, Any]:
    """Let the expert try every physical context as often as the suite says, or go on with that.

    Args:
        run_it: executes what is missing of a prepared run (with progress, say).

    Returns:
        The stage: how often it succeeded in each context, and which instances are not solvable.

    Raises:
        StoppedEarly: episodes are missing; the same call goes on.
    """
    rules = suite.validation
    place = directory.path / f"{SOLVABILITY}-{suite.hash[:8]}"
    selection = Selection(instances=tuple(c.tried for c in contexts), repeats=rules.solvable_repeats)
    if (place / "manifest.json").exists():
        run = RunDirectory.open(place)
        try:
            prepared = prepare_resume(catalog, run, execution=execution)
        except StartError as problem:
            raise StartError(f"{problem}. Or remove {place}, and the expert begins again") from None
    else:
        prepared = prepare(catalog, RunDescription(suite.source, Part(EXPERT), selection=selection), execution)
        run = RunDirectory.create(place, prepared.manifest)
    with run:
        if run.counts()["missing"]:
            run_it(prepared, run)
    tallies = _tallies(run)
    rows = []
    unsolved: list[str] = []
    for context in contexts:
        tally = tallies.get(context.tried, Counter())
        if tally["episodes"] < rules.solvable_repeats:
            raise StoppedEarly(f"{place}: episodes are missing; give the same command again to go on")
        rate = tally["success"] / tally["episodes"]
        rows.append(
            {
                "contexts": list(context.contexts),
                "instance": context.tried,
                "instances": len(context.instances),
                "successes": tally["success"],
                "episodes": tally["episodes"],
            }
        )
        unsolved += context.instances if rate < rules.solvable else ()
    solved = 1.0 - len(unsolved) / sum(len(context.instances) for context in contexts)
    return {"agent": EXPERT, "contexts": rows, "accepted": solved >= rules.pass_rate, "unsolved": unsolved}


def _tallies(run: RunDirectory) -> Mapping[str, Counter[str]]:
    tallies: dict[str, Counter[str]] = {}
    for record in run.episodes():
        if record.outcome in COUNTED:
            tallies.setdefault(record.instance, Counter()).update({"episodes": 1, record.outcome: 1})
    return tallies
