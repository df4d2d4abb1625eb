"""Text from outside is shown as typed, whatever it is, and does nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rbench.design import Dimension
from rbench.reporting.figures.paper import write_figures
from rbench.reporting.latex import latex_tables
from rbench.reporting.printable import printable
from rbench.results.manifest import AgentUsed, Options, PartUsed

WriteRun = Callable[..., Path]
Build = Callable[..., Any]

MARKUP = """</script><script>window.x=1</script><img src=x onerror=window.x=1> & "' {{ 7*7 }} $\\frac{1}{2}$ <!-- ]]>"""
HOSTILE = {
    "markup": MARKUP,
    "right-to-left": "\u202eעברית\u202c \u2066لعربية \u200f",
    "emoji": "🤖 👩‍🔬 naïve ﷽ Z̸̡̛a̷l̶g̵o̸",
    "long": "x" * 5000 + " " + "y" * 5000,
    "control": "a\x00b\x1b[31mc\ud800d\ufffee\r\nf\u2028g",
}


def hostile_run(write_run: WriteRun, text: str, name: str = "run") -> Path:
    """A run with the text wherever text can be: names of parts, levels and contexts, reasons, errors, instructions."""
    # Names of levels and contexts are keys of the store, which takes only what UTF-8 can hold.
    key = text.replace("\ud800", "")
    levels = {"texture": (f"a {key}", f"b {key}")}
    dimensions = (
        Dimension("texture", levels, (f"context {key}",), 2),
        Dimension(f"shape {key}", {f"shape {key}": (f"round {key}", "flat")}, (f"context {key}",), 2),
        Dimension(f"texture+shape {key}", {**levels, f"shape {key}": (f"round {key}", "flat")}, (f"context {key}",), 1),
    )
    part = PartUsed(f"wrap {text}", f"dist/{text}", f"dist {text}", text)
    return write_run(
        name,
        rule=lambda d, levels, c, repeat: (
            ("success", "goal")
            if repeat
            else ("agent_error", f"reason {text}")
            if "flat" in levels
            else ("failure", text)
        ),
        dimensions=dimensions,
        instruction=f"instruction {text}",
        error=f"error {text}",
        event=f"event {text}",
        agent=AgentUsed(f"agent {text}", text, text, text),
        wrappers=(part,),
        vision=replace(part, name=f"vision {text}"),
        versions={"python": "3.11", f"version {text}": text},
        host={"platform": text},
        gl={"renderer": text},
        render=f"profile {text}",
    )


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_shown_as_typed(write_run: WriteRun, page: Build, text: str) -> None:
    found = page(hostile_run(write_run, text))
    typed = "".join(printable(text).split())
    shown = "".join(found.text.split())
    for place in ("agent", "wrap", "vision", "reason", "instruction", "error", "event", "version", "profile"):
        assert place + typed in shown, place
    assert "round" + "".join(printable(text.replace("\ud800", "")).split()) in shown


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_adds_no_element_that_acts(write_run: WriteRun, page: Build, text: str) -> None:
    harmless = page(hostile_run(write_run, "harmless", "harmless"))
    found = page(hostile_run(write_run, text))
    for tag in ("script", "img", "style", "meta", "iframe", "a", "svg"):
        assert len(found.all(tag)) == len(harmless.all(tag)), tag
    for tag, attributes, _ in found.elements:
        assert not [name for name in attributes if name.startswith("on")], tag


def test_hostile_text_stays_whole_in_the_json_of_the_page(write_run: WriteRun, page: Build) -> None:
    for number, text in enumerate(HOSTILE.values()):
        found = page(hostile_run(write_run, text, f"run-{number}"))
        assert found.document["runs"][0]["agent"] == f"agent {text}"
        assert f"reason {text}" in found.script("episode-data")["texts"]


def test_hostile_text_does_nothing_in_a_browser(write_run: WriteRun, page: Build, tmp_path: Path, browser: Any) -> None:
    for number, text in enumerate(HOSTILE.values()):
        file = tmp_path / f"page-{number}.html"
        file.write_text(page(hostile_run(write_run, text, f"run-{number}")).html, encoding="utf-8")
        browser.open(file, width=360)
        assert browser.evaluate("window.x") is None
        assert browser.messages == []
        assert browser.requests == [file.as_uri()]
        assert browser.evaluate("document.documentElement.scrollWidth") <= 360
        assert browser.evaluate("document.querySelectorAll('#episode-list tbody tr').length") > 10


def test_right_to_left_text_is_kept_apart_from_what_stands_around_it(write_run: WriteRun, page: Build) -> None:
    text = HOSTILE["right-to-left"]
    pieces = [(piece, around) for piece, around in page(hostile_run(write_run, text)).pieces if text in piece]
    assert len(pieces) > 30
    for piece, around in pieces:
        assert {"bdi", "code", "title", "text"} & set(around), (piece, around)


def test_hostile_text_goes_into_figures_and_latex(write_run: WriteRun, reports: Build, tmp_path: Path) -> None:
    text = "".join(text[:150] for text in reversed(HOSTILE.values()))
    found = reports(hostile_run(write_run, text))
    written = write_figures(found, tmp_path / "figures")
    assert {path.suffix for path in written} == {".pdf", ".svg"}
    assert all(path.parent == tmp_path / "figures" for path in written)
    lines = [line for line in latex_tables(found).splitlines() if not line.startswith("%")]
    assert "\\frac" not in "".join(lines)
    assert len(lines) == lines.index("\\end{table}", lines.index("\\label{tab:rbench-evidence}")) + 1


def test_the_name_of_a_folder_is_text_too(write_run: WriteRun, page: Build) -> None:
    name = "<img src=x onerror=1> & \"' `x` $(x) {{ 7*7 }}"
    found = page(write_run(name, rule=lambda d, levels, c, repeat: ("failure", "why")))
    assert found.all("img") == []
    assert "49" not in found.text.split("Run facts")[1].split("state")[0]
    assert name in found.text
    commands = [text for _, text in found.all("code") if text.startswith("rbench replay")]
    assert len(commands) == 24
    for command in commands:
        assert shlex.split(command)[2].endswith(f"/{name}")


def test_no_key_gets_onto_the_page(write_run: WriteRun, page: Build) -> None:
    options = Options(
        {"api_key": "sk-canary-7Q"}, {"api_key": "sk-canary-7Q", "base_url": "https://u:sk-canary-7Q@x.org/v1"}
    )
    found = page(write_run(agent=AgentUsed("looker", "x/looker", "x", "1", options=options)))
    assert "sk-canary-7Q" not in found.html
    assert "[redacted]" in found.text


def test_text_is_spelled_out_where_no_page_can_hold_it() -> None:
    assert printable("a\x00\x1b\ud800\ufffe\r b\tc\nd") == "a\\x00\\x1b\\ud800\\ufffe\\r b\tc\nd"
    assert printable("<b>&'\" é 🤖 \u202e") == "<b>&'\" é 🤖 \u202e"
