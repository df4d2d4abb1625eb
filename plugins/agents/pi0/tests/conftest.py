"""A policy server that does as it is told, and observations for the agent."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Response
from websockets.sync.server import ServerConnection, serve

from rbench.geometry import Pose
from rbench.interfaces.agent import AgentContext, EpisodeStart, RobotFacts
from rbench.observation import CameraRequest, CameraView, Channel, Intrinsics, Observation
from rbench.remote.agent_server import packed, unpacked
from rbench_agent_pi0.agent import Pi0
from rbench_agent_pi0.options import Options

Infer = Callable[[Mapping[str, Any]], Any]


@dataclass
class FakePolicyServer:
    """Speaks openpi's protocol, or whatever `infer` returns or does.

    Attributes:
        infer: a map is packed and sent, bytes and text are sent as they are, None closes the connection.
        asked: the observations that arrived. shown: `Authorization` of every handshake.
        health: the status of `/healthz`, one after the other; the last one stays.
    """

    infer: Infer
    metadata: Any = field(default_factory=dict)
    asked: Any = field(default_factory=list)
    shown: list[str | None] = field(default_factory=list)
    health: list[int] = field(default_factory=lambda: [200])
    links: list[ServerConnection] = field(default_factory=list)
    port: int = 0
    stop: Callable[[], None] = lambda: None

    def converse(self, link: ServerConnection) -> None:
        self.links.append(link)
        self.shown.append(link.request.headers.get("Authorization"))
        with contextlib.suppress(ConnectionClosed, OSError):
            link.send(self.metadata if isinstance(self.metadata, (str, bytes)) else packed(self.metadata))
            while True:
                asked = unpacked(link.recv())
                self.asked.append(asked)
                answer = self.infer(asked)
                if answer is None:
                    return
                if isinstance(answer, str):  # as openpi's server reports an exception
                    link.send(answer)
                    link.close(1011, "Internal server error. Traceback included in previous frame.")
                    return
                link.send(answer if isinstance(answer, bytes) else packed(answer))

    def admit(self, link: ServerConnection, request: Any) -> Response | None:
        if request.path != "/healthz":
            return None
        status = self.health.pop(0) if len(self.health) > 1 else self.health[0]
        return link.respond(status, "OK\n")

    def cut(self) -> None:
        """Drop every connection, as a server does that is killed."""
        for link in self.links:
            with contextlib.suppress(OSError):
                link.socket.shutdown(2)


def chunk(rows: int = 10, value: float = 0.0, gripper: float = 0.0) -> dict[str, Any]:
    """An answer whose rows are numbered in their first joint, in thousandths."""
    actions = np.full((rows, 8), value, dtype=np.float32)
    actions[:, 0] = np.arange(rows) / 1000
    actions[:, 7] = gripper
    return {"actions": actions, "server_timing": {"infer_ms": 1.0}}


@pytest.fixture
def numbered() -> Callable[..., dict[str, Any]]:
    return chunk


@contextlib.contextmanager
def servers() -> Iterator[Callable[..., FakePolicyServer]]:
    """Starts servers on free ports of the loopback address."""
    running: list[Callable[[], None]] = []

    def start(infer: Infer = lambda asked: chunk(), port: int = 0, **details: Any) -> FakePolicyServer:
        fake = FakePolicyServer(infer, **details)
        server = serve(fake.converse, "127.0.0.1", port, process_request=fake.admit, max_size=None, compression=None)
        fake.port = server.socket.getsockname()[1]
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()

        def stop() -> None:
            fake.cut()
            server.shutdown()
            thread.join(5)

        fake.stop = stop
        running.append(stop)
        return fake

    yield start
    for stop in running:
        stop()


@pytest.fixture
def policy_server() -> Iterator[Callable[..., FakePolicyServer]]:
    with servers() as start:
        yield start


@pytest.fixture(scope="module")
def lasting_policy_server() -> Iterator[Callable[..., FakePolicyServer]]:
    with servers() as start:
        yield start


@pytest.fixture
def agent() -> Iterator[Callable[..., Pi0]]:
    """Makes agents that ask a server; joint positions unless told otherwise."""
    made: list[Pi0] = []

    def make(server: FakePolicyServer, **options: Any) -> Pi0:
        given = {"host": "127.0.0.1", "port": server.port, "action_space": "joint_position", **options}
        made.append(Pi0(Options(**given), AgentContext()))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def seen() -> Callable[..., Observation]:
    """An observation; `left_top` is red on the left half, `wrist` is gray."""

    def make(height: int = 240, width: int = 320, gripper: float = 0.25) -> Observation:
        def draw(name: str) -> Callable[[Channel], Any]:
            image = np.full((height, width, 3), 128, dtype=np.uint8)
            if name == "left_top":
                image[:, : width // 2] = (255, 0, 0)
            return lambda channel: image.copy()

        views = {
            name: CameraView(
                name, CameraRequest(height, width), Intrinsics(1.0, 1.0, 0.0, 0.0), lambda: np.eye(4), draw(name)
            )
            for name in ("left_top", "wrist")
        }
        return Observation(
            time=0.0,
            cameras=views,
            joint_positions=np.linspace(-1.0, 1.0, 7),
            joint_velocities=np.zeros(7),
            gripper=gripper,
            end_effector=Pose(),
        )

    return make


@pytest.fixture
def start(seen: Callable[..., Observation]) -> Callable[..., EpisodeStart]:
    def make(instruction: str = "Put the cube into the box.") -> EpisodeStart:
        seven = (1.0,) * 7
        robot = RobotFacts("panda", tuple(-v for v in seven), seven, seven, 0.08, Pose())
        return EpisodeStart(instruction, seen(), robot, 15, np.random.default_rng(0))

    return make
