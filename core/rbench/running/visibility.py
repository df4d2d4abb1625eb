"""Which dimensions an agent can see: a level must change a camera it acts on, or the instruction."""

from __future__ import annotations

from dataclasses import replace

from rbench.errors import UsageError
from rbench.interfaces.agent import AgentManifest
from rbench.scene import Setup
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager


def changed_cameras(before: Setup, after: Setup) -> frozenset[str]:
    """Names of the cameras whose picture may differ between two setups.

    A change of anything but cameras and instruction may show in every camera. A changed instruction
    reaches every agent, so it counts as all cameras too.
    """
    everything = frozenset(c.name for c in before.scene.cameras)
    if before.instruction != after.instruction:
        return everything
    if replace(before.scene, cameras=()) != replace(after.scene, cameras=()):
        return everything
    pairs = zip(before.scene.cameras, after.scene.cameras, strict=True)
    return frozenset(b.name for b, a in pairs if b != a)


def unseen_dimensions(suite: Suite, manifest: AgentManifest) -> list[str]:
    """Dimensions in which no level changes a camera of the agent, in suite order."""
    manager = RecursiveVariantTaskManager(suite)
    base = manager.base_setup(suite.tasks[0])
    own = set(manifest.cameras)
    unseen = []
    for dimension in suite.dimensions:
        blind = True
        for name in dimension.factors:
            factor = suite.factors[name]
            blind = blind and not any(
                changed_cameras(base, factor.factor.apply(base, level)) & own
                for level in factor.levels
                if level.name in dimension.levels[name]
            )
        if blind:
            unseen.append(dimension.name)
    return unseen


def check_visibility(suite: Suite, manifest: AgentManifest, agent: str, dimensions: list[str]) -> list[str]:
    """The planned dimensions that a privileged agent does not see; an error for any other agent.

    Raises:
        UsageError: a planned dimension is invisible to an agent that is not privileged.
    """
    unseen = [name for name in unseen_dimensions(suite, manifest) if name in dimensions]
    if unseen and not manifest.privileged:
        cameras = ", ".join(sorted(manifest.cameras)) or "none"
        raise UsageError(
            f"agent {agent!r} cannot see dimension {unseen[0]!r}: none of its cameras ({cameras}) shows what it"
            f" varies (viewpoint cameras of this suite: {', '.join(suite.viewpoint_cameras) or 'none'});"
            " add one to its manifest, or leave the dimension out with --dimension"
        )
    return unseen
