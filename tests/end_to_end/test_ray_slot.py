"""What a slot says when it cannot work where Ray has put it. Needs no Ray."""

from __future__ import annotations

import dataclasses
import os
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rbench.errors import StartError, UsageError
from rbench.running.description import Part, RunDescription
from rbench.running.executors import Execution
from rbench.running.executors.messages import packed, raise_failure, split, unpacked
from rbench.running.executors.ray_cluster import address_of_cluster, share_of_slot
from rbench.running.executors.ray_slot import Slot, settings_to_send
from rbench.running.plan import Selection
from rbench.running.run import prepare
from rbench.values import to_plain


@pytest.fixture
def job(catalog: Any) -> Any:
    return prepare(catalog, RunDescription("roboview-bias", Part("idle"), selection=Selection(limit=1))).job


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any], dict[str, Any]]:
    """What a slot answers to a job."""
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def start(job: Any) -> dict[str, Any]:
        slot = Slot()
        answer = slot.start(packed({**settings_to_send(to_plain(job), dict(os.environ)), "neighbours": 2}))
        slot.stop()
        return unpacked(answer)[0]

    return start


def test_a_slot_that_has_what_is_needed_is_ready(job: Any, started: Callable[[Any], dict[str, Any]]) -> None:
    assert started(job) == {"ready": os.getpid()}


def test_a_machine_with_another_version_is_named(job: Any, started: Callable[[Any], dict[str, Any]]) -> None:
    answer = started(dataclasses.replace(job, versions={**job.versions, "mujoco": "3.9.0"}))
    with pytest.raises(StartError, match=rf"on {socket.gethostname()}: .*mujoco is \S+ here and 3\.9\.0 there"):
        raise_failure(answer)


def test_a_machine_without_the_suite_is_named(job: Any, started: Callable[[Any], dict[str, Any]]) -> None:
    description = dataclasses.replace(job.description, suite="/nowhere/suite.toml")
    with pytest.raises(UsageError, match=rf"on {socket.gethostname()}: .*/nowhere/suite.toml"):
        raise_failure(started(dataclasses.replace(job, description=description)))


def test_environment_variables_that_may_hold_keys_are_not_sent(job: Any) -> None:
    environment = {"OPENAI_API_KEY": "sk-canary-7Q", "OMP_NUM_THREADS": "3", "RBENCH_PLUGINS": "a"}
    settings = settings_to_send(to_plain(job), environment)
    assert settings["environment"] == {"OMP_NUM_THREADS": "3", "RBENCH_PLUGINS": "a"}


class Pool:
    """A pool of workers, and a clock that its answers move on."""

    def __init__(self, answers: list[tuple[float, str | None]]) -> None:
        self.answers, self.now = answers, 0.0

    def run(self, episodes: Any) -> Iterator[tuple[dict[str, Any], bytes] | None]:
        for moment, name in self.answers:
            self.now = moment
            if name == "fails":
                raise StartError("no")
            yield None if name is None else ({"finished": name}, b"12")


@pytest.mark.parametrize(
    ("answers", "sent"),
    [
        ([(0.1, "a"), (0.2, "b"), (0.3, "c"), (0.4, "d")], [["a", "b", "c"], ["d"]]),
        ([(1.0, "a"), (2.0, "b")], [["a"], ["b"]]),
        # A long one behind a short one does not keep it back.
        ([(0.1, "a"), (0.5, None), (60.0, "b")], [["a"], ["b"]]),
        ([(0.1, "a"), (0.2, "fails")], [["a", "StartError"]]),
        ([(0.5, None)], []),
    ],
)
def test_answers_of_very_short_episodes_go_together_and_none_is_kept_back_for_long(
    monkeypatch: pytest.MonkeyPatch, answers: list[tuple[float, str | None]], sent: list[list[str]]
) -> None:
    monkeypatch.setattr(os, "dup2", lambda *_: None)
    slot, pool = Slot(), Pool(answers)
    monkeypatch.setattr(slot, "_pool", pool)
    monkeypatch.setattr("rbench.running.executors.ray_slot.time", SimpleNamespace(monotonic=lambda: pool.now))
    groups = [[unpacked(each)[0] for each in split(data)] for data in slot.run(packed({"episodes": []}))]
    assert [[each.get("finished") or each["failure"] for each in group] for group in groups] == sent


@pytest.mark.parametrize(
    ("cpus", "slots", "share"),
    [([2.0, 2.0], 4, 1.0), ([2.0, 2.0], 1, 1.0), ([2.0, 2.0], 8, 0.5), ([2.0, 2.0], 5, 0.6666), ([], 3, 1.0)],
)
def test_more_slots_than_processors_share_them_so_that_all_find_room(
    cpus: list[float], slots: int, share: float
) -> None:
    found = share_of_slot(cpus, slots)
    assert found == pytest.approx(share, abs=1e-3)
    assert not cpus or sum(int(number / found) for number in cpus) >= slots


def test_without_ray_the_line_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(StartError, match=r"python3 -m pip install 'ray>="):
        Execution("ray")


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nonsense", "127.0.0.1:99999999", "[::1]:1", ":"])
def test_an_address_without_a_cluster_is_told_at_once(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr("rbench.running.executors.ray_cluster.is_importable", lambda name: True)
    monkeypatch.setitem(sys.modules, "ray", SimpleNamespace(is_initialized=lambda: False, shutdown=lambda: None))
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(StartError, match=r"no Ray cluster answers at .*RAY_ADDRESS=local"):
        _ = Execution("ray").at_once


def test_the_note_of_a_cluster_that_was_killed_is_no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "ray_current_cluster").write_text("127.0.0.1:1")
    monkeypatch.setenv("RAY_TMPDIR", str(tmp_path))
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert address_of_cluster() is None


def test_a_client_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rbench.running.executors.ray_cluster.is_importable", lambda name: True)
    monkeypatch.setenv("RAY_ADDRESS", "ray://host:10001")
    with pytest.raises(StartError, match="on a machine of the cluster"):
        Execution("ray")
