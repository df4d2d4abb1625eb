"""The Ray executor: the same records on the machines of a cluster, whatever of it is lost."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rbench
import rbench.running.executors.ray as ray_executor
from rbench.record import identical

HERE = Path(__file__).resolve().parent

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed: python3 -m pip install 'ray>=2.40'"
)

_LISTENS = "0A"


@contextmanager
def new_cluster() -> Iterator[Any]:
    """A cluster of two nodes with one processor each, both on this machine; the head has none."""
    from ray.cluster_utils import Cluster

    folder = tempfile.mkdtemp(prefix="rb-", dir="/tmp")
    with pytest.MonkeyPatch.context() as environment:
        for name, value in {"RAY_TMPDIR": folder, "RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0"}.items():
            environment.setenv(name, value)
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        try:
            made.nodes = [made.add_node(num_cpus=1) for _ in range(2)]
            made.folder = Path(folder)
            yield made
        finally:
            made.shutdown()
            shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with new_cluster() as made:
        yield made


@pytest.fixture
def start_on_ray(cluster: Any, start_rbench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Starts `rbench ARGUMENTS`; a run is one on the cluster."""
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)

    def start(*arguments: str) -> Any:
        return start_rbench(*arguments, *(["--executor", "ray"] if arguments[0] == "run" else []))

    return start


@dataclass
class Placed:
    """A line of the trace of `agents_placed:Placed`."""

    drawn: str
    worker: int
    actor: int
    node: int


@pytest.fixture
def places(tmp_path: Path) -> Callable[[], list[Placed]]:
    """Where the episodes began until now."""

    def read() -> list[Placed]:
        trace = tmp_path / "trace"
        lines = trace.read_text().splitlines() if trace.exists() else []
        return [Placed(drawn, int(w), int(a), int(n)) for drawn, w, a, n in (line.split() for line in lines)]

    return read


@pytest.fixture
def placed_run(tmp_path: Path) -> list[str]:
    """Arguments of a run whose agent says where it is, and takes its time."""
    agent = ["--agent", "agents_placed:Placed", "-o", f"trace={tmp_path / 'trace'}", "-o", "pause=0.2"]
    return ["run", "roboview-bias", *agent, "--limit", "16"]


