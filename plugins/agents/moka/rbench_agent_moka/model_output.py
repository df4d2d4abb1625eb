"""What models give, as boxes, labels and masks of a picture.

Models differ: boxes are corners in pixels or centre and size as fractions, labels are put together from tokens of a
tokenizer, masks come with one axis more or less, and as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from rbench.geometry import Array
from rbench_agent_moka.perception import Detection
from rbench_agent_moka.sight import Mask

#: Tokens that are no words: [CLS], [SEP], [UNK].
_BRACKETED = re.compile(r"\[[^\[\]]*\]")


def corners(boxes: Array, height: int, width: int) -> Array:
    """(n, 4) pixels (x1, y1, x2, y2) of boxes (n, 4) of centre and size as fractions of the picture."""
    centre, half = boxes[:, :2], boxes[:, 2:] / 2
    return np.concatenate([centre - half, centre + half], axis=1) * (width, height, width, height)


def label_of(text: str | None) -> str:
    """The words of a label: without special tokens, with parts of words put together, without full stops."""
    words = _BRACKETED.sub(" ", text or "").replace(" ##", "").replace("##", "")
    return " ".join(words.replace(".", " ").split())


def detections(
    boxes: Array, scores: Array, labels: Sequence[str | None], size: tuple[int, int], threshold: float
) -> list[Detection]:
    """Boxes (n, 4) in pixels within the picture that score at least `threshold`, best first.

    What is no box there, or nothing but its edge, is left out.
    """
    height, width = size
    found = []
    for box, score, label in zip(boxes, scores, labels, strict=True):
        if not (np.isfinite(box).all() and score >= threshold):
            continue
        x1, y1, x2, y2 = (float(v) for v in np.clip(box, 0, (width, height, width, height)))
        if x2 > x1 and y2 > y1:
            found.append(Detection((x1, y1, x2, y2), float(score), label_of(label)))
    return sorted(found, key=lambda detection: -detection.score)


def masks(array: Any, count: int, size: tuple[int, int]) -> list[Mask]:
    """`count` masks (height, width) out of an array (count, height, width) or (count, 1, height, width).

    Numbers are logits: above 0 is the thing.

    Raises:
        ValueError: it has another shape.
    """
    given = np.asarray(array)
    flat = given[:, 0] if given.ndim == 4 and given.shape[1] == 1 else given
    if flat.shape != (count, *size):
        raise ValueError(f"masks of shape {given.shape}, expected {(count, *size)} or {(count, 1, *size)}")
    return [np.ascontiguousarray(mask if mask.dtype == np.bool_ else mask > 0) for mask in flat]
