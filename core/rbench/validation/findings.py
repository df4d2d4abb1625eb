"""What is found out about one picture: an instance as one camera shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

#: What a person, or a model, can say of a picture.
Answer = Literal["yes", "no", "unsure"]


@dataclass(frozen=True)
class Finding:
    """The measured gate's verdict on one instance in one camera; a line of `verdicts.jsonl`.

    Attributes:
        instance: id of the instance. camera: name of the camera.
        instruction: what an agent would be told.
        levels: the level of every factor, baselines included.
        image: path of the picture below the validation directory; instances that look alike share one.
        image_hash: SHA-256 over size and pixels of the picture, which decisions refer to.
        passed: no rule is broken.
        reasons: the rules that are broken (`rbench.validation.rules`), the most telling first.
        notes: what is reported but is no reason to fail, such as `low contrast`.
        measures: every measured number (`rbench.validation.measures`).
    """

    instance: str
    camera: str
    dimension: str
    context: str
    instruction: str
    levels: Mapping[str, str]
    image: str
    image_hash: str
    passed: bool
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    measures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class QueueItem:
    """A picture that people are to read; a line of `queue.jsonl`.

    Attributes:
        why: why it is here: `measured: RULE`, `model: no`, `model: no answer`, or `sample` (of those that pass).
    """

    instance: str
    camera: str
    instruction: str
    image: str
    image_hash: str
    why: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    """What one person said of one picture; a line of `decisions/REVIEWER.jsonl`.

    A later line of the same reviewer about the same instance, camera and reading replaces an earlier one.

    Attributes:
        image_hash: of the picture that was shown: a decision about another picture of the instance does not count.
        answer: whether object and box can be told and found; None takes an earlier decision back.
        reading: 1, 2 for the blind second reading of a picture by another person, 3 for the ruling of an adjudicator.
        at: UTC, ISO 8601.
    """

    instance: str
    camera: str
    image_hash: str
    reviewer: str
    answer: Answer | None
    reading: int = 1
    at: str = ""
