"""Serve an agent to rbench from any Python environment. This one file is all of it: copy it where the agent lives.

Needs Python 3.8 or newer, numpy, msgpack and websockets 12 or newer; not rbench. ::

    import numpy as np
    from rbench_agent_server import joint_positions, serve


    class MyAgent:
        manifest = {
            "actions": ["joint_positions"],
            "cameras": {"front": {"height": 224, "width": 224, "channels": ["rgb"]}},
            "primary": "front",
            "control_rate": 15,
        }
        model = load_my_weights()  # once for the process: one agent is made for every connection

        def reset(self, start):
            self.instruction, self.rng = start.instruction, start.rng

        def act(self, observation):
            image = observation.cameras["front"].rgb  # fetched now; (224, 224, 3) uint8
            return joint_positions(self.model(image, observation.joint_positions, self.instruction))


    if __name__ == "__main__":
        serve(MyAgent, name="my-agent")

and on rbench's side `rbench run SUITE --agent remote -o port=8765`. Optional methods: `report()` (plain data for the
record, no wall times), `timing()` (seconds by name), `close()`.

The protocol (version 1): a websocket, one msgpack map a message, arrays in the form that openpi uses. After the
handshake the server sends a greeting with the manifest of an agent made for this connection. Then the client asks
(`reset`, `act`, `report`), one call at a time; while it works the server may want a picture or other things that are
only sent when read, and ends with a `result` or an `error`.
"""

from __future__ import annotations

import contextlib
import hmac
import inspect
import json
import logging
import math
import os
import re
import socket
import struct
import sys
import threading
import time
import traceback
from typing import TYPE_CHECKING, Any

import msgpack
import numpy as np
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection
from websockets.sync.server import serve as _websocket_server

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    #: Sends what an agent wants, and returns what the client answers.
    Ask = Callable[[dict[str, Any]], Any]

PROTOCOL, VERSION = "rbench-agent", 1
DEFAULT_PORT = 8765
#: Largest message, bytes; most connections at once; seconds that a client may take to answer what an agent wants.
MAX_MESSAGE, MAX_CONNECTIONS, CLIENT_PATIENCE = 64 * 2**20, 64, 300
#: What a process that starts a server for itself tells it by environment variables.
PORT_VARIABLE, TOKEN_VARIABLE, IDLE_VARIABLE = "RBENCH_AGENT_PORT", "RBENCH_AGENT_TOKEN", "RBENCH_AGENT_IDLE"

_DTYPE = re.compile(r"[<>|=]?[biufSU][1-9][0-9]{0,5}")
_ITEMS = 100_000
#: Generators whose state can be set from a message: that of others holds positions which numpy does not check.
_GENERATORS = ("PCG64", "PCG64DXSM")

# Not websockets' own logger: at level DEBUG it writes headers, and with them the token.
_silent = logging.getLogger("rbench.websockets")
_silent.setLevel(logging.CRITICAL + 1)


def packed(value: Any) -> bytes:
    """A value as the bytes of one message. Raises ValueError for what has no form there, as an array of objects."""
    try:
        data: bytes = msgpack.packb(value, default=_array_as_map)
        return data
    except (TypeError, ValueError, OverflowError, RecursionError) as problem:
        raise ValueError(f"cannot be sent: {problem}") from None


def unpacked(data: bytes) -> Any:
    """The value of one message, its arrays read-only. Raises ValueError for what is no message; executes nothing."""
    try:
        return msgpack.unpackb(
            data, object_hook=_map_as_array, ext_hook=_no_extension, max_array_len=_ITEMS, max_map_len=_ITEMS
        )
    except (ValueError, TypeError, OverflowError, RecursionError, MemoryError, msgpack.exceptions.UnpackException) as e:
        raise ValueError(f"a message that cannot be read: {str(e) or type(e).__name__}") from None


