"""How quick `rbench review` is on a whole suite, and what its page looks like.

    python benchmarks/review_page.py [--pictures FOLDER]

Makes up a validation of roboview-bias with 2,127 instances in two cameras, all 4,254 pictures in the queue; what they
show are a few real ones, again and again. Reads 300 of them, then 200 more after most were read by somebody else.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from headless_chromium import Chromium, find_chromium

from rbench.validation.directory import Validation, ValidationDirectory
from rbench.validation.findings import Finding, QueueItem

SHOWN = (
    "color/khaki/position-p2",
    "color/navy/shape-prism",
    "camera-pose/r3a1/position-p3",
    "camera-pose/r1a4/shape-pyramid",
    "camera-distance/d0.40/instruction-i2",
)
CAMERAS = ("front", "left_top")
WORDS = {"object_words": "small solid geometry object", "box_words": "yellow box"}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of the page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        items = write_validation(Path(place) / "validation", pictures(Path(place)))
        began = time.monotonic()
        server = Server(Path(place) / "validation", "--second", "0.2")
        print(f"{len(items):,} pictures; address after {time.monotonic() - began:.1f} s")
        server.read("ann", 300)
        with (Path(place) / "validation" / "decisions" / "ben.jsonl").open("a") as file:
            for number, item in enumerate(items[:3800]):
                answer = "yes" if number % 40 else "no"
                file.write(json.dumps(line(item, "ben", answer)) + "\n")
        server.read("cleo", 200)
        if arguments.pictures and (program := find_chromium()):
            draw(program, server.address, arguments.pictures)
        server.process.kill()
        server.process.wait()
    return 0


def pictures(folder: Path) -> list[bytes]:
    found = []
    for number, instance in enumerate(SHOWN):
        path = folder / f"{number}.png"
        subprocess.run([sys.executable, "-m", "rbench", "render", "roboview-bias", instance, "-o", path], check=True)
        found.append(path.read_bytes())
    return found


def write_validation(path: Path, shown: Sequence[bytes]) -> list[QueueItem]:
    listed = subprocess.run(
        [sys.executable, "-m", "rbench", "instances", "roboview-bias"], check=True, capture_output=True, text=True
    )
    directory = ValidationDirectory.create(path)
    items, findings = [], []
    for number, instance in enumerate(listed.stdout.split()):
        for camera in CAMERAS:
            # The picture of the example where it is one, so that page and instance fit.
            place = SHOWN.index(instance) if instance in SHOWN else number % len(SHOWN)
            name, image_hash = f"images/{number:04d}-{camera}.png", f"{number:060x}{camera[:4]}"
            directory.write_bytes(name, shown[place])
            passed = number % 50 != 0
            reasons = () if passed else ("object hidden",)
            instruction = "Pick up the geometry and put it into the box."
            items.append(QueueItem(instance, camera, instruction, name, image_hash, ("sample",)))
            findings.append(
                Finding(instance, camera, "color", "base", instruction, {}, name, image_hash, passed, reasons)
            )
    directory.write_queue(items)
    directory.write_findings(findings)
    directory.write(
        Validation(
            suite="roboview-bias", suite_hash="0" * 64, source="rbench", render="standard", instances=len(items) // 2,
            whole=True, cameras=CAMERAS, thresholds=WORDS, rule=0.95,
        )
    )  # fmt: skip
    return items


def line(item: QueueItem, reviewer: str, answer: str) -> dict[str, Any]:
    return {
        "instance": item.instance, "camera": item.camera, "image_hash": item.image_hash, "reviewer": reviewer,
        "answer": answer, "reading": 1, "at": "2026-01-01T00:00:00+00:00",
    }  # fmt: skip


class Server:
    def __init__(self, directory: Path, *arguments: str) -> None:
        command = [sys.executable, "-m", "rbench", "review", str(directory), *arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        parts = urlsplit(self.address)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port)
        headers = {"Content-Type": "application/json"} if body else {}
        connection.request("POST" if body else "GET", parts.path + path, json.dumps(body) if body else None, headers)
        return json.loads(connection.getresponse().read())

    def read(self, reviewer: str, count: int) -> None:
        who = {"reviewer": reviewer, "view": "read"}
        work, seconds = self.ask(f"api/work?view=read&reviewer={reviewer}"), []
        for number in range(count):
            item = work["items"][0]
            said = {
                "number": item["number"],
                "image_hash": item["image_hash"],
                "answer": "no" if number % 9 == 0 else "yes",
            }
            began = time.monotonic()
            work = self.ask("api/decide", who | said)
            seconds.append(time.monotonic() - began)
        print(f"{count} answers kept, {1e3 * statistics.median(seconds):.0f} ms each (median)")


def draw(program: str, address: str, folder: Path) -> None:
    with Chromium(program) as page:
        for name, view, width, height, dark in (
            ("review", "read", 1200, 760, False),
            ("review-dark", "rule", 1200, 760, True),
            ("review-agreement", "summary", 1200, 760, False),
            ("review-phone", "read", 390, 844, True),
        ):
            page.call(
                "Emulation.setDeviceMetricsOverride",
                width=width,
                height=height,
                deviceScaleFactor=1,
                mobile=width < 600,
            )
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            page.call("Emulation.setEmulatedMedia", media="screen", features=[scheme])
            page.call("Page.navigate", url=address)
            time.sleep(1)
            page.evaluate("sessionStorage.setItem('reviewer', 'ann')")
            page.call("Page.reload")
            time.sleep(1)
            page.evaluate(f"document.querySelector('[data-view={view}]').click()")
            time.sleep(1)
            page.picture(folder / f"{name}.png", whole=False)


if __name__ == "__main__":
    sys.exit(main())
