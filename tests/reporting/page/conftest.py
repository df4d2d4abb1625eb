"""Runs with every kind of factor, pages taken apart, and a browser where there is one."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from rbench.design import Context, Design, Dimension
from rbench.plugins.catalog import Catalog
from rbench.record import EpisodeRecord, Event, Hashes, Outcome
from rbench.reporting.html.page import report_page
from rbench.reporting.run_report import RunReport, gather
from rbench.results.manifest import AgentUsed, Manifest, PartUsed, SuiteUsed
from rbench.results.run_directory import RunDirectory, open_run
from rbench.scene import Jitter

ROOT = Path(__file__).resolve().parents[3]

CONTEXTS = ("position-p1", "position-p2")
COLORS = {"red": [255, 0, 0], "crimson": [220, 20, 60], "white": [255, 255, 255], "snow": [255, 250, 250]}
GROUPS = {"red": "red", "crimson": "red", "white": "white", "snow": "white"}
POSES = tuple(f"r{ring}a{place}" for ring in (1, 2) for place in (1, 2, 3))
VALUES: dict[str, dict[str, Any]] = {
    "color": COLORS,
    "camera-pose": {name: {"position": [0.1, 0.2, 0.3], "quaternion": [1.0, 0.0, 0.0, 0.0]} for name in POSES},
    "camera-euler": {f"yaw{yaw}_pitch{pitch}": [yaw, pitch] for yaw in (-6, 6) for pitch in (-6, 6)},
    "camera-distance": {"d0.00": 0.0, "d0.10": 0.1, "d0.20": 0.2},
    "texture": {"wood": "wood", "stone": "stone"},
}
DIMENSIONS = (
    *(Dimension(name, {name: tuple(levels)}, CONTEXTS, 3) for name, levels in VALUES.items()),
    Dimension("camera-pose+color", {"camera-pose": POSES, "color": ("red", "white")}, ("base",), 4),
)

SMALL = (DIMENSIONS[4], DIMENSIONS[1])

#: (dimension, levels, context, repeat) -> outcome and reason.
Rule = Callable[[Dimension, tuple[str, ...], str, int], tuple[Outcome, str]]


def uneven(dimension: Dimension, levels: tuple[str, ...], context: str, repeat: int) -> tuple[Outcome, str]:
    """Reds succeed, whites fail, the rest is mixed and depends on everything."""
    number = sum(map(ord, "".join(levels) + context)) * 7 + repeat * 5
    good = 10 if {"red", "crimson"} & set(levels) else 0 if {"white", "snow"} & set(levels) else 5
    if number % 10 < good:
        return "success", "goal"
    return "failure", ("time_limit", "object_not_found")[number % 2]


def write(
    place: Path,
    rule: Rule = uneven,
    limit: int | None = None,
    dimensions: Sequence[Dimension] = DIMENSIONS,
    instruction: str = "Put it into the box.",
    error: str | None = None,
    event: str = "grasped",
    **changes: Any,
) -> Path:
    """Write a run of all `DIMENSIONS`, or of the first `limit` episodes of it; returns its folder."""
    design = Design(
        suite="some-suite",
        dimensions=tuple(dimensions),
        contexts=tuple(Context(c, {}) for c in (*CONTEXTS, "base")),
        baselines={"color": "red"},
        planned={d.name: d.cells * len(d.contexts) * d.repeats for d in dimensions},
        groups={"color": GROUPS},
    )
    fields: dict[str, Any] = {
        "created": "2026-02-03T04:05:06+00:00",
        "suite": SuiteUsed("some-suite", "a" * 64, "rbench"),
        "design": design,
        "render": "standard",
        "agent": AgentUsed("looker", "rbench-agent-looker/looker", "rbench-agent-looker", "0.1.0"),
        "seed": 7,
        "planned": sum(design.planned.values()),
        "executor": "serial",
        "workers": 1,
        "versions": {"python": "3.11.7"},
        "host": {"platform": "Linux"},
        "rbench": "0.1.0",
        "metrics": ("bias",),
        "state": "finished",
    }
    cells = (
        (dimension, levels, context, repeat)
        for repeat in range(4)
        for dimension in dimensions
        for context in dimension.contexts
        for levels in product(*dimension.levels.values())
        if repeat < dimension.repeats
    )
    with RunDirectory.create(place, Manifest(**(fields | changes))) as run:
        for number, cell in enumerate(cells):
            if number == limit:
                break
            run.store().append(_record(*cell, *rule(*cell), instruction, error, event), b"")
        return run.path


@pytest.fixture
def write_run(tmp_path: Path) -> Callable[..., Path]:
    """Write a run; by default of two dimensions and without a metric, which saves seconds."""

    def named(name: str = "run", **changes: Any) -> Path:
        return write(tmp_path / name, **{"metrics": (), "dimensions": SMALL, **changes})

    return named


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A whole run with its metric, for tests that only read it."""
    return write(tmp_path_factory.mktemp("judged") / "run")


@pytest.fixture(scope="session")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first 77 episodes of the same run, with its metric."""
    return write(tmp_path_factory.mktemp("half") / "run", limit=77, state="interrupted")


@pytest.fixture(scope="session")
def judged_page(catalog: Catalog, judged: Path) -> Page:
    """The page of the whole run."""
    return build_page(catalog, judged)


@pytest.fixture(scope="session")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run, and one with a wrapper around its agent."""
    folder = tmp_path_factory.mktemp("pair")
    return write(folder / "before"), write(folder / "after", wrappers=wrapped())


