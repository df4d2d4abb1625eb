"""Hooks of rbench-metric-perception."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import MetricContribution
from rbench.hookspecs import hookimpl


@hookimpl
def rbench_metrics() -> Iterable[MetricContribution]:
    """The metrics `descriptions` and `deviation`."""
    yield MetricContribution(
        name="descriptions",
        summary="Words for colours and shapes in what the agent calls the object (RoboView-Bias, Figures 5 and 13).",
        target="rbench_metric_perception.descriptions:Descriptions",
        verified="Hand-made records, and runs of moka with scripted plans; no run with a published model.",
    )
    yield MetricContribution(
        name="deviation",
        summary="How often the detector prefers a near colour to the word that was said (RoboView-Bias, Figure 6).",
        target="rbench_metric_perception.deviation:Deviation",
        verified="Hand-made records, and tiny detectors with random weights; no run with published weights.",
    )
