"""What `rbench doctor` says of the perception of MOKA on a machine without its libraries or weights."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from rbench.doctor.check import Check
from rbench_agent_moka import doctor
from rbench_agent_moka.backends import Listed
from rbench_agent_moka.doctor import examine


def found(environ: dict[str, str]) -> dict[str, Check]:
    return {check.check: check for check in examine(environ)}


def test_without_weights_it_says_how_large_they_are_and_where_they_are_published() -> None:
    said = found({})["moka weights"]
    assert said.status == "ok"
    for part in ("RBENCH_WEIGHTS", "groundingdino_swint_ogc.pth (693,997,677 bytes, https://github.com", "sam_vit_h"):
        assert part in said.detail


def test_what_auto_takes_and_why_not_the_others() -> None:
    for part, other in (("moka detector", "groundingdino-py"), ("moka segmenter", "segment-anything")):
        said = found({})[part]
        assert said.status == "ok"
        assert said.detail.startswith("opencv; transformers: ")
        assert f"{other}: " in said.detail


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    said = found({"RBENCH_WEIGHTS": str(tmp_path / "nowhere")})["moka weights"]
    assert (said.status, said.remedy) == ("warning", "make it and copy weights there, or unset RBENCH_WEIGHTS")


def test_files_that_are_there_and_that_are_not_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "sam_vit_b_01ec64.pth").write_bytes(b"")
    detail = found({"RBENCH_WEIGHTS": str(tmp_path)})["moka weights"].detail
    there, _, lacking = detail.partition("not there:")
    assert "sam_vit_b_01ec64.pth" in there
    assert "sam_vit_b_01ec64.pth" not in lacking
    assert "sam_vit_l_0b3195.pth" in lacking


def test_a_file_that_is_not_whole_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("rbench_agent_moka.backends.segment_anything")
    from rbench_agent_moka.backends import segment_anything

    with zipfile.ZipFile(tmp_path / "sam_own.pth", "w") as archive:
        archive.writestr("data", b"numbers")
    (tmp_path / "sam_own.pth").write_bytes((tmp_path / "sam_own.pth").read_bytes()[:-5])
    monkeypatch.setattr(segment_anything, "LIBRARIES", ())
    target = "rbench_agent_moka.backends.segment_anything:SamSegmenter"
    monkeypatch.setattr(doctor, "BACKENDS", (Listed("segment-anything", None, target),))
    said = found({"RBENCH_WEIGHTS": str(tmp_path)})["moka segmenter"]
    assert said.status == "warning"
    assert "sam_own.pth: it is cut off" in said.detail
