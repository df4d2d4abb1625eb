"""What people made of the pictures: their readings, and the answer that stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rbench.validation.findings import Answer, Decision, QueueItem

#: Values of `Decision.reading`: by whoever comes first, blind again by somebody else, and with all answers in view.
FIRST, SECOND, RULING = 1, 2, 3

#: Instance and camera: what a picture is of.
Picture = tuple[str, str]


@dataclass(frozen=True)
class PeopleVerdict:
    """One picture of the queue and what people said of it.

    Attributes:
        readings: the answer of every reviewer who read it blind, first or second.
        ruling: the answer of the adjudicator, who knew the others; the latest when there are several.
    """

    item: QueueItem
    readings: Mapping[str, Answer] = field(default_factory=dict)
    ruling: Answer | None = None

    @property
    def answer(self) -> Answer | None:
        """The answer that stands: the ruling, else the one that all readers gave; None while there is none.

        `unsure` stands only when it was ruled: a reader's own is a question to the adjudicator.
        """
        if self.ruling is not None:
            return self.ruling
        said = set(self.readings.values())
        return said.pop() if len(said) == 1 and "unsure" not in said else None

    @property
    def is_open(self) -> bool:
        """Whether it was read, and no answer stands yet: readers differ or are unsure."""
        return bool(self.readings) and self.answer is None


def people_verdicts(queue: Iterable[QueueItem], decisions: Iterable[Decision]) -> list[PeopleVerdict]:
    """What people said of every picture of a queue, in its order; decisions about other pictures do not count.

    Args:
        decisions: those that were not taken back, as `ValidationDirectory.decisions` gives them.
    """
    by_picture: dict[Picture, list[Decision]] = {}
    for decision in sorted(decisions, key=lambda decision: decision.at):
        by_picture.setdefault((decision.instance, decision.camera), []).append(decision)
    return [_verdict(item, by_picture.get((item.instance, item.camera), ())) for item in queue]


def _verdict(item: QueueItem, decisions: Iterable[Decision]) -> PeopleVerdict:
    readings: dict[str, Answer] = {}
    ruling: Answer | None = None
    for decision in decisions:
        if decision.answer is None or decision.image_hash != item.image_hash:
            continue
        if decision.reading == RULING:
            ruling = decision.answer
        else:
            readings[decision.reviewer] = decision.answer
    return PeopleVerdict(item, readings, ruling)