def _array_as_map(value: Any) -> dict[bytes, Any]:
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind not in "biufSU":
        raise ValueError(f"arrays of {value.dtype} have no form here; give numbers or text")
    if isinstance(value, np.ndarray):
        return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
    if isinstance(value, np.generic):
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    raise TypeError(f"{type(value).__name__} has no form here")


def _map_as_array(value: dict[Any, Any]) -> Any:
    if b"__ndarray__" in value:
        dtype, shape, data = _dtype(value), value.get(b"shape"), value.get(b"data")
        if not isinstance(shape, list) or len(shape) > 8 or not all(type(n) is int and 0 <= n < 2**31 for n in shape):
            raise ValueError(f"an array has shape {str(shape)[:60]}")
        if not isinstance(data, bytes):
            raise ValueError("an array has no data")
        if math.prod(shape) * dtype.itemsize != len(data):
            raise ValueError(f"an array of shape {shape} and type {dtype.str} came with {len(data)} bytes")
        return np.frombuffer(data, dtype).reshape(shape) if data else np.zeros(shape, dtype)
    if b"__npgeneric__" in value:
        number = value.get(b"data")
        if not isinstance(number, (bool, int, float, str, bytes)):
            raise ValueError("a number is none")
        return _dtype(value).type(number)
    return value


def _dtype(value: dict[Any, Any]) -> np.dtype[Any]:
    name = value.get(b"dtype")
    if not isinstance(name, str) or not _DTYPE.fullmatch(name):
        raise ValueError(f"an array is of type {str(name)[:60]!r}; only numbers and text are read")
    return np.dtype(name)


def _no_extension(code: int, data: bytes) -> Any:
    raise ValueError(f"msgpack extension {code} has no meaning here")


class Failure(Exception):
    """`Failure(kind, text)`: of the `agent`, of `infrastructure` (it is tried again), or `start` (the run stops)."""


class StaleObservation(RuntimeError):
    """A camera was read for the first time after the world had moved on."""


class View:
    """One camera at one moment: `rgb` (h, w, 3) uint8, `depth` (h, w) float32 m, fetched when first read.

    `intrinsics` is (fx, fy, cx, cy) in pixels, `extrinsics` (4, 4) maps OpenCV camera to robot base coordinates.
    """

    def __init__(self, name: str, data: Mapping[str, Any], fetch: Callable[[dict[str, Any]], Any]) -> None:
        self.name, self.height, self.width = name, data["height"], data["width"]
        self.channels = tuple(data["channels"])
        self.intrinsics = tuple(data["intrinsics"])
        self.extrinsics = data["extrinsics"]
        self._fetch = fetch
        self._images: dict[str, Any] = {}

    rgb = property(lambda self: self.image("rgb"))
    depth = property(lambda self: self.image("depth"))

    def image(self, channel: str) -> Any:
        """The picture of a channel, read-only; an agent may only read what its manifest asks for."""
        if channel not in self.channels:
            raise AttributeError(f"camera {self.name!r}: the manifest asks for {self.channels}, not {channel!r}")
        if channel not in self._images:
            self._images[channel] = self._fetch({"want": "image", "camera": self.name, "channel": channel})["image"]
        return self._images[channel]


class Observation:
    """One moment; `cameras` holds a `View` by name, `gripper` is 0 open .. 1 closed, all else is in s, m and rad.

    `end_effector` is the pose of the fingertip point in the robot base frame: position, quaternion (w, x, y, z).
    """

    def __init__(self, data: Mapping[str, Any], ask: Ask) -> None:
        def fetch(wanted: dict[str, Any]) -> Any:
            return ask(dict(wanted, observation=data["serial"]))

        self.time, self.gripper = data["time"], data["gripper"]
        self.joint_positions, self.joint_velocities = data["joint_positions"], data["joint_velocities"]
        self.end_effector = data["end_effector"]
        self.cameras = {name: View(name, camera, fetch) for name, camera in data["cameras"].items()}
        self._fetch = fetch
        self._truth: Any = None

    @property
    def ground_truth(self) -> Any:
        """Scene and state as plain data; only for an agent whose manifest says `"privileged": True`."""
        if self._truth is None:
            self._truth = self._fetch({"want": "ground_truth"})["ground_truth"]
        return self._truth


