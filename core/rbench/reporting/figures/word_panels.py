"""How often words occur: bars, and a cell for every word and every level that was true."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rbench.reporting.figures.drawing import Drawing, short, tick_labels
from rbench.reporting.figures.rate_colors import rate_color, text_color
from rbench.reporting.figures.run_panels import Panel
from rbench.reporting.histograms import Histogram
from rbench.reporting.json_pointer import pointer
from rbench.reporting.numbers import percent
from rbench.reporting.printable import printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Characters of a caption that stand side by side below a panel.
_WIDE = 38
#: Characters of a title that a caption shows.
_LONGEST = 5 * _WIDE
#: Words and levels that a panel has room for; the rest are left out, and it says so.
_WORDS, _LEVELS = 20, 30


def bar_panel(histogram: Histogram, base: tuple[str | int, ...] = ()) -> Panel:
    """A bar a word: its share of all things.

    Args:
        base: path to the histogram in the report's document.
    """
    words = list(histogram.counts)[:_WORDS]
    shares = [histogram.counts[word] / max(histogram.total, 1) for word in words]
    left = len(histogram.counts) - len(words)
    more = f"; {left} rarer words left out" if left else ""
    caption = _caption(f"{histogram.title}, percent of n = {histogram.total}{more}")

    def draw(drawing: Drawing, axes: Axes) -> None:
        theme = drawing.theme
        places = [-float(place) for place in range(len(words))]
        right = max([*shares, 0.01]) * 1.35
        bars = axes.barh(places, shares, height=0.7, color=theme.accent, linewidth=0)
        for bar, place, word, share in zip(bars, places, words, shares, strict=True):
            number = histogram.counts[word]
            tip = f"{word}: {percent(share)} % ({number}/{histogram.total})"
            drawing.mark(bar, tip, pointer(*base, "counts", word) if base else "")
            drawing.text(axes, share + right / 90, place, f"{100 * share:.1f} ({number})", va="center")
        tick_labels(axes, "y", places, words)
        axes.tick_params(length=0)
        axes.tick_params(axis="y", labelcolor=theme.ink)
        axes.set_xlim(0, right)
        axes.set_ylim(-len(words) + 0.4, 0.6)
        axes.set_xticks([])
        axes.set_xlabel(caption)
        axes.spines["bottom"].set_visible(False)

    named = ", ".join(f"{word} {share:.3f}" for word, share in zip(words, shares, strict=True))
    return Panel(
        key=histogram.figure,
        title=histogram.title,
        kind="words",
        height=60 + _more(caption) + 17.5 * max(len(words), 1),
        alt=f"{histogram.title}: {named}",
        draw=draw,
    )


def level_panel(histogram: Histogram, most: int = _WORDS) -> Panel:
    """A row for every level that was true, a column for every word, in the cell the share of the level's things.

    Args:
        most: words that there is room for.
    """
    words, levels = list(histogram.counts)[:most], list(histogram.by)[:_LEVELS]
    cut = f"; first {most} of {len(histogram.counts)} words" if len(words) < len(histogram.counts) else ""
    caption = _caption(f"{histogram.title} by true {histogram.factor} (n), percent{cut}")
    slanted = 5.0 * max((len(short(word)) for word in words), default=0)

    def draw(drawing: Drawing, axes: Axes) -> None:
        from matplotlib.patches import Rectangle

        small = drawing.theme.font * min(0.85, 9 / max(len(words), 1) + 0.2)
        for y, level in enumerate(levels):
            total, counts = histogram.by[level]
            for x, word in enumerate(words):
                share = counts.get(word, 0) / max(total, 1)
                fill = rate_color(share) if share else "none"
                axes.add_patch(Rectangle((x - 0.48, -y - 0.47), 0.96, 0.94, facecolor=fill, linewidth=0))
                if share:
                    color = text_color(fill)
                    text = f"{100 * share:.0f}"
                    drawing.text(axes, x, -y - 0.03, text, ha="center", va="center", color=color, fontsize=small)
        axes.set_xlim(-0.5, len(words) - 0.5)
        axes.set_ylim(-len(levels) + 0.5, 0.6)
        axes.xaxis.tick_top()
        slant = {"rotation": 45, "ha": "left", "rotation_mode": "anchor"}
        tick_labels(axes, "x", [float(x) for x in range(len(words))], words, **slant)
        labels = [f"{level} ({histogram.by[level][0]})" for level in levels]
        tick_labels(axes, "y", [-float(y) for y in range(len(levels))], labels)
        axes.tick_params(length=0, pad=2, labelcolor=drawing.theme.ink)
        axes.set_xlabel(caption)
        for spine in axes.spines.values():
            spine.set_visible(False)

    return Panel(
        key=f"{histogram.figure}-by-{histogram.factor}",
        title=f"{histogram.title} by true {histogram.factor}",
        kind="words",
        height=70 + _more(caption) + max(slanted, 30.0) + 17.5 * len(levels),
        alt=f"{histogram.title} by true {histogram.factor}: {len(levels)} rows, {len(words)} words",
        draw=draw,
    )


def _caption(text: str) -> str:
    """Text below a panel, cut where it would leave no room for anything else."""
    whole = " ".join(printable(text).split())
    return textwrap.fill(whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 1]}…", _WIDE)


def _more(caption: str) -> float:
    """Height that the lines of a caption need beyond two."""
    return 17.0 * max(0, caption.count("\n") - 1)
