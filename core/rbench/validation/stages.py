"""What each stage of a validation comes to: pass rates, levels that fail, and what may be changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rbench.suites.suite import Suite
from rbench.validation.findings import Finding, QueueItem
from rbench.validation.people import PeopleVerdict
from rbench.validation.rules import LIKE_THE_BOX, LOW_CONTRAST, REMEDIES
from rbench.validation.screening import ScreenAnswer

#: A level is worth a word when at least this share of its instances fails.
WORTH_A_WORD = 0.25
SAMPLE = "sample"


def by_instance(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """The findings of every instance, one a camera, in order."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        found.setdefault(finding.instance, []).append(finding)
    return found


def measured_stage(findings: Sequence[Finding], rule: float) -> dict[str, Any]:
    """What the measured gate found: an instance passes when it does in every camera."""
    instances = by_instance(findings)
    failing = {name: seen for name, seen in instances.items() if not all(f.passed for f in seen)}
    passed = len(instances) - len(failing)
    rate = passed / len(instances)
    return {
        "instances": len(instances),
        "pictures": len({f.image_hash for f in findings}),
        "passed": passed,
        "pass_rate": rate,
        "accepted": rate >= rule,
        "reasons": dict(_count_instances(instances, lambda f: f.reasons)),
        "notes": dict(_count_instances(instances, lambda f: f.notes)),
        "failing": [
            {"instance": name, "cameras": {f.camera: list(f.reasons) for f in seen if not f.passed}}
            for name, seen in failing.items()
        ],
    }


def _count_instances(instances: Mapping[str, Sequence[Finding]], words: Any) -> Counter[str]:
    return Counter(word for seen in instances.values() for word in {w for f in seen for w in words(f)})


def level_table(suite: Suite, findings: Sequence[Finding]) -> list[dict[str, Any]]:
    """A row for every level of every factor: its instances, and how many of them fail or are noted.

    A visual factor's rows count the dimensions that vary it, a context factor's all of them.
    """
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for seen in by_instance(findings).values():
        first = seen[0]
        for factor in suite.factors.values():
            if factor.role == "visual" and factor.name not in suite.dimension(first.dimension).factors:
                continue
            key = (factor.name, first.levels[factor.name])
            row = rows.setdefault(
                key,
                {
                    "factor": key[0],
                    "level": key[1],
                    "instances": 0,
                    "passed": 0,
                    "low_contrast": 0,
                    "like_the_box": 0,
                    "reasons": {},
                },
            )
            row["instances"] += 1
            row["passed"] += all(f.passed for f in seen)
            row["low_contrast"] += any(LOW_CONTRAST in f.notes for f in seen)
            row["like_the_box"] += any(LIKE_THE_BOX in f.notes for f in seen)
            for reason in {reason for f in seen for reason in f.reasons}:
                row["reasons"][reason] = row["reasons"].get(reason, 0) + 1
    order = {name: number for number, name in enumerate(suite.factors)}
    return sorted(rows.values(), key=lambda row: order[row["factor"]])


