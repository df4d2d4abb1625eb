"""The jitter of a block: seeded, and equal at every level, so that levels are compared like with like."""

from __future__ import annotations

from rbench.design import Instance
from rbench.scene import Jitter
from rbench.seeding import block_seed, uniforms
from rbench.suites.suite import Suite


def block_jitter(suite: Suite, instance: Instance, repeat: int, seed: int) -> dict[str, Jitter]:
    """The displacement of every object in one episode: uniform, x and y in metres, yaw in degrees.

    Under `seeds = "shared"` it depends on (suite, task, context, repeat, seed) alone; under `"independent"`
    on the instance too.

    Args:
        seed: the run seed, >= 0.
    """
    protocol = suite.protocol
    salt = instance.id if protocol.seeds == "independent" else ""
    sequence = block_seed(seed, suite.name, instance.task, instance.context, repeat, salt)
    objects = suite.scenes[suite.task(instance.task).scene].objects
    numbers = iter(uniforms(sequence, 3 * len(objects)))
    half_widths = (protocol.jitter_xy, protocol.jitter_xy, protocol.jitter_yaw)
    return {item.name: Jitter(*((2.0 * next(numbers) - 1.0) * half for half in half_widths)) for item in objects}
