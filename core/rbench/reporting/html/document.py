"""The plain data that a page carries: the JSON reports of its runs, and the tables behind its figures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from markupsafe import Markup

from rbench.reporting.plotted import Table
from rbench.reporting.run_report import RunReport
from rbench.reporting.tallies import EpisodeLine
from rbench.values import to_plain

#: What the page shows as tables of their own; the rest stands in the JSON reports.
_SHOWN = ("groups", "levels", "grid", "contexts", "wrappers", "outcomes", "reasons", "events")

#: Above this many episodes the list of all of them holds only those that did not succeed.
MOST_EPISODES = 40_000


def document(
    reports: Sequence[RunReport], tables: Mapping[str, Table], comparisons: Sequence[Mapping[str, Any]] = ()
) -> dict[str, Any]:
    """Runs, comparisons and tables as plain data, with finite numbers only.

    `{"runs": [{"label", ...the JSON report}], "comparisons": [...], "tables": {name: {"columns", "rows"}}}`

    Args:
        comparisons: of pairs of runs, from `rbench.reporting.comparison.compare_runs`.
    """
    plain: dict[str, Any] = to_plain(
        {
            "runs": [{"label": report.label, **report.summary} for report in reports],
            "comparisons": comparisons,
            "tables": {name: {"columns": tables[name].columns, "rows": tables[name].rows} for name in _SHOWN},
        }
    )
    return plain


def episode_list(reports: Sequence[RunReport]) -> dict[str, Any]:
    """All episodes for the list that the page's script draws: texts once, and numbers that refer to them."""
    total = sum(len(report.tallies.episodes) for report in reports)
    texts: dict[str, int] = {}

    def number(text: str) -> int:
        return texts.setdefault(text, len(texts))

    rows = [
        [
            run,
            number(line.instance),
            line.repeat,
            number(line.dimension),
            number(line.outcome),
            number(line.reason),
            to_plain(round(line.score, 4)),
            to_plain(round(line.sim_seconds, 2)),
        ]
        for run, report in enumerate(reports)
        for line in report.tallies.episodes
        if total <= MOST_EPISODES or not _succeeded(line)
    ]
    return {"complete": total <= MOST_EPISODES, "total": total, "texts": list(texts), "rows": rows}


def script_data(value: Any) -> Markup:
    r"""JSON for a `<script>` block: no `<`, `>` or `&` in it, so nothing in it can end the block.

    Raises:
        ValueError: a number is not finite.
    """
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _succeeded(line: EpisodeLine) -> bool:
    return line.outcome == "success"
