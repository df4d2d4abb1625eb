"""From a drawing to SVG inside a page: the page's colours and fonts, ids of its own, marks that say their number."""

from __future__ import annotations

import io
import re
from xml.etree import ElementTree

from rbench.reporting.figures.drawing import PAGE_COLORS, Drawing
from rbench.reporting.printable import printable

_SVG, _XLINK = "http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"
_COLOR = re.compile(r"#[0-9a-f]{6}")
# Depending on its version, matplotlib writes `font: bold 10px 'DejaVu Sans'` or the parts apart.
_FONT = re.compile(r"font: (?:(?P<weight>bold|\d+) )?(?P<size>[\d.]+px) [^;]*")
_FAMILY = re.compile(r"font-family: [^;]*;? ?")
_LONG = re.compile(r"-?\d+\.\d{3,}")
_GEOMETRY = {"d", "x", "y", "width", "height", "transform"}
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def page_svg(drawing: Drawing, name: str) -> str:
    """The drawing as an `<svg>` element: without ids that clash, fonts of its own, or anything from outside.

    Args:
        name: of the figure; every id in it starts with this.
    """
    import matplotlib

    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none"}):
        drawing.figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    # Written by matplotlib just now, so no hostile XML; its text was escaped by matplotlib and is escaped again below.
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in root.iter():
        for child in [c for c in parent if c.tag.endswith("}metadata") or c.tag.endswith("}style")]:
            parent.remove(child)
    for element in root.iter():
        _adapt(element, name)
    _set_size(root, drawing, name)
    _attach_marks(root, drawing, name)
    ElementTree.register_namespace("", _SVG)
    text = ElementTree.tostring(root, encoding="unicode")
    return re.sub(r">\s+<", "><", text)


def _adapt(element: ElementTree.Element, name: str) -> None:
    if "id" in element.attrib:
        element.set("id", f"{name}-{element.attrib['id']}")
    reference = element.attrib.pop(f"{{{_XLINK}}}href", None)
    if reference is not None:
        element.set("href", f"#{name}-{reference.removeprefix('#')}")
    for key, value in list(element.attrib.items()):
        if "url(#" in value:
            element.set(key, _REFERENCE.sub(rf"url(#{name}-\1)", value))
    style = element.get("style")
    if style:
        style = _COLOR.sub(lambda match: PAGE_COLORS.get(match[0], match[0]), style)
        element.set("style", _FAMILY.sub("", _FONT.sub(_font, style)))
    for key in _GEOMETRY & element.attrib.keys():
        element.set(key, _LONG.sub(_shortened, element.attrib[key]))


def _shortened(match: re.Match[str]) -> str:
    # A hundredth of a pixel is enough, and a third of the bytes.
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


def _font(match: re.Match[str]) -> str:
    weight = f"; font-weight: {match['weight']}" if match["weight"] else ""
    return f"font-size: {match['size']}{weight}"


def _set_size(root: ElementTree.Element, drawing: Drawing, name: str) -> None:
    _, _, width, height = root.attrib["viewBox"].split()
    for key in ("version", "width", "height"):
        root.attrib.pop(key, None)
    root.attrib.update({"class": "figure", "role": "img", "aria-labelledby": f"{name}-alt"})
    root.set("style", f"max-width:{float(width):.0f}px;aspect-ratio:{float(width):.0f}/{float(height):.0f}")
    title = ElementTree.Element(f"{{{_SVG}}}title", {"id": f"{name}-alt"})
    title.text = printable(drawing.alt)
    root.insert(0, title)


def _attach_marks(root: ElementTree.Element, drawing: Drawing, name: str) -> None:
    elements = {element.get("id"): element for element in root.iter() if element.get("id")}
    for mark in drawing.marks:
        element = elements[f"{name}-{mark.id}"]
        del element.attrib["id"]
        element.set("class", "mark")
        if mark.path:
            element.set("data-path", mark.path)
        title = ElementTree.Element(f"{{{_SVG}}}title")
        title.text = printable(mark.tip)
        element.insert(0, title)
