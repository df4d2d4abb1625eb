"""SIGKILL to everything at any moment, resumed each time: every episode once, none again."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rbench
from rbench.record import identical

EPISODES = 20


def recorded(directory: Path) -> set[str]:
    """What the finished episodes drew: one line each in the trace of the agent."""
    return {repr(e.agent["report"]["drawn"]) for e in rbench.open_run(directory).episodes()}


def test_a_run_that_is_killed_and_resumed_runs_every_episode_once(
    start_rbench: Callable[..., Any], rbench_command: Callable[..., Any], tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    arguments = ["run", "roboview-bias", "--agent", "agents_that_end:Traced", "-o", "pause=0.1"]
    arguments += ["-o", f"trace={trace}", "--limit", str(EPISODES)]
    moments = random.Random(7)
    begun: dict[str, int] = {}

    def kill(started: Any) -> None:
        """Kill all of its processes; remember how often each recorded episode was begun until now."""
        started.end(signal.SIGKILL, group=True)
        assert started.ended().code == -signal.SIGKILL
        assert rbench_command("report", str(started.directory), "--format", "json").code in (0, 1)
        counted = Counter(trace.read_text().splitlines()) if trace.exists() else Counter()
        begun.update({name: counted[name] for name in recorded(started.directory)})

    started = start_rbench(*arguments, "--workers", "2")
    started.wait_for(moments.randint(1, 4))
    kill(started)
    for number in range(4):
        before = started.done()
        started = start_rbench("resume", str(tmp_path / "run"))
        if number == 1:
            time.sleep(moments.uniform(0.0, 1.0))
        else:
            started.wait_for(before + moments.randint(1, 4))
            time.sleep(moments.uniform(0.0, 0.1))
        kill(started)
        assert rbench.open_run(started.directory).state == "interrupted"
    ended = start_rbench("resume", str(tmp_path / "run")).ended()
    assert ended.code == 0, ended.err

    episodes = {e.episode: e for e in ended.episodes}
    assert len(episodes) == len(ended.episodes) == EPISODES
    counted = Counter(trace.read_text().splitlines())
    assert len(begun) >= 5
    assert {name: counted[name] for name in begun} == begun
    assert ended.manifest["state"] == "finished"
    undisturbed = rbench_command(*arguments)
    assert len(undisturbed.episodes) == EPISODES
    assert all(identical(e, episodes[e.episode]) for e in undisturbed.episodes)