class Start:
    """The start of an episode: `instruction`, first `observation`, `robot` (its limits), `control_rate` (Hz), `rng`.

    `rng` is a seeded numpy generator; with random numbers from elsewhere two equal runs differ.
    """

    def __init__(self, data: Mapping[str, Any], ask: Ask) -> None:
        self.instruction, self.control_rate, self.robot = data["instruction"], data["control_rate"], data["robot"]
        self.observation = Observation(data["observation"], ask)
        self.rng = generator_from(data["rng"])
        self.sees_vision = data["vision"]
        self.ask = ask


def generator_state(rng: np.random.Generator) -> str:
    """The state of a numpy generator as text."""
    return json.dumps(rng.bit_generator.state, default=lambda array: array.tolist())


def generator_from(text: str) -> np.random.Generator:
    """A numpy generator in the state that `generator_state` wrote down. Raises ValueError for any other text."""
    try:
        state = json.loads(text)
        if state["bit_generator"] not in _GENERATORS:
            raise ValueError(state["bit_generator"])
        bits = getattr(np.random, state["bit_generator"])()
        bits.state = state
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as problem:
        raise ValueError(f"not the state of a generator: {problem}") from None
    return np.random.Generator(bits)


def joint_positions(rows: Any) -> dict[str, Any]:
    """Seven joint targets (rad) and the gripper (0 open .. 1 closed), one row a control tick: (ticks, 8)."""
    return {"kind": "joint_positions", "rows": np.asarray(rows)}


def joint_velocities(rows: Any) -> dict[str, Any]:
    """Joint velocities (rad/s) and the gripper, one row a control tick: (ticks, 8)."""
    return {"kind": "joint_velocities", "rows": np.asarray(rows)}


def waypoints(goals: Any) -> dict[str, Any]:
    """Goals (position m, quaternion wxyz, gripper, speed m/s) for the fingertip point in the robot base frame."""
    return {"kind": "waypoints", "goals": [[list(p), list(q), gripper, speed] for p, q, gripper, speed in goals]}


def answer(value: Any) -> dict[str, Any]:
    """The answer to a question task; any plain value."""
    return {"kind": "answer", "value": value}


def stop(reason: str = "done") -> dict[str, Any]:
    """The agent is done or gives up."""
    return {"kind": "stop", "reason": reason}


