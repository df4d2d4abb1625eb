"""Hooks of rbench-metric-bias."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import MetricContribution
from rbench.hookspecs import hookimpl


@hookimpl
def rbench_metrics() -> Iterable[MetricContribution]:
    """The metric `bias`."""
    yield MetricContribution(
        name="bias",
        summary="Success rate, bias coefficient (CV) and interaction effect coefficient (IEC) of RoboView-Bias.",
        target="rbench_metric_bias.bias:Bias",
        options="rbench_metric_bias.bias:Options",
        verified="Reproduces what the paper prints: counts, both low-success CVs, the averages of Tables 1 and 2.",
    )
