"""The pictures of docs/pi0.md: how the embedded policy's success grows, and where it ends.

    python benchmarks/pi0_pictures.py growth TRAINING=RUN... -o growth.png
    python benchmarks/pi0_pictures.py colors RUN... -o colors.png
    python benchmarks/pi0_pictures.py cameras RUN... -o cameras.png

TRAINING is a folder of `rbench-pi0 train`, RUN a run directory of its checkpoint over baseline contexts. Each picture's
numbers are printed, too. Bars and lines are Wilson's intervals at 95 %.
"""

from __future__ import annotations

import argparse
import colorsys
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.stats import binomtest

from rbench import open_run
from rbench.record import EpisodeRecord

COUNTED = ("success", "failure", "agent_error", "unstable")
#: Below this saturation a colour's hue says nothing: gray, white, black.
COLOURLESS = 0.15
#: Ends of the bands (degrees of hue from red) by which colours are counted.
BANDS = (20, 45, 90, 180)
INK, BLUE, ORANGE = "#282828", "#0072b2", "#d55e00"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["growth", "colors", "cameras"])
    parser.add_argument("runs", nargs="+")
    parser.add_argument("-o", required=True, type=Path, dest="output", metavar="FILE.png")
    given = parser.parse_args()
    figure = {"growth": growth, "colors": colors, "cameras": cameras}[given.what](given.runs)
    FigureCanvasAgg(figure)
    figure.savefig(given.output)


