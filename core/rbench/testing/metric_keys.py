"""Checks of the keys that a metric fills: those that reports know mean what they say there, and none comes and goes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rbench.interfaces.metric import MetricResult
from rbench.testing.checks import CheckFailed, CheckSkipped, check
from rbench.testing.metric_subject import MetricSubject, require_form, rows
from rbench.testing.studies import ODD, Study, odd, ordinary


@check("standard-keys")
def standard_keys(subject: MetricSubject) -> str:
    """Keys that reports know mean what they mean there: counts, rates 0..1, intervals [low, high], p in 0..1."""
    found = 0
    for study in (ordinary(), *map(odd, ODD)):
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
    wanted = keys_of(subject.ordinary)
    single = {frozenset(row) for row in subject.ordinary.dimensions.values()}
    if len(single) > 1:
        odd_one = sorted(frozenset.union(*single) - frozenset.intersection(*single))[0]
        raise CheckFailed(f"key {odd_one!r} stands in the row of one dimension and not of another", "write None there")
    for name in ("no-episodes", "missing-cells", "missing-dimension", "all-success", "all-failure"):
        study = odd(name)
        try:
            found = keys_of(subject.computed(study))
        except Exception as problem:
            raise CheckSkipped(f"it fails on {study.name}; see check {name!r}") from problem
        for place in wanted:
            if found.get(place) != wanted[place]:
                changed = sorted(wanted[place] ^ found.get(place, frozenset())) or ["the row itself"]
                raise CheckFailed(
                    f"{place}: {changed[0]!r} comes or goes with the records ({study.name})",
                    "give every dimension of the design all keys, with None for what is not defined",
                )


CHECKS = (standard_keys, stable_keys)


def keys_of(result: MetricResult) -> dict[str, frozenset[str]]:
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
