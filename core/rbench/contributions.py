"""What hooks return: one frozen record a contribution.

A record is cheap to make and imports nothing: `target` is `"module:attribute"`, imported at first use.

============================  ==========================================
record                        its target is called with
============================  ==========================================
`AgentContribution`           `(options, context)`
`WrapperContribution`         `(options, context, inner)`
`FactorContribution`          `(options)`
`MetricContribution`          `(options)`
`VisionModelContribution`     `(options)`
`SuiteContribution`           is data: target is `"package:file.toml"`
============================  ==========================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """One thing a plugin brings.

    Attributes:
        name: unique within its kind; matches `[a-z0-9][a-z0-9._-]*`.
        summary: one line for `list-plugins`.
        target: `"module:attribute"`, imported at first use.
        options: target of a pydantic model with `extra="forbid"`, or None: it takes no options.
        needs: import names of optional libraries; missing ones are shown, and named when it is used.
        verified: one line, with what it was tried.
        doctor: target of a function that says what of it works on this machine, for `rbench doctor`. It is called
            with the environment variables and yields `rbench.doctor.check.Check`; it uses no network.
    """

    kind: ClassVar[str]

    name: str
    summary: str
    target: str
    options: str | None = None
    needs: tuple[str, ...] = ()
    verified: str = ""
    doctor: str | None = None


@dataclass(frozen=True, kw_only=True)
class AgentContribution(Contribution):
    """An agent."""

    kind: ClassVar[str] = "agent"


@dataclass(frozen=True, kw_only=True)
class WrapperContribution(Contribution):
    """An agent around an agent."""

    kind: ClassVar[str] = "wrapper"


@dataclass(frozen=True, kw_only=True)
class FactorContribution(Contribution):
    """A factor sampler."""

    kind: ClassVar[str] = "factor"


@dataclass(frozen=True, kw_only=True)
class MetricContribution(Contribution):
    """A metric."""

    kind: ClassVar[str] = "metric"


@dataclass(frozen=True, kw_only=True)
class SuiteContribution(Contribution):
    """A suite file inside a package."""

    kind: ClassVar[str] = "suite"


@dataclass(frozen=True, kw_only=True)
class VisionModelContribution(Contribution):
    """A vision model."""

    kind: ClassVar[str] = "vision-model"


CONTRIBUTIONS: tuple[type[Contribution], ...] = (
    AgentContribution,
    WrapperContribution,
    FactorContribution,
    MetricContribution,
    SuiteContribution,
    VisionModelContribution,
)
KINDS: tuple[str, ...] = tuple(cls.kind for cls in CONTRIBUTIONS)
