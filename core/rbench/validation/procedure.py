"""A validation from its beginning to its end: measure, try, ask, and say what it comes to."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import Any

from rbench import __version__
from rbench.errors import UsageError
from rbench.plugins.catalog import Catalog
from rbench.results.provenance import versions
from rbench.results.run_directory import RunDirectory
from rbench.running.agents import Resolved
from rbench.running.executors import Execution
from rbench.running.run import PreparedRun, execute
from rbench.suites.accepted import Accepted, accepted_name
from rbench.suites.suite import Suite
from rbench.validation.contact_sheet import contact_sheet
from rbench.validation.directory import CONTACT_SHEET, QUEUE, Validation, ValidationDirectory
from rbench.validation.findings import Finding
from rbench.validation.gate import chosen_instances, measure, with_solvability
from rbench.validation.people import people_verdicts
from rbench.validation.screening import ScreenAnswer, Screening
from rbench.validation.solvability import physical_contexts, solve
from rbench.validation.stages import level_table, measured_stage, model_stage, people_stage, queue_of, suggestions
from rbench.values import to_plain

#: Rises when the same pictures would be judged differently.
GATE = 1
#: Pictures that nothing speaks against, of which people read so many unless told otherwise.
SAMPLE = 100

Progress = Callable[[str, int, int], Any]


@dataclass(frozen=True)
class Wishes:
    """What to do of a validation.

    Attributes:
        dimensions, instances: the part of the suite, as on the command line of `rbench run`.
        vision: the vision model of the pre-screen; None: nobody is asked.
        expert: whether the expert tries the physical contexts.
        sample: of the pictures that nothing speaks against, how many people are to read; None: all.
    """

    dimensions: tuple[str, ...] = ()
    instances: tuple[str, ...] = ()
    vision: Resolved | None = None
    expert: bool = True
    sample: int | None = SAMPLE


def validate(
    catalog: Catalog,
    suite: Suite,
    directory: ValidationDirectory,
    wishes: Wishes,
    execution: Execution,
    run_it: Callable[[PreparedRun, RunDirectory], Any] = execute,
    on_progress: Progress = lambda what, done, planned: None,
) -> Validation:
    """Validate a suite in a directory, or go on with what is there.

    What was measured there of the same suite, rules and instances is taken; what differs under the same name becomes
    an iteration.

    Args:
        execution: where the expert runs; its number of workers look at pictures too.
        on_progress: called with what is done (`look`, `ask`), how much of it, and of how much.

    Raises:
        RbenchError: as the command line says it.
    """
    chosen = chosen_instances(suite, wishes.dimensions, wishes.instances)
    begun = _begin(suite, directory, len(chosen))
    findings = list(directory.findings()) if begun.stages.get("measured") else []
    before = begun.stages
    if {f.instance for f in findings} != {i.id for i in chosen}:
        findings, gl = measure(
            suite, chosen, directory, execution.at_once, lambda done, planned: on_progress("look", done, planned)
        )
        before = {}
        # Before the expert begins: whatever ends that, nothing is looked at again.
        directory.write_findings(findings)
        directory.update(stages={"measured": _measured(suite, findings)}, gl=gl)
    stages: dict[str, Any] = {"measured": None, **{k: v for k, v in before.items() if k in ("solvable", "model")}}
    if wishes.expert and "solvable" not in stages:
        stages["solvable"] = solve(catalog, suite, physical_contexts(suite, chosen), directory, execution, run_it)
    findings = with_solvability(findings, frozenset(stages.get("solvable", {}).get("unsolved", ())))
    stages["measured"] = _measured(suite, findings)
    answers: dict[str, ScreenAnswer] = {}
    directory.write_findings(findings)
    directory.update(stages=stages)
    rule = suite.validation.pass_rate
    if wishes.vision is not None:
        screening = Screening(directory, wishes.vision, suite.validation)
        answers = screening.ask(findings, execution.at_once, lambda done, planned: on_progress("ask", done, planned))
        stages["model"] = model_stage(findings, answers, wishes.vision.entry.qualified, rule)
    # People may be reading it: it changes only when there is more to say of a picture.
    kept = before and wishes.vision is None and ("model" in stages or directory.decisions())
    if not kept or not (directory.path / QUEUE).exists():
        directory.write_queue(queue_of(findings, answers, wishes.sample))
    verdicts = people_verdicts(directory.queue(), directory.decisions())
    if (people := people_stage(verdicts, stages["measured"]["pictures"], rule)) is not None:
        stages["people"] = people
    directory.write_bytes(CONTACT_SHEET, contact_sheet(directory, findings))
    validation = directory.update(stages=stages)
    _write_accepted(suite, directory, validation)
    return validation


def passes(validation: Validation) -> bool:
    """Whether every stage that was done meets the rule."""
    return all(stage.get("accepted", False) for stage in validation.stages.values())


def accepted_place(suite: Suite, directory: ValidationDirectory) -> Path:
    """Where in the directory the accepted validation is written, under the name that it needs beside the suite."""
    file = PurePath(suite.source).name if suite.source.endswith(".toml") else f"{suite.name}.toml"
    return directory.path / accepted_name(file)


def _measured(suite: Suite, findings: Sequence[Finding]) -> dict[str, Any]:
    rows = level_table(suite, findings)
    stage = measured_stage(findings, suite.validation.pass_rate)
    return {**stage, "levels": rows, "suggestions": suggestions(rows), "gate": GATE}


def _begin(suite: Suite, directory: ValidationDirectory, instances: int) -> Validation:
    """The manifest of this validation; that of a changed suite or other rules becomes an iteration.

    Raises:
        UsageError: what lies there is of a suite of another name, so that it is no earlier form of this one.
    """
    new = Validation(
        suite=suite.name,
        suite_hash=suite.hash,
        source=suite.source,
        render=suite.render,
        instances=instances,
        whole=instances == suite.instances(),
        cameras=suite.viewpoint_cameras,
        thresholds=asdict(suite.validation),
        rule=suite.validation.pass_rate,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        rbench=__version__,
        versions=versions(tuple(dict.fromkeys(f.distribution for f in suite.factors.values()))),
    )
    if directory.exists:
        old = directory.validation()
        if old.suite != suite.name:
            raise UsageError(f"{directory.path} holds a validation of {old.suite!r}; give another -o")
        if _subject(old) == _subject(new) and old.stages.get("measured", {}).get("gate", GATE) == GATE:
            return old
        directory.write_iterations([*directory.iterations(), _iteration(old)])
        new = Validation(**{**_fields(new), "iteration": old.iteration + 1})
    directory.write(new)
    return new


def _subject(validation: Validation) -> Sequence[Any]:
    return (validation.suite_hash, validation.thresholds, validation.instances, validation.rbench)


def _fields(validation: Validation) -> dict[str, Any]:
    return {name: getattr(validation, name) for name in validation.__dataclass_fields__}


def _iteration(validation: Validation) -> Mapping[str, Any]:
    stages = validation.stages
    return {
        "iteration": validation.iteration,
        "created": validation.created,
        "suite_hash": validation.suite_hash,
        "instances": validation.instances,
        "thresholds": validation.thresholds,
        "pass_rates": {name: stage["pass_rate"] for name, stage in stages.items() if "pass_rate" in stage},
        "accepted": bool(stages) and passes(validation),
        "suggestions": stages.get("measured", {}).get("suggestions", []),
    }


def _write_accepted(suite: Suite, directory: ValidationDirectory, validation: Validation) -> None:
    """Write what says that the suite is validated, or take back what an earlier look said."""
    place = accepted_place(suite, directory)
    if not (validation.whole and "solvable" in validation.stages and passes(validation)):
        place.unlink(missing_ok=True)
        return
    accepted = Accepted(
        suite=suite.name,
        suite_hash=suite.hash,
        created=validation.created,
        rbench=validation.rbench,
        rule=validation.rule,
        stages={
            name: {key: stage[key] for key in ("pass_rate", "instances", "vision") if key in stage}
            for name, stage in validation.stages.items()
            if "pass_rate" in stage
        },
        gl=validation.gl,
        iterations=validation.iteration,
    )
    text = json.dumps(to_plain(accepted), indent=2, allow_nan=False) + "\n"
    directory.write_bytes(place.name, text.encode("ascii"))
