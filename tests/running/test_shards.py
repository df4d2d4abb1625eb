"""Shards of a plan: every episode in one of them, each a fair sample, counted without walking."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from rbench.errors import UsageError
from rbench.plugins.catalog import Catalog
from rbench.running.plan import Plan, Selection
from rbench.running.shards import Shard
from rbench.suites.loading import load_suite
from rbench.values import from_plain, to_plain

SELECTIONS: list[dict[str, Any]] = [
    {"limit": 60},
    {"limit": 1000, "repeats": 3},
    {"preset": "quick"},
    {"instances": ("color/teal/*", "camera-pose/*/position-p2")},
    {"dimensions": ("color",), "limit": 300},
    {},
]


@pytest.fixture(scope="module")
def suite(catalog: Catalog) -> Any:
    return load_suite(catalog, "roboview-bias")


@pytest.mark.parametrize("of", [1, 2, 4, 5, 7, 11])
@pytest.mark.parametrize("selection", SELECTIONS, ids=str)
def test_every_episode_belongs_to_one_shard_and_counts_are_those_of_a_walk(
    suite: Any, selection: dict[str, Any], of: int
) -> None:
    whole = [episode.id for episode in Plan(suite, Selection(**selection))]
    found = []
    for index in range(1, of + 1):
        plan = Plan(suite, Selection(**selection, shard=Shard(index, of)))
        episodes = list(plan)
        assert plan.counts == Counter(episode.instance.dimension for episode in episodes)
        found.append([episode.id for episode in episodes])
    assert sorted(episode for part in found for episode in part) == sorted(whole)
    assert max(map(len, found)) - min(map(len, found)) <= of
    places = {episode: k for k, episode in enumerate(whole)}
    assert all([places[e] for e in part] == sorted(places[e] for e in part) for part in found)


@pytest.mark.parametrize("of", [2, 4, 5, 10])
def test_each_shard_is_a_fair_sample_also_with_as_many_shards_as_dimensions(suite: Any, of: int) -> None:
    # Every N-th episode would not do: the five dimensions take turns.
    for index in range(1, of + 1):
        counts = Plan(suite, Selection(limit=200, shard=Shard(index, of))).counts
        assert len(counts) == 5
        assert max(counts.values()) - min(counts.values()) <= 2


def test_a_prefix_of_a_shard_is_a_fair_sample_of_contexts_too(suite: Any) -> None:
    plan = Plan(suite, Selection(dimensions=("color",), shard=Shard(3, 11)))
    contexts = Counter(episode.instance.context for episode, _ in zip(plan, range(44), strict=False))
    assert len(contexts) == 11


def test_counting_walks_no_repeats(suite: Any) -> None:
    counts = [Plan(suite, Selection(repeats=10**6, shard=Shard(i, 3))).count for i in (1, 2, 3)]
    assert sum(counts) == 2127 * 10**6


def test_more_repeats_leave_every_episode_in_its_shard(suite: Any) -> None:
    few, many = ({e.id for e in Plan(suite, Selection(repeats=n, shard=Shard(2, 3)))} for n in (1, 3))
    assert few < many


def test_a_shard_is_plain_data() -> None:
    selection = Selection(shard=Shard(2, 4))
    assert from_plain(Selection, to_plain(selection)) == selection


@pytest.mark.parametrize("text", ["0/2", "3/2", "1/0", "x", "", "1", "1/2/3", "-1/2", "1.0/2", "1/" + "9" * 30])
def test_what_is_no_shard_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="such as 2/4"):
        Shard.parse(text)


def test_more_shards_than_episodes_are_refused(suite: Any) -> None:
    with pytest.raises(UsageError, match="the plan has 60 episodes; make at most so many"):
        Plan(suite, Selection(limit=60, shard=Shard(1, 61)))
