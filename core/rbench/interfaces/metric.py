"""Metrics: functions from episode records and the design to tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rbench.design import Design
from rbench.record import EpisodeRecord

Convention = Literal["default", "paper"]


@dataclass(frozen=True)
class MetricResult:
    """Plain data; undefined numbers are None.

    Attributes:
        dimensions: for each single-factor dimension, the keys this metric adds to its report row.
        interactions: one table a grid: `factors` and what this metric knows of their interaction.
        average: keys it adds to the average over dimensions.
        extra: anything else; goes to `metrics: {NAME: ...}` of the report.
    """

    dimensions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    interactions: Sequence[Mapping[str, Any]] = ()
    average: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ComparisonResult:
    """What a metric says of two runs over the same episodes. Plain data; undefined numbers are None.

    Attributes:
        dimensions: for each dimension the keys this metric adds to its row; grids too.
        overall: keys it adds to what is said of all single dimensions together.
    """

    dimensions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    overall: Mapping[str, Any] = field(default_factory=dict)


class Metric(ABC):
    """Base class of metrics. Called as `Metric(options)`.

    The result does not depend on the order of the records. Records outside the denominator
    (`EpisodeRecord.counted` is false) are to be left out.
    """

    @abstractmethod
    def compute(self, episodes: Iterable[EpisodeRecord], design: Design, convention: Convention) -> MetricResult:
        """The metric over all records of one run."""

    def compare(
        self, first: Iterable[EpisodeRecord], second: Iterable[EpisodeRecord], design: Design, margin: float
    ) -> ComparisonResult | None:
        """Two runs against each other, episode by episode; None when the metric does not compare.

        Args:
            first: counted records of one run.
            second: those of the other, of the same episodes.
            design: what of the design the two have in common.
            margin: difference of success rates (0..1) that does not matter, for verdicts of equivalence.
        """
        return None
