"""One reading of the records for metrics, stages and counts by level."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rbench.errors import StartError
from rbench.plugins.catalog import Catalog
from rbench.record import EpisodeRecord
from rbench.reporting.run_report import gather
from rbench.reporting.summary import summarise
from rbench.reporting.walk import Walk
from rbench.results.run_directory import RunDirectory, open_run
from rbench.results.store import EpisodeStore

MakeRun = Callable[..., Path]
OUTCOMES = ["success", "infrastructure_error", "failure", "success"]


@pytest.fixture
def store(make_run: MakeRun) -> Iterator[EpisodeStore]:
    with open_run(make_run(OUTCOMES)).store(readonly=True) as opened:
        yield opened


@pytest.fixture
def readings(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records read, for each reading that was begun."""
    found: list[int] = []
    read = EpisodeStore.records

    def records(self: EpisodeStore, *args: object, **named: object) -> Iterator[EpisodeRecord]:
        found.append(0)
        place = len(found) - 1
        for record in read(self, *args, **named):  # type: ignore[arg-type]
            found[place] += 1
            yield record

    monkeypatch.setattr(EpisodeStore, "records", records)
    return found


def test_riders_see_what_the_first_metric_reads_and_the_rest_of_it(store: EpisodeStore, readings: list[int]) -> None:
    counted: list[EpisodeRecord] = []
    everything: list[EpisodeRecord] = []
    walk = Walk(store, (counted.append,), (everything.append,))
    first = next(walk.counted())
    assert counted == everything == [first]
    walk.finish()
    assert [record.outcome for record in counted] == ["success", "failure", "success"]
    assert [record.outcome for record in everything] == OUTCOMES
    assert readings == [4]


def test_every_metric_has_a_reading_of_its_own_and_riders_only_one(store: EpisodeStore, readings: list[int]) -> None:
    seen: list[EpisodeRecord] = []
    walk = Walk(store, (seen.append,))
    one, other = list(walk.counted()), list(walk.counted())
    walk.finish()
    assert one == other == seen
    assert readings == [3, 3]


def test_a_metric_that_closes_what_it_reads_takes_nothing_from_riders(store: EpisodeStore) -> None:
    seen: list[EpisodeRecord] = []
    walk = Walk(store, (seen.append,))
    episodes = walk.counted()
    next(episodes)
    episodes.close()  # type: ignore[attr-defined]
    walk.finish()
    assert len(seen) == 3


def test_without_a_metric_riders_are_taken_to_the_end(store: EpisodeStore) -> None:
    seen: list[EpisodeRecord] = []
    Walk(store, (seen.append,)).finish()
    assert len(seen) == 3


def test_what_a_rider_raises_is_raised_in_the_end_whatever_a_metric_made_of_it(store: EpisodeStore) -> None:
    def stumbles(record: EpisodeRecord) -> None:
        raise ValueError("stumbled")

    walk = Walk(store, (stumbles,))
    with pytest.raises(ValueError, match="stumbled"):
        list(walk.counted())
    with pytest.raises(ValueError, match="stumbled"):
        walk.finish()


def test_a_report_with_one_metric_reads_the_records_once(
    make_run: MakeRun, catalog: Catalog, readings: list[int]
) -> None:
    (report,) = gather([open_run(make_run(OUTCOMES))], catalog)
    assert readings == [4]
    assert report.summary["dimensions"]["color"]["verdict"] is not None
    assert len(report.tallies.episodes) == 4


def test_a_damaged_record_is_an_error_where_counts_by_level_are_asked_for_and_else_a_problem(
    make_run: MakeRun, catalog: Catalog
) -> None:
    path = make_run(OUTCOMES)
    with sqlite3.connect(path / "episodes.sqlite") as database:
        database.execute("UPDATE episodes SET record = '{' WHERE position = 3")
    database.close()
    run: RunDirectory = open_run(path)
    problems = summarise(run, catalog)["problems"]
    assert len(problems) == 2
    with pytest.raises(StartError, match="is not what was written"):
        gather([run], catalog)
