"""Files of weights: what is refused, by name, before a library reads it; and what is found in a folder."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.errors import StartError
from rbench_agent_moka import weights
from rbench_agent_moka.backends import detector, segment_anything, segmenter
from rbench_agent_moka.located_weights import files_of, model_folder, weights_file
from rbench_agent_moka.perception import Settings
from rbench_agent_moka.weights import SUMS, Published, checked, published


def saved(path: Path, content: bytes = b"numbers") -> Path:
    """A file in the form in which torch saves."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data/0", content)
    return path


def safetensors(path: Path) -> Path:
    header = json.dumps({"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(8))
    return path


def test_a_whole_file_gives_its_hash(tmp_path: Path) -> None:
    for path in (saved(tmp_path / "sam_own.pth"), safetensors(tmp_path / "own.safetensors")):
        assert checked(path) == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["sam_own.pth", "own.safetensors"])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path / name) if name.endswith("pth") else safetensors(tmp_path / name)
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(StartError, match=rf"{name}: it is cut off"):
        checked(path)


@pytest.mark.parametrize(
    "content", [b"<!DOCTYPE html><html>404</html>", b"\n  <?xml version='1.0'?><Error/>"], ids=["html", "xml"]
)
@pytest.mark.parametrize("name", ["sam_vit_b_01ec64.pth", "model.safetensors"])
def test_a_web_page_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StartError, match=rf"{name}: it is a web page"):
        checked(tmp_path / name)


def test_the_stand_in_of_a_large_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    with pytest.raises(StartError, match="git lfs pull"):
        checked(tmp_path / "model.safetensors")


@pytest.mark.parametrize("content", [b"", b"\x00" * 40, b"hello", b"{}"])
@pytest.mark.parametrize("name", ["sam_own.pth", "own.safetensors"])
def test_what_is_no_file_of_weights_is_refused(tmp_path: Path, name: str, content: bytes) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StartError, match=name):
        checked(tmp_path / name)


def test_a_hostile_header_is_refused(tmp_path: Path) -> None:
    header = b"[" * 100_000
    (tmp_path / "own.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"ab")
    with pytest.raises(StartError, match=r"own\.safetensors"):
        checked(tmp_path / "own.safetensors")


def test_a_released_file_of_another_size_is_refused_with_its_address(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"the released file 375,042,383.*https://dl\.fbaipublicfiles\.com"):
        checked(saved(tmp_path / "sam_vit_b_01ec64.pth"))


def test_a_released_file_of_another_hash_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "sam_x.pth")
    digest, size = hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size
    known = {"sam_x.pth": Published("sam_x.pth", size, "https://example.org", digest[:8], digest[-4:])}
    monkeypatch.setattr(weights, "published", lambda: known)
    assert checked(path) == digest
    other = Published("sam_x.pth", size, "https://example.org", "0" * 8)
    monkeypatch.setattr(weights, "published", lambda: {"sam_x.pth": other})
    with pytest.raises(StartError, match="that of the released file begins 00000000"):
        checked(path)


@pytest.mark.parametrize("line", ["{digest}  sam_own.pth", "{digest} *sam_own.pth"])
def test_the_list_of_hashes_beside_a_file_must_agree(tmp_path: Path, line: str) -> None:
    path = saved(tmp_path / "sam_own.pth")
    (tmp_path / SUMS).write_text(line.format(digest=hashlib.sha256(path.read_bytes()).hexdigest()) + "\n")
    assert checked(path)
    (tmp_path / SUMS).write_text(line.format(digest="f" * 64) + "\n")
    with pytest.raises(StartError, match="SHA256SUMS says ffffffffffff"):
        checked(path)


def test_a_folder_or_nothing_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing.pth"):
        with pytest.raises(StartError, match="there is no such file"):
            checked(path)


