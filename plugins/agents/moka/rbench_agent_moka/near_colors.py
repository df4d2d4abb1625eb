"""Whether the detector would rather have heard another colour word: RoboView-Bias, section 6.5 and Figure 6.

The word for a colour in a name is replaced by words for similar colours, and the detector is asked again. A replacement
that scores higher than what the vision model said shows that the two see the colour differently. The paper names
neither its similar colours nor its space; here they are the nearest in CIEDE2000.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from rbench.validation.color_difference import ciede2000, lab_of
from rbench.vision.color_words import ColorWord, color_words, mentions
from rbench_agent_moka.perception import Detector
from rbench_agent_moka.sight import Sight

#: The best box counts, whatever it scores.
_ANY = 0.001
_DECIMALS = 6


@cache
def nearest(word: ColorWord, count: int) -> tuple[ColorWord, ...]:
    """The `count` words for the most similar other colours, the nearest first; of equal colours the first by name."""
    lab = lab_of(np.array(word.rgb, dtype=np.uint8))
    others = {other.rgb: other for other in reversed(color_words()) if other.rgb != word.rgb}
    away = {other: float(ciede2000(lab, lab_of(np.array(other.rgb, dtype=np.uint8)))) for other in others.values()}
    return tuple(sorted(away, key=lambda other: (away[other], other.name))[:count])


def probed(detector: Detector, sight: Sight, names: Sequence[str], count: int) -> list[dict[str, Any]]:
    """For every name with a colour word the score of what was said and of the name with near colours instead.

    Returns:
        In the form that the metric `deviation` reads: `name`, `word`, `score`, and `near`: word -> score. A score is
        0 where there was no box at all.
    """
    entries = []
    for name in names:
        found = mentions(name)
        if not found:
            continue
        mention = found[0]
        words = nearest(mention.word, count)
        labels = [f"{name[: mention.begin]}{word.name}{name[mention.end :]}" for word in words]
        scores = [_best(detector, sight, label) for label in (name, *labels)]
        near = {word.name: score for word, score in zip(words, scores[1:], strict=True)}
        entries.append({"name": name, "word": mention.word.name, "score": scores[0], "near": near})
    return entries


def _best(detector: Detector, sight: Sight, name: str) -> float:
    """The best score of a name. Asked for alone: no other name may take its box."""
    (found,) = detector.detect(sight, [name], _ANY)
    return round(found[0].score, _DECIMALS) if found else 0.0
