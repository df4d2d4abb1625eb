"""LaTeX tables for `booktabs`, with every text escaped."""

from __future__ import annotations

from collections.abc import Sequence

from rbench.reporting.paper_tables import PaperTable, paper_tables
from rbench.reporting.printable import printable
from rbench.reporting.run_report import RunReport
from rbench.suites.accepted import validation_line

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': r"\textquotedbl{}",
    "|": r"\textbar{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def latex_tables(reports: Sequence[RunReport]) -> str:
    """All tables of a report; they need the packages fontenc (T1) and booktabs.

    Args:
        reports: from `rbench.reporting.run_report.gather`.
    """
    notes = [note for report in reports for note in _notes(report)]
    head = "% Needs \\usepackage[T1]{fontenc} and \\usepackage{booktabs}.\n" + "".join(
        f"% {_one_line(note)}\n" for note in notes
    )
    return head + "\n" + "\n".join(latex_table(table) for table in paper_tables(reports))


def latex_table(table: PaperTable) -> str:
    """One table as a `table` environment, labelled `tab:rbench-NAME`."""
    alignment = "l" * table.words + "r" * (len(table.columns) - table.words)
    lines = [
        r"\begin{table}",
        r"\centering",
        f"\\caption{{{escaped(table.caption)}}}",
        f"\\label{{tab:rbench-{table.name}}}",
    ]
    lines += [f"\\begin{{tabular}}{{{alignment}}}", r"\toprule"]
    if table.groups:
        lines += _group_heading(table)
    lines += [_row(map(escaped, table.columns)), r"\midrule"]
    for number, row in enumerate(table.rows):
        lines += [r"\midrule"] if number in table.ruled else []
        lines.append(_row(_cell(table, number, column, text) for column, text in enumerate(row)))
    lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Text as LaTeX shows it. Letters beyond Latin, which pdflatex does not know, are spelled `U+03C0`."""
    return "".join(_character(character) for character in _one_line(text))


def _one_line(text: str) -> str:
    return " ".join(printable(text).split())


def _character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    # Basic Latin, Latin-1 without its control characters, Latin Extended-A.
    return character if " " <= character <= "~" or "\u00a0" <= character <= "\u017f" else f"U+{ord(character):04X}"


def _cell(table: PaperTable, row: int, column: int, text: str) -> str:
    found = escaped(text)
    found = f"\\textbf{{{found}}}" if (row, column) in table.bold else found
    return f"\\underline{{{found}}}" if (row, column) in table.underlined else found


def _group_heading(table: PaperTable) -> list[str]:
    cells, rules, column = [], [], 1
    for heading, width in table.groups:
        cells.append(f"\\multicolumn{{{width}}}{{c}}{{{escaped(heading)}}}" if heading else "")
        if heading:
            rules.append(f"\\cmidrule(lr){{{column}-{column + width - 1}}}")
        column += width
    return [_row(cells), " ".join(rules)]


def _row(cells: object) -> str:
    assert hasattr(cells, "__iter__")
    return " & ".join(cells) + r" \\"


def _notes(report: RunReport) -> list[str]:
    """What must not be forgotten when a table is copied, as comments."""
    summary, name = report.summary, report.label
    counts = summary["counts"]
    notes = [
        f"{name}: n = {counts['done']} of {counts['planned']},"
        f" render profile {summary['render']}, seed {summary['seed']}",
        f"{name}: {validation_line(summary.get('validated'))}",
    ]
    if counts["missing"]:
        notes.append(f"{name}: NOT FINISHED, {counts['missing']} episodes are missing")
    if summary["privileged"]:
        notes.append(f"{name}: PRIVILEGED, reads ground truth")
    return notes
