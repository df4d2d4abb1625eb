"""The serving side: an agent a connection, one call at a time, and no client can do more than lose its connection."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from rbench.remote import agent_server
from rbench.remote.agent_server import AgentServer, Failure, joint_positions, packed

Make = Callable[..., Any]


def test_the_greeting_names_protocol_agent_and_manifest(served: Make, client: Make, echo: Any) -> None:
    assert client(served()).greeting == {
        "protocol": "rbench-agent",
        "version": 1,
        "name": "echo",
        "at_once": 1,
        "manifest": echo.manifest,
    }


def test_an_episode(served: Make, client: Make, start: Any, observation: Any) -> None:
    one = client(served())
    assert one.ask(call="reset", start=start) == {"result": None}
    action = one.ask(call="act", observation=observation)["result"]
    assert action["kind"] == "joint_positions"
    assert action["rows"].shape == (2, 8)
    assert one.ask(call="report") == {"result": {"report": {"told": ["Do it.", "0.5"]}, "timing": {}}}


def test_every_connection_has_an_agent_of_its_own(served: Make, client: Make, start: Any) -> None:
    server = served()
    one, other = client(server), client(server)
    one.ask(call="reset", start={**start, "instruction": "One."})
    other.ask(call="reset", start={**start, "instruction": "Another."})
    assert one.ask(call="report")["result"]["report"] == {"told": ["One."]}
    assert other.ask(call="report")["result"]["report"] == {"told": ["Another."]}


def test_an_agent_is_closed_with_its_connection(served: Make, client: Make, echo: Any) -> None:
    closed = threading.Event()
    agent = type("Closing", (echo,), {"close": lambda self: closed.set()})
    client(served(agent)).link.close()
    assert closed.wait(30)


@pytest.mark.parametrize(("at_once", "most"), [(1, 1), (2, 2)])
def test_as_many_calls_are_worked_on_at_once_as_is_said(
    served: Make, client: Make, echo: Any, observation: Any, at_once: int, most: int
) -> None:
    lock, working, seen = threading.Lock(), [0], [0]

    def act(self: Any, observation: Any) -> Any:
        with lock:
            working[0] += 1
            seen[0] = max(seen[0], working[0])
        time.sleep(0.2)
        with lock:
            working[0] -= 1
        return joint_positions(np.zeros((1, 8)))

    server = served(type("Busy", (echo,), {"act": act}), at_once=at_once)
    clients = [client(server) for _ in range(3)]
    threads = [threading.Thread(target=one.ask, kwargs={"call": "act", "observation": observation}) for one in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen[0] == most


def test_a_picture_is_sent_when_it_is_read_and_only_once(
    served: Make, client: Make, echo: Any, observation: Any
) -> None:
    def act(self: Any, observation: Any) -> Any:
        view = observation.cameras["front"]
        return joint_positions([[float(view.rgb.sum() + view.rgb.sum())] * 8])

    one = client(served(type("Looking", (echo,), {"act": act})))
    wanted = one.ask(call="act", observation={**observation, "serial": 4})
    assert wanted == {"want": "image", "camera": "front", "channel": "rgb", "observation": 4}
    done = one.ask(image=np.full((2, 3, 3), 1, dtype=np.uint8))
    assert done["result"]["rows"][0, 0] == 36


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (lambda self, seen: 1 / 0, "agent 'echo': act() raised ZeroDivisionError: division by zero"),
        (lambda self, seen: open("/no/such/file"), "agent 'echo': act() raised FileNotFoundError: [Errno 2]"),  # noqa: SIM115, PTH123
        (lambda self, seen: sys.exit(3), "agent 'echo': act() raised SystemExit: 3"),
        (lambda self, seen: {1, 2}, "act() raised TypeError: what it returned cannot be sent"),
        (lambda self, seen: seen.cameras["front"].depth, "AttributeError: camera 'front': the manifest asks for"),
        (lambda self, seen: (_ for _ in ()).throw(Failure("agent", "It fell over.")), "It fell over."),
    ],
    ids=["an exception", "a missing file", "an exit", "no action", "a channel too many", "a failure"],
)
def test_what_an_agent_raises_is_told_in_a_line_and_the_connection_stays(
    served: Make, client: Make, echo: Any, observation: Any, act: Any, text: str, capfd: pytest.CaptureFixture[str]
) -> None:
    one = client(served(type("Failing", (echo,), {"act": act})))
    error = one.ask(call="act", observation=observation)["error"]
    assert error["kind"] == "agent"
    assert text in error["text"]
    assert "\n" not in error["text"]
    assert one.ask(call="report") == {"result": {"report": {"told": []}, "timing": {}}}
    capfd.readouterr()


@pytest.mark.parametrize("kind", ["infrastructure", "start"])
def test_an_agent_can_say_that_it_is_not_to_blame(
    served: Make, client: Make, echo: Any, observation: Any, kind: str
) -> None:
    def act(self: Any, observation: Any) -> Any:
        raise Failure(kind, "The GPU fell off the bus.")

    one = client(served(type("Failing", (echo,), {"act": act})))
    assert one.ask(call="act", observation=observation)["error"] == {"kind": kind, "text": "The GPU fell off the bus."}


def test_an_agent_that_cannot_be_made_is_told_in_the_greeting(
    served: Make, client: Make, capfd: pytest.CaptureFixture[str]
) -> None:
    def make() -> Any:
        raise RuntimeError("no weights")

    one = client(served(make))
    assert one.greeting["error"] == {
        "kind": "start",
        "text": "agent 'echo': its constructor raised RuntimeError: no weights",
    }
    with pytest.raises(ConnectionClosed):
        one.link.recv(30)
    capfd.readouterr()


def test_without_its_token_nobody_gets_in(served: Make, client: Make) -> None:
    server = served(token="sesame-12345")
    for shown in (None, "", "sesame", "sesame-123456", "sesame-12345 "[:-2]):
        with pytest.raises(InvalidStatus) as problem:
            client(server, shown)
        assert problem.value.response.status_code == 401
        assert b"sesame" not in problem.value.response.body
    assert client(server, "sesame-12345").greeting["name"] == "echo"


def test_there_is_a_health_page_without_a_token(served: Make) -> None:
    server = served(token="sesame-12345")
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://127.0.0.1:{server.port}/healthz", timeout=30) as page:
        assert (page.status, page.read()) == (200, b"OK\n")


def still_serves(server: AgentServer, client: Make, start: Any) -> None:
    assert client(server).ask(call="reset", start=start) == {"result": None}


@pytest.mark.parametrize(
    "data",
    [b"\x00" * 5000, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET /" + b"a" * 100_000, b""],
    ids=["zeros", "plain HTTP", "TLS", "a long line", "nothing"],
)
def test_garbage_on_the_port_hurts_nobody(served: Make, client: Make, start: Any, data: bytes) -> None:
    server = served()
    with socket.create_connection(("127.0.0.1", server.port)) as stranger:
        stranger.sendall(data)
        stranger.settimeout(0.3)
        with contextlib.suppress(OSError):
            stranger.recv(4096)
    still_serves(server, client, start)


@pytest.mark.parametrize(
    "message",
    [
        b"\xc1",
        b"",
        packed([1]),
        packed({}),
        packed({"call": "eval", "code": "1"}),
        packed({"call": ["act"]}),
        packed({"call": "reset"}),
        packed({"call": "reset", "start": 3}),
        packed({"call": "act", "observation": {"serial": 1}}),
        b"\x91" * 10_000,
        "text",
    ],
    ids=[
        "no msgpack",
        "nothing",
        "a list",
        "no call",
        "an unknown call",
        "a list as call",
        "no start",
        "a number as start",
        "half an observation",
        "deep",
        "text",
    ],
)
def test_a_client_that_does_not_keep_to_the_protocol_is_cut_off(
    served: Make, client: Make, start: Any, message: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    server = served()
    stranger = client(server)
    stranger.link.send(message)
    with pytest.raises(ConnectionClosed):
        stranger.link.recv(30)
    still_serves(server, client, start)
    assert "a client was cut off" in capfd.readouterr().err


def test_a_start_with_a_generator_that_is_none_is_cut_off(
    served: Make, client: Make, start: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    stranger = client(served())
    stranger.link.send(packed({"call": "reset", "start": {**start, "rng": '{"bit_generator": "os"}'}}))
    with pytest.raises(ConnectionClosed):
        stranger.link.recv(30)
    capfd.readouterr()


def test_a_message_beyond_the_limit_is_not_read(
    served: Make, client: Make, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_server, "MAX_MESSAGE", 100_000)
    server = served()
    stranger = client(server)
    with pytest.raises(ConnectionClosed):
        stranger.link.send(bytes(200_000))
        stranger.link.recv(30)
    still_serves(server, client, start)


def test_more_clients_than_it_takes_are_turned_away(
    served: Make, client: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_server, "MAX_CONNECTIONS", 2)
    server = served()
    client(server), client(server)
    with pytest.raises(InvalidStatus, match="503"):
        client(server)


def test_a_client_that_goes_away_in_the_middle_of_a_call_frees_the_agent(
    served: Make, client: Make, echo: Any, start: Any, observation: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    server = served(type("Looking", (echo,), {"act": lambda self, seen: seen.cameras["front"].rgb}))
    one = client(server)
    one.ask(call="act", observation=observation)
    one.link.close()
    still_serves(server, client, start)
    capfd.readouterr()


def test_a_client_that_never_answers_is_given_up(
    served: Make,
    client: Make,
    echo: Any,
    start: Any,
    observation: Any,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(agent_server, "CLIENT_PATIENCE", 1)
    server = served(type("Looking", (echo,), {"act": lambda self, seen: seen.cameras["front"].rgb}))
    silent = client(server)
    silent.ask(call="act", observation=observation)
    still_serves(server, client, start)
    with pytest.raises(ConnectionClosed):  # it is told of before it is cut off
        silent.link.recv(30)
    assert "no answer after 1 s" in capfd.readouterr().err


def test_a_server_that_nobody_uses_ends(served: Make, client: Make) -> None:
    server = served(idle_exit=0.3)
    one = client(server)
    time.sleep(0.5)
    assert one.ask(call="report")["result"]["timing"] == {}
    one.link.close()
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", server.port)).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.05)
    pytest.fail("it still listens")


def test_stopping_tells_whether_an_agent_is_still_at_work(
    served: Make, client: Make, echo: Any, observation: Any
) -> None:
    free = threading.Event()
    server = served(type("Hanging", (echo,), {"act": lambda self, seen: free.wait(10)}))
    one = client(server)
    one.link.send(packed({"call": "act", "observation": observation}))
    time.sleep(0.1)
    assert server.stop(patience=0.2) is False
    free.set()
    assert server.stop(patience=5.0) is True


PROGRAM = """
import numpy as np
from rbench_agent_server import joint_positions, serve


class MyAgent:
    manifest = {"actions": ["joint_positions"], "cameras": {}, "primary": None, "control_rate": 20}

    def reset(self, start):
        self.rng = start.rng

    def act(self, observation):
        return joint_positions(self.rng.random((1, 8)))


serve(MyAgent, name="my-agent", port=0)
"""


def test_the_file_serves_an_agent_without_rbench(tmp_path: Path, start: Any, observation: Any, client: Make) -> None:
    python = os.environ.get("RBENCH_OLD_PYTHON", sys.executable)
    (tmp_path / "rbench_agent_server.py").write_bytes(Path(agent_server.__file__).read_bytes())
    (tmp_path / "serving.py").write_text(PROGRAM)
    process = subprocess.Popen(
        [python, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import serving"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("serving my-agent on ws://127.0.0.1:")
        where = type("Where", (), {"url": line.split()[-1]})
        one = client(where)
        one.ask(call="reset", start=start)
        rows = one.ask(call="act", observation=observation)["result"]["rows"]
        assert rows.tolist() == np.random.default_rng(3).random((1, 8)).tolist()
    finally:
        process.terminate()
        process.communicate()
