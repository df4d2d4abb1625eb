"""Pictures of the built-in scene with the true boxes in them, and a server that speaks the OpenAI protocol."""

from __future__ import annotations

import base64
import io
import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from rbench.geometry import Pose
from rbench.interfaces.world import World
from rbench.observation import CameraRequest
from rbench.scene import Color, SceneDescription, Setup, Shape, Texture
from rbench.suites.scene_files import load_scene

SIZE = 224


@dataclass(frozen=True, eq=False)
class Picture:
    """A picture, and for object and box the (x1, y1, x2, y2) of their visible pixels."""

    image: npt.NDArray[np.uint8]
    boxes: dict[str, tuple[float, ...]]


@pytest.fixture(scope="session")
def world(gl_problem: str | None) -> Iterator[World]:
    if gl_problem:
        pytest.skip(gl_problem)
    from rbench.simulation.gl import choose_gl, use_gl

    use_gl(choose_gl())
    from rbench.simulation.profiles import render_profile
    from rbench.simulation.world import MujocoWorld

    made = MujocoWorld(render_profile("standard"))
    yield made
    made.close()


@pytest.fixture
def photograph(world: World) -> Callable[..., Picture]:
    """Takes a picture of the built-in scene, changed as asked."""

    def take(
        color: Color = (255, 0, 0),
        shape: Shape = "cube",
        position: tuple[float, float] | None = None,
        camera: str = "front",
        table: Texture | None = None,
        size: int = SIZE,
        objects: bool = True,
    ) -> Picture:
        scene: SceneDescription = load_scene("tabletop")
        item = scene.object("geometry")
        x, y = position or item.pose.position[:2]
        # An object that is not to be seen lies far behind the table.
        pose = Pose((x, y, item.pose.position[2])) if objects else Pose((-3.0, 0.0, -0.7))
        scene = scene.with_object(replace(item, color=color, shape=shape, pose=pose))
        if table is not None:
            scene = replace(scene, table=replace(scene.table, texture=table))
        request = CameraRequest(size, size, ("rgb",))
        world.reset(Setup(scene, ""), control_rate=20, cameras={camera: request})
        masks = world.masks(camera, size, size)
        return Picture(world.observe().cameras[camera].rgb, {n: _box(masks[n]) for n in ("geometry", "box")})

    return take


def _box(mask: npt.NDArray[np.bool_]) -> tuple[float, ...]:
    rows, columns = np.nonzero(mask)
    if not len(rows):
        return (0.0,) * 4
    return (float(columns.min()), float(rows.min()), columns.max() + 1.0, rows.max() + 1.0)


@dataclass(frozen=True)
class Served:
    """One response of the server.

    Attributes:
        body: JSON, or text or bytes as they are.
        pause: seconds before it is sent.
        drip: seconds between its bytes, from its first header on.
        cut: the connection is closed without a response.
    """

    body: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    drip: float = 0.0
    cut: bool = False


@dataclass
class Request:
    """One request that came in, and when (`time.monotonic`)."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    when: float

    @property
    def images(self) -> list[tuple[str, bytes]]:
        """Declared type and decoded bytes of every picture in it."""
        parts = self.body["messages"][0]["content"]
        uris = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
        found = []
        for uri in uris:
            declared, _, data = uri.removeprefix("data:").partition(";base64,")
            found.append((declared, base64.b64decode(data, validate=True)))
        return found

    @property
    def trial(self) -> bool:
        """Whether it is the request before the first episode."""
        return "This is a trial" in self.body["messages"][0]["content"][0]["text"]


def said(content: Any, finish: str | None = "stop", **more: Any) -> dict[str, Any]:
    """The body of a chat completion."""
    message = {"role": "assistant", "content": content, **more}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "model": "served-2025-08-13",
        "choices": [{"index": 0, "finish_reason": finish, "message": message}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 50, "total_tokens": 1050},
    }


class Endpoint:
    """A server on this machine. `answer` decides what each request gets; all requests are kept in `requests`."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.answer: Callable[[Request], Served] = lambda request: Served(said("{}"))
        self._lock = threading.Lock()
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                headers = {name.lower(): value for name, value in self.headers.items()}
                request = Request(self.path, headers, body, time.monotonic())
                with endpoint._lock:
                    endpoint.requests.append(request)
                    served = endpoint.answer(request)
                time.sleep(served.pause)
                if served.cut:
                    self.close_connection = True
                    return
                data = served.body
                if not isinstance(data, bytes):
                    data = (data if isinstance(data, str) else json.dumps(data)).encode()
                try:
                    if served.drip:
                        for byte in f"HTTP/1.1 {served.status} Odd\r\nx-header: {data!r}\r\n\r\n".encode():
                            self.wfile.write(bytes([byte]))
                            time.sleep(served.drip)
                    self.send_response(served.status)
                    for name, value in {"content-type": "application/json", **served.headers}.items():
                        self.send_header(name, value)
                    self.send_header("content-length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:
                    self.close_connection = True  # who asked has not waited

            def log_message(self, *arguments: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def asked(self) -> list[Request]:
        """The requests without the trial."""
        return [request for request in self.requests if not request.trial]

    def say(self, *responses: Served | dict[str, Any] | str) -> None:
        """Answer with these, one after the other, the last one for ever. Texts are what the model says."""
        rest = [r if isinstance(r, Served) else Served(said(r) if isinstance(r, str) else r) for r in responses]

        def answer(request: Request) -> Served:
            if request.trial:
                return Served(said('{"ok": true}'))
            return rest.pop(0) if len(rest) > 1 else rest[0]

        self.answer = answer

    def see(self, span: float | None = 1000.0) -> None:
        """Answer with what is really in the picture, in numbers from 0 to `span`, or in pixels (None)."""
        from rbench.vision.classical.tabletop import look

        def answer(request: Request) -> Served:
            if request.trial:
                return Served(said('{"ok": true}'))
            ((_, data),) = request.images
            image = np.asarray(Image.open(io.BytesIO(data)))
            seen = look(image, 7.0)
            scale = 1.0 if span is None else span / np.array([image.shape[1], image.shape[0]] * 2)
            boxes = [
                None if s is None else [round(v) for v in np.array(s.region.box) * scale]
                for s in (seen.solid, seen.box)
            ]
            reply = {"start": "object", "start_xyxy": boxes[0], "end": "box", "end_xyxy": boxes[1]}
            return Served(said(f"Here it is:\n```json\n{json.dumps(reply)}\n```"))

        self.answer = answer

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Endpoint]:
    """A server that speaks the OpenAI protocol. No key is set, and waiting files are kept below tmp_path."""
    pytest.importorskip("openai")
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr("tempfile.tempdir", None)
    made = Endpoint()
    yield made
    made.close()


@pytest.fixture
def served() -> type[Served]:
    """The class of responses."""
    return Served


@pytest.fixture
def chat() -> Callable[..., dict[str, Any]]:
    """Makes the body of a chat completion from what a model said."""
    return said
