"""A validation with pictures that differ, what people said of them, and a server that can be killed."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import importlib.util
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from PIL import Image

from rbench.review.ledger import Ledger
from rbench.validation.directory import DECISIONS, Validation, ValidationDirectory
from rbench.validation.findings import Decision, Finding, QueueItem

ROOT = Path(__file__).resolve().parents[2]

#: What a suite could hold to break the page.
HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"> </script><b>&amp; 'put' \u202egeometry\u202c {{7*7}}\nin the box"
)


def write_validation(path: Path, pictures: int = 4, instruction: str = "Put the object into the box.") -> Path:
    """A validation with a queue; every third picture fails the measured gate."""
    directory = ValidationDirectory.create(path)
    items, findings = [], []
    for number in range(pictures):
        color = (40 + 4 * number % 200, 60 + number % 90, 200 - 3 * number % 150)
        buffer = BytesIO()
        Image.new("RGB", (64, 48), color).save(buffer, "PNG")
        name = f"images/{number:04d}.png"
        directory.write_bytes(name, buffer.getvalue())
        image_hash = hashlib.sha256(buffer.getvalue()).hexdigest()
        instance, passed = f"color/level-{number}/base", number % 3 != 2
        reasons = () if passed else ("object hidden",)
        why = ("sample",) if passed else ("measured: object hidden",)
        items.append(QueueItem(instance, "front", instruction, name, image_hash, why))
        findings.append(Finding(instance, "front", "color", "base", instruction, {}, name, image_hash, passed, reasons))
    directory.write_queue(items)
    directory.write_findings(findings)
    directory.write(
        Validation(
            suite="some-suite",
            suite_hash="a" * 64,
            source="rbench",
            render="standard",
            instances=pictures,
            whole=True,
            cameras=("front",),
            thresholds={},
            rule=0.95,
        )
    )
    return path


@pytest.fixture
def validation(tmp_path: Path) -> Callable[..., Path]:
    """Writes a validation below a folder of the test."""

    def write(name: str = "validation", **settings: Any) -> Path:
        return write_validation(tmp_path / name, **settings)

    return write


@dataclass
class Reply:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def data(self) -> Any:
        return json.loads(self.body)


class Server:
    """`rbench review` in a process of its own.

    Attributes:
        directory: of the validation. address: what it printed. host, port, path: its parts; the path is `/TOKEN/`.
    """

    def __init__(self, directory: Path, *arguments: str) -> None:
        self.directory = directory
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rbench", "review", str(directory), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://"), self.end(signal.SIGKILL)
        parts = urlsplit(self.address)
        assert parts.hostname is not None
        assert parts.port is not None
        self.host, self.port, self.path = parts.hostname, parts.port, parts.path

    def ask(
        self,
        path: str,
        body: Any = None,
        headers: dict[str, str] | None = None,
        method: str | None = None,
        with_token: bool = True,
    ) -> Reply:
        """One request; with a body it is a POST as the page makes it."""
        sent = {} if body is None else {"Content-Type": "application/json"}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        data = json.dumps(body).encode() if isinstance(body, dict) else body
        try:
            connection.request(
                method or ("GET" if body is None else "POST"),
                (self.path if with_token else "") + path,
                data,
                sent | (headers or {}),
            )
            reply = connection.getresponse()
            return Reply(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
        finally:
            connection.close()

    def end(self, number: signal.Signals) -> tuple[int, str]:
        """Send a signal; the exit code and what came on stderr."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    """Starts servers, and ends those that the test has left."""
    pytest.importorskip("starlette", reason="the page needs the extra rbench[review]")
    pytest.importorskip("uvicorn", reason="the page needs the extra rbench[review]")
    with contextlib.ExitStack() as stack:

        def start(directory: Path, *arguments: str) -> Server:
            server = Server(directory, *arguments)
            stack.callback(_end, server.process)
            return server

        yield start


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.kill()
    process.communicate(timeout=60)


@pytest.fixture(scope="session")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server for tests that ask and change nothing."""
    pytest.importorskip("starlette", reason="the page needs the extra rbench[review]")
    pytest.importorskip("uvicorn", reason="the page needs the extra rbench[review]")
    path = write_validation(tmp_path_factory.mktemp("running") / "validation")
    server = Server(path)
    yield server
    _end(server.process)


@pytest.fixture
def decide() -> Callable[..., None]:
    """Appends decisions to a validation as a server would: reviewer, answers by the number of the picture."""

    def write(path: Path, reviewer: str, answers: Sequence[str | None], reading: int = 1) -> None:
        directory = ValidationDirectory.open(path)
        ledger = Ledger(path / DECISIONS)
        for number, (item, answer) in enumerate(zip(directory.queue(), answers, strict=False)):
            if answer is not None:
                at = f"2026-01-01T00:00:{number % 60:02d}+00:00"
                ledger.append(
                    Decision(item.instance, item.camera, item.image_hash, reviewer, answer, reading, at)  # type: ignore[arg-type]
                )

    return write


@pytest.fixture
def hostile() -> str:
    return HOSTILE


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A headless Chromium; skips where there is none."""
    spec = importlib.util.spec_from_file_location("headless_chromium", ROOT / "benchmarks" / "headless_chromium.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = module.find_chromium()
    if program is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with module.Chromium(program) as chromium:
        yield chromium
