"""A matplotlib figure with a theme and with marks: shapes that stand for a number and can say which."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rbench.reporting.figures.library import load_matplotlib
from rbench.reporting.printable import printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


#: Characters of a label in a figure.
_LONGEST = 28


@dataclass(frozen=True)
class Theme:
    """Colours and sizes of a figure.

    Attributes:
        ink, muted, faint: text; secondary text; lines and grids. accent: what matters. calm: what does not.
        series: colours that tell curves apart, also for the colour-blind.
        font: size of text, in points. line: width of a normal line.
    """

    ink: str = "#1c2733"
    muted: str = "#5b6875"
    faint: str = "#d5dae0"
    surface: str = "#ffffff"
    accent: str = "#c2410c"
    calm: str = "#7d8b99"
    band: str = "#9fb3c8"
    series: tuple[str, ...] = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
    font: float = 7.0
    line: float = 0.8


#: For papers.
PAPER = Theme()

#: For the page: colours that nobody else uses and that `page_svg` replaces by the page's own, light or dark.
PAGE_COLORS: Mapping[str, str] = {
    "#01f0a1": "var(--ink)",
    "#01f0a2": "var(--muted)",
    "#01f0a3": "var(--faint)",
    "#01f0a4": "var(--surface)",
    "#01f0a5": "var(--accent)",
    "#01f0a6": "var(--calm)",
    "#01f0a7": "var(--band)",
    **{f"#01f0b{i}": f"var(--series-{i})" for i in range(6)},
}
PAGE = Theme(
    **dict(zip(("ink", "muted", "faint", "surface", "accent", "calm", "band"), PAGE_COLORS, strict=False)),
    series=tuple(PAGE_COLORS)[7:],
    font=12.5,
    line=1.2,
)


@dataclass(frozen=True)
class Mark:
    """A shape that stands for a number.

    Attributes:
        id: of its element in the SVG.
        tip: what it says when pointed at.
        path: where in the report's document the number is, as a JSON pointer; empty: it is no single number.
    """

    id: str
    tip: str
    path: str


@dataclass
class Drawing:
    """A figure being drawn.

    Attributes:
        alt: what the figure shows, for those who cannot see it.
    """

    figure: Figure
    theme: Theme
    alt: str = ""
    marks: list[Mark] = field(default_factory=list)

    def mark(self, artist: Artist, tip: str, path: str = "") -> None:
        """Make a shape say its number."""
        found = Mark(f"mark-{len(self.marks)}", tip, path)
        self.marks.append(found)
        artist.set_gid(found.id)

    def text(self, axes: Axes, x: float, y: float, text: str, **style: Any) -> Artist:
        """Text as typed, in the theme's ink and size unless a style says otherwise."""
        style = {"fontsize": self.theme.font, "color": self.theme.ink, **style}
        return axes.text(x, y, printable(text), **style)


@contextmanager
def drawing(width: float, height: float, theme: Theme, fitted: bool = True) -> Iterator[Drawing]:
    """A new figure, with matplotlib's settings for it while the block lasts.

    Args:
        width, height: inches on paper; for the page inches of 72 px.
        theme: its look.
        fitted: place axes so that their labels have room.

    Raises:
        StartError: matplotlib is not installed.
    """
    matplotlib = load_matplotlib()
    from matplotlib.figure import Figure

    settings: dict[Any, Any] = {**matplotlib.rcParamsDefault, **_settings(theme)}
    with matplotlib.rc_context(settings), warnings.catch_warnings():
        # A glyph that the drawing font lacks is a box in a PDF; on the page the reader's own font draws it.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield Drawing(Figure(figsize=(width, height), layout="constrained" if fitted else None), theme)


def bare(axes: Axes, theme: Theme) -> None:
    """Take frame and ticks away."""
    axes.set_xticks([])
    axes.set_yticks([])
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(colors=theme.muted)


def tick_labels(axes: Axes, axis: str, positions: list[float], labels: list[str], **style: Any) -> None:
    """Ticks with text as typed, cut where it would leave no room for anything else."""
    found = axes.xaxis if axis == "x" else axes.yaxis
    found.set_ticks(positions)
    found.set_ticklabels([short(label) for label in labels], **style)


def short(text: str) -> str:
    """Text for a place that is small."""
    whole = " ".join(printable(text).split())
    return whole if len(whole) <= _LONGEST else f"{whole[: _LONGEST - 1]}…"


def _settings(theme: Theme) -> dict[str, Any]:
    return {
        "backend": "svg",
        "font.family": ["DejaVu Sans"],
        "font.size": theme.font,
        "text.color": theme.ink,
        "text.parse_math": False,  # a `$` in a name starts no formula
        "axes.titlesize": theme.font,
        "axes.labelsize": theme.font,
        "axes.labelcolor": theme.muted,
        "axes.edgecolor": theme.faint,
        "axes.linewidth": theme.line * 0.8,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.facecolor": "none",
        "axes.axisbelow": True,
        "axes.grid": False,
        "axes.unicode_minus": True,
        "grid.color": theme.faint,
        "grid.linewidth": theme.line * 0.7,
        "xtick.color": theme.faint,
        "ytick.color": theme.faint,
        "xtick.labelcolor": theme.muted,
        "ytick.labelcolor": theme.muted,
        "xtick.labelsize": theme.font * 0.92,
        "ytick.labelsize": theme.font * 0.92,
        "figure.facecolor": "none",
        "figure.constrained_layout.h_pad": 0.03,
        "figure.constrained_layout.w_pad": 0.03,
        "legend.frameon": False,
        "legend.fontsize": theme.font * 0.92,
        "legend.labelcolor": theme.muted,
        "savefig.facecolor": "none",
        "pdf.fonttype": 42,
        "svg.fonttype": "path",
        "svg.hashsalt": "rbench",
        "path.simplify": False,
    }
