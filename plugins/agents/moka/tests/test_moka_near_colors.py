"""The detector asked again with near colours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from rbench.geometry import Pose
from rbench.interfaces.agent import EpisodeStart
from rbench.vision.color_words import ColorWord, mentions
from rbench_agent_moka.near_colors import nearest, probed
from rbench_agent_moka.options import Options
from rbench_agent_moka.perception import Detection, Detector, Settings
from rbench_agent_moka.sight import Sight


class Prefers(Detector):
    """Sees a crimson cube, and nothing called red."""

    def __init__(self) -> None:
        super().__init__(Settings())
        self.asked: list[str] = []

    def detect(self, sight: Sight, names: Sequence[str], threshold: float) -> list[list[Detection]]:
        self.asked += names
        scores = [0.9 if "crimson" in name else 0.0 if "red" in name else 0.2 for name in names]
        return [[Detection((1.0, 1.0, 5.0, 5.0), score, "")] if score else [] for score in scores]


@pytest.fixture
def sight(start: EpisodeStart) -> Sight:
    return Sight.of(start.observation, Pose(), Options(height=112, width=112), privileged=False)


def word(name: str) -> ColorWord:
    return mentions(name)[0].word


def test_near_colours_are_the_nearest_by_ciede2000() -> None:
    assert [w.name for w in nearest(word("red"), 3)] == ["orange red", "tomato", "crimson"]
    assert [w.name for w in nearest(word("gray"), 2)] == ["slate gray", "dim gray"]
    assert [w.name for w in nearest(word("yellow"), 1)] == ["gold"]


def test_a_colour_is_not_near_to_itself_under_another_name() -> None:
    assert "aqua" not in [w.name for w in nearest(word("cyan"), 20)]
    colors = [w.rgb for w in nearest(word("pink"), 20)]
    assert len(set(colors)) == 20


def test_what_was_said_and_near_words_are_asked_one_by_one(sight: Sight) -> None:
    detector = Prefers()
    (entry,) = probed(detector, sight, ["small red cube", "geometry"], 4)
    assert detector.asked[0] == "small red cube"
    assert all(name.startswith("small ") and name.endswith(" cube") for name in detector.asked)
    assert entry["word"] == "red"
    assert entry["score"] == 0.0
    assert entry["near"]["crimson"] == 0.9


def test_the_agent_reports_it_where_it_is_asked_to(scripted: Callable, agent: Callable, start: EpisodeStart) -> None:
    step = {"instruction": "x", "object_grasped": "red cube", "object_unattached": "yellow box"}
    made = agent(scripted(step), near_colors=3)
    made.reset(start)
    made.act(start.observation)
    assert [(e["word"], len(e["near"]), e["role"]) for e in made.report()["near_colors"]] == [
        ("red", 3, "object"),
        ("yellow", 3, "destination"),
    ]


def test_it_is_not_asked_again_by_default(scripted: Callable, agent: Callable, start: EpisodeStart) -> None:
    made = agent(scripted())
    made.reset(start)
    made.act(start.observation)
    assert made.report()["near_colors"] == []
