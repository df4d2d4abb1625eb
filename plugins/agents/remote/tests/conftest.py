"""Served agents, servers that only look like some, and the agent that speaks to them."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve

from rbench.interfaces.agent import AgentContext
from rbench.remote import agent_server
from rbench.remote.agent_server import AgentServer, packed, unpacked
from rbench_agent_remote.agent import Remote
from rbench_agent_remote.options import Options

MANIFEST = {
    "actions": ["joint_positions"],
    "cameras": {"front": {"height": 64, "width": 64, "channels": ["rgb", "depth"]}},
    "primary": "front",
    "kinds": ["manipulation"],
    "control_rate": 20,
    "privileged": False,
}


class Sway:
    """Moves a little, by what it sees and by its generator."""

    manifest = MANIFEST

    def __init__(self) -> None:
        self.calls = 0

    def reset(self, start: agent_server.Start) -> None:
        self.rng, self.calls = start.rng, 0
        self.phase = float(len(start.instruction))

    def act(self, observation: agent_server.Observation) -> Any:
        self.calls += 1
        if self.calls > 6:
            return agent_server.stop("seen_enough")
        view = observation.cameras["front"]
        phase = self.phase + float(view.rgb.mean()) + float(np.nan_to_num(view.depth).mean())
        way = 0.01 * np.sin(phase + np.arange(5)) + 0.001 * self.rng.random(5)
        return agent_server.joint_positions(
            np.column_stack([observation.joint_positions[None] + way[:, None], np.zeros(5)])
        )

    def report(self) -> Any:
        return {"calls": self.calls}


@contextlib.contextmanager
def agent_servers() -> Iterator[Callable[..., AgentServer]]:
    running: list[tuple[AgentServer, threading.Thread]] = []

    def start(make: Callable[[], Any] = Sway, **options: Any) -> AgentServer:
        server = AgentServer(make, **{"name": "sway", "port": 0, **options})
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        running.append((server, thread))
        return server

    yield start
    for server, thread in running:
        server.stop()
        thread.join(5)


@pytest.fixture
def served() -> Iterator[Callable[..., AgentServer]]:
    with agent_servers() as start:
        yield start


@pytest.fixture(scope="module")
def lasting_server() -> Iterator[Callable[..., AgentServer]]:
    with agent_servers() as start:
        yield start


@pytest.fixture
def sway() -> type[Sway]:
    return Sway


@pytest.fixture
def impostor() -> Iterator[Callable[..., int]]:
    """A server that greets and then answers every message with the next of `replies`; returns its port."""
    running = []

    def start(*replies: Any, greeting: Any = None) -> int:
        hello = {"protocol": "rbench-agent", "version": 1, "name": "x", "at_once": 1, "manifest": MANIFEST}

        def sent(link: ServerConnection, value: Any) -> None:
            link.send(value if isinstance(value, (str, bytes)) else packed(value))

        def converse(link: ServerConnection) -> None:
            left = list(replies)
            with contextlib.suppress(ConnectionClosed, OSError):
                sent(link, hello if greeting is None else greeting)
                while True:
                    unpacked(link.recv())
                    sent(link, left.pop(0) if len(left) > 1 else left[0])

        server = serve(converse, "127.0.0.1", 0, max_size=None, compression=None)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        running.append((server, thread))
        port: int = server.socket.getsockname()[1]
        return port

    yield start
    for server, thread in running:
        server.shutdown()
        thread.join(5)


@pytest.fixture
def remote() -> Iterator[Callable[..., Remote]]:
    made: list[Remote] = []

    def make(port: int, vision: Any = None, **options: Any) -> Remote:
        made.append(Remote(Options(port=port, **options), AgentContext(vision=vision)))
        return made[-1]

    yield make
    for one in made:
        one.close()
