"""Words for colours and shapes in what an agent calls the object: Figures 5 and 13 of RoboView-Bias, A.4.

An agent says what it calls things in the stages that it reports: an entry with `role` "object" and a text `named`
(docs/agents.md). Counted is what it called them at the first stage at which it did: later stages repeat the plan. What
is acted upon, the yellow box of roboview-bias, is left out: it would always be called yellow and a box.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rbench.design import Design
from rbench.interfaces.metric import Convention, Metric, MetricResult
from rbench.record import EpisodeRecord
from rbench.vision.color_words import mentions
from rbench_metric_perception.histogram import Histogram

#: The factors that say what the object's colour and shape truly are.
COLOR, SHAPE = "color", "shape"
#: Longest name, and most names of an episode, that are read: anything may stand in a record.
_LONGEST, _MOST = 200, 50
#: Words for shapes; several ways to write one are one word.
_SHAPES: Mapping[str, Sequence[str]] = {
    "cube": ("cube", "cubes", "cubic", "dice"),
    "block": ("block", "blocks", "brick"),
    "cuboid": ("cuboid", "rectangle", "rectangular"),
    "square": ("square",),
    "cylinder": ("cylinder", "cylinders", "cylindrical", "tube"),
    "disc": ("disc", "disk", "puck", "circle", "round"),
    "can": ("can", "cup"),
    "pyramid": ("pyramid", "pyramids", "pyramidal"),
    "cone": ("cone", "conical"),
    "triangle": ("triangle", "triangular"),
    "prism": ("prism", "prisms"),
    "hexagon": ("hexagon", "hexagonal", "hex"),
    "sphere": ("sphere", "spherical", "ball"),
    "polyhedron": ("polyhedron", "polygon", "octagon", "octagonal", "pentagon", "pentagonal"),
    "geometry": ("geometry", "geometric"),
    "shape": ("shape",),
    "object": ("object", "objects"),
    "solid": ("solid",),
    "item": ("item", "items"),
    "thing": ("thing",),
    "toy": ("toy",),
    "piece": ("piece",),
    "box": ("box", "container"),
}
_SHAPE_OF = {written: word for word, several in _SHAPES.items() for written in several}


class Descriptions(Metric):
    """Counts of words, overall and by the true colour (its family, where the factor has families) and shape."""

    def __init__(self, options: None = None) -> None:
        pass

    def compute(self, episodes: Iterable[EpisodeRecord], design: Design, convention: Convention) -> MetricResult:
        colors = Histogram("fig5", "colour words in what the object is called", COLOR)
        shapes = Histogram("fig13", "shape words in what the object is called", SHAPE)
        total = named = names_total = colorless = shapeless = 0
        for record in episodes:
            if not record.counted:
                continue
            total += 1
            names = list(_names(record))
            named += bool(names)
            for name in names:
                said = {mention.word.name for mention in mentions(name)}
                called = shape_words(name)
                names_total += 1
                colorless += not said
                shapeless += not called
                colors.add(true_of(record, COLOR, design), said)
                shapes.add(true_of(record, SHAPE, design), called)
        return MetricResult(
            extra={
                "episodes": total,
                "episodes_with_names": named,
                "names": names_total,
                "without_color": colorless / names_total if names_total else None,
                "without_shape": shapeless / names_total if names_total else None,
                "histograms": [colors.plain(), shapes.plain()],
            }
        )


def shape_words(name: str) -> frozenset[str]:
    """The words for shapes in a name, each in one way of writing it."""
    return frozenset(_SHAPE_OF[w] for w in re.findall(r"[^\W\d_]+", name.casefold()) if w in _SHAPE_OF)


def true_of(record: EpisodeRecord, factor: str, design: Design) -> str | None:
    """The true level of a factor, or the group that the level is in."""
    level = record.levels.get(factor)
    return None if level is None else design.groups.get(factor, {}).get(level, level)


def _names(record: EpisodeRecord) -> Iterator[str]:
    """What the object is called at the first stage at which it is called something; each name once."""
    report = record.agent.get("report")
    stages: Any = report.get("stages") if isinstance(report, Mapping) else None
    if not isinstance(stages, Sequence) or isinstance(stages, str):
        return
    entries = [s for s in stages if isinstance(s, Mapping) and s.get("role") == "object"]
    entries = [s for s in entries if isinstance(s.get("named"), str) and s["named"].strip()]
    seen: dict[str, None] = {}
    for entry in entries:
        if entry.get("stage") != entries[0].get("stage") or len(seen) == _MOST:
            break
        seen.setdefault(" ".join(entry["named"][:_LONGEST].split()))
    yield from seen
