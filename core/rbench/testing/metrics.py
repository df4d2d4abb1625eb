"""Checks that a metric is a function of records and design alone, and copes with every run."""

from __future__ import annotations

import json
import math
import tracemalloc
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from rbench.errors import RbenchError, one_line
from rbench.interfaces.metric import ComparisonResult, Metric, MetricResult
from rbench.testing.checks import Check, CheckFailed, CheckSkipped, check
from rbench.testing.isolation import global_generators
from rbench.testing.metric_subject import MetricSubject, require_form, rows, written
from rbench.testing.studies import LARGE, Study, another, large, large_design, odd, ordinary
from rbench.values import to_plain

#: Bytes a record that may be held at once: a record itself takes more than twice as much.
BYTES_A_RECORD = 1000
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
    if _keys(paper) != _keys(default):
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


@check("standard-keys")
def standard_keys(subject: MetricSubject) -> str:
    """Keys that reports know mean what they mean there: counts, rates 0..1, intervals [low, high], p in 0..1."""
    found = 0
    for study in (ordinary(), *odd().values()):
        try:
            result = subject.computed(study)
            require_form(result, study)
        except Exception:  # the check of that study says so
            continue
        for name, row in rows(result).items():
            found += _require_meaning(study, name, row)
        _require_ranges(f"the average of {study.name}", result.average)
    return f"{found} known keys" if found else "it fills none of them"


@check("stable-keys")
def stable_keys(subject: MetricSubject) -> None:
    """Dimensions have the same keys, whatever was run: what is not defined is None, not missing."""
    wanted = _keys(subject.ordinary)
    single = {frozenset(row) for row in subject.ordinary.dimensions.values()}
    if len(single) > 1:
        odd_one = sorted(frozenset.union(*single) - frozenset.intersection(*single))[0]
        raise CheckFailed(f"key {odd_one!r} stands in the row of one dimension and not of another", "write None there")
    for name in ("no-episodes", "missing-cells", "missing-dimension", "all-success", "all-failure"):
        study = odd()[name]
        try:
            found = _keys(subject.computed(study))
        except Exception as problem:
            raise CheckSkipped(f"it fails on {study.name}; see check {name!r}") from problem
        for place in wanted:
            if found.get(place) != wanted[place]:
                changed = sorted(wanted[place] ^ found.get(place, frozenset())) or ["the row itself"]
                raise CheckFailed(
                    f"{place}: {changed[0]!r} comes or goes with the records ({study.name})",
                    "give every dimension of the design all keys, with None for what is not defined",
                )


def _copes_with(name: str, statement: str, remedy: str) -> Check:
    def run(subject: MetricSubject) -> None:
        _ = subject.ordinary
        study = odd()[name]
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
    """100,000 records are no obstacle, and are not all held at once."""
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
        "runs without an episode": (odd()["no-episodes"],) * 2,
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
    standard_keys,
    stable_keys,
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


def _keys(result: MetricResult) -> dict[str, frozenset[str]]:
    """The keys of every row, table and of the average."""
    found = {f"dimension {name!r}": frozenset(row) for name, row in rows(result).items()}
    return {**found, "the average": frozenset(result.average)}


def _require_meaning(study: Study, name: str, row: Mapping[str, Any]) -> int:
    """Compare counts with those of the study, and ranges with what they may be; how many known keys there were."""
    counted = [r for r in study.records if r.counted and r.dimension == name]
    successes = sum(record.outcome == "success" for record in counted)
    known: dict[str, Any] = {"episodes": len(counted), "successes": successes}
    if counted:
        known["success_rate"] = successes / len(counted)
    for key, value in known.items():
        if key in row and not _close(row[key], value):
            raise CheckFailed(
                f"{key} of {name!r} is {row[key]!r} instead of {value!r} ({study.name})",
                "count the records that are `counted`, and of these the outcome success; or choose another key",
            )
    return len(known.keys() & row.keys()) + _require_ranges(f"{name!r} ({study.name})", row)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _is_interval(value: Any) -> bool:
    ends = list(value) if isinstance(value, (list, tuple, np.ndarray)) else []
    return len(ends) == 2 and all(map(_is_number, ends)) and ends[0] <= ends[1]


def _close(given: Any, wanted: float) -> bool:
    return _is_number(given) and math.isclose(float(given), wanted, abs_tol=1e-9)


_SHARES: tuple[Callable[[str], bool], ...] = (
    lambda key: key in ("success_rate", "score_mean"),
    lambda key: key.startswith("p_") or key.endswith("_p"),
)


def _require_ranges(where: str, row: Mapping[str, Any]) -> int:
    found = 0
    for key, value in row.items():
        if any(is_share(key) for is_share in _SHARES):
            found += 1
            if value is not None and not (_is_number(value) and (math.isnan(value) or 0 <= value <= 1)):
                raise CheckFailed(f"{key} of {where} is {value!r}", "rates, scores and p-values are 0..1, or None")
        if key.endswith("_interval") and value is not None:
            found += 1
            for interval in value.values() if isinstance(value, Mapping) else (value,):
                if interval is not None and not _is_interval(interval):
                    raise CheckFailed(f"{key} of {where} is {interval!r}", "an interval is [low, high], or None")
        if key == "verdict" and value not in ("bias", "not resolved", "not seen", None):
            raise CheckFailed(f"verdict of {where} is {value!r}", "say bias, not resolved, not seen or None")
    return found
