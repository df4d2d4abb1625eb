"""Tables that fit: every column side by side, or some beneath others, or running text; never cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from rbench.errors import visible

Row = Mapping[str, Any]
Style = Callable[[Row], str]

#: Wider than anything: for output that has no width.
UNBOUNDED = 10_000
#: Running text beyond this many columns is wrapped, also where the output has no width of its own.
_TEXT_WIDTH = 100


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes:
        heading: above it; before its text where there is no table.
        text: what a row shows in it; empty: nothing.
        under: a column that stands beneath this one where there is less room.
        bare: its text says what it is; it needs no heading where there is no table.
        style: of a row's text.
    """

    heading: str
    text: Callable[[Row], str]
    justify: Literal["left", "right"] = "right"
    under: Column | None = None
    bare: bool = False
    style: Style = lambda row: ""

    def unfolded(self) -> Iterator[Column]:
        """This column and what would stand beneath it."""
        yield self
        if self.under is not None:
            yield from self.under.unfolded()

    def cell(self, row: Row) -> Text:
        return Text(self.text(row), style=self.style(row))

    def folded_cell(self, row: Row) -> Text:
        """The text of this column and of those beneath it, a line each."""
        cell = Text("\n").join(column.cell(row) for column in self.unfolded())
        cell.rstrip()
        return cell

    def facts(self, row: Row) -> Text:
        """The texts of this column and of those beneath it with their headings, as in running text."""
        line = Text()
        for column in self.unfolded():
            if text := column.cell(row):
                line += Text("" if not line else " " if column.bare else ", ")
                line += text if column.bare else Text(f"{column.heading} ") + text
        return line


def shown(key: str, spell: Callable[[Any], str]) -> Callable[[Row], str]:
    """What a column shows of a key: nothing in rows that do not have it."""
    return lambda row: spell(row[key]) if key in row else ""


def fitted(name: str, rows: Sequence[tuple[str, Row]], columns: Sequence[Column], last: int = 0) -> FirstThatFits:
    """A table of named rows, in the widest form that fits.

    Args:
        name: heading of the names.
        rows: name and content of each.
        columns: of the table.
        last: so many rows at the end are set off (averages, totals).
    """
    wide = [column for top in columns for column in top.unfolded()]
    bold = len(rows) - last
    return FirstThatFits(
        [
            _table(name, rows, [(c.heading, c.justify, c.cell) for c in wide], bold),
            _table(name, rows, [(_folded_heading(c), c.justify, c.folded_cell) for c in columns], bold),
            _listed(rows, columns),
        ]
    )


@dataclass(frozen=True)
class Visible:
    """A renderable whose texts cannot steer the terminal, whoever wrote them; its own styles stay."""

    content: RenderableType

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.content, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


@dataclass(frozen=True)
class FirstThatFits:
    """A renderable that takes the first of several layouts that fits the width, or else the last."""

    layouts: Sequence[RenderableType]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        unbounded = options.update(width=UNBOUNDED)
        for layout in self.layouts[:-1]:
            if Measurement.get(console, unbounded, layout).maximum <= options.max_width:
                yield layout
                return
        yield self.layouts[-1]


@dataclass(frozen=True)
class Wrapped:
    """Running text, wrapped at a readable width."""

    text: Text
    indent: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(8, min(options.max_width, _TEXT_WIDTH) - self.indent)
        for line in self.text.wrap(console, width):
            line.rstrip()
            yield from console.render(Text(" " * self.indent) + line, options)


def _folded_heading(column: Column) -> str:
    return "\n".join(part.heading for part in column.unfolded())


def _table(
    name: str,
    rows: Sequence[tuple[str, Row]],
    columns: Sequence[tuple[str, Literal["left", "right"], Callable[[Row], Text]]],
    bold: int,
) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1))
    table.add_column(name, justify="left", no_wrap=True)
    for heading, justify, _ in columns:
        table.add_column(heading, justify=justify, no_wrap=True)
    for number, (label, row) in enumerate(rows):
        cells = [cell(row) for _, _, cell in columns]
        table.add_row(Text(label), *cells, style="bold" if number >= bold else "")
    return table


def _listed(rows: Sequence[tuple[str, Row]], columns: Sequence[Column]) -> Group:
    """No table: the name of each row, and its facts below."""
    parts: list[RenderableType] = []
    for label, row in rows:
        facts = [fact for fact in (column.facts(row) for column in columns) if fact]
        parts.append(Text(label, style="bold"))
        parts.append(Wrapped(Text(", ").join(facts), indent=2))
    return Group(*parts)
