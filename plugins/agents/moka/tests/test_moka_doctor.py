"""What `rbench doctor` says of the perception of MOKA on a machine without its libraries or weights."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from rbench.doctor.check import Check
from rbench_agent_moka import doctor
from rbench_agent_moka.backends import Listed, groundingdino, segment_anything, transformers
from rbench_agent_moka.doctor import examine
from rbench_agent_moka.weights import published


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


def whole(file: Path) -> None:
    """A file that looks like the released one of that name: its beginning and its size."""
    with file.open("wb") as opened:
        opened.write(b"\x80\x02")
        opened.truncate(published()[file.name].bytes)  # a hole: it takes no room


@pytest.fixture
def no_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (transformers, groundingdino, segment_anything):
        monkeypatch.setattr(module, "LIBRARIES", ("library_that_nobody_has",))


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"<!DOCTYPE html>404", "it is a web page"), (b"\x80\x02cut", "the released file 375,042,383")],
)
@pytest.mark.usefixtures("no_libraries")
def test_a_bad_file_is_named_also_where_no_library_could_load_it(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "sam_vit_b_01ec64.pth").write_bytes(content)
    check = found({"RBENCH_WEIGHTS": str(tmp_path)})["moka weights"]
    assert (check.status, check.remedy) == ("warning", "mend or move the files named here")
    assert "sam_vit_b_01ec64.pth: it" in check.detail
    assert said in check.detail


@pytest.mark.usefixtures("no_libraries")
def test_a_bad_file_in_the_folder_of_a_model_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "sam"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "sam"}')
    (folder / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n")
    check = found({"RBENCH_WEIGHTS": str(tmp_path)})["moka weights"]
    assert check.status == "warning"
    assert "sam/model.safetensors: it is the stand-in of git-lfs" in check.detail


@pytest.mark.usefixtures("no_libraries")
def test_files_that_no_installed_library_loads_are_told_with_the_extra_to_install(tmp_path: Path) -> None:
    whole(tmp_path / "sam_vit_b_01ec64.pth")
    check = found({"RBENCH_WEIGHTS": str(tmp_path)})["moka weights"]
    assert check.status == "warning"
    assert check.detail.startswith("no installed library loads sam_vit_b_01ec64.pth. ")
    assert check.remedy is not None
    assert "moka[original]" in check.remedy


def test_files_that_an_installed_library_loads_are_ok(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole(tmp_path / "sam_vit_b_01ec64.pth")
    monkeypatch.setattr(segment_anything, "LIBRARIES", ())
    assert next(iter(examine({"RBENCH_WEIGHTS": str(tmp_path)}))).status == "ok"


def test_files_that_are_there_and_that_are_not_are_told_apart(tmp_path: Path) -> None:
    whole(tmp_path / "sam_vit_b_01ec64.pth")
    detail = found({"RBENCH_WEIGHTS": str(tmp_path)})["moka weights"].detail
    there, _, lacking = detail.partition("not there:")
    assert "sam_vit_b_01ec64.pth" in there
    assert "sam_vit_b_01ec64.pth" not in lacking
    assert "sam_vit_l_0b3195.pth" in lacking


def test_a_file_that_is_not_whole_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "sam_own.pth", "w") as archive:
        archive.writestr("data", b"numbers")
    (tmp_path / "sam_own.pth").write_bytes((tmp_path / "sam_own.pth").read_bytes()[:-5])
    monkeypatch.setattr(segment_anything, "LIBRARIES", ())
    target = "rbench_agent_moka.backends.segment_anything:SamSegmenter"
    monkeypatch.setattr(doctor, "BACKENDS", (Listed("segment-anything", None, target),))
    said = found({"RBENCH_WEIGHTS": str(tmp_path)})["moka segmenter"]
    assert said.status == "warning"
    assert "sam_own.pth: it is cut off" in said.detail
