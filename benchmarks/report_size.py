"""How large a report page is, how long it takes to make and to open, and what it looks like.

    python benchmarks/report_size.py [--pictures FOLDER]

Makes up two whole runs of roboview-bias (11,370 episodes each; `synthetic_runs.py`), one of them with a wrapper, and
writes the page of one and of both, with pictures of failures where OpenGL works. Exits with 1 when the page of a run
has 10 MB or more, takes 2 seconds or more to open, says anything on the console, or asks for anything.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

from headless_chromium import Chromium, find_chromium
from PIL import Image
from synthetic_runs import write_run

from rbench.plugins.catalog import build_catalog
from rbench.reporting.html.page import report_page
from rbench.reporting.run_report import gather
from rbench.results.run_directory import open_run
from rbench.suites.loading import load_suite

MOST_BYTES, MOST_SECONDS = 10_000_000, 2.0

#: name, runs, where it begins, width, height, dark
PICTURES = (
    ("report-verdict", 1, "body", 1280, 1340, False),
    ("report-levels", 1, "#levels", 1280, 760, True),
    ("report-two-runs", 2, "#wrappers", 1280, 620, False),
    ("report-failures", 1, "#failures", 1000, 520, False),
    ("report-phone", 1, "#levels", 360, 1150, False),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=Path, help="a folder for pictures of the pages")
    arguments = parser.parse_args()
    catalog = build_catalog()
    suite = load_suite(catalog, "roboview-bias")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        runs = [write_run(folder / "moka", suite, "moka"), write_run(folder / "sgl-moka", suite, "moka", ("sgl",))]
        pages = {}
        for number in (1, 2):
            began = time.monotonic()
            reports = gather([open_run(run) for run in runs[:number]], catalog)
            gathered = time.monotonic()
            html = report_page(reports, catalog)
            pages[number] = folder / f"page-{number}.html"
            pages[number].write_text(html, encoding="utf-8")
            print(
                f"{number} run(s), {number * 11370:,} episodes: {len(html.encode()) / 1e6:.2f} MB;"
                f" statistics {gathered - began:.1f} s, page {time.monotonic() - gathered:.1f} s"
            )
        return _opened(pages, arguments.pictures)


def _opened(pages: dict[int, Path], pictures: Path | None) -> int:
    program = find_chromium()
    if program is None:
        print("no Chromium here: not opened (apt-get install chromium)")
        return 0
    failed = pages[1].stat().st_size >= MOST_BYTES
    with Chromium(program) as browser:
        for number, page in pages.items():
            seconds = statistics.median(browser.open(page, width=1280) for _ in range(5))
            asked = [url for url in browser.requests if url != page.absolute().as_uri() and not url.startswith("data:")]
            said = f"console: {browser.messages or 'nothing'}; asks for: {asked or 'nothing'}"
            print(f"{number} run(s): opens in {seconds:.2f} s; {said}")
            failed |= bool(browser.messages or asked) or (number == 1 and seconds >= MOST_SECONDS)
        if pictures is not None:
            _photographed(browser, pages, pictures)
    return int(failed)


def _photographed(browser: Chromium, pages: dict[int, Path], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, number, anchor, width, height, dark in PICTURES:
        browser.open(pages[number], width=width, height=height, dark=dark)
        browser.evaluate(f"document.querySelector('{anchor}').scrollIntoView({{behavior: 'instant'}})")
        browser.evaluate("new Promise(done => setTimeout(done, 300))")
        path = browser.picture(folder / f"{name}.png", whole=False)
        Image.open(path).convert("RGB").save(path, optimize=True)
        print(f"{path}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    sys.exit(main())