def growth(pairs: Sequence[str]) -> Figure:
    """Success against steps at the most demonstrations, and against demonstrations at equal steps."""
    points = []
    for training, run in (pair.split("=", 1) for pair in pairs):
        said = json.loads((Path(training) / "training.json").read_text(encoding="utf-8"))
        ended = said["curve"][-1]
        won, of = counted(episodes(run)[1])
        points.append((said["data"]["demonstrations"], said["step"], ended["seconds"] / 60, ended["held_out"], won, of))
    points.sort()
    print("demonstrations steps minutes held-out success")
    for demonstrations, step, minutes, held_out, won, of in points:
        print(f"{demonstrations} {step} {minutes:.1f} {held_out:.3f} {won}/{of} {_percent(won, of)}")
    figure = Figure(figsize=(8.6, 3.4), dpi=120, layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    most = max(point[0] for point in points)
    scanned = {point[1] for point in points if point[0] < most}
    _grown(left, [(p[1], *p[4:]) for p in points if p[0] == most], f"steps of training, {most} demonstrations")
    left.set_ylabel("success at baseline, %")
    for steps in sorted(scanned):
        _grown(right, [(p[0], *p[4:]) for p in points if p[1] == steps], f"demonstrations, {steps:,} steps")
    return figure


def colors(runs: Sequence[str]) -> Figure:
    """A bar for every colour in that colour, by its hue's way from red; colours without hue by brightness."""
    figure = Figure(figsize=(11.0, 2.3 * len(runs) + 0.5), dpi=120, layout="constrained")
    found = [episodes(run) for run in runs]
    shades = {str(r.levels["color"]): np.array(r.values["color"]) / 255 for _, records in found for r in records}
    order = sorted(shades, key=lambda level: _place(shades[level]))
    gap = sum(_place(shades[level])[0] == 0 for level in order)
    for axes, (name, records) in zip(np.atleast_1d(figure.subplots(len(runs), 1, sharex=True)), found, strict=True):
        levels = by(records, "color")
        for number, level in enumerate(order):
            x = number + (2 if number >= gap else 0)
            axes.bar(x, -6, width=1.0, color=shades[level])
            if level in levels:
                won, of = counted(levels[level])
                axes.bar(x, 100 * won / of, width=1.0, color=shades[level], edgecolor=INK, linewidth=0.4)
                print(f"{name} {level} {_turn(shades[level]):.0f} {won}/{of}")
        for band, some in _bands(records, shades).items():
            print(name, band, f"{len({r.levels['color'] for r in some})} colours", "{}/{}".format(*counted(some)))
        won, of = counted(records)
        axes.set(ylabel="success, %", ylim=(-7, 103), xlim=(-1, len(order) + 2), xticks=[], facecolor="#f2f2f2")
        axes.set_title(f"{name}: {won} of {of} episodes", fontsize=10, loc="left")
    figure.supxlabel("all colours by hue, red in the middle; right: hardly any hue, by brightness", fontsize=9)
    return figure


def cameras(runs: Sequence[str]) -> Figure:
    """Success by orbit pose, by angles and by distance."""
    figure = Figure(figsize=(11.0, 2.4 * len(runs) + 0.3), dpi=120, layout="constrained")
    rows = figure.subplots(len(runs), 3, squeeze=False, width_ratios=(7, 3.5, 5))
    for (poses, angles, distances), run in zip(rows, runs, strict=True):
        name, records = episodes(run)
        own = {d: [r for r in records if r.dimension == d] for d in ("camera-pose", "camera-euler", "camera-distance")}
        orbit, euler, away = (by(found, dimension) for dimension, found in own.items())
        seen = sorted({level[2:] for level in orbit})  # a preset has some of the angles only
        rings = [[f"r{ring}{angle}" for angle in seen] for ring in (1, 2, 3)]
        _map(poses, rings, orbit, f"{name}: pose on the rings, {_all(own['camera-pose'])}")
        turns = [[f"yaw{yaw}_pitch{pitch}" for yaw in (-6, 0, 6)] for pitch in (6, 0, -6)]
        _map(angles, turns, euler, f"yaw and pitch, {_all(own['camera-euler'])}")
        for number, level in enumerate(sorted(away, key=lambda level: float(level.lstrip("d")))):
            _bar(distances, number, *counted(away[level]))
        distances.set(ylim=(0, 103), xticks=range(len(away)), ylabel="success, %")
        distances.set_xticklabels([level.lstrip("d") for level in sorted(away)], fontsize=8)
        distances.set_title(f"moved back, m, {_all(own['camera-distance'])}", fontsize=9)
        for dimension, levels in (("pose", orbit), ("euler", euler), ("distance", away)):
            for level in sorted(levels):
                print(name, dimension, level, "{}/{}".format(*counted(levels[level])))
    return figure


def episodes(path: str) -> tuple[str, list[EpisodeRecord]]:
    """What the run's policy is called, and the records that count."""
    with open_run(Path(path)) as run:
        weights = str(run.manifest.agent.options.resolved.get("weights") or "hue")
        return Path(weights).stem, [record for record in run.episodes() if str(record.outcome) in COUNTED]


def by(records: Iterable[EpisodeRecord], factor: str) -> dict[str, list[EpisodeRecord]]:
    groups: dict[str, list[EpisodeRecord]] = defaultdict(list)
    for record in records:
        groups[str(record.levels[factor])].append(record)
    return dict(groups)


def counted(records: Sequence[EpisodeRecord]) -> tuple[int, int]:
    return sum(str(record.outcome) == "success" for record in records), len(records)


def wilson(won: int, of: int) -> tuple[float, float]:
    """Per cent."""
    low, high = binomtest(won, of).proportion_ci(0.95, method="wilson")
    return 100 * low, 100 * high


def _percent(won: int, of: int) -> str:
    return "{:.0f} to {:.0f} %".format(*wilson(won, of))


def _all(records: Sequence[EpisodeRecord]) -> str:
    return "{} of {}".format(*counted(records))


def _turn(shade: Any) -> float:
    """Degrees of hue from red, -180 .. 180."""
    return (colorsys.rgb_to_hsv(*shade)[0] * 360 + 180) % 360 - 180


def _bands(records: Iterable[EpisodeRecord], shades: dict[str, Any]) -> dict[str, list[EpisodeRecord]]:
    """The records by their colour's way from red."""
    found: dict[str, list[EpisodeRecord]] = {f"to {end} degrees": [] for end in BANDS} | {"hardly any hue": []}
    for record in records:
        shade = shades[str(record.levels["color"])]
        end = next(end for end in BANDS if abs(_turn(shade)) <= end)
        found[f"to {end} degrees" if _place(shade)[0] == 0 else "hardly any hue"].append(record)
    return found


def _place(shade: Any) -> tuple[int, float]:
    _, saturation, value = colorsys.rgb_to_hsv(*shade)
    return (1, value) if saturation < COLOURLESS else (0, _turn(shade))


def _bar(axes: Any, x: float, won: int, of: int) -> None:
    low, high = wilson(won, of)
    rate = 100 * won / of
    axes.bar(x, rate, color=BLUE, alpha=0.55)
    axes.errorbar(x, rate, [[max(0.0, rate - low)], [max(0.0, high - rate)]], color=INK, linewidth=1)


def _grown(axes: Any, points: Sequence[tuple[int, int, int]], title: str) -> None:
    x = [point[0] for point in points]
    rates = np.array([100 * won / of for _, won, of in points])
    bounds = np.array([wilson(won, of) for _, won, of in points]).T
    axes.errorbar(x, rates, np.maximum([rates - bounds[0], bounds[1] - rates], 0), color=BLUE, marker="o", capsize=3)
    axes.set(xscale="log", xlabel=title, ylim=(0, 103), xticks=x)
    axes.set_xticklabels([f"{value:,}" for value in x])
    axes.minorticks_off()
    axes.axhline(95, color=ORANGE, linewidth=0.8, linestyle="--")
    axes.grid(alpha=0.3)


def _map(axes: Any, names: Sequence[Sequence[str]], levels: dict[str, list[EpisodeRecord]], title: str) -> None:
    found = [[counted(levels.get(name, [])) for name in row] for row in names]
    rates = [[100 * won / of if of else np.nan for won, of in row] for row in found]
    axes.imshow(rates, vmin=0, vmax=100, cmap="viridis", aspect="auto")
    for y, row in enumerate(names):
        for x, name in enumerate(row):
            won, of = found[y][x]
            shade = "black" if of and won / of > 0.6 else "white"
            axes.text(x, y, f"{name}\n{won}/{of}", ha="center", va="center", color=shade, fontsize=6.5)
    axes.set(xticks=[], yticks=[])
    axes.set_title(title, fontsize=9)


if __name__ == "__main__":
    main()
