"""A metric under test, and what it makes of studies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from rbench.errors import one_line
from rbench.interfaces.metric import Convention, Metric, MetricResult
from rbench.record import EpisodeRecord
from rbench.testing.called import CalledSubject
from rbench.testing.checks import CheckFailed, CheckSkipped
from rbench.testing.studies import Study, ordinary
from rbench.values import to_plain


class MetricSubject(CalledSubject):
    """A metric under test."""

    kind = "metric"
    base_class = Metric

    def computed(
        self,
        study: Study,
        convention: Convention = "default",
        *,
        metric: Metric | None = None,
        records: Iterable[EpisodeRecord] | None = None,
    ) -> MetricResult:
        """The result for a study, or for its records in another form; what `compute` raises is passed on."""
        made = metric or self.made()
        return made.compute(study.records if records is None else records, study.design, convention)

    @cached_property
    def ordinary(self) -> MetricResult:
        """The result for the ordinary study.

        Raises:
            CheckSkipped: it cannot be had, which check `computes` says.
        """
        try:
            result = self.computed(ordinary())
            written(result)
            require_form(result, ordinary())
        except CheckSkipped:
            raise
        except Exception as problem:
            raise CheckSkipped(f"it fails on an ordinary run ({one_line(problem)}); see check 'computes'") from problem
        return result

    @cached_property
    def text(self) -> str:
        """The result for the ordinary study as text, when it comes out the same twice.

        Raises:
            CheckSkipped: it does not, so that results cannot be compared.
        """
        first = written(self.ordinary)
        if written(self.computed(ordinary())) != first:
            raise CheckSkipped("it gives another result every time; see check 'repeatable'")
        return first

    def facts(self) -> str:
        """The result for the ordinary study, for comparison with another process."""
        return written(self.computed(ordinary()))


def written(result: MetricResult) -> str:
    """A result as JSON, equal texts for equal results.

    Raises:
        TypeError: it is no MetricResult, or holds what is no plain data.
    """
    if not isinstance(result, MetricResult):
        raise TypeError(f"compute() gave a {type(result).__name__}, which is no MetricResult")
    return json.dumps(to_plain(result), sort_keys=True)


def rows(result: MetricResult) -> Mapping[str, Mapping[str, Any]]:
    """The row of every dimension, grids by their factors joined with `+`."""
    grids = {"+".join(map(str, table.get("factors", ()))): table for table in result.interactions}
    return {**grids, **result.dimensions}


def require_form(result: MetricResult, study: Study) -> None:
    """Refuse rows of what the design does not have, and keys that are no text.

    Raises:
        CheckFailed: names the row or the key.
    """
    single = [dimension.name for dimension in study.design.dimensions if not dimension.is_grid]
    grids = [list(dimension.factors) for dimension in study.design.dimensions if dimension.is_grid]
    for name in result.dimensions:
        if name not in single:
            raise CheckFailed(f"{study.name}: a row for {name!r}, which is no single dimension", "give grids apart")
    for table in result.interactions:
        if not isinstance(table, Mapping) or list(table.get("factors", ())) not in grids:
            raise CheckFailed(f"{study.name}: a table of interactions without its factors", "`factors` names both")
    if key := _no_text(result.__dict__):
        raise CheckFailed(f"{study.name}: key {key} is no text", "name what a number is; JSON has no other keys")


def _no_text(value: Any) -> str:
    """The first key of a table that is no text; empty when there is none."""
    if isinstance(value, Mapping):
        bad = next((repr(key) for key in value if not isinstance(key, str)), "")
        return bad or next(filter(None, map(_no_text, value.values())), "")
    return next(filter(None, map(_no_text, value)), "") if isinstance(value, (list, tuple)) else ""