def test_every_released_file_has_a_size_and_an_address() -> None:
    assert {"groundingdino_swint_ogc.pth", "sam_vit_h_4b8939.pth"} <= published().keys()
    for known in published().values():
        assert known.bytes > 300_000_000
        assert known.address.startswith("https://")
        assert known.address.endswith(known.name)


def test_a_model_is_found_by_what_its_folder_says(tmp_path: Path) -> None:
    for name, content in {"a": "{}", "b": "[" * 10_000, "c": '{"model_type": "sam"}', "d": "\x00"}.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(content)
    assert model_folder(tmp_path, "sam") == model_folder(tmp_path / "c", "sam") == tmp_path / "c"
    assert model_folder(tmp_path, "bert") is model_folder(None, "sam") is model_folder(tmp_path / "x", "sam") is None


def test_of_several_files_safetensors_come_first_then_released_ones(tmp_path: Path) -> None:
    for name in ("sam_a.pth", "sam_vit_h_4b8939.pth", "other.pth"):
        (tmp_path / name).write_text("")
    assert weights_file(tmp_path, "sam_") == tmp_path / "sam_vit_h_4b8939.pth"
    (tmp_path / "sam_z.safetensors").write_text("")
    assert weights_file(tmp_path, "sam_") == tmp_path / "sam_z.safetensors"
    assert weights_file(tmp_path / "other.pth", "sam_") == tmp_path / "other.pth"
    assert weights_file(tmp_path, "groundingdino") is None
    assert files_of(tmp_path) == [tmp_path / "sam_z.safetensors"]


@pytest.mark.parametrize("name", ["transformers", "groundingdino-py"])
def test_a_detector_without_library_or_weights_says_what_to_do(name: str) -> None:
    with pytest.raises(StartError, match=r"pip install 'rbench-agent-moka\[|-o weights=DIR"):
        detector(name, Settings())


@pytest.mark.parametrize("name", ["transformers", "segment-anything"])
def test_a_segmenter_without_library_or_weights_says_what_to_do(name: str) -> None:
    with pytest.raises(StartError, match=r"pip install 'rbench-agent-moka\[|-o weights=DIR"):
        segmenter(name, Settings())


def test_weights_that_the_user_names_are_used_or_it_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="nothing can use the weights that were given") as caught:
        detector("auto", Settings(weights=tmp_path, asked=True))
    for name in ("transformers: ", "groundingdino-py: ", "choose 'opencv' by name"):
        assert name in str(caught.value)


@pytest.mark.parametrize("name", ["auto", "segment-anything"])
def test_a_bad_file_is_named_before_libraries_that_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(segment_anything, "LIBRARIES", ("library_that_nobody_has",))
    (tmp_path / "sam_own.pth").write_bytes(b"<html>404</html>")
    with pytest.raises(StartError, match=r"^weights .*sam_own\.pth: it is a web page"):
        segmenter(name, Settings(weights=tmp_path, asked=True))


def test_a_bad_file_of_the_segmenter_is_named_when_the_detector_finds_nothing(tmp_path: Path) -> None:
    (tmp_path / "sam_own.pth").write_bytes(b"<html>404</html>")
    with pytest.raises(StartError, match=r"^weights .*sam_own\.pth: it is a web page"):
        detector("auto", Settings(weights=tmp_path, asked=True))


@pytest.mark.parametrize("option", ["weights", "detector_weights", "segmenter_weights", "text_encoder"])
@pytest.mark.parametrize("given", ["nosuch", "~nobody-of-that-name/weights", "x" * 5000, "a\0b"])
def test_a_path_at_which_nothing_is_is_refused_by_its_option(
    agent: Callable, scripted: Callable, option: str, given: str
) -> None:
    with pytest.raises(StartError, match=f"-o {option}=.*nothing is there; give a path"):
        agent(scripted(), **{option: given})


def test_a_folder_of_the_machine_that_holds_nothing_is_no_error(tmp_path: Path) -> None:
    assert detector("auto", Settings(weights=tmp_path))[0] == "opencv"
