"""How far a review is, what people say, and how far they agree with each other, the gate and the model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

from rbench.review.kappa import ANSWERS, agreement_of
from rbench.review.questions import Questions
from rbench.validation.findings import Answer, Decision
from rbench.validation.people import RULING, PeopleVerdict, people_verdicts


def summarise(questions: Questions, decisions: Sequence[Decision]) -> dict[str, Any]:
    """The state of a review, as data.

    Args:
        decisions: those that were not taken back.

    Returns:
        Counts; `yes_rate` is yes among the pictures on which an answer stands, 0..1 or None (the queue is full of
        doubtful pictures, so this is no rate of the suite); `pairs` has Cohen's kappa of every two readers who read
        the same pictures, from their blind readings alone.
    """
    verdicts = people_verdicts(questions.items, decisions)
    answers = Counter(verdict.answer for verdict in verdicts if verdict.answer is not None)
    differing = Counter(reason for n, v in enumerate(verdicts) for reason in questions.differences(n, v))
    current = {(v.item.instance, v.item.camera, v.item.image_hash) for v in verdicts}
    said = [d for d in decisions if (d.instance, d.camera, d.image_hash) in current]
    standing = sum(answers.values())
    return {
        "suite": questions.suite,
        "suite_hash": questions.suite_hash,
        "iteration": questions.iteration,
        "pictures": len(verdicts),
        "without_picture": len(questions.gone),
        "read": sum(bool(verdict.readings) for verdict in verdicts),
        "to_read_twice": len(questions.twice),
        "read_twice": sum(len(verdict.readings) > 1 for verdict in verdicts),
        "answers": {answer: answers[answer] for answer in ANSWERS},
        "open": sum(verdict.is_open for verdict in verdicts),
        "yes_rate": answers["yes"] / standing if standing else None,
        "disagreements": {reason: differing[reason] for reason in ("readers", "unsure", "measured", "model")},
        "to_adjudicate": sum(bool(questions.differences(n, v)) for n, v in enumerate(verdicts)),
        "decisions": len(said),
        "outdated_decisions": len(decisions) - len(said),
        "reviewers": _reviewers(said),
        "pairs": _pairs(verdicts),
        "measured": _against(
            [
                ("passed" if finding.passed else "failed", verdict.answer)
                for n, verdict in enumerate(verdicts)
                if (finding := questions.finding(n)) is not None
            ],
            ("passed", "failed"),
        ),
        "model": _against([(questions.model_answer(n), v.answer) for n, v in enumerate(verdicts)], ("yes", "no")),
    }


def _reviewers(decisions: Iterable[Decision]) -> list[dict[str, Any]]:
    readings: Counter[str] = Counter()
    rulings: Counter[str] = Counter()
    for decision in decisions:
        (rulings if decision.reading == RULING else readings)[decision.reviewer] += 1
    return [
        {"reviewer": name, "readings": readings[name], "rulings": rulings[name]}
        for name in sorted(readings.keys() | rulings.keys())
    ]


def _pairs(verdicts: Sequence[PeopleVerdict]) -> list[dict[str, Any]]:
    said: dict[tuple[str, str], list[tuple[Answer, Answer]]] = {}
    for verdict in verdicts:
        for first, second in combinations(sorted(verdict.readings), 2):
            said.setdefault((first, second), []).append((verdict.readings[first], verdict.readings[second]))
    found = []
    for names, pairs in sorted(said.items()):
        agreement = agreement_of(pairs)
        found.append(
            {
                "reviewers": list(names),
                "pictures": agreement.pictures,
                "agreement": agreement.agreement,
                "kappa": agreement.kappa,
                "kappa_interval": None if agreement.interval is None else list(agreement.interval),
                "answers": list(ANSWERS),
                "counts": [list(row) for row in agreement.counts],
            }
        )
    return found


def _against(pairs: Sequence[tuple[str | None, Answer | None]], names: tuple[str, str]) -> dict[str, Any]:
    """How often each verdict of a gate or a model met each answer of people; what lacks either is left out."""
    counted = Counter(pairs)
    return {name: {answer: counted[(name, answer)] for answer in ANSWERS} for name in names}
