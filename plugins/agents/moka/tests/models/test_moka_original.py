"""GroundingDINO and SAM of their authors' packages, tiny and with random weights, saved and loaded as released ones."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbench.errors import StartError
from rbench_agent_moka.backends import detector, segmenter
from rbench_agent_moka.backends import groundingdino as adapter
from rbench_agent_moka.backends.groundingdino import GroundingDinoDetector
from rbench_agent_moka.backends.segment_anything import SamSegmenter
from rbench_agent_moka.perception import Settings
from rbench_agent_moka.sight import Sight

# The libraries warn of their own affairs.
pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def small_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A picture of 800 pixels takes the smallest published backbone ten seconds."""
    monkeypatch.setattr(adapter, "SHORT_SIDE", 128)


@pytest.fixture(scope="module")
def settings(original_weights: Path) -> Settings:
    return Settings(weights=original_weights, text_threshold=0.1)


@pytest.fixture
def copy(original_weights: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(original_weights, tmp_path / "weights", symlinks=True))


def test_auto_takes_them_when_their_files_are_there(settings: Settings) -> None:
    assert detector("auto", settings)[0] == "groundingdino-py"
    assert segmenter("auto", settings)[0] == "segment-anything"


def test_boxes_are_pixels_and_labels_are_words_of_the_name(settings: Settings, sight: Sight) -> None:
    for found in detector("groundingdino-py", settings)[1].detect(sight, ["red cube", "Box"], 0.01):
        assert found
        assert [d.score for d in found] == sorted((d.score for d in found), reverse=True)
        assert all(0 <= d.box[0] < d.box[2] <= 112 and 0 <= d.box[1] < d.box[3] <= 112 for d in found)
        assert {word for d in found for word in d.label.split()} <= {"red", "cube", "box"}


def test_boxes_scores_and_words_are_those_of_the_package(settings: Settings, sight: Sight, torch: Any) -> None:
    from groundingdino.util.inference import predict

    found = detector("groundingdino-py", settings)[1]
    assert isinstance(found, GroundingDinoDetector)
    (ours,) = found.detect(sight, ["red cube"], 0.01)
    picture = torch.from_numpy(adapter.scaled(sight.rgb))
    boxes, scores, phrases = predict(found._model, picture, "Red cube", 0.01, 0.1, device="cpu")
    order = np.argsort(-scores.numpy(), kind="stable")
    assert [d.score for d in ours] == pytest.approx(scores.numpy()[order].tolist(), abs=1e-5)
    x, y, width, height = (boxes.numpy()[order[0]] * 112).tolist()
    assert ours[0].box == pytest.approx(
        np.clip([x - width / 2, y - height / 2, x + width / 2, y + height / 2], 0, 112).tolist(), abs=1e-3
    )
    words = phrases[order[0]].replace("[CLS]", "").replace("[SEP]", "").split()
    assert ours[0].label.split() == words


@pytest.mark.parametrize("size", [(60, 80), (90, 37), (50, 200), (64, 64)])
def test_pictures_are_scaled_as_the_package_scales_them(
    size: tuple[int, int], torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    published = pytest.importorskip("groundingdino.datasets.transforms", reason="groundingdino-py is not installed")
    from PIL import Image

    monkeypatch.setattr(adapter, "SHORT_SIDE", 800)
    rgb = np.random.default_rng(0).integers(0, 255, (*size, 3), dtype=np.uint8)
    steps = [
        published.RandomResize([800], max_size=1333),
        published.ToTensor(),
        published.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]
    theirs, _ = published.Compose(steps)(Image.fromarray(rgb), None)
    ours = adapter.scaled(rgb)
    assert ours.shape == tuple(theirs.shape)
    assert np.abs(ours - theirs.numpy()).max() < 0.02  # a grey value is 1 / 255 / 0.225


def test_there_is_a_mask_of_the_picture_for_every_box(settings: Settings, sight: Sight) -> None:
    found = segmenter("segment-anything", settings)[1].segment(sight, [(60, 70, 80, 90), (20.5, 20, 60, 60)])
    assert [mask.shape for mask in found] == [(112, 112)] * 2
    assert all(mask.dtype == np.bool_ for mask in found)


def test_a_box_of_fractions_reaches_the_segmenter_as_corners() -> None:
    from rbench_agent_moka.model_output import corners

    assert corners(np.array([[0.5, 0.5, 0.2, 0.4]]), 480, 640).tolist() == [[256, 144, 384, 336]]


def test_what_was_saved_is_what_is_loaded(settings: Settings, original_weights: Path, torch: Any) -> None:
    saved = torch.load(original_weights / "groundingdino_tiny.pth", weights_only=True)["model"]
    loaded = detector("groundingdino-py", settings)[1]
    assert isinstance(loaded, GroundingDinoDetector)
    state = loaded._model.state_dict()
    assert saved.keys() == state.keys()
    assert all(torch.equal(saved[name], state[name]) for name in saved)
    assert loaded.weights.keys() == {"groundingdino_tiny.pth", "bert-base-uncased/model.safetensors"}


def test_safetensors_are_taken_first(copy: Path, torch: Any) -> None:
    from safetensors.torch import save_file

    save_file(torch.load(copy / "sam_tiny.pth", weights_only=True), copy / "sam_tiny.safetensors")
    assert SamSegmenter(Settings(weights=copy)).weights.keys() == {"sam_tiny.safetensors"}


@pytest.mark.parametrize("name", ["groundingdino_tiny.pth", "sam_tiny.pth"])
def test_a_truncated_file_is_refused_by_name(copy: Path, name: str) -> None:
    (copy / name).write_bytes((copy / name).read_bytes()[:-1000])
    backend = GroundingDinoDetector if name.startswith("ground") else SamSegmenter
    with pytest.raises(StartError, match=rf"{name}: it is cut off"):
        backend(Settings(weights=copy))


def test_weights_of_another_model_are_refused(copy: Path) -> None:
    (copy / "sam_tiny.pth").unlink()
    (copy / "groundingdino_tiny.pth").rename(copy / "sam_renamed.pth")
    with pytest.raises(StartError, match=r"sam_renamed\.pth: not those of SAM, which has 'image_encoder.pos_embed'"):
        SamSegmenter(Settings(weights=copy))


def test_anything_but_tensors_is_refused(copy: Path, torch: Any) -> None:
    torch.save({"model": Path("somewhere")}, copy / "sam_tiny.pth")
    with pytest.raises(StartError, match=r"sam_tiny\.pth: .*dictionary of tensors"):
        SamSegmenter(Settings(weights=copy))


def test_a_missing_text_encoder_is_named(copy: Path) -> None:
    (copy / "bert-base-uncased").unlink()
    why = GroundingDinoDetector.missing(Settings(weights=copy))
    assert why is not None
    assert "bert-base-uncased" in why
    with pytest.raises(StartError, match="text encoder"):
        GroundingDinoDetector(Settings(weights=copy))
