"""Who reads which picture next, and what becomes of an answer. Knows nothing of the web."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Literal

from rbench.errors import UsageError
from rbench.review.kappa import ANSWERS
from rbench.review.ledger import Ledger
from rbench.review.questions import Questions
from rbench.review.summary import summarise
from rbench.validation.findings import Answer, Decision
from rbench.validation.people import FIRST, RULING, SECOND, PeopleVerdict, people_verdicts

#: `read`: blind, in an order of one's own. `rule`: where opinions differ, with all of them in view.
View = Literal["read", "rule"]

#: How many pictures a page gets at once, to load the next ones before they are wanted.
AHEAD = 6


class Desk:
    """A review in progress; safe for several threads, and beside other processes on the same directory.

    What others decide meanwhile is seen at the next call. Two people may still read the same picture at the same
    moment: both readings are kept, and it was read twice.
    """

    def __init__(self, questions: Questions, ledger: Ledger) -> None:
        self.questions = questions
        self._ledger = ledger
        self._lock = threading.Lock()
        self._orders: dict[str, list[int]] = {}
        self._known: tuple[int, Sequence[PeopleVerdict]] = (-1, ())

    def work(self, reviewer: str, view: View) -> dict[str, Any]:
        """What a reviewer sees next, and how far everybody is."""
        with self._lock:
            return self._work(reviewer, view, self._verdicts())

    def decide(self, reviewer: str, view: View, number: int, image_hash: str, answer: str) -> dict[str, Any]:
        """Keep an answer, and say what comes next; the answer is on disk when this returns.

        Raises:
            UsageError: there is no such picture or answer, or a ruling is asked where nobody differs.
            StoppedEarly: it could not be written.
        """
        said = next((known for known in ANSWERS if known == answer), None)
        if said is None:
            raise UsageError(f"{answer!r} is no answer; say one of {', '.join(ANSWERS)}")
        with self._lock:
            verdicts = self._verdicts()
            if not 0 <= number < len(verdicts) or verdicts[number].item.image_hash != image_hash:
                raise UsageError("that picture is not in this queue; load the page again")
            if view == "rule" and not self._may_rule(number, verdicts[number]):
                raise UsageError("nobody differs about that picture any more; load the page again")
            self._write(reviewer, verdicts[number], view, said)
            return self._work(reviewer, view, self._verdicts())

    def undo(self, reviewer: str, view: View) -> dict[str, Any]:
        """Take the reviewer's last answer of this kind back, by a line that says so; `undone` says whether one was."""
        with self._lock:
            verdicts = self._verdicts()
            places = {(v.item.instance, v.item.camera, v.item.image_hash): n for n, v in enumerate(verdicts)}
            for last in reversed(self._ledger.standing()):
                number = places.get((last.instance, last.camera, last.image_hash))
                if last.reviewer == reviewer and (last.reading == RULING) == (view == "rule") and number is not None:
                    self._append(reviewer, verdicts[number], None, last.reading)
                    return self._work(reviewer, view, self._verdicts(), number) | {"undone": True}
            return self._work(reviewer, view, verdicts) | {"undone": False}

    def reviewers(self) -> list[str]:
        """Everybody who has decided something here."""
        with self._lock:
            self._ledger.refresh()
            return sorted({decision.reviewer for decision in self._ledger.standing()})

    def summary(self) -> dict[str, Any]:
        """What `rbench review DIR --summary --json` prints."""
        with self._lock:
            self._ledger.refresh()
            return summarise(self.questions, self._ledger.standing())

    def _verdicts(self) -> Sequence[PeopleVerdict]:
        self._ledger.refresh()
        if self._known[0] != self._ledger.changes:
            verdicts = people_verdicts(self.questions.items, self._ledger.standing())
            self._known = self._ledger.changes, verdicts
        return self._known[1]

    def _write(self, reviewer: str, verdict: PeopleVerdict, view: View, answer: Answer) -> None:
        if view == "rule":
            reading = RULING
        else:
            # Whoever says something else about the same picture replaces what he said.
            mine = self._own_reading(reviewer, verdict)
            reading = mine or (SECOND if verdict.readings else FIRST)
        self._append(reviewer, verdict, answer, reading)

    def _own_reading(self, reviewer: str, verdict: PeopleVerdict) -> int | None:
        item = verdict.item
        for decision in self._ledger.standing():
            if decision.reading != RULING and (decision.reviewer, decision.instance, decision.camera) == (
                reviewer,
                item.instance,
                item.camera,
            ):
                return decision.reading
        return None

    def _append(self, reviewer: str, verdict: PeopleVerdict, answer: Answer | None, reading: int) -> None:
        item, now = verdict.item, datetime.now(UTC).isoformat(timespec="milliseconds")
        self._ledger.append(Decision(item.instance, item.camera, item.image_hash, reviewer, answer, reading, now))

    def _may_rule(self, number: int, verdict: PeopleVerdict) -> bool:
        return verdict.ruling is not None or bool(self.questions.differences(number, verdict))

    def _work(
        self, reviewer: str, view: View, verdicts: Sequence[PeopleVerdict], first: int | None = None
    ) -> dict[str, Any]:
        if reviewer not in self._orders:
            self._orders[reviewer] = self.questions.order(reviewer)
        mine = self._orders[reviewer]
        readable = [n for n in mine if self._is_to_read(n, reviewer, verdicts[n])]
        differing = [n for n in mine if self.questions.differences(n, verdicts[n])]
        chosen = readable if view == "read" else differing
        if first in chosen:  # what was taken back comes back at once
            chosen = [first, *(n for n in chosen if n != first)]
        return {
            "view": view,
            "items": [self._item(n, view, verdicts[n]) for n in chosen[:AHEAD]],
            "progress": {
                "mine": sum(reviewer in verdict.readings for verdict in verdicts),
                "left": len(readable),
                "read": sum(bool(verdict.readings) for verdict in verdicts),
                "pictures": len(verdicts) - len(self.questions.gone),
                "gone": len(self.questions.gone),
                "disagreements": len(differing),
            },
        }

    def _is_to_read(self, number: int, reviewer: str, verdict: PeopleVerdict) -> bool:
        return reviewer not in verdict.readings and len(verdict.readings) < self.questions.needed(number)

    def _item(self, number: int, view: View, verdict: PeopleVerdict) -> Mapping[str, Any]:
        item = verdict.item
        shown: dict[str, Any] = {"number": number, "image_hash": item.image_hash, "instruction": item.instruction}
        if view == "rule":  # blind readers are told neither where a picture is from nor what others hold of it
            shown |= {
                "instance": item.instance,
                "camera": item.camera,
                "why": self.questions.differences(number, verdict),
                "statements": [asdict(statement) for statement in self.questions.statements(number, verdict)],
            }
        return shown