def gone(process: int) -> bool:
    """Whether a process has ended; a zombie has."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_until(true: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def same_as_serial(ran: Any, rbench_command: Callable[..., Any], arguments: list[str]) -> bool:
    alone = {e.episode: e for e in rbench_command(*arguments).episodes}
    episodes = ran.episodes
    return len(episodes) == len(alone) and all(identical(e, alone[e.episode]) for e in episodes)


def test_records_and_trajectories_are_those_of_other_executors(
    start_on_ray: Callable[..., Any], rbench_command: Callable[..., Any]
) -> None:
    # Seen elsewhere: as many starts as workers, and outcomes that depend on them. Some workers have fewer episodes.
    arguments = ["run", "roboview-bias", "--agent", "expert", "--limit", "7"]
    ran = start_on_ray(*arguments).ended()
    assert ran.code == 0, ran.err
    assert ran.manifest["workers"] == 2
    alone = rbench_command(*arguments, "--executor", "processes", "--workers", "2")
    stored = []
    for directory in (ran.directory, alone.directory):
        with rbench.open_run(directory).store(readonly=True) as store:
            records = {e.episode: e.to_plain() for e in store.records()}
            trajectories = {name: store.trajectory(name).to_bytes() for name in records}
        for record in records.values():
            del record["timing"]
        stored.append((records, trajectories))
    assert len(stored[0][0]) == 7
    assert stored[0] == stored[1]
    assert ran.out.splitlines()[-1] == f"run directory: {ran.directory}"


@pytest.mark.parametrize(
    ("how", "told"), [("exit", "exit status 7"), ("kill", "signal SIGKILL"), ("system_exit", "SystemExit: 3")]
)
def test_an_agent_that_ends_its_process_costs_one_episode(
    start_on_ray: Callable[..., Any],
    drawn: Callable[..., float],
    planned: Callable[..., Any],
    tmp_path: Path,
    how: str,
    told: str,
) -> None:
    # Seen elsewhere: the parent waits for a dead worker for ever, or loses all that was to come.
    third = planned(3)[2]
    agent = ["--agent", "agents_that_end:Ends", "-o", f"how={how}", "-o", f"at={drawn(third)!r}"]
    agent += ["-o", f"trace={tmp_path / 'trace'}"]
    ran = start_on_ray("run", "roboview-bias", *agent, "--limit", "8").ended()
    assert ran.code == 1, ran.err
    records = {e.episode: e for e in ran.episodes}
    assert len(records) == len(ran.episodes) == 8
    lost = records.pop(third.id)
    assert (lost.outcome, lost.reason) == ("agent_error", "worker_lost")
    assert told in lost.error
    assert all(e.outcome == "failure" for e in records.values())
    assert set(Counter((tmp_path / "trace").read_text().splitlines()).values()) == {1}


def test_lost_actors_and_nodes_are_replaced_and_their_episodes_tried_again(
    cluster: Any,
    start_on_ray: Callable[..., Any],
    rbench_command: Callable[..., Any],
    placed_run: list[str],
    places: Callable[[], list[Placed]],
) -> None:
    more = cluster.add_node(num_cpus=1)
    started = start_on_ray(*placed_run, "--workers", "3")
    wait_until(lambda: len({p.node for p in places()}) == 3, "three nodes run episodes")
    os.kill(places()[-1].actor, signal.SIGKILL)
    started.wait_for(4)
    raylet = next(info.process.pid for kind, (info, *_) in more.all_processes.items() if kind == "raylet")
    assert raylet in {p.node for p in places()}
    cluster.remove_node(more, allow_graceful=False)
    wait_until(lambda: all(gone(p.worker) and gone(p.actor) for p in places() if p.node == raylet), "its slot ends")
    before = len(places())
    ran = started.ended()
    assert ran.code == 0, ran.err
    assert raylet not in {p.node for p in places()[before:]}
    wait_until(lambda: all(gone(p.worker) and gone(p.actor) for p in places()), "actors end")
    assert same_as_serial(ran, rbench_command, placed_run)


def test_an_episode_that_takes_its_slot_down_is_given_up_and_costs_no_other(
    start_on_ray: Callable[..., Any],
    drawn: Callable[..., float],
    planned: Callable[..., Any],
    places: Callable[[], list[Placed]],
    tmp_path: Path,
) -> None:
    # Late enough for batches of several short episodes before it.
    fatal = planned(20)[15]
    agent = ["--agent", "agents_placed:EndsSlot", "-o", f"at={drawn(fatal)!r}", "-o", f"trace={tmp_path / 'trace'}"]
    ran = start_on_ray("run", "roboview-bias", *agent, "--limit", "20", "--workers", "1").ended()
    assert ran.code == 1, ran.err
    records = {e.episode: e for e in ran.episodes}
    assert len(records) == len(ran.episodes) == 20
    lost = records.pop(fatal.id)
    assert (lost.outcome, lost.reason) == ("infrastructure_error", "worker_lost")
    assert "its slot on the Ray cluster was lost 3 times" in lost.error
    assert {e.outcome for e in records.values()} == {"failure"}
    # Once more than three times if it was not the first of those that were lost with it.
    assert 3 <= [p.drawn for p in places()].count(repr(drawn(fatal))) <= 4


def test_a_driver_that_is_killed_leaves_no_actors_and_can_be_resumed(
    start_on_ray: Callable[..., Any],
    rbench_command: Callable[..., Any],
    placed_run: list[str],
    places: Callable[[], list[Placed]],
) -> None:
    started = start_on_ray(*placed_run)
    started.wait_for(3)
    started.end(signal.SIGKILL)
    assert started.ended().code == -signal.SIGKILL
    kept = {repr(e.agent["report"]["drawn"]) for e in rbench.open_run(started.directory).episodes()}
    wait_until(lambda: all(gone(p.worker) and gone(p.actor) for p in places()), "actors end with their driver")
    before = len(places())
    resumed = start_on_ray("resume", str(started.directory)).ended()
    assert resumed.code == 0, resumed.err
    assert not kept & {p.drawn for p in places()[before:]}
    assert resumed.manifest["executor"] == "ray"
    assert same_as_serial(resumed, rbench_command, placed_run)


def test_a_cluster_whose_head_is_lost_stops_the_run_which_can_be_resumed(
    start_rbench: Callable[..., Any],
    rbench_command: Callable[..., Any],
    placed_run: list[str],
    places: Callable[[], list[Placed]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # After this time (s, by default 60) Ray ends the processes that are connected to such a cluster.
    monkeypatch.setenv("RAY_gcs_rpc_server_reconnect_timeout_s", "3")
    with new_cluster() as doomed:
        monkeypatch.setenv("RAY_ADDRESS", doomed.address)
        started = start_rbench(*placed_run, "-o", "pause=1", "--executor", "ray")
        started.wait_for(3)
        for kind in ("gcs_server", "raylet"):
            os.kill(doomed.head_node.all_processes[kind][0].process.pid, signal.SIGKILL)
        ran = started.ended()
        assert ran.code == 4, ran.err
        assert ran.manifest["state"] == "stopped"
        assert f"the Ray cluster ({doomed.address}) is gone" in ran.err
        assert "rbench resume" in ran.err
        assert "Traceback" not in ran.err
        assert 3 <= len(ran.episodes) < 16
    wait_until(lambda: all(gone(p.worker) and gone(p.actor) for p in places()), "actors end")
    resumed = rbench_command("resume", str(ran.directory), "--executor", "processes", "--workers", "1")
    assert resumed.code == 0, resumed.err
    assert same_as_serial(ran, rbench_command, [*placed_run, "-o", "pause=1"])


def test_a_run_without_a_node_left_stops_and_can_be_resumed_when_there_is_one(
    start_on_ray: Callable[..., Any],
    rbench_command: Callable[..., Any],
    placed_run: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(ray_executor, "NO_NODE_PATIENCE", 1.0)
    monkeypatch.chdir(HERE)
    finished: list[str] = []
    with new_cluster() as shrinking:
        monkeypatch.setenv("RAY_ADDRESS", shrinking.address)

        def note(record: Any) -> None:
            finished.append(record.episode)
            if len(finished) == 3:
                for node in shrinking.nodes:
                    shrinking.remove_node(node, allow_graceful=False)

        options = {"trace": str(tmp_path / "trace"), "pause": 0.2}
        with pytest.raises(rbench.StoppedEarly, match=r"no machine with a processor left; .*rbench resume"):
            rbench.run(
                "roboview-bias",
                "agents_placed:Placed",
                options=options,
                limit=16,
                executor="ray",
                out=tmp_path / "run",
                on_finished=note,
            )
        assert rbench.open_run(tmp_path / "run").manifest.state == "stopped"
        shrinking.add_node(num_cpus=1)
        resumed = start_on_ray("resume", str(tmp_path / "run")).ended()
    assert resumed.code == 0, resumed.err
    assert same_as_serial(resumed, rbench_command, placed_run)


def test_a_worker_that_is_at_one_thing_for_long_is_told(start_on_ray: Callable[..., Any]) -> None:
    agent = ["--agent", "agents_that_end:Traced", "-o", "pause=15"]
    ran = start_on_ray("run", "roboview-bias", *agent, "--limit", "1").ended()
    assert ran.code == 0, ran.err
    assert "worker 1: in act() for 1" in ran.err


def test_an_interrupted_run_ends_its_actors_and_can_be_resumed(
    start_on_ray: Callable[..., Any], placed_run: list[str], places: Callable[[], list[Placed]]
) -> None:
    started = start_on_ray(*placed_run)
    started.wait_for(2)
    started.end(signal.SIGTERM)
    ran = started.ended()
    assert ran.code == 143, ran.err
    assert ran.manifest["state"] == "interrupted"
    assert "Traceback" not in ran.err
    wait_until(lambda: all(gone(p.worker) and gone(p.actor) for p in places()), "actors end")


def test_a_plugin_that_only_this_process_can_import_is_found_by_actors(
    start_on_ray: Callable[..., Any], fake_distribution: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Seen elsewhere: a plugin is found by the command line and not by workers.
    site = fake_distribution(
        "my-agents",
        "from rbench import Agent, AgentContribution, AgentManifest, CameraRequest, Stop, hookimpl\n"
        "class Mine(Agent):\n"
        "    manifest = AgentManifest(actions=('joint_positions',), cameras={'front': CameraRequest(48, 64)})\n"
        "    def __init__(self, options, context):\n"
        "        pass\n"
        "    def reset(self, start):\n"
        "        pass\n"
        "    def act(self, observation):\n"
        "        return Stop('mine')\n"
        "@hookimpl\n"
        "def rbench_agents():\n"
        "    return [AgentContribution(name='mine', summary='Stops.', target='my_agents:Mine')]\n",
    )
    monkeypatch.setenv("PYTHONPATH", str(site))
    ran = start_on_ray("run", "roboview-bias", "--agent", "mine", "--limit", "2").ended()
    assert ran.code == 0, ran.err
    assert {e.reason for e in ran.episodes} == {"mine"}


def test_a_secret_option_reaches_no_file_of_ray(
    cluster: Any, start_on_ray: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Seen elsewhere: keys land in metadata, logs or the text of exceptions.
    monkeypatch.setenv("SOME_API_KEY", "sk-canary-8R")
    agent = ["--agent", "agents_that_end:Traced", "-o", "api_key=sk-canary-7Q"]
    ran = start_on_ray("run", "roboview-bias", *agent, "--limit", "2").ended()
    assert ran.code == 0, ran.err
    files = [path for place in (cluster.folder, ran.directory) for path in place.rglob("*") if path.is_file()]
    assert any(path.suffix == ".log" for path in files)
    assert not [path for path in files if b"sk-canary" in path.read_bytes()]


def listening(processes: list[int]) -> set[str]:
    """Addresses, as /proc writes them, on which processes accept connections."""
    addresses = {}
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            _, local, _, state, *_, inode = line.split()[:10]
            if state == _LISTENS:
                addresses[inode] = local.partition(":")[0]
    found = set()
    for process in processes:
        for descriptor in Path(f"/proc/{process}/fd").glob("*"):
            try:
                name = str(descriptor.readlink())
            except OSError:
                continue
            if name.startswith("socket:["):
                found.add(addresses.get(name[8:-1], ""))
    return found - {""}


def test_without_a_cluster_ray_runs_on_this_machine_alone_and_leaves_nothing(
    start_rbench: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home, temporary = tmp_path / "home", tempfile.mkdtemp(prefix="rb-", dir="/tmp")
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", temporary)
    for name in ("RAY_ADDRESS", "RAY_TMPDIR", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    agent = ["--agent", "agents_that_end:Noisy", "-o", "pause=0.3", "--executor", "ray", "--workers", "2"]
    started = start_rbench("run", "roboview-bias", *agent, "--limit", "10")
    started.wait_for(2)
    loopback = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
    addresses = listening(started.left())
    assert addresses
    assert addresses <= loopback
    ran = started.ended()
    assert ran.code == 0, ran.err
    assert "noise" not in ran.out
    assert "noise-print act" in ran.err
    assert ran.out.splitlines()[-1] == f"run directory: {ran.directory}"
    assert sorted(p.name for p in ran.directory.iterdir()) == [
        "artifacts", "episodes.lock", "episodes.sqlite", "manifest.json", "report"
    ]  # fmt: skip
    wait_until(lambda: not started.left(), f"processes end: {started.left()}")
    assert list(home.rglob("*")) == []
    assert list(Path(temporary).rglob("*")) == []
    shutil.rmtree(temporary)
