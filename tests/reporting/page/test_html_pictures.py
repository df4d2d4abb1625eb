"""First frames of failures, rendered again for the report."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any

import pytest

from rbench.cli import main
from rbench.errors import StartError
from rbench.plugins.catalog import Catalog
from rbench.reporting.html import first_frames as module
from rbench.reporting.html.first_frames import MOST_BYTES, first_frames
from rbench.results.run_directory import open_run
from rbench.running.episode import hash_frame


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory, gl_problem: str | None) -> Path:
    """Three episodes of an agent that looks."""
    if gl_problem:
        pytest.skip(gl_problem)
    path = tmp_path_factory.mktemp("real") / "run"
    arguments = ["run", "roboview-bias", "--agent", "simple", "--limit", "3", "--workers", "1", "--out", str(path)]
    assert main(arguments) == 0
    return path


@pytest.mark.gl
def test_a_picture_is_what_the_agent_saw(run: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    records = list(open_run(run).episodes())
    seen: list[Any] = []
    monkeypatch.setattr(module, "LONGER_SIDE", 224)
    monkeypatch.setattr(module, "_jpeg", lambda pixels: seen.append(pixels) or b"")
    frames = first_frames(open_run(run).manifest, records, catalog)
    assert frames.problem is None
    assert frames.camera == "front"
    assert [hash_frame(pixels) for pixels in seen] == [record.hashes.first_frame["front"] for record in records]


@pytest.mark.gl
def test_pictures_on_the_page_are_small_jpegs(run: Path, catalog: Catalog, tmp_path: Path) -> None:
    from PIL import Image

    from rbench.reporting.html.page import report_page
    from rbench.reporting.run_report import gather

    (report,) = gather([open_run(run)], catalog)
    failed = [replace_outcome(record) for record in open_run(run).episodes()]
    report.tallies.failures.update({(r.dimension, r.outcome, r.reason): [r] for r in failed})
    pictures = re.findall(r'<img src="data:image/jpeg;base64,([^"]+)" alt="([^"]+)"', report_page([report], catalog))
    assert len(pictures) == 3
    for data, alt in pictures:
        raw = base64.b64decode(data)
        assert len(raw) < MOST_BYTES
        assert Image.open(io.BytesIO(raw)).size == (384, 384)
        assert alt.startswith("What the agent saw first in ")


def replace_outcome(record: Any) -> Any:
    from dataclasses import replace

    return replace(record, outcome="failure", success=False, reason="time_limit")


def test_a_picture_of_noise_is_below_the_limit_too() -> None:
    import numpy as np

    noise = np.random.default_rng(0).integers(0, 256, (384, 384, 3), dtype=np.uint8)
    assert 1000 < len(module._jpeg(noise)) < MOST_BYTES


def test_without_opengl_there_are_no_pictures_but_a_reason(
    judged: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(suite: Any) -> Any:
        raise StartError("no OpenGL backend works here. Install one.")

    monkeypatch.setattr(module, "build_world", refuse)
    monkeypatch.setattr(module, "load_suite", lambda catalog, source: type("S", (), {"hash": "a" * 64, "name": "s"}))
    frames = first_frames(open_run(judged).manifest, list(open_run(judged).episodes())[:2], catalog)
    assert frames.pictures == {}
    assert frames.problem == "no OpenGL backend works here. Install one."


def test_a_suite_that_changed_is_not_rendered(judged: Path, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "load_suite", lambda catalog, source: type("S", (), {"hash": "b" * 64, "name": "s"}))
    frames = first_frames(open_run(judged).manifest, list(open_run(judged).episodes())[:2], catalog)
    assert frames.problem == "suite 's' is not the version that was run"
