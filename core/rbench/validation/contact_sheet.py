"""The contact sheet: the worst pictures of a validation with what is wrong with them, on one page."""

from __future__ import annotations

import io
from collections.abc import Sequence

from PIL import Image, ImageDraw

from rbench.running.lettering import fitting, wrapped, write
from rbench.validation.directory import ValidationDirectory
from rbench.validation.findings import Finding

#: Pictures on a sheet at most; failing ones that look alike are shown once.
MOST = 48
#: With fewer failing ones, pictures of the lowest contrast are added up to this number.
FEWEST = 16
COLUMNS = 8
#: Side of a picture, height of the text below it, margin, and size of the letters (px).
SIDE, TEXT, GAP, LETTERS = 192, 62, 8, 12
_PAPER, _INK, _BAD, _NOTE = (255, 255, 255), (40, 40, 40), (178, 24, 24), (120, 90, 10)


def worst(findings: Sequence[Finding]) -> list[Finding]:
    """The findings to show: failing ones in order, then those of the lowest contrast; every picture once."""
    failing = _once([f for f in findings if not f.passed])
    shown = {f.image_hash for f in failing}
    passing = sorted((f for f in findings if f.passed), key=_contrast)
    rest = [f for f in _once(passing) if f.image_hash not in shown]
    return (failing + rest[: max(0, FEWEST - len(failing))])[:MOST]


def contact_sheet(directory: ValidationDirectory, findings: Sequence[Finding]) -> bytes:
    """A PNG of the worst pictures."""
    shown = worst(findings)
    rows = -(-len(shown) // COLUMNS)
    columns = min(COLUMNS, len(shown))
    sheet = Image.new("RGB", (columns * (SIDE + GAP) + GAP, rows * (SIDE + TEXT + GAP) + GAP), _PAPER)
    draw = ImageDraw.Draw(sheet)
    for number, finding in enumerate(shown):
        row, column = divmod(number, COLUMNS)
        x, y = GAP + column * (SIDE + GAP), GAP + row * (SIDE + TEXT + GAP)
        with Image.open(directory.image(finding)) as picture:
            sheet.paste(picture.convert("RGB").resize((SIDE, SIDE), Image.Resampling.LANCZOS), (x, y))
        _caption(draw, finding, x, y + SIDE)
    file = io.BytesIO()
    sheet.save(file, "PNG", optimize=True)
    return file.getvalue()


def _caption(draw: ImageDraw.ImageDraw, finding: Finding, x: int, y: int) -> None:
    words = ", ".join(finding.reasons) or ", ".join(finding.notes) or "passes"
    color = _BAD if finding.reasons else _NOTE
    lines = [(line, _INK) for line in wrapped(finding.instance.replace("/", " / "), SIDE, LETTERS, 2)]
    lines.append((fitting(finding.camera, SIDE, LETTERS), _INK))
    lines.append((fitting(words, SIDE, LETTERS), color))
    for number, (line, ink) in enumerate(lines):
        write(draw, (x, y + 2 + number * (LETTERS + 2)), line, LETTERS, ink)


def _once(findings: Sequence[Finding]) -> list[Finding]:
    return list({f.image_hash: f for f in reversed(findings)}.values())[::-1]


def _contrast(finding: Finding) -> float:
    return min((body["contrast"] for body in finding.measures["objects"].values()), default=100.0)
