"""The embedded policy keeps the contract of agents."""

from __future__ import annotations

import pytest

from rbench.testing import BoundCheck, agent_checks
from rbench.testing.kinds import checks_of

pytest.importorskip("torch", reason="the embedded policy needs PyTorch, not installed here")
pytest.importorskip("safetensors", reason="checkpoints need safetensors, not installed here")


@pytest.fixture(scope="module")
def checks() -> dict[str, BoundCheck]:
    return {str(check): check for check in agent_checks("pi0", {}, world="fake")}


@pytest.mark.parametrize("name", [check.name for check in checks_of("agent")])
def test_conformance(checks: dict[str, BoundCheck], name: str) -> None:
    checks[name]()
