"""GroundingDINO and SAM of the library transformers, tiny and with random weights: every shape and unit is real."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from rbench.errors import StartError
from rbench_agent_moka.backends import detector, segmenter
from rbench_agent_moka.backends.transformers import TransformersDetector, TransformersSegmenter
from rbench_agent_moka.doctor import examine
from rbench_agent_moka.near_colors import probed
from rbench_agent_moka.perception import Settings
from rbench_agent_moka.sight import Sight
from rbench_agent_moka.weights import SUMS

# The libraries warn of their own affairs.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def settings(transformers_weights: Path) -> Settings:
    return Settings(weights=transformers_weights, text_threshold=0.1)


@pytest.fixture
def copy(transformers_weights: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(transformers_weights, tmp_path / "weights"))


def test_auto_takes_them_when_weights_are_there(settings: Settings) -> None:
    assert detector("auto", settings)[0] == segmenter("auto", settings)[0] == "transformers"


def test_boxes_are_pixels_within_the_picture_best_first(settings: Settings, sight: Sight) -> None:
    for found in TransformersDetector(settings).detect(sight, ["red cube", "Box."], 0.01):
        assert found
        assert [d.score for d in found] == sorted((d.score for d in found), reverse=True)
        for d in found:
            x1, y1, x2, y2 = d.box
            assert 0 <= x1 < x2 <= 112
            assert 0 <= y1 < y2 <= 112
        assert max(max(d.box) for d in found) > 2  # not fractions


def test_labels_are_words_of_the_name_without_special_tokens(settings: Settings, sight: Sight) -> None:
    (found,) = TransformersDetector(settings).detect(sight, ["red cube"], 0.01)
    assert {word for d in found for word in d.label.split()} <= {"red", "cube"}


def test_no_box_is_an_ordinary_outcome(settings: Settings, sight: Sight) -> None:
    assert TransformersDetector(settings).detect(sight, ["red cube", "box"], 1.1) == [[], []]


def test_there_is_a_mask_of_the_picture_for_every_box(settings: Settings, sight: Sight) -> None:
    found = TransformersSegmenter(settings).segment(sight, [(60, 70, 80, 90), (20.5, 20, 60, 60)])
    assert [mask.shape for mask in found] == [(112, 112)] * 2
    assert all(mask.dtype == np.bool_ for mask in found)
    assert TransformersSegmenter(settings).segment(sight, []) == []


def test_the_same_picture_gives_the_same(settings: Settings, sight: Sight) -> None:
    first, second = (TransformersDetector(settings).detect(sight, ["red cube"], 0.01) for _ in range(2))
    assert first == second


def test_it_can_be_asked_again_with_near_colours(settings: Settings, sight: Sight) -> None:
    (entry,) = probed(TransformersDetector(settings), sight, ["red cube"], 3)
    assert (entry["word"], len(entry["near"])) == ("red", 3)
    assert all(0 <= score <= 1 for score in (entry["score"], *entry["near"].values()))


def test_its_files_are_known_by_their_hash(settings: Settings) -> None:
    (name,) = TransformersDetector(settings).weights
    assert name == "grounding-dino-tiny/model.safetensors"
    assert len(TransformersDetector(settings).weights[name]) == 64


def test_the_doctor_loads_what_is_there_and_names_what_is_broken(transformers_weights: Path, copy: Path) -> None:
    well = {check.check: check for check in examine({"RBENCH_WEIGHTS": str(transformers_weights)})}
    assert well["moka detector"].status == well["moka segmenter"].status == "ok"
    assert "transformers loads grounding-dino-tiny/model.safetensors sha256 " in well["moka detector"].detail
    (copy / "sam-vit-base" / "model.safetensors").write_text("<html>404</html>")
    ill = {check.check: check for check in examine({"RBENCH_WEIGHTS": str(copy)})}
    assert ill["moka segmenter"].status == "warning"
    assert "sam-vit-base/model.safetensors: it is a web page" in ill["moka segmenter"].detail


@pytest.mark.parametrize("part", ["grounding-dino-tiny", "sam-vit-base"])
def test_a_truncated_file_is_refused_by_name(copy: Path, part: str) -> None:
    file = copy / part / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1000])
    backend = TransformersDetector if part.startswith("ground") else TransformersSegmenter
    with pytest.raises(StartError, match=rf"{part}/model\.safetensors: it is cut off"):
        backend(Settings(weights=copy))


def test_a_file_that_is_not_what_the_list_of_hashes_says_is_refused(copy: Path) -> None:
    (copy / "sam-vit-base" / SUMS).write_text(f"{'0' * 64}  model.safetensors\n")
    with pytest.raises(StartError, match="SHA256SUMS says 000000000000"):
        TransformersSegmenter(Settings(weights=copy))


def test_weights_that_lack_tensors_are_refused(copy: Path, torch: object) -> None:
    from safetensors.torch import load_file, save_file

    file = copy / "sam-vit-base" / "model.safetensors"
    state = load_file(file)
    state.pop("mask_decoder.iou_token.weight")
    save_file(state, file, metadata={"format": "pt"})
    with pytest.raises(StartError, match=r"1 tensors are missing, as mask_decoder\.iou_token\.weight"):
        TransformersSegmenter(Settings(weights=copy))


def test_a_folder_that_lacks_its_tokenizer_is_refused(copy: Path) -> None:
    for file in (copy / "grounding-dino-tiny").iterdir():
        if "token" in file.name or "vocab" in file.name:
            file.unlink()
    with pytest.raises(StartError, match=r"grounding-dino-tiny: .*copy the files of the tokenizer|could not be loaded"):
        TransformersDetector(Settings(weights=copy))


def test_a_model_that_cannot_be_made_is_one_line_with_versions(copy: Path) -> None:
    config = copy / "sam-vit-base" / "config.json"
    config.write_text(config.read_text().replace('"hidden_size": 32', '"hidden_size": "many"'))
    with pytest.raises(StartError, match=r"could not be loaded with torch [\d.+a-z]+, transformers \d") as caught:
        TransformersSegmenter(Settings(weights=copy))
    assert "\n" not in str(caught.value)


def test_a_device_that_is_not_there_is_named(transformers_weights: Path) -> None:
    with pytest.raises(StartError, match="no device 'quantum'"):
        TransformersDetector(Settings(weights=transformers_weights, device="quantum"))
