"""The paper's Tables 1 and 2, and a table of the evidence, as text in cells: for LaTeX and for figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from rbench.reporting.numbers import NOT_KNOWN, interval, p_value, percent, percentage
from rbench.reporting.run_report import RunReport
from rbench.rounding import half_up


@dataclass(frozen=True)
class PaperTable:
    """A table of text.

    Attributes:
        groups: heading and number of columns of each group, above `columns`; an empty heading: none.
        columns: a heading a column; the first columns, `words` of them, hold names.
        rows: text of the cells.
        bold, underlined: (row, column) of what is marked: best and worst.
        ruled: rows that a line stands above.
    """

    name: str
    caption: str
    groups: tuple[tuple[str, int], ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: int = 1
    bold: frozenset[tuple[int, int]] = frozenset()
    underlined: frozenset[tuple[int, int]] = frozenset()
    ruled: frozenset[int] = field(default_factory=frozenset)


def paper_tables(reports: Sequence[RunReport]) -> list[PaperTable]:
    """Table 1, Table 2 when there is a grid, and the evidence for Table 1."""
    return [table for table in (_table1(reports), _table2(reports), _evidence(reports)) if table is not None]


def _table1(reports: Sequence[RunReport]) -> PaperTable:
    dimensions = list(dict.fromkeys(d.name for report in reports for d in report.dimensions))
    values = []
    for report in reports:
        rows = [report.summary["dimensions"].get(name, {}) for name in dimensions]
        values.append([row.get(key) for row in (*rows, report.summary["average"]) for key in ("success_rate", "cv")])
    cells = [[percentage(v) if n % 2 else percent(v) for n, v in enumerate(row)] for row in values]
    best = _marked(values, range(1, 2 * len(dimensions) + 2, 2), min)
    return PaperTable(
        name="table1",
        caption="Success rate (SR) and bias coefficient (CV) by visual dimension, in percent."
        + (" Bold: lowest CV of a column." if len(reports) > 1 else ""),
        groups=(("", 1), *((name, 2) for name in dimensions), ("Average", 2)),
        columns=("Agent", *("SR", "CV") * (len(dimensions) + 1)),
        rows=tuple((report.label, *row) for report, row in zip(reports, cells, strict=True)),
        bold=frozenset((row, column + 1) for row, column in best),
    )


def _table2(reports: Sequence[RunReport]) -> PaperTable | None:
    found = [(r, grid) for r in reports for grid in r.summary["interactions"] if grid.get("episodes")]
    factors = found[0][1]["factors"] if found else None
    found = [(report, grid) for report, grid in found if grid["factors"] == factors]
    if factors is None:
        return None
    # The factor with fewer levels first, as the paper has it: C, then P.
    a, b = reversed(factors)
    values = [
        [grid["cv"].get(a), grid["iec"].get(f"{a};{b}"), grid["cv"].get(b), grid["iec"].get(f"{b};{a}")]
        for _, grid in found
    ]
    rows = [(report.label, *map(percentage, row)) for (report, _), row in zip(found, values, strict=True)]
    if len(rows) > 1:
        printed = found[0][0].summary["convention"] == "paper"
        rows.append(("Average", *(_mean((row[column] for row in values), printed) for column in range(4))))
    return PaperTable(
        name="table2",
        caption=f"Interaction of {a} and {b}: bias coefficient of each, and how much it varies with the other (IEC),"
        " in percent." + (" Bold: lowest, underlined: highest of a column." if len(found) > 1 else ""),
        groups=(),
        columns=("Agent", f"CV({a})", f"IEC({a}; {b})", f"CV({b})", f"IEC({b}; {a})"),
        rows=tuple(rows),
        bold=frozenset((row, column + 1) for row, column in _marked(values, range(4), min)),
        underlined=frozenset((row, column + 1) for row, column in _marked(values, range(4), max)),
        ruled=frozenset([len(found)] if len(found) > 1 else []),
    )


def _evidence(reports: Sequence[RunReport]) -> PaperTable:
    rows: list[tuple[str, ...]] = []
    starts = []
    for report in reports:
        starts.append(len(rows))
        for number, dimension in enumerate(report.dimensions):
            row = report.summary["dimensions"][dimension.name]
            rows.append((report.label if number == 0 else "", dimension.name, *_evidence_cells(row)))
    return PaperTable(
        name="evidence",
        caption="What the coefficients rest on, rates and coefficients in percent: success rate with its 95 % interval"
        " over blocks, CV, the CV that chance alone gives (floor), the CV without noise (debiased), and p after Holm.",
        groups=(),
        columns=("Agent", "Dimension", "SR [95 %]", "CV", "Floor [95 %]", "Debiased [95 %]", "p", "Verdict"),
        rows=tuple(rows),
        words=2,
        ruled=frozenset(starts[1:]),
    )


def _evidence_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    def bounded(value: float | None, bounds: Sequence[float] | None) -> str:
        if value is None or bounds is None:
            return NOT_KNOWN if value is None else str(half_up(value, 1))
        return f"{half_up(value, 1)} [{half_up(bounds[0], 1)}, {half_up(bounds[1], 1)}]"

    rate, bounds = row["success_rate"], row["success_rate_interval"]
    return (
        NOT_KNOWN if rate is None else f"{percent(rate)} {interval(bounds)}",
        percentage(row["cv"]),
        bounded(row["cv_floor"], row["cv_floor_interval"]),
        bounded(row["cv_debiased"], row["cv_debiased_interval"]),
        p_value(row["p_adjusted"]),
        row["verdict"] or "none",
    )


def _marked(values: Sequence[Sequence[float | None]], columns: Iterable[int], extreme: Any) -> set[tuple[int, int]]:
    """Cells that print as their column's extreme, of columns in which at least two rows are defined and differ."""
    found = set()
    for column in columns:
        printed = [None if row[column] is None else half_up(row[column] or 0.0) for row in values]
        known = [value for value in printed if value is not None]
        if len(known) > 1 and min(known) < max(known):
            found |= {(row, column) for row, value in enumerate(printed) if value == extreme(known)}
    return found


def _mean(values: Iterable[float | None], printed: bool) -> str:
    """Mean of a column, of the numbers as printed when so asked, as the paper does; undefined when one of them is."""
    found = list(values)
    if any(value is None for value in found):
        return NOT_KNOWN
    numbers = [half_up(value) if printed else Decimal(repr(float(value))) for value in found if value is not None]
    return str(half_up(sum(numbers, Decimal(0)) / len(numbers)))
