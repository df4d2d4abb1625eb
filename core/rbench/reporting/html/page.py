"""The report page: one file that needs nothing else, opens offline, and shows any text as typed."""

from __future__ import annotations

import base64
import hashlib
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from rbench import __version__
from rbench.errors import RbenchError
from rbench.plugins.catalog import Catalog
from rbench.record import EpisodeRecord
from rbench.reporting.comparison import compare_runs
from rbench.reporting.histograms import Histogram, histograms_of
from rbench.reporting.html.document import document, episode_list, script_data
from rbench.reporting.html.first_frames import Frames, first_frames
from rbench.reporting.html.marked_numbers import MarkedNumbers
from rbench.reporting.html.page_figures import page_figures
from rbench.reporting.metric_tables import MetricTable, Value, tables_of, values_of
from rbench.reporting.plotted import tables
from rbench.reporting.printable import printable
from rbench.reporting.run_labels import wrapper_pairs
from rbench.reporting.run_report import RunReport
from rbench.reporting.stage_table import stages_of
from rbench.reporting.tallies import chosen_failures
from rbench.running.filming import video_name
from rbench.suites.accepted import validation_line

#: Pictures of failures in a report, shared out among its runs.
GALLERY = 24


@dataclass(frozen=True)
class Failure:
    """A failed episode of the gallery.

    Attributes:
        command: replays it.
        picture: a data URL of its first frame, None where there is none.
        film: where a film of it is, relative to the page; None where there is none.
    """

    record: EpisodeRecord
    command: str
    picture: str | None
    film: str | None


@dataclass(frozen=True)
class MetricView:
    """What a metric gives besides rows of dimensions."""

    name: str
    values: Sequence[Value]
    histograms: Sequence[Histogram]
    tables: Sequence[MetricTable]


@dataclass(frozen=True)
class RunView:
    """A run as templates see it.

    Attributes:
        number: of the run in the document.
        failures: of the gallery.
        frames: their pictures, or why there are none.
    """

    number: int
    report: RunReport
    failures: Sequence[Failure] = ()
    frames: Frames = field(default_factory=Frames)

    @property
    def label(self) -> str:
        return self.report.label

    @property
    def summary(self) -> Mapping[str, Any]:
        return self.report.summary

    @property
    def stages(self) -> Mapping[str, Any] | None:
        """Where episodes are lost, of an agent that reports its stages."""
        return stages_of(self.summary)

    @property
    def metrics(self) -> list[MetricView]:
        """What the metrics give besides rows of dimensions, of those that give something a page can show."""
        histograms = list(histograms_of(self.summary))
        found = [
            MetricView(name, values_of(extra), [h for h in histograms if h.metric == name], tables_of(extra))
            for name, extra in self.summary["metrics"].items()
            if name != "stages" or self.stages is None
        ]
        return [metric for metric in found if metric.values or metric.histograms or metric.tables]

    @property
    def manifest(self) -> Mapping[str, Any]:
        """The manifest as plain data, without secrets."""
        return self.report.manifest.to_plain()

    def row(self, dimension: str) -> Mapping[str, Any] | None:
        """The row of a dimension that was planned or run."""
        return self.summary["dimensions"][dimension] if dimension in {d.name for d in self.report.dimensions} else None


def report_page(
    reports: Sequence[RunReport], catalog: Catalog, pictures: bool = True, folder: Path | None = None
) -> str:
    """The page of one or several runs.

    Args:
        reports: from `rbench.reporting.run_report.gather`.
        catalog: where suites are found, to render first frames.
        pictures: render first frames of failures.
        folder: where the page will be, for links to films that the runs have.

    Raises:
        StartError: matplotlib is not installed.
    """
    shown = tables(reports)
    pairs = wrapper_pairs([report.summary for report in reports])
    compared = [_compared(reports[before], reports[after], catalog) for before, after in pairs]
    data = document(reports, shown, compared)
    views = [_view(number, report, catalog, len(reports), pictures, folder) for number, report in enumerate(reports)]
    style, script = (_asset(name) for name in ("page.css", "page.js"))
    environment = _environment()
    return environment.get_template("page.html").render(
        views=views,
        dimensions=list(dict.fromkeys(d.name for report in reports for d in report.dimensions)),
        pairs=[(views[before], views[after]) for before, after in pairs],
        comparisons=compared,
        figures=page_figures(reports, shown),
        numbers=MarkedNumbers(data),
        tables=shown,
        selection_text=_selection_text,
        validation_line=validation_line,
        data=script_data(data),
        episodes=script_data(episode_list(reports)),
        style=Markup(style),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        version=__version__,
    )


def _view(number: int, report: RunReport, catalog: Catalog, runs: int, pictures: bool, folder: Path | None) -> RunView:
    films = {path.stem: path for path in sorted((report.run.path / "artifacts").glob("*.mp4"))}
    records = chosen_failures(
        report.tallies, max(1, GALLERY // runs), lambda record: video_name(record.episode) in films
    )
    frames = first_frames(report.manifest, records, catalog) if pictures else Frames(problem="they were not asked for")
    failures = [
        Failure(
            record,
            shlex.join(["rbench", "replay", str(report.run.path), record.episode]),
            _data_url(frames.pictures.get(record.episode)),
            _link(films.get(video_name(record.episode)), folder),
        )
        for record in records
    ]
    return RunView(number, report, failures, frames)


#: Difference of success rates that does not matter, as in `rbench compare`.
_MARGIN = 0.05


def _compared(before: RunReport, after: RunReport, catalog: Catalog) -> Mapping[str, Any]:
    """The paired comparison of two runs, or why there is none."""
    try:
        return compare_runs(before.run, after.run, catalog, _MARGIN)
    except RbenchError as problem:
        return {"dimensions": {}, "problems": [str(problem)]}


def _selection_text(selection: Mapping[str, Any]) -> str:
    """What of the suite was run: `preset quick, limit 100`."""
    chosen = {key: value for key, value in selection.items() if value not in (None, [], ())}
    if shard := chosen.get("shard"):
        chosen["shard"] = f"{shard['index']}/{shard['of']}"
    words = [
        f"{key} {', '.join(map(str, value)) if isinstance(value, list) else value}" for key, value in chosen.items()
    ]
    return "; ".join(words) or "the whole suite"


def _data_url(picture: bytes | None) -> str | None:
    return None if picture is None else f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}"


def _link(film: Path | None, folder: Path | None) -> str | None:
    if film is None or folder is None:
        return None
    return quote(Path(os.path.relpath(film.resolve(), folder.resolve())).as_posix())


def _asset(name: str) -> str:
    return files("rbench.reporting.html").joinpath("assets", name).read_text(encoding="utf-8")


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("rbench.reporting.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    return environment


def _shown(value: Any) -> Any:
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
