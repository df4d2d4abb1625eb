"""Served agents in this process, and clients that speak to them without any of rbench's client code."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from websockets.sync.client import connect

from rbench.remote import agent_server
from rbench.remote.agent_server import AgentServer, packed, unpacked

MANIFEST = {"actions": ["joint_positions"], "cameras": {}, "primary": None, "control_rate": 20}


class Echo:
    """Holds still; tells in its report what it was told."""

    manifest = MANIFEST

    def __init__(self) -> None:
        self.told: list[str] = []

    def reset(self, start: agent_server.Start) -> None:
        self.told = [start.instruction]

    def act(self, observation: agent_server.Observation) -> Any:
        self.told.append(f"{observation.time:g}")
        return agent_server.joint_positions(np.zeros((2, 8)))

    def report(self) -> Any:
        return {"told": self.told}


class Client:
    """One connection to a served agent."""

    def __init__(self, link: Any) -> None:
        self.link = link
        self.greeting = unpacked(link.recv(30))

    def ask(self, **message: Any) -> Any:
        self.link.send(packed(message))
        return unpacked(self.link.recv(30))


OBSERVATION: dict[str, Any] = {
    "serial": 0,
    "time": 0.5,
    "joint_positions": np.zeros(7),
    "joint_velocities": np.zeros(7),
    "gripper": 0.0,
    "end_effector": {"position": [0.0, 0.0, 0.0], "quaternion": [1.0, 0.0, 0.0, 0.0]},
    "cameras": {
        "front": {
            "height": 2,
            "width": 3,
            "channels": ["rgb"],
            "intrinsics": [1.0, 1.0, 0.0, 0.0],
            "extrinsics": np.eye(4),
        }
    },
}


@pytest.fixture
def observation() -> dict[str, Any]:
    return OBSERVATION


@pytest.fixture
def start() -> dict[str, Any]:
    return {
        "instruction": "Do it.",
        "control_rate": 20,
        "robot": {},
        "rng": agent_server.generator_state(np.random.default_rng(3)),
        "observation": OBSERVATION,
        "vision": False,
    }


@pytest.fixture
def echo() -> type[Echo]:
    return Echo


@pytest.fixture
def served() -> Iterator[Callable[..., AgentServer]]:
    """Serves agents in threads of this process."""
    running: list[tuple[AgentServer, threading.Thread]] = []

    def serve(make: Callable[[], Any] = Echo, **options: Any) -> AgentServer:
        server = AgentServer(make, **{"name": "echo", "port": 0, **options})
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        running.append((server, thread))
        return server

    yield serve
    for server, thread in running:
        server.stop()
        thread.join(5)


@pytest.fixture
def client() -> Iterator[Callable[..., Client]]:
    with contextlib.ExitStack() as stack:

        def make(server: AgentServer, token: str | None = None) -> Client:
            headers = {} if token is None else {"Authorization": f"Bearer {token}"}
            link = stack.enter_context(
                connect(server.url, additional_headers=headers, proxy=None, max_size=None, close_timeout=0.5)
            )
            return Client(link)

        yield make
