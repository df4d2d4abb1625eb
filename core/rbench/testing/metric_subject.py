"""A metric under test, and what it makes of studies."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from rbench.errors import one_line
from rbench.interfaces.metric import Convention, Metric, MetricResult
from rbench.interfaces.metric_form import in_form
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
    try:
        in_form(result, study.design, ())
    except (TypeError, ValueError) as problem:
        raise CheckFailed(
            f"{study.name}: {problem}", "return what the docstring of MetricResult describes"
        ) from problem
