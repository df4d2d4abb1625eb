"""Headless Chromium by its debugging pipe: how a page looks, what it logs and asks for, and how fast it opens."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

NAMES = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")

_SWITCHES = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
)

# Where Chromium expects its debugging pipe.
_ON_3_AND_4 = """
import os, sys
ends = [os.dup(int(number)) for number in sys.argv[1:3]]
for end, place in zip(ends, (3, 4)):
    os.dup2(end, place)
    os.set_inheritable(place, True)  # also where end is place already
os.execv(sys.argv[3], sys.argv[3:])
"""


def find_chromium() -> str | None:
    """The path of a Chromium on this machine, or None."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Chromium:
    """A browser with one page; use it in a `with`.

    Attributes:
        messages: what came on the console, exceptions included. requests: URLs that were asked for.
    """

    def __init__(self, program: str) -> None:
        self.messages: list[str] = []
        self.requests: list[str] = []
        self._folder = tempfile.mkdtemp(prefix="rbench-chromium-")
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-c", _ON_3_AND_4, str(to_browser), str(from_browser), program),
                *_SWITCHES,
                f"--user-data-dir={self._folder}",
                "about:blank",
            ],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._number = 0
        self._buffer = b""
        self._seen: list[Mapping[str, Any]] = []
        try:
            self._session = self._attach()
        except BaseException:
            self._end()
            raise

    def _attach(self) -> str:
        targets = self._call("Target.getTargets", session=None)["targetInfos"]
        page = next(target for target in targets if target["type"] == "page")
        attached = self._call("Target.attachToTarget", session=None, targetId=page["targetId"], flatten=True)
        session: str = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable", session=session)
        return session

    def open(self, path: Path, width: int, height: int = 900, dark: bool = False, scale: float = 1.0) -> float:
        """Open a file at a window size; returns the seconds until its `load` event was handled and it was drawn."""
        self.messages.clear()
        self.requests.clear()
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media="screen", features=[scheme])
        self._seen.clear()
        began = time.monotonic()
        self.call("Page.navigate", url=path.absolute().as_uri())
        self._wait_for("Page.loadEventFired")
        # Two frames later everything that was ready has been painted.
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        return time.monotonic() - began

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; promises are waited for."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def picture(self, path: Path, whole: bool = True) -> Path:
        """Save a picture of the page, or of what the window shows of it."""
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, **self._clip(whole))
        path.write_bytes(base64.b64decode(data["data"]))
        return path

    def pdf(self, path: Path) -> Path:
        """Print the page on A4."""
        self.call("Emulation.setEmulatedMedia", media="print", features=[])
        data = self.call(
            "Page.printToPDF", preferCSSPageSize=True, printBackground=True, paperWidth=8.27, paperHeight=11.69
        )
        path.write_bytes(base64.b64decode(data["data"]))
        return path

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Call a method of the DevTools protocol."""
        return self._call(method, session=self._session, **parameters)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> None:
        with suppress(OSError):
            os.close(self._write)
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _clip(self, whole: bool) -> dict[str, Any]:
        if not whole:
            return {}
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def _call(self, method: str, session: str | None, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        number = self._number
        while True:
            answer = self._next()
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                result: dict[str, Any] = answer["result"]
                return result
            self._note(answer)

    def _wait_for(self, event: str) -> None:
        while not any(message.get("method") == event for message in self._seen):
            self._note(self._next())

    def _next(self) -> Mapping[str, Any]:
        while b"\0" not in self._buffer:
            data = os.read(self._read, 1 << 20)
            if not data:
                raise RuntimeError("Chromium ended")
            self._buffer += data
        message, _, self._buffer = self._buffer.partition(b"\0")
        found: Mapping[str, Any] = json.loads(message)
        return found

    def _note(self, message: Mapping[str, Any]) -> None:
        self._seen.append(message)
        parameters = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled":
                self.messages.append(str([argument.get("value") for argument in parameters["args"]]))
            case "Runtime.exceptionThrown":
                self.messages.append(str(parameters["exceptionDetails"]))
            case "Log.entryAdded":
                self.messages.append(f"{parameters['entry']['level']}: {parameters['entry']['text']}")
            case "Network.requestWillBeSent":
                self.requests.append(parameters["request"]["url"])
