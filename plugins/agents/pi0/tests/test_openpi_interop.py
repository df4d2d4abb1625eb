"""Against the published packages of openpi, in an environment of their own (they ask for numpy < 2).

`RBENCH_OPENPI_PYTHON` names its Python: a virtual environment with openpi-client 0.1.2, openpi-server 0.1.0 and
typing_extensions.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbench.errors import InfrastructureError, StartError
from rbench.interfaces.agent import AgentContext
from rbench.remote.agent_server import packed
from rbench_agent_pi0.agent import Pi0
from rbench_agent_pi0.observations import letterboxed
from rbench_agent_pi0.options import Options

PYTHON = os.environ.get("RBENCH_OPENPI_PYTHON")

pytestmark = [
    pytest.mark.skipif(not PYTHON, reason="RBENCH_OPENPI_PYTHON names no Python with openpi-client and openpi-server"),
    pytest.mark.timeout(120),
]

#: A policy whose answers hold what it was shown; its first inference takes a while, and it refuses one prompt.
SERVER = """
import socket, sys, time
import numpy as np
from openpi_client.base_policy import BasePolicy
from openpi_server.websocket_policy_server import WebsocketPolicyServer

class Policy(BasePolicy):
    first = float(sys.argv[1])
    def infer(self, obs):
        time.sleep(self.first)
        self.first = 0.0
        if obs["prompt"] == "refuse":
            raise ValueError("this prompt is refused")
        actions = np.zeros((10, 8), dtype=np.float32)
        actions[:, :7] = obs["observation/joint_position"]
        actions[:, 6] = obs["observation/exterior_image_1_left"].mean() / 1000
        actions[:, 7] = obs["observation/gripper_position"][0]
        return {"actions": actions, "policy_timing": {"infer_ms": 1.0}}
    def reset(self):
        pass

with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = probe.getsockname()[1]
print(port, flush=True)
metadata = {"action_space": "joint_position"}
WebsocketPolicyServer(Policy(), host="127.0.0.1", port=port, metadata=metadata).serve_forever()
"""


@pytest.fixture
def openpi_server() -> Iterator[Callable[..., int]]:
    """Starts the published server; returns its port."""
    running: list[subprocess.Popen[str]] = []

    def start(first: float = 0.0) -> int:
        assert PYTHON is not None
        process = subprocess.Popen(
            [PYTHON, "-c", SERVER, str(first)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        running.append(process)
        assert process.stdout is not None
        return int(process.stdout.readline())

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.fixture
def pi0() -> Iterator[Callable[[int], Pi0]]:
    made: list[Pi0] = []

    def make(port: int) -> Pi0:
        deadline = time.monotonic() + 20
        while not made:  # it prints its port before it listens
            try:
                made.append(Pi0(Options(host="127.0.0.1", port=port), AgentContext()))
            except StartError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
        return made[0]

    yield make
    for one in made:
        one.close()


def test_the_published_server_is_understood(openpi_server: Any, pi0: Any, start: Any, seen: Any) -> None:
    agent = pi0(openpi_server())
    agent.reset(start())
    for _ in range(3):
        rows = agent.act(seen(gripper=0.75)).rows
        assert rows.shape == (8, 8)
        assert rows[:, :6] == pytest.approx(np.tile(np.linspace(-1, 1, 7)[:6], (8, 1)), abs=1e-6)
        assert set(rows[:, 7]) == {1.0}


def test_an_exception_of_its_policy_costs_one_episode(openpi_server: Any, pi0: Any, start: Any, seen: Any) -> None:
    agent = pi0(openpi_server())
    agent.reset(start("refuse"))
    with pytest.raises(InfrastructureError, match="failed: ValueError: this prompt is refused; see its log"):
        agent.act(seen())
    agent.reset(start("do"))
    assert agent.act(seen()).rows.shape == (8, 8)


def test_a_first_inference_of_45_seconds_is_waited_for(openpi_server: Any, pi0: Any, start: Any, seen: Any) -> None:
    """The published server infers on its event loop, so that it answers no ping meanwhile."""
    agent = pi0(openpi_server(first=45.0))
    agent.reset(start())
    assert agent.act(seen()).rows.shape == (8, 8)
    assert agent.timing()["inference"] >= 45.0


def test_pictures_are_letterboxed_byte_for_byte_as_openpi_does(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sizes = [(180, 320), (240, 320), (480, 640), (640, 480), (224, 224), (100, 300), (37, 91)]
    images = {f"{h}x{w}": rng.integers(0, 256, (h, w, 3), dtype=np.uint8) for h, w in sizes}
    np.savez(tmp_path / "images.npz", **images)
    code = (
        "import sys, numpy as np; from openpi_client.image_tools import resize_with_pad as f;"
        "a = np.load(sys.argv[1]); np.savez(sys.argv[2], **{k: f(a[k], 224, 224) for k in a})"
    )
    assert PYTHON is not None
    subprocess.run([PYTHON, "-c", code, str(tmp_path / "images.npz"), str(tmp_path / "boxed.npz")], check=True)
    boxed = np.load(tmp_path / "boxed.npz")
    for name, image in images.items():
        np.testing.assert_array_equal(letterboxed(image, 224, 224), boxed[name], err_msg=name)


def test_what_is_packed_here_is_unpacked_there(tmp_path: Path) -> None:
    value = {"a": np.arange(6, dtype=np.int16).reshape(2, 3), "b": np.float32(0.5), "c": [1, "x", None, {"d": True}]}
    code = (
        "import sys; from openpi_client import msgpack_numpy as m; data = sys.stdin.buffer.read();"
        "sys.stdout.buffer.write(m.packb(m.unpackb(data)))"
    )
    assert PYTHON is not None
    done = subprocess.run([PYTHON, "-c", code], input=packed(value), capture_output=True, check=True)
    assert done.stdout == packed(value)