class AgentServer:
    """Listens, and gives every connection an agent of its own, so that no episode can reach another.

    Args:
        port: 0 takes a free one.
        make: called without arguments for every connection; returns an agent.
        token: what clients must show; empty: nothing.
        at_once: how many calls are worked on at the same time. With one, what an agent computes does not depend on how
            many workers a run has; more is for agents that allow it.
        idle_exit: seconds without a client after which the server ends; 0: never.
    """

    def __init__(
        self,
        make: Callable[[], Any],
        name: str = "agent",
        host: str = "127.0.0.1",
        port: int = DEFAULT_PORT,
        token: str = "",
        at_once: int = 1,
        idle_exit: float = 0.0,
    ) -> None:
        self.name, self.at_once = name, at_once
        self._make, self._token, self._idle_exit = make, token, idle_exit
        self._turns = threading.BoundedSemaphore(at_once)
        self._lock = threading.Lock()
        self._links: set[ServerConnection] = set()
        self._quiet_since = time.monotonic()
        options: dict[str, Any] = {"compression": None, "max_size": MAX_MESSAGE, "logger": _silent}
        if "ping_interval" in inspect.signature(_websocket_server).parameters:
            options["ping_interval"] = None  # an agent that thinks for a minute is not a lost one
        self._server = _websocket_server(self._converse, host, port, process_request=self._admit, **options)
        self.port = self._server.socket.getsockname()[1]
        self.url = f"ws://{f'[{host}]' if ':' in host else host}:{self.port}"

    def serve_forever(self) -> None:
        """Serve until `stop` is called or nobody has been there for long."""
        if self._idle_exit:
            threading.Thread(target=self._end_when_idle, daemon=True).start()
        self._server.serve_forever()

    def stop(self, patience: float = 5.0) -> bool:
        """Let no client in, cut off those that are there; false when an agent has not returned after `patience`."""
        self._server.socket.close()
        with self._lock:
            for link in self._links:
                _cut(link)
        threading.Thread(target=self._server.shutdown, daemon=True).start()  # newer versions wait there for handlers
        end = time.monotonic() + patience
        while self._links and time.monotonic() < end:
            time.sleep(0.02)
        return not self._links

    def _admit(self, link: ServerConnection, request: Request) -> Response | None:
        if request.path == "/healthz":
            return _http(200, "OK", "OK\n")
        shown = "".join(request.headers.get_all("Authorization")).encode()
        if self._token and not hmac.compare_digest(shown, f"Bearer {self._token}".encode()):
            return _http(401, "Unauthorized", "give the token of this server\n")
        if len(self._links) >= MAX_CONNECTIONS:
            return _http(503, "Service Unavailable", "too many clients\n")
        return None

    def _converse(self, link: ServerConnection) -> None:
        with self._lock:
            self._links.add(link)
        agent, greeting = self._made()
        try:
            with contextlib.suppress(OSError):  # it went away again already
                link.socket.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                if sys.platform != "win32":  # a client that reads nothing must not hold the server
                    link.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", CLIENT_PATIENCE, 0))
            link.send(packed(greeting))
            while "error" not in greeting:
                link.send(packed(self._reply(agent, link)))
        except ConnectionClosed:
            pass
        except _NotTheProtocol as problem:
            print(f"{self.name}: a client was cut off: {problem}", file=sys.stderr, flush=True)
            _cut(link)
        finally:
            _close(agent, self.name)
            with self._lock:
                self._links.discard(link)
                self._quiet_since = time.monotonic()

    def _made(self) -> tuple[Any, dict[str, Any]]:
        """An agent for a connection, and the greeting that tells of it, or of why there is none."""
        agent = None
        greeting: dict[str, Any] = {"protocol": PROTOCOL, "version": VERSION, "name": self.name}
        greeting["at_once"] = self.at_once
        try:
            with self._turns:
                agent = self._make()
                greeting["manifest"] = _sendable(dict(agent.manifest), "a manifest of plain data")
        except BaseException as problem:  # a constructor may raise anything, SystemExit too
            greeting["error"] = _error(problem, self.name, "its constructor", "start")
        return agent, greeting

    def _reply(self, agent: Any, link: ServerConnection) -> dict[str, Any]:
        """Wait for a call, work on it, and say how it went."""
        request = _received(link, None)
        call = request.get("call")

        def ask(wanted: dict[str, Any]) -> Any:
            try:
                link.send(packed(wanted))
                given = _received(link, CLIENT_PATIENCE)
            except ConnectionClosed as problem:
                raise _NotTheProtocol("it went away while it was asked") from problem
            if "stale" in given:
                raise StaleObservation(given["stale"])
            return given

        try:
            with self._turns:
                return {"result": _called(agent, call, request, ask)}
        except _NotTheProtocol:
            raise
        except BaseException as problem:  # an agent may raise anything
            return {"error": _error(problem, self.name, f"{call}()", "agent")}

    def _end_when_idle(self) -> None:
        while self._links or time.monotonic() - self._quiet_since < self._idle_exit:
            time.sleep(min(1.0, self._idle_exit / 4))
        self._server.shutdown()


class _NotTheProtocol(ValueError):
    """A client sent what no client sends."""