@pytest.fixture(scope="session")
def pair_page(catalog: Catalog, pair: tuple[Path, Path]) -> Page:
    """The page of both."""
    return build_page(catalog, *pair)


def _record(
    dimension: Dimension,
    levels: tuple[str, ...],
    context: str,
    repeat: int,
    outcome: Outcome,
    reason: str,
    instruction: str,
    error: str | None,
    event: str,
) -> EpisodeRecord:
    instance = f"{dimension.name}/{'+'.join(levels)}/{context}"
    named = dict(zip(dimension.levels, levels, strict=True))
    return EpisodeRecord(
        episode=f"{instance}#{repeat}",
        instance=instance,
        repeat=repeat,
        task="task",
        dimension=dimension.name,
        context=context,
        levels=named,
        values={factor: VALUES.get(factor, {}).get(level) for factor, level in named.items()},
        jitter={"geometry": Jitter(x=0.001 * repeat)},
        seed=7,
        outcome=outcome,
        reason=reason,
        success=outcome == "success",
        score=1.0 if outcome == "success" else 0.25,
        steps=10,
        sim_seconds=0.5,
        events=(Event(0.1, event),),
        instruction=instruction,
        hashes=Hashes("", ""),
        error=None if outcome in ("success", "failure") else error,
    )


def wrapped(name: str = "sgl") -> tuple[PartUsed, ...]:
    return (PartUsed(name, f"rbench-agent-{name}/{name}", f"rbench-agent-{name}", "0.1.0"),)


@dataclass
class Page:
    """A page taken apart.

    Attributes:
        elements: (tag, attributes, text inside) in document order. text: all text outside scripts and styles.
        pieces: every piece of that text, and the tags around it.
    """

    html: str
    elements: list[tuple[str, dict[str, str | None], str]]
    text: str
    pieces: list[tuple[str, tuple[str, ...]]]

    def all(self, tag: str) -> list[tuple[dict[str, str | None], str]]:
        return [(attributes, text) for name, attributes, text in self.elements if name == tag]

    def script(self, id: str) -> Any:
        return json.loads(next(text for attributes, text in self.all("script") if attributes.get("id") == id))

    @property
    def document(self) -> Any:
        """What the page carries: runs, comparisons, tables."""
        return self.script("report-data")

    def at(self, path: str) -> Any:
        """What stands in the document at a JSON pointer."""
        found = self.document
        for part in path.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            found = found[int(key)] if isinstance(found, list) else found[key]
        return found


@dataclass
class _Reader(HTMLParser):
    elements: list[tuple[str, dict[str, str | None], list[str]]] = field(default_factory=list)
    open: list[tuple[str, list[str]]] = field(default_factory=list)
    pieces: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        inside: list[str] = []
        self.elements.append((tag, dict(attributes), inside))
        if tag not in ("meta", "img", "br", "link", "input"):
            self.open.append((tag, inside))

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attributes), []))

    def handle_endtag(self, tag: str) -> None:
        assert self.open and self.open[-1][0] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for _, inside in self.open:
            inside.append(data)
        around = tuple(tag for tag, _ in self.open)
        if not {"script", "style"} & set(around):
            self.pieces.append((data, around))


def taken_apart(html: str) -> Page:
    """Parse a page; every element must be closed where it was opened."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert not reader.open
    elements = [(tag, found, "".join(inside)) for tag, found, inside in reader.elements]
    return Page(html, elements, "".join(piece for piece, _ in reader.pieces), reader.pieces)


def build_page(catalog: Catalog, *paths: Path, convention: Any = "default") -> Page:
    """The page of runs, taken apart; without pictures of scenes."""
    reports = gather([open_run(path) for path in paths], catalog, convention)
    return taken_apart(report_page(reports, catalog, pictures=False))


@pytest.fixture
def page(catalog: Catalog) -> Callable[..., Page]:
    """`build_page` with what is installed."""
    return partial(build_page, catalog)


@pytest.fixture
def reports(catalog: Catalog) -> Callable[..., list[RunReport]]:
    def build(*paths: Path) -> list[RunReport]:
        return gather([open_run(path) for path in paths], catalog)

    return build


@pytest.fixture
def page_of_metrics(catalog: Catalog, write_run: Callable[..., Path]) -> Callable[..., Page]:
    """The page of a run, of several where more are asked for, whose metrics gave this besides rows of dimensions."""

    def build(runs: int = 1, **metrics: Any) -> Page:
        found = gather([open_run(write_run(f"run-{number}", limit=4)) for number in range(runs)], catalog)
        given = [RunReport(r.label, r.run, {**r.summary, "metrics": metrics}, r.tallies) for r in found]
        return taken_apart(report_page(given, catalog, pictures=False))

    return build


@pytest.fixture
def browser() -> Iterator[Any]:
    """A headless Chromium; skips where there is none."""
    path = ROOT / "benchmarks" / "headless_chromium.py"
    spec = importlib.util.spec_from_file_location("headless_chromium", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    program = module.find_chromium()
    if program is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    with module.Chromium(program) as chromium:
        yield chromium
