"""How often the detector prefers a near colour to what was said: RoboView-Bias, section 6.5 and Figure 6.

It reads `near_colors` of an agent's report: a list of `{name, word, score, near: {word: score}}`, one entry for every
name with a colour word of which the detector was asked again with other words. An entry deviates when a near word
scores more than `THRESHOLD` above the word that was said. (The paper's rate is 17.78 %.) Entries with a `role` other
than "object" are left out: the true colour is that of the object.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeGuard

import numpy as np

from rbench.design import Design
from rbench.interfaces.metric import Convention, Metric, MetricResult
from rbench.record import EpisodeRecord
from rbench_metric_perception.descriptions import COLOR, true_of
from rbench_metric_perception.histogram import Histogram

#: By how much a near word must score higher, section 6.5.
THRESHOLD = 0.03
#: Bins of the best gain for the figure; the threshold is an edge.
_EDGES = (-math.inf, -0.09, -0.06, -0.03, 0.0, 0.03, 0.06, 0.09, math.inf)
_BINS = tuple(f"> {low:+.2f}" if high == math.inf else f"≤ {high:+.2f}" for low, high in pairwise(_EDGES))
#: Most entries of an episode, and near words of an entry, that are read; most pairs that are listed.
_MOST, _PAIRS = 50, 20


@dataclass(frozen=True)
class Probe:
    """One name: the word, its score, and the near word that scores best."""

    word: str
    score: float
    best: str
    gain: float

    @property
    def deviates(self) -> bool:
        return self.gain > THRESHOLD


class Deviation(Metric):
    """The share of deviating names, overall and by the true colour, and which words are preferred to which."""

    def __init__(self, options: None = None) -> None:
        pass

    def compute(self, episodes: Iterable[EpisodeRecord], design: Design, convention: Convention) -> MetricResult:
        histogram = Histogram("fig6", "best gain in score by a near colour", COLOR, _BINS)
        blocks: dict[tuple[str, int], Counter[bool]] = {}
        by: dict[str, Counter[bool]] = {}
        pairs: dict[tuple[str, str], list[float]] = {}
        total, gains = Counter[bool](), []
        for record in episodes:
            if not record.counted:
                continue
            true = true_of(record, COLOR, design)
            for probe in _probes(record):
                histogram.add(true, [_bin(probe.gain)])
                for counter in (total, blocks.setdefault((record.context, record.repeat), Counter())):
                    counter[probe.deviates] += 1
                by.setdefault(true or "", Counter())[probe.deviates] += 1
                gains.append(probe.gain)
                if probe.deviates:
                    pairs.setdefault((probe.word, probe.best), []).append(probe.gain)
        return MetricResult(
            extra={
                "threshold": THRESHOLD,
                **_row(total),
                "rate_interval": _interval(list(blocks.values())),
                "blocks": len(blocks),
                "gain_mean": math.fsum(gains) / len(gains) if gains else None,
                "by": {group: _row(counter) for group, counter in sorted(by.items()) if group},
                "preferred": _preferred(pairs),
                "histograms": [histogram.plain()],
            }
        )


def _row(counter: Counter[bool]) -> dict[str, Any]:
    probes = counter.total()
    return {"probes": probes, "deviating": counter[True], "rate": counter[True] / probes if probes else None}


def _preferred(pairs: Mapping[tuple[str, str], list[float]]) -> list[dict[str, Any]]:
    """Which word is preferred to which, the most frequent first."""
    order = sorted(pairs, key=lambda pair: (-len(pairs[pair]), pair))[:_PAIRS]
    return [
        {"word": said, "near": near, "times": len(found), "gain_mean": math.fsum(found) / len(found)}
        for said, near in order
        for found in [pairs[said, near]]
    ]


def _interval(blocks: Sequence[Counter[bool]]) -> list[float] | None:
    """A 95 % interval of the rate. Episodes of a block share their jitter, so blocks are what is independent.

    Student's t over the blocks' deviations from the pooled rate (a ratio of sums), clipped to 0..1; None below two
    blocks; where all agree, Wilson's with n = blocks.
    """
    from scipy.stats import binomtest, t  # takes a second to import

    n = len(blocks)
    if n < 2:
        return None
    deviating = np.array([block[True] for block in blocks], dtype=np.float64)
    probes = np.array([block.total() for block in blocks], dtype=np.float64)
    rate = float(deviating.sum() / probes.sum())
    spread = float(np.sqrt(math.fsum((deviating - rate * probes) ** 2) * n / (n - 1))) / float(probes.sum())
    if spread < 1e-12:
        found = binomtest(round(rate * n), n).proportion_ci(0.95, method="wilson")
        return [float(found.low), float(found.high)]
    half = float(t.ppf(0.975, n - 1)) * spread
    return [max(0.0, rate - half), min(1.0, rate + half)]


def _bin(gain: float) -> str:
    """The bin whose upper edge is the first that is not below the gain."""
    return _BINS[next(i for i, high in enumerate(_EDGES[1:]) if gain <= high)]


def _probes(record: EpisodeRecord) -> Iterator[Probe]:
    """What can be read of an episode's probes; anything may stand in a record."""
    report = record.agent.get("report")
    entries: Any = report.get("near_colors") if isinstance(report, Mapping) else None
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        return
    for entry in entries[:_MOST]:
        if not isinstance(entry, Mapping) or not isinstance(entry.get("near"), Mapping):
            continue
        if entry.get("role") not in (None, "object"):  # the box of roboview-bias is always yellow
            continue
        near = {word: score for word, score in entry["near"].items() if isinstance(word, str) and _is_score(score)}
        word, score = entry.get("word"), entry.get("score")
        if near and isinstance(word, str) and _is_score(score):
            best = min(near, key=lambda other: (-near[other], other))
            # Scores are recorded with six decimals: a difference of exactly the threshold is one.
            yield Probe(word, score, best, round(near[best] - score, 6))


def _is_score(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1
