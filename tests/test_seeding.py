from __future__ import annotations

import numpy as np

from rbench.seeding import block_seed, generator, hash64, uniforms


def test_seeds_are_the_same_everywhere_and_for_ever() -> None:
    # Golden numbers: a change here changes every scene of every recorded run.
    assert hash64("roboview-bias", "geometry-in-box", "base") == 5014514917511043752
    sequence = block_seed(0, "roboview-bias", "geometry-in-box", "base", 0)
    assert uniforms(sequence, 3) == [0.022966542622604336, 0.24936664708487866, 0.5565359847617071]


def test_every_part_of_the_address_matters() -> None:
    seeds = [
        block_seed(0, "s", "t", "c", 0),
        block_seed(1, "s", "t", "c", 0),
        block_seed(0, "s2", "t", "c", 0),
        block_seed(0, "s", "t2", "c", 0),
        block_seed(0, "s", "t", "c2", 0),
        block_seed(0, "s", "t", "c", 1),
        block_seed(0, "s", "t", "c", 0, salt="instance"),
    ]
    assert len({tuple(uniforms(seed, 2)) for seed in seeds}) == len(seeds)


def test_parts_do_not_run_into_each_other() -> None:
    assert hash64("ab", "c") != hash64("a", "bc")
    assert hash64("1") != hash64(1)


def test_uniforms_lie_in_the_unit_interval_and_spread() -> None:
    numbers = np.array(uniforms(block_seed(7, "s", "t", "c", 3), 4000))
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 0.02


def test_streams_of_one_episode_are_independent() -> None:
    seed = block_seed(0, "s", "t", "c", 0, salt="i")
    assert generator(seed, "agent").random() != generator(seed, "vision").random()
    assert generator(seed, "agent").random() == generator(seed, "agent").random()
