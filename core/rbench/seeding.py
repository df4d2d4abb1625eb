"""Seeds. Every random number of an episode follows from (run seed, suite, task, context, repeat).

Streams are derived with `numpy.random.SeedSequence`, whose output is stable across numpy versions; the
numbers that make a scene are mapped from its raw words by our own code, because the streams of
numpy's generators may change between versions.
"""

from __future__ import annotations

import hashlib

import numpy as np


def hash64(*parts: str | int) -> int:
    """A stable 64-bit hash of strings and integers (first 8 bytes of SHA-256)."""
    text = "\x1f".join(f"{type(p).__name__}:{p}" for p in parts)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def block_seed(seed: int, suite: str, task: str, context: str, repeat: int, salt: str = "") -> np.random.SeedSequence:
    """The seed sequence of one block: all episodes of one (context, repeat).

    Args:
        seed: the run seed, >= 0.
        salt: empty for everything that a block shares (its jitter); the instance id for what an
            episode has to itself (agent and vision streams, or `seeds = "independent"`).
    """
    key = hash64(suite, task, context) if not salt else hash64(suite, task, context, salt)
    return np.random.SeedSequence(seed, spawn_key=(key, repeat))


def uniforms(sequence: np.random.SeedSequence, count: int) -> list[float]:
    """`count` numbers in [0, 1), from the 53 upper bits of the sequence's raw words."""
    words = sequence.generate_state(count, np.uint64)
    return [int(word >> np.uint64(11)) * 2.0**-53 for word in words]


def generator(sequence: np.random.SeedSequence, stream: str) -> np.random.Generator:
    """An independent generator of a named stream (`agent`, `vision`, ...) of the sequence."""
    child = np.random.SeedSequence(sequence.entropy, spawn_key=(*sequence.spawn_key, hash64("stream", stream)))
    return np.random.Generator(np.random.PCG64(child))
