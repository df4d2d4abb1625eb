"""The six hooks of rbench. Each returns an iterable of frozen records and has no side effects.

A plugin implements the ones it needs in the module named by its `rbench` entry point::

    from rbench.contributions import AgentContribution
    from rbench.hookspecs import hookimpl

    @hookimpl
    def rbench_agents():
        yield AgentContribution(
            name="my-agent",
            summary="Moves towards the object it sees.",
            target="my_package.agent:MyAgent",
            options="my_package.agent:Options",
        )
"""

from __future__ import annotations

from collections.abc import Iterable

import pluggy

from rbench.contributions import (
    AgentContribution,
    FactorContribution,
    MetricContribution,
    SuiteContribution,
    VisionModelContribution,
    WrapperContribution,
)

PROJECT = "rbench"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def rbench_agents() -> Iterable[AgentContribution]:  # type: ignore[empty-body]
    """Agents; the target is called with (options, context).

    Example:
        yield AgentContribution(name="idle", summary="Does nothing.", target="my_package:Idle")
    """


@hookspec
def rbench_wrappers() -> Iterable[WrapperContribution]:  # type: ignore[empty-body]
    """Agent wrappers; the target is called with (options, context, inner).

    Example:
        yield WrapperContribution(name="sgl", summary="Refines the instruction.", target="my_package:Sgl")
    """


@hookspec
def rbench_factors() -> Iterable[FactorContribution]:  # type: ignore[empty-body]
    """Factor samplers; the target is called with (options).

    Example:
        yield FactorContribution(name="color", summary="Object colour.", target="my_package:Color")
    """


@hookspec
def rbench_metrics() -> Iterable[MetricContribution]:  # type: ignore[empty-body]
    """Metrics; the target is called with (options).

    Example:
        yield MetricContribution(name="bias", summary="Bias coefficient.", target="my_package:Bias")
    """


@hookspec
def rbench_suites() -> Iterable[SuiteContribution]:  # type: ignore[empty-body]
    """Suites; the target is `"package:file.toml"`.

    Example:
        yield SuiteContribution(name="my-suite", summary="Ten tasks.", target="my_package:my-suite.toml")
    """


@hookspec
def rbench_vision_models() -> Iterable[VisionModelContribution]:  # type: ignore[empty-body]
    """Vision models; the target is called with (options).

    Example:
        yield VisionModelContribution(name="opencv", summary="Classical vision.", target="my_package:Cv")
    """
