"""Checks that a metric is a function of records and design alone, and copes with every run."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from rbench.errors import RbenchError, one_line
from rbench.interfaces.metric import ComparisonResult, Metric, MetricResult
from rbench.testing.checks import Check, CheckFailed, CheckSkipped, check
from rbench.testing.isolation import global_generators
from rbench.testing.metric_keys import CHECKS as OF_KEYS
from rbench.testing.metric_keys import keys_of
from rbench.testing.metric_subject import MetricSubject, require_form, rows, written
from rbench.testing.studies import LARGE, Study, another, large, large_design, odd, ordinary
from rbench.values import to_plain

#: Bytes a record that may be held at once: a record itself takes more than twice as much.
BYTES_A_RECORD = 1000
#: How to mend an undefined number.
NEVER_NAN = "write None for what is not defined: no episode, no variation, a division by zero"


@check("construct")
def construct(subject: MetricSubject) -> None:
    """It is made with (options), gives a Metric, and is made again as easily."""
    subject.require_constructible()


@check("computes")
def computes(subject: MetricSubject) -> str:
    """From an ordinary run it computes a MetricResult: plain data with texts for keys, about what the design has."""
    study = ordinary()
    try:
        result = subject.computed(study)
        written(result)
    except CheckSkipped:
        raise
    except Exception as problem:
        raise CheckFailed(
            f"compute() failed: {problem if isinstance(problem, RbenchError) else one_line(problem)}",
            "return a rbench.interfaces.metric.MetricResult of tables, lists, texts, numbers and None",
        ) from problem
    require_form(result, study)
    keys = sum(map(len, rows(result).values())) + len(result.average) + len(result.extra)
    if not keys:
        raise CheckFailed("the result says nothing at all", "fill dimensions, interactions, average or extra")
    return f"{len(result.dimensions)} dimensions, {len(result.interactions)} grids"


@check("no-nan")
def no_nan(subject: MetricSubject) -> None:
    """Undefined numbers are None, never NaN or infinite."""
    if place := _undefined(subject.ordinary):
        raise CheckFailed(f"{place} for an ordinary run", NEVER_NAN)


@check("repeatable")
def repeatable(subject: MetricSubject) -> None:
    """The same records give the same result: again, after another run, and from another instance."""
    first, study = written(subject.ordinary), ordinary()
    metric = subject.made()
    subject.computed(study, metric=metric)
    subject.computed(another(), metric=metric)
    for when, again in (
        ("from a second instance", subject.computed(study)),
        ("after another run had been computed", subject.computed(study, metric=metric)),
    ):
        _require_equal(first, again, when, "keep nothing between calls; seed what is random from names and options")


@check("order")
def order(subject: MetricSubject) -> None:
    """The order of the records makes no difference, not even in the last digit."""
    text, study = subject.text, ordinary()
    orders = [list(reversed(study.records))]
    orders += [[study.records[i] for i in np.random.default_rng(s).permutation(len(study.records))] for s in range(2)]
    for records in orders:
        _require_equal(
            text,
            subject.computed(study, records=records),
            "with the records in another order",
            "count in tables whose rows and columns follow the design, sort before anything is summed (or math.fsum)",
        )


@check("one-pass")
def one_pass(subject: MetricSubject) -> None:
    """Records may come from an iterator, which can be walked once."""
    study, text = ordinary(), subject.text
    remedy = "walk over the episodes once: they come from the store one by one"
    try:
        again = subject.computed(study, records=iter(study.records))
    except Exception as problem:
        raise CheckFailed(f"compute(iter(records), ...) raised {one_line(problem)}", remedy) from problem
    _require_equal(text, again, "from an iterator", remedy)


@check("leaves-input")
def leaves_input(subject: MetricSubject) -> None:
    """Records and design stay as they are."""
    _ = subject.ordinary
    study = ordinary()
    before = _everything(study)
    subject.computed(study)
    if _everything(study) != before:
        raise CheckFailed("compute() changed the records or the design", "copy a table before you write into it")


@check("own-randomness")
def own_randomness(subject: MetricSubject) -> None:
    """Global random generators are neither used nor changed."""
    _ = subject.ordinary
    with global_generators() as generators:
        before = [generator.state() for generator in generators]
        subject.computed(ordinary())
        for generator, state in zip(generators, before, strict=True):
            if generator.state() != state:
                raise CheckFailed(
                    f"the global generator of {generator.name} was used, or seeded",
                    "make a generator of your own: rbench.seeding.generator(numpy.random.SeedSequence(...), purpose)",
                )


@check("same-in-another-process")
def same_in_another_process(subject: MetricSubject) -> None:
    """Another process, with another hash seed, computes the same."""
    if subject.in_another_process() != subject.text:
        raise CheckFailed(
            "another process computed something else",
            "do not iterate over sets, and do not use hash(), id() or the clock; keep no state in module globals",
        )


@check("conventions")
def conventions(subject: MetricSubject) -> None:
    """It takes both conventions, default and paper, and gives the same keys in both."""
    default, study = subject.ordinary, ordinary()
    remedy = "compute by the convention that is asked for; where the paper has nothing to say, as by default"
    try:
        paper = subject.computed(study, "paper")
        written(paper)
    except Exception as problem:
        raise CheckFailed(f"with convention 'paper' compute() raised {one_line(problem)}", remedy) from problem
    _require_defined(subject, paper, "with convention 'paper'")
    if keys_of(paper) != keys_of(default):
        raise CheckFailed("with convention 'paper' it gives other keys", remedy)


@check("uncounted")
def uncounted(subject: MetricSubject) -> None:
    """Episodes outside the denominator (infrastructure errors) make no difference."""
    study, text = ordinary(), subject.text
    counted = study.only("counted", lambda record: record.counted)
    _require_equal(
        text,
        subject.computed(counted),
        "without the episodes that are not counted",
        "leave records out whose `counted` is false: they say nothing about the agent",
    )


def _copes_with(name: str, statement: str, remedy: str) -> Check:
    def run(subject: MetricSubject) -> None:
        _ = subject.ordinary
        study = odd(name)
        try:
            result = subject.computed(study)
            written(result)
        except Exception as problem:
            said = problem if isinstance(problem, RbenchError) else one_line(problem)
            raise CheckFailed(f"{study.name}: compute() failed: {said}", remedy) from problem
        _require_defined(subject, result, study.name)
        require_form(result, study)

    run.__doc__ = statement
    return check(name)(run)


COPES = tuple(
    _copes_with(*row)
    for row in (
        ("no-episodes", "A run without an episode has a result.", "say None, and 0 for counts"),
        ("one-episode", "A run with a single episode has a result.", "say None for what one episode does not define"),
        ("missing-cells", "Cells without an episode are no obstacle.", "use the cells that are there"),
        ("missing-dimension", "A dimension without an episode is no obstacle.", "give it a row of None and 0"),
        ("single-level", "A dimension with a single level has a result.", "say None where levels are compared"),
        ("single-block", "One context with one repeat has a result.", "say None for intervals that need more blocks"),
        ("all-success", "A run in which every episode succeeds has a result.", "mind variances of 0"),
        ("all-failure", "A run in which every episode fails has a result.", "mind means of 0, by which you divide"),
        ("all-errors", "A run of agent errors has a result: they count, and are no success.", "read record.outcome"),
        ("nothing-counted", "A run of infrastructure errors has the result of one without episodes.", "say None"),
        (
            "hostile-names",
            "Names and texts are taken as they are.",
            "do not split names",
        ),
        ("independent-seeds", "A design with independent seeds has a result.", "say None for what needs blocks"),
    )
)


@check("scale")
def scale(subject: MetricSubject) -> str:
    """40,000 records are no obstacle, and are not all held at once."""
    _ = subject.ordinary
    design, metric = large_design(), subject.made()
    tracemalloc.start()
    try:
        result = metric.compute(large(), design, "default")
        peak = tracemalloc.get_traced_memory()[1]
    except Exception as problem:
        raise CheckFailed(f"with {LARGE:,} records it raised {one_line(problem)}", "count in tables") from problem
    finally:
        tracemalloc.stop()
    written(result)
    each = peak / LARGE
    if each > BYTES_A_RECORD:
        raise CheckFailed(
            f"{peak / 1e6:.0f} MB were in use for {LARGE:,} records, {each:.0f} bytes each",
            "count while the records go by, and keep none of them",
        )
    return f"{peak / 1e6:.0f} MB at most"


@check("compare")
def compare(subject: MetricSubject) -> str | None:
    """Where it compares runs, it copes with equal ones and with ones without an episode, and takes iterators."""
    study, metric = ordinary().only("counted", lambda record: record.counted), subject.made()
    other = study.ending("all won", lambda record: "success")
    if type(metric).compare is Metric.compare:
        return "it does not compare"
    pairs = {
        "two runs": (study, other),
        "a run and itself": (study, study),
        "runs without an episode": (odd("no-episodes"),) * 2,
    }
    for name, (first, second) in pairs.items():
        try:
            result = metric.compare(iter(first.records), iter(second.records), study.design, 0.05)
            json.dumps(to_plain(result))
        except Exception as problem:
            raise CheckFailed(f"compare() of {name} raised {one_line(problem)}", "as for compute()") from problem
        if result is not None and not isinstance(result, ComparisonResult):
            raise CheckFailed(
                f"compare() of {name} gave a {type(result).__name__}", "return a ComparisonResult or None"
            )
        if place := _undefined(result):
            raise CheckFailed(f"compare() of {name}: {place}", NEVER_NAN)
    return None


CHECKS = (
    construct,
    computes,
    no_nan,
    repeatable,
    order,
    one_pass,
    leaves_input,
    own_randomness,
    same_in_another_process,
    conventions,
    uncounted,
    *OF_KEYS,
    *COPES,
    scale,
    compare,
)


def _everything(study: Study) -> str:
    return repr((study.design, study.records))


def _require_equal(text: str, again: MetricResult, when: str, remedy: str) -> None:
    if (other := written(again)) != text:
        place = next(_different(json.loads(text), json.loads(other)), "the result")
        raise CheckFailed(f"{place} differs {when}", remedy)


def _different(one: Any, other: Any, path: str = "") -> Iterator[str]:
    """Where two pieces of plain data differ, with both values."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in sorted(one.keys() | other.keys()):
            yield from _different(one.get(key), other.get(key), f"{path}.{key}".lstrip("."))
    elif one != other:
        yield f"{path} ({str(one)[:40]} and {str(other)[:40]})"


def _require_defined(subject: MetricSubject, result: MetricResult, where: str) -> None:
    """Refuse undefined numbers, unless they are everywhere, which check `no-nan` says."""
    if (place := _undefined(result)) and not _undefined(subject.ordinary):
        raise CheckFailed(f"{where}: {place}", NEVER_NAN)


def _undefined(value: Any, path: str = "") -> str:
    """Where the first number stands that is not finite; empty when there is none."""
    if isinstance(value, (MetricResult, ComparisonResult)):
        value = value.__dict__
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return next(filter(None, (_undefined(item, f"{path}.{key}") for key, item in value.items())), "")
    if isinstance(value, (list, tuple)):
        return next(filter(None, (_undefined(item, f"{path}[{i}]") for i, item in enumerate(value))), "")
    undefined = isinstance(value, (float, np.floating)) and not math.isfinite(value)
    return f"{path.lstrip('.')} is {value}" if undefined else ""