def suggestions(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """For each level of which many instances fail: how many, why, and what may be changed; the worst first."""
    found = []
    for row in rows:
        failed = row["instances"] - row["passed"]
        if failed < WORTH_A_WORD * row["instances"] or not failed:
            continue
        reason = max(REMEDIES, key=lambda name: row["reasons"].get(name, 0))
        share = failed / row["instances"]
        text = (
            f"{row['factor']} {row['level']}: {failed} of {row['instances']} fail, {reason}"
            f" ({row['reasons'][reason]}). To change: {REMEDIES[reason]}"
        )
        found.append((-share, text))
    return [text for _, text in sorted(found, key=lambda pair: pair[0])]


def model_stage(
    findings: Sequence[Finding], answers: Mapping[str, ScreenAnswer], vision: str, rule: float
) -> dict[str, Any]:
    """What the pre-screen found, what it cost, and how far it agrees with the measured gate, picture by picture."""
    said = {name: answer.answer for name, answer in answers.items()}
    instances = by_instance(findings)
    judged = [seen for seen in instances.values() if all(said.get(f.image_hash) for f in seen)]
    passed = sum(all(said[f.image_hash] == "yes" for f in seen) for seen in judged)
    pictures = {f.image_hash: f for f in findings}
    both = Counter((f.passed, said[name] == "yes") for name, f in pictures.items() if said.get(name))
    by_reason: dict[str, dict[str, int]] = {}
    for name, finding in pictures.items():
        for word in (*finding.reasons, *finding.notes):
            if said.get(name):
                count = by_reason.setdefault(word, {"yes": 0, "no": 0})
                count[str(said[name])] += 1
    rate = passed / len(judged) if judged else 0.0
    return {
        "vision": vision,
        "models": sorted({str(a.usage.get("model")) for a in answers.values() if a.usage.get("model")}),
        "instances": len(judged),
        "passed": passed,
        "pass_rate": rate,
        "accepted": len(judged) == len(instances) and rate >= rule,
        "pictures": {
            "asked": len(answers),
            "yes": sum(answer == "yes" for answer in said.values()),
            "no": sum(answer == "no" for answer in said.values()),
            "no_answer": sum(answer is None for answer in said.values()),
        },
        "tokens_in": _total(answers, "tokens_in"),
        "tokens_out": _total(answers, "tokens_out"),
        "cost": _total(answers, "cost"),
        "agreement": {
            "both_pass": both[(True, True)],
            "only_gate_passes": both[(True, False)],
            "only_model_passes": both[(False, True)],
            "both_fail": both[(False, False)],
            "by_reason": by_reason,
        },
    }


def _total(answers: Mapping[str, ScreenAnswer], key: str) -> Any:
    values = [answer.usage.get(key) for answer in answers.values()]
    return None if not values or None in values else sum(v for v in values if v is not None)


def people_stage(verdicts: Sequence[PeopleVerdict], pictures: int, rule: float) -> dict[str, Any] | None:
    """What people decided of the queue, and what follows for all pictures; None while nothing is decided.

    Pictures that something spoke against are all in the queue and stand for themselves; the sample stands for the
    rest. So a queue that is full of doubtful pictures does not lower the estimate.

    Args:
        pictures: how many different ones there are.
    """
    if not any(verdict.answer for verdict in verdicts):
        return None
    sampled = [v for v in verdicts if v.item.why == (SAMPLE,)]
    doubtful = [v for v in verdicts if v.item.why != (SAMPLE,)]
    rest = pictures - len(doubtful)
    rate = (len(doubtful) * _share(doubtful) + rest * _share(sampled)) / pictures
    decided = sum(v.answer is not None for v in verdicts)
    return {
        "queue": len(verdicts),
        "decided": decided,
        "yes": sum(v.answer == "yes" for v in verdicts),
        "instances": pictures,
        "pass_rate": rate,
        "accepted": decided == len(verdicts) and rate >= rule,
    }


def _share(verdicts: Sequence[PeopleVerdict]) -> float:
    """Of those with an answer, the share of `yes`."""
    answered = [v for v in verdicts if v.answer is not None]
    return sum(v.answer == "yes" for v in answered) / len(answered) if answered else 0.0


def queue_of(findings: Sequence[Finding], answers: Mapping[str, ScreenAnswer], sample: int | None) -> list[QueueItem]:
    """The pictures that people are to read: all that something speaks against, and a sample of the rest.

    Each picture once, whatever instances share it. The sample is spread evenly over the design.

    Args:
        sample: how many of the rest; None: all.
    """
    doubtful: list[QueueItem] = []
    rest: list[QueueItem] = []
    seen: set[str] = set()
    for finding in findings:
        if finding.image_hash in seen:
            continue
        seen.add(finding.image_hash)
        why = [f"measured: {reason}" for reason in finding.reasons]
        answer = answers.get(finding.image_hash)
        if answer is not None and answer.answer != "yes":
            why.append("model: no" if answer.answer == "no" else "model: no answer")
        (doubtful if why else rest).append(_item(finding, tuple(why) or (SAMPLE,)))
    count = len(rest) if sample is None else min(sample, len(rest))
    return doubtful + [rest[i * len(rest) // count] for i in range(count)]


def _item(finding: Finding, why: tuple[str, ...]) -> QueueItem:
    return QueueItem(finding.instance, finding.camera, finding.instruction, finding.image, finding.image_hash, why)
