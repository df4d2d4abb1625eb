"""A real browser plays a film to its end, in its colours. Skipped where there is no Chromium."""

from __future__ import annotations

import http.server
import json
import os
import queue
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbench.running.video import Film, writing_video

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

PAGE = """<video id="v" src="film.mp4" muted></video><script>
const v = document.getElementById("v"), say = value => fetch("/said", {method: "POST", body: JSON.stringify(value)});
v.onerror = () => say({error: v.error.message});
v.onended = () => {
  const c = document.createElement("canvas"), x = c.getContext("2d");
  c.width = v.videoWidth; c.height = v.videoHeight; x.drawImage(v, 0, 0);
  const pixel = (a, b) => Array.from(x.getImageData(a, b, 1, 1).data).slice(0, 3);
  say({width: v.videoWidth, height: v.videoHeight, duration: v.duration, upper_left: pixel(40, 32),
       lower_right: pixel(120, 88), frames: v.getVideoPlaybackQuality().totalVideoFrames});
};
v.play().catch(problem => say({error: String(problem)}));
</script>"""


class Pages(http.server.SimpleHTTPRequestHandler):
    said: queue.Queue[Any] = queue.Queue()

    def do_POST(self) -> None:
        self.said.put(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[http.server.ThreadingHTTPServer]:
    folder = tmp_path / "pages"
    folder.mkdir()
    (folder / "index.html").write_text(PAGE)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Pages, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.skipif(BROWSER is None, reason="no Chromium here")
def test_a_browser_plays_a_film_to_its_end(tmp_path: Path, server: http.server.ThreadingHTTPServer) -> None:
    pytest.importorskip("av")
    picture = np.full((120, 160, 3), (80, 52, 44), dtype=np.uint8)
    picture[16:48, 16:64] = (200, 30, 20)
    picture[72:104, 96:144] = (20, 40, 190)
    with writing_video(tmp_path / "pages" / "film.mp4", Film("film", 20, 20)) as video:
        for _ in range(20):
            video.add(picture)
    browser = subprocess.Popen(
        [
            str(BROWSER), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
            "--autoplay-policy=no-user-gesture-required", f"--user-data-dir={tmp_path / 'profile'}",
            f"http://127.0.0.1:{server.server_port}/",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        said = Pages.said.get(timeout=120)
    finally:
        os.killpg(browser.pid, signal.SIGKILL)
        browser.wait()
    assert "error" not in said, said
    assert (said["width"], said["height"], said["duration"]) == (160, 120, 1.0)
    assert said["frames"] >= 15
    # Not upside down, mirrored, or in colours swapped or guessed wrongly: red stays upper left, blue lower right.
    assert np.abs(np.subtract(said["upper_left"], (200, 30, 20))).max() <= 8
    assert np.abs(np.subtract(said["lower_right"], (20, 40, 190))).max() <= 8
