"""The summary of a review for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def summary_lines(found: Mapping[str, Any]) -> Iterator[str]:
    """What `summarise` returned, as lines."""
    yield f"{found['suite']}, iteration {found['iteration']}: {found['read']} of {found['pictures']} pictures read"
    if found["without_picture"]:
        yield f"{found['without_picture']} cannot be shown: their files are gone; validate the suite again"
    answers = ", ".join(f"{count} {answer}" for answer, count in found["answers"].items())
    yield f"answers that stand: {answers}; {found['open']} open"
    yield f"yes among them: {_percent(found['yes_rate'])} (what follows for the suite, says rbench validate)"
    differing = ", ".join(f"{reason} {count}" for reason, count in found["disagreements"].items() if count)
    yield f"to adjudicate: {found['to_adjudicate']}" + (f" ({differing})" if differing else "")
    yield f"read twice: {found['read_twice']} ({found['to_read_twice']} wanted)"
    if found["outdated_decisions"]:
        yield f"decisions about pictures that are not in the queue any more: {found['outdated_decisions']}"
    for person in found["reviewers"]:
        yield f"{person['reviewer']}: {person['readings']} answers, {person['rulings']} rulings"
    for pair in found["pairs"]:
        yield ""
        yield from _pair(pair)
    for title, key in (("measured gate", "measured"), ("vision model", "model")):
        if any(any(counts.values()) for counts in found[key].values()):
            yield ""
            columns = list(next(iter(found[key].values())))
            yield f"{title} (rows) and people (columns)"
            yield from _table(columns, {name: list(counts.values()) for name, counts in found[key].items()})


def _pair(pair: Mapping[str, Any]) -> Iterator[str]:
    first, second = pair["reviewers"]
    yield f"{first} (rows) and {second} (columns): {pair['pictures']} pictures, {_percent(pair['agreement'])} alike"
    if pair["kappa"] is None:
        yield "Cohen's kappa: undefined, both gave one and the same answer throughout"
    elif pair["kappa_interval"] is None:
        yield f"Cohen's kappa {pair['kappa']:.2f}, which says nothing: one of them gave one answer throughout"
    else:
        low, high = pair["kappa_interval"]
        yield f"Cohen's kappa {pair['kappa']:.2f} (95 %: {low:.2f} to {high:.2f})"
    yield from _table(pair["answers"], dict(zip(pair["answers"], pair["counts"], strict=True)))


def _table(columns: Sequence[str], rows: Mapping[str, Sequence[int]]) -> Iterator[str]:
    yield " " * 8 + "".join(f"{name:>8}" for name in columns)
    for name, counts in rows.items():
        yield f"{name:8}" + "".join(f"{count:8}" for count in counts)


def _percent(rate: float | None) -> str:
    return "none yet" if rate is None else f"{100 * rate:.1f} %"
