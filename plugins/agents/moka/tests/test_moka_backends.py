"""Which backend is used, and what the embedded one sees."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from rbench.errors import StartError
from rbench.geometry import Pose
from rbench.interfaces.agent import EpisodeStart
from rbench_agent_moka import backends
from rbench_agent_moka.backends import Listed, detector, detectors, segmenter
from rbench_agent_moka.backends.opencv import OpenCvDetector, OpenCvSegmenter
from rbench_agent_moka.options import Options
from rbench_agent_moka.perception import Detection, Detector, Settings
from rbench_agent_moka.sight import Sight


class Heavy(Detector):
    """Needs a folder of weights."""

    @classmethod
    def missing(cls, settings: Settings) -> str | None:
        return None if settings.weights else "it needs weights; give their folder with -o weights=DIR"

    def detect(self, sight: Sight, names: Sequence[str], threshold: float) -> list[list[Detection]]:
        return [[] for _ in names]


@pytest.fixture
def heavy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "BACKENDS", (Listed("heavy", f"{__name__}:Heavy", None), *backends.BACKENDS))
    monkeypatch.setattr(backends, "backend_class", lambda target: Heavy if target.endswith(":Heavy") else load(target))
    detector.cache_clear()


load = backends.backend_class


@pytest.fixture
def sight(start: EpisodeStart) -> Sight:
    return Sight.of(start.observation, Pose(), Options(height=112, width=112), privileged=False)


def test_auto_takes_what_needs_nothing_where_there_are_no_weights(heavy: None) -> None:
    assert detector("auto", Settings())[0] == "opencv"


def test_auto_takes_the_first_whose_weights_are_there(heavy: None, tmp_path: object) -> None:
    assert detector("auto", Settings(weights=tmp_path))[0] == "heavy"  # type: ignore[arg-type]


def test_a_backend_that_is_asked_for_and_cannot_be_used_says_why(heavy: None) -> None:
    with pytest.raises(StartError, match="heavy cannot be used here: it needs weights"):
        detector("heavy", Settings())


def test_ground_truth_is_never_taken_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [listed.name for listed in backends.BACKENDS if listed.automatic]
    assert "ground-truth" in detectors()
    assert "ground-truth" not in names


@pytest.mark.parametrize("name", ["opencv", "ground-truth"])
def test_what_needs_nothing_can_always_be_made(name: str) -> None:
    assert detector(name, Settings())[0] == segmenter(name, Settings())[0] == name


def test_a_receptacle_gets_the_yellow_box_and_anything_else_the_solid(sight: Sight) -> None:
    (box,), (solid,), (other,) = OpenCvDetector(Settings()).detect(sight, ["container", "red cube", "banana"], 0.2)
    assert box.box == pytest.approx((20, 20, 60, 60), abs=1)
    assert solid.box == other.box == pytest.approx((60, 70, 80, 90), abs=1)


def test_what_scores_less_than_the_threshold_is_not_found(sight: Sight) -> None:
    assert OpenCvDetector(Settings()).detect(sight, ["red cube"], 0.999) == [[]]


def test_the_mask_of_a_box_is_what_stands_out_in_it(sight: Sight) -> None:
    known, unknown = OpenCvSegmenter(Settings()).segment(sight, [(60, 70, 80, 90), (55, 40, 112, 112)])
    block = np.zeros((112, 112), dtype=np.bool_)
    block[70:90, 60:80] = True
    for mask in (known, unknown):
        assert (mask & block).sum() / (mask | block).sum() > 0.8  # the eye blurs by a pixel


def test_a_box_on_the_bare_table_has_an_empty_mask(sight: Sight) -> None:
    (mask,) = OpenCvSegmenter(Settings()).segment(sight, [(90, 5, 110, 25)])
    assert not mask.any()


def test_the_agent_says_which_it_uses(scripted: Callable, agent: Callable, start: EpisodeStart) -> None:
    made = agent(scripted(), detector="ground-truth")
    made.reset(start)
    assert made.report()["perception"] == {"detector": "ground-truth", "segmenter": "opencv"}
