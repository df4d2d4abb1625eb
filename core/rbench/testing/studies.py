"""Made-up studies for metrics: a design and its records, with known counts, and the odd ones that runs can end in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from rbench.design import Context, Design, Dimension
from rbench.record import EpisodeRecord, Event, Hashes, Outcome
from rbench.scene import Jitter
from rbench.seeding import hash64

#: How often outcomes come up in the ordinary study.
OUTCOMES: tuple[Outcome, ...] = ("success", "failure", "agent_error", "unstable", "infrastructure_error")
SHARES = (0.5, 0.35, 0.07, 0.04, 0.04)
#: Records of the large study.
LARGE = 40_000
#: Names and texts that are hard on whoever splits, formats, evaluates or prints them.
HOSTILE = (
    "nan",
    "0",
    "-1e999",
    "null",
    "a/b;c+d",
    "__proto__",
    "{0.__class__}",
    "%s%n",
    "=1+1",
    "'; DROP TABLE episodes; --",
    '"</script>',
    "\x1b[2J\r\n\x00",
    "\u202eevil",
    "\ud83d\ude00",
    " ",
    "x" * 3000,
)


@dataclass(frozen=True, eq=False)
class Study:
    """A design and its records."""

    name: str
    design: Design
    records: Sequence[EpisodeRecord]

    def only(self, name: str, keep: Callable[[EpisodeRecord], bool]) -> Study:
        """The study of a run that has these records only."""
        return replace(self, name=name, records=[record for record in self.records if keep(record)])

    def ending(self, name: str, outcome: Callable[[EpisodeRecord], Outcome]) -> Study:
        """The study in which episodes ended otherwise."""
        return replace(self, name=name, records=[_ended(record, outcome(record)) for record in self.records])


def ordinary() -> Study:
    """Two dimensions and their grid in three contexts, three repeats, with every outcome among the records."""
    colors, distances = ("red", "green", "blue", "gray"), ("d0.00", "d0.10", "d0.20")
    contexts = ("base", "position-p2", "shape-cube")
    return _study(
        "an ordinary run",
        (
            Dimension("color", {"color": colors}, contexts, 3),
            Dimension("camera-distance", {"camera-distance": distances}, contexts, 3),
            Dimension("camera-distance+color", {"camera-distance": distances[:2], "color": colors[:3]}, ("base",), 4),
        ),
    )


def another() -> Study:
    """A study of other dimensions, to be computed in between."""
    return _study("another run", (Dimension("shape", {"shape": ("cube", "prism")}, ("base",), 2),))


def odd(name: str) -> Study:
    """What is left of a run that was ended early, or one whose outcomes are all alike; named like the check of it."""
    return ODD[name]()


def _only(name: str, keep: Callable[[EpisodeRecord], bool]) -> Callable[[], Study]:
    return lambda: ordinary().only(name, keep)


def _all(name: str, outcome: Outcome) -> Callable[[], Study]:
    return lambda: ordinary().ending(name, lambda record: outcome)


def _one_episode() -> Study:
    full = ordinary()
    return replace(full, name="a single episode", records=full.records[:1])


def _single_level() -> Study:
    first = ordinary().design.dimensions[0]
    other = replace(first, name="shape", levels={"shape": ("cube",)})
    return _study("a dimension with one level", (replace(first, levels={"color": ("red",)}), other))


def _single_block() -> Study:
    dimensions = ordinary().design.dimensions
    return _study("one context, one repeat", tuple(replace(d, contexts=("base",), repeats=1) for d in dimensions))


def _independent() -> Study:
    full = ordinary()
    return replace(full, name="independent seeds", design=replace(full.design, seeds="independent"))


def hostile() -> Study:
    """Dimensions, contexts, levels and texts with hostile names."""
    names = HOSTILE[:4]
    dimensions = tuple(
        Dimension(name, {f"{name}{i}": HOSTILE}, ("base", HOSTILE[(i + 1) % len(HOSTILE)]), 2)
        for i, name in enumerate(HOSTILE[4:8])
    )
    grid = Dimension("a+b", {"a": names, "b": names}, ("base",), 2)
    study = _study("hostile names", (*dimensions, grid))
    texts = [
        replace(r, reason=text, instruction=text, error=text, task=text, agent={text: text, "report": {text: [text]}})
        for r, text in zip(study.records, _round(HOSTILE), strict=False)
    ]
    return replace(study, records=texts)


def large_design() -> Design:
    """The design of `large`."""
    levels = tuple(f"l{i:03d}" for i in range(100))
    contexts = tuple(f"c{i}" for i in range(10))
    return _design((Dimension("color", {"color": levels}, contexts, LARGE // 1000),))


def large() -> Iterator[EpisodeRecord]:
    """40,000 records, each made when it is asked for."""
    yield from _records(large_design())


def _round(texts: Sequence[str]) -> Iterator[str]:
    while True:
        yield from texts


def _study(name: str, dimensions: tuple[Dimension, ...]) -> Study:
    design = _design(dimensions)
    return Study(name, design, list(_records(design)))


def _design(dimensions: tuple[Dimension, ...]) -> Design:
    contexts = dict.fromkeys(context for dimension in dimensions for context in dimension.contexts)
    return Design(
        suite="made-up",
        dimensions=dimensions,
        contexts=tuple(Context(name, {"position": name}) for name in contexts),
        baselines={factor: levels[0] for d in dimensions for factor, levels in d.levels.items()},
        planned={d.name: d.cells * len(d.contexts) * d.repeats for d in dimensions},
        groups={f: dict.fromkeys(levels[:2], "warm") for d in dimensions for f, levels in d.levels.items()},
    )


def _records(design: Design) -> Iterator[EpisodeRecord]:
    for dimension in design.dimensions:
        cells: Iterable[tuple[str, ...]] = list(product(*dimension.levels.values()))
        rng = np.random.default_rng(hash64(dimension.name))
        for context, cell in product(dimension.contexts, cells):
            ends = rng.choice(len(OUTCOMES), size=dimension.repeats, p=SHARES)
            scores = rng.integers(1, 4, size=dimension.repeats)
            for repeat in range(dimension.repeats):
                levels = dict(zip(dimension.levels, cell, strict=True))
                yield _record(dimension.name, context, levels, repeat, OUTCOMES[ends[repeat]], int(scores[repeat]))


def _record(
    dimension: str, context: str, levels: dict[str, str], repeat: int, outcome: Outcome, third: int
) -> EpisodeRecord:
    instance = f"{dimension}/{'+'.join(levels.values())}/{context}"
    record = EpisodeRecord(
        episode=f"{instance}#{repeat}",
        instance=instance,
        repeat=repeat,
        task="object-in-box",
        dimension=dimension,
        context=context,
        levels=levels,
        values={factor: [len(name), 0.5] for factor, name in levels.items()},
        jitter={"geometry": Jitter(0.001 * repeat, -0.001 * repeat, 2.0 * repeat)},
        seed=0,
        outcome="failure",
        reason="time_limit",
        success=False,
        score=third / 4,
        steps=100 + 7 * repeat,
        sim_seconds=5.0 + 0.35 * repeat,
        events=(Event(1.0, "grasped"),),
        instruction="Put the object into the box.",
        hashes=Hashes("0" * 64, "1" * 64),
        agent={"calls": 3, "report": {"plan": ["reach", "grasp"]}},
        timing={"act": 0.1, "step": 1.0},
    )
    return _ended(record, outcome)


def _ended(record: EpisodeRecord, outcome: Outcome) -> EpisodeRecord:
    won = outcome == "success"
    error = None if outcome in ("success", "failure") else "it broke"
    score = 1.0 if won else min(record.score, 0.75)
    return replace(
        record, outcome=outcome, success=won, score=score, error=error, reason="goal" if won else "time_limit"
    )


#: Name of a check -> what makes its study.
ODD: Mapping[str, Callable[[], Study]] = {
    "no-episodes": _only("no episode at all", lambda record: False),
    "one-episode": _one_episode,
    "missing-cells": _only("cells are empty", lambda r: r.levels.get("color") != "red" or r.repeat > 1),
    "missing-dimension": _only("nothing of one dimension and the grid", lambda r: r.dimension == "color"),
    "single-level": _single_level,
    "single-block": _single_block,
    "all-success": _all("every episode succeeds", "success"),
    "all-failure": _all("every episode fails", "failure"),
    "all-errors": _all("every episode is an agent's error", "agent_error"),
    "nothing-counted": _all("the infrastructure fails always", "infrastructure_error"),
    "hostile-names": hostile,
    "independent-seeds": _independent,
}