def _received(link: ServerConnection, patience: float | None) -> dict[str, Any]:
    try:
        data = link.recv(timeout=patience)
    except TimeoutError:
        raise _NotTheProtocol(f"no answer after {patience:g} s") from None
    try:
        message = unpacked(data) if isinstance(data, bytes) else None
    except ValueError as problem:
        raise _NotTheProtocol(str(problem)) from None
    if not isinstance(message, dict):
        raise _NotTheProtocol("a message is no map")
    return message


def _called(agent: Any, call: Any, request: Mapping[str, Any], ask: Ask) -> Any:
    argument: Any = None
    try:
        if call == "reset":
            argument = Start(request["start"], ask)
        elif call == "act":
            argument = Observation(request["observation"], ask)
        elif call != "report":
            raise ValueError(f"call {call!r}")
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise _NotTheProtocol(f"a call that cannot be read: {_line(problem)}") from None
    if call == "reset":
        agent.reset(argument)
        return None
    if call == "act":
        return _sendable(agent.act(argument), "an action: return joint_positions(rows), waypoints(goals), stop() ...")
    report = agent.report() if hasattr(agent, "report") else {}
    timing = agent.timing() if hasattr(agent, "timing") else {}
    return _sendable({"report": report, "timing": timing}, "plain data")


def _sendable(value: Any, what: str) -> Any:
    try:
        packed(value)
    except ValueError as problem:
        raise TypeError(f"what it returned {problem}; give {what}") from None
    return value


def _error(problem: BaseException, name: str, method: str, kind: str) -> dict[str, Any]:
    if isinstance(problem, KeyboardInterrupt):
        raise problem
    if isinstance(problem, Failure):
        return {"kind": problem.args[0], "text": str(problem.args[-1])}
    traceback.print_exception(type(problem), problem, problem.__traceback__)  # for whoever runs the server
    return {"kind": kind, "text": f"agent {name!r}: {method} raised {_line(problem)}"}


def _line(problem: BaseException) -> str:
    try:
        text = str(problem)
    except Exception:
        text = "(its message cannot be read)"
    return " ".join(f"{type(problem).__name__}: {text}".split())[:500].rstrip(":")


def _close(agent: Any, name: str) -> None:
    try:
        if hasattr(agent, "close"):
            agent.close()
    except BaseException as problem:  # what it did is done
        print(f"agent {name!r}: close() raised {_line(problem)}", file=sys.stderr, flush=True)


def _cut(link: ServerConnection) -> None:
    with contextlib.suppress(OSError):
        link.socket.shutdown(socket.SHUT_RDWR)


def _http(status: int, reason: str, text: str) -> Response:
    return Response(status, reason, Headers({"Content-Length": str(len(text)), "Connection": "close"}), text.encode())


def serve(
    make: Callable[[], Any],
    name: str = "agent",
    host: str = "127.0.0.1",
    port: int | None = None,
    token: str = "",
    at_once: int = 1,
    idle_exit: float | None = None,
    ready: Callable[[str], Any] = print,
) -> None:
    """Serve agents until interrupted; arguments as of `AgentServer`. `ready` is told the address in a line.

    What is not given is read from environment variables, so that rbench can start a server for itself.
    """
    port = int(os.environ.get(PORT_VARIABLE, DEFAULT_PORT)) if port is None else port
    token = token or os.environ.get(TOKEN_VARIABLE, "")
    idle = float(os.environ.get(IDLE_VARIABLE, 0)) if idle_exit is None else idle_exit
    server = AgentServer(make, name, host, port, token, at_once, idle)
    if not token and host not in ("127.0.0.1", "localhost", "::1"):
        print(f"{name}: anybody who reaches {host} can use this server; give a token", file=sys.stderr)
    ready(f"serving {name} on {server.url}")
    sys.stdout.flush()
    try:
        server.serve_forever()
    finally:
        if not server.stop():  # a thread in an agent that never returns would keep the process for ever
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(1)
