"""Which dimensions an agent can see: a level must change a camera it acts on, or the instruction."""

from __future__ import annotations

from dataclasses import replace

from rbench.errors import UsageError
from rbench.interfaces.agent import AgentManifest
from rbench.scene import Setup
from rbench.suites.suite import Suite, SuiteFactor
from rbench.suites.variants import RecursiveVariantTaskManager


def shows(before: Setup, after: Setup, cameras: frozenset[str]) -> bool:
    """Whether an agent with these cameras can notice the difference between two setups.

    The instruction reaches every agent. A change of anything but cameras may show in every camera.
    """
    if before.instruction != after.instruction:
        return True
    if replace(before.scene, cameras=()) != replace(after.scene, cameras=()):
        return bool(cameras)
    pairs = zip(before.scene.cameras, after.scene.cameras, strict=True)
    return any(b != a and b.name in cameras for b, a in pairs)


def unseen_dimensions(suite: Suite, manifest: AgentManifest) -> list[str]:
    """Dimensions of which no level shows to the agent in any task, in suite order."""
    manager = RecursiveVariantTaskManager(suite)
    bases = [manager.base_setup(task) for task in suite.tasks]
    own = frozenset(manifest.cameras)

    def seen(factor: SuiteFactor, levels: tuple[str, ...]) -> bool:
        wanted = [level for level in factor.levels if level.name in levels]
        return any(shows(base, factor.factor.apply(base, level), own) for base in bases for level in wanted)

    return [
        dimension.name
        for dimension in suite.dimensions
        if not any(seen(suite.factors[name], levels) for name, levels in dimension.levels.items())
    ]


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
