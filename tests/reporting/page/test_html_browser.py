"""The page in a real browser: every width, light and dark, on paper, by keyboard, and what its script adds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def file(judged_page: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "index.html"
    path.write_text(judged_page.html, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def pair_file(pair_page: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pair") / "index.html"
    path.write_text(pair_page.html, encoding="utf-8")
    return path


@pytest.fixture
def opened(browser: Any, file: Path) -> Iterator[Any]:
    browser.open(file, width=1200)
    yield browser
    assert browser.messages == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("which", ["file", "pair_file"])
def test_no_width_breaks_the_page(browser: Any, request: pytest.FixtureRequest, which: str, dark: bool) -> None:
    path = request.getfixturevalue(which)
    for width in (360, 800, 1600):
        browser.open(path, width=width, dark=dark)
        assert browser.evaluate("document.documentElement.scrollWidth") == width
        assert browser.messages == []
        assert browser.requests == [path.as_uri()]
        assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == (
            "rgb(16, 21, 27)" if dark else "rgb(251, 251, 250)"
        )


def test_nothing_scrolls_on_a_page_of_ordinary_text_but_wide_tables(browser: Any, file: Path) -> None:
    browser.open(file, width=800)
    scrolling = browser.evaluate(
        "[...document.querySelectorAll('body *:not(.scroll):not(nav ul)')].filter("
        "e => getComputedStyle(e).overflowY === 'auto' && e.scrollHeight > e.clientHeight + 1).map(e => e.outerHTML)"
    )
    assert scrolling == []


def test_text_in_figures_is_never_too_small_to_read(browser: Any, file: Path) -> None:
    browser.open(file, width=360)
    sizes = browser.evaluate(
        "[...document.querySelectorAll('svg.figure')].flatMap(svg => { const scale = svg.getBoundingClientRect().width"
        " / svg.viewBox.baseVal.width; return [...svg.querySelectorAll('text')].map(text =>"
        " parseFloat(getComputedStyle(text).fontSize) * scale); })"
    )
    assert len(sizes) > 50
    assert min(sizes) > 7


def test_text_is_dark_enough_on_every_ground(browser: Any, file: Path) -> None:
    ratio = """(() => {
        const channel = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
        const light = (color) => { const [r, g, b] = color.match(/[\\d.]+/g).map(Number);
            return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
        const ground = (element) => { for (let at = element; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor; if (!/, 0\\)|transparent/.test(color)) return color; }
            return getComputedStyle(document.body).backgroundColor; };
        const found = [];
        for (const element of document.querySelectorAll('main *, header *')) {
            if (![...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
            if (element.closest('svg') || !element.getClientRects().length) continue;
            const [a, b] = [light(getComputedStyle(element).color), light(ground(element))];
            const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            const text = element.textContent.slice(0, 30);
            if (contrast < 4.5) found.push(`${element.className} ${contrast.toFixed(2)} ${text}`);
        }
        return found; })()"""
    for dark in (False, True):
        browser.open(file, width=1200, dark=dark)
        assert browser.evaluate(ratio) == []


def test_it_prints(browser: Any, file: Path, tmp_path: Path) -> None:
    browser.open(file, width=1200, dark=True)
    data = browser.pdf(tmp_path / "page.pdf").read_bytes()
    assert data.startswith(b"%PDF")
    pages = len(re.findall(rb"/Type\s*/Page\b", data))
    assert 2 <= pages <= 12
    # On paper the page is light, whatever the screen is.
    assert browser.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.evaluate("getComputedStyle(document.querySelector('nav')).display") == "none"


def test_a_table_sorts_by_its_exact_numbers(opened: Any) -> None:
    names = (
        "[...document.querySelectorAll('table.main tbody tr')]"
        ".map(row => Number(row.querySelector(`[data-path$='/cv']`)?.value ?? -1))"
    )
    heading = "[...document.querySelectorAll('table.main thead th')].find(th => th.textContent === 'CV')"
    opened.evaluate(f"{heading}.querySelector('button').click()")
    assert opened.evaluate(names) == sorted(opened.evaluate(names))
    assert opened.evaluate(f"{heading}.getAttribute('aria-sort')") == "ascending"
    opened.evaluate(f"{heading}.querySelector('button').click()")
    assert opened.evaluate(names) == sorted(opened.evaluate(names), reverse=True)


def test_pointing_at_a_mark_says_its_number(opened: Any) -> None:
    mark = "[...document.querySelectorAll('#grid .mark')][0]"
    opened.evaluate(f"{mark}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    opened.evaluate("new Promise(done => setTimeout(done, 200))")  # scrolling hides the tip
    box = opened.evaluate(
        f"(() => {{ const r = {mark}.getBoundingClientRect(); return [r.x + 3, r.y + r.height / 2]; }})()"
    )
    expected = opened.evaluate(f"{mark}.querySelector('title').textContent")
    opened.call("Input.dispatchMouseEvent", type="mouseMoved", x=box[0], y=box[1])
    assert opened.evaluate("[document.querySelector('#tip').hidden, document.querySelector('#tip').textContent]") == [
        False,
        expected,
    ]


def test_the_list_of_episodes_filters_and_turns_pages(opened: Any, judged_page: Any) -> None:
    counts = judged_page.document["runs"][0]["counts"]
    status = "document.querySelector('.pager span').textContent"
    rows = "document.querySelectorAll('#episode-list tbody tr').length"
    assert opened.evaluate(status) == f"1 to 50 of {counts['done']}"
    opened.evaluate("document.querySelectorAll('.pager button')[1].click()")
    assert opened.evaluate(status) == f"51 to 100 of {counts['done']}"
    opened.evaluate(
        "(() => { const label = [...document.querySelectorAll('.filters label')]"
        ".find(label => label.textContent.startsWith('outcome'));"
        " const select = label.querySelector('select');"
        " select.value = [...select.options].find(option => option.textContent === 'failure').value;"
        " select.dispatchEvent(new Event('change')); })()"
    )
    assert opened.evaluate(status).endswith(f" of {counts['failure']}")
    opened.evaluate(
        "(() => { const input = document.querySelector('.filters input'); input.value = 'WHITE/position-p1#0';"
        " input.dispatchEvent(new Event('input')); })()"
    )
    assert opened.evaluate(rows) == 1
    assert (
        opened.evaluate("document.querySelector('#episode-list tbody code').textContent") == "color/white/position-p1#0"
    )


def test_everything_that_acts_is_reached_by_keyboard(opened: Any) -> None:
    seen = []
    for _ in range(12):
        for kind in ("keyDown", "keyUp"):
            opened.call("Input.dispatchKeyEvent", type=kind, key="Tab", code="Tab", windowsVirtualKeyCode=9)
        seen.append(
            opened.evaluate("document.activeElement.tagName + ' ' + document.activeElement.textContent.slice(0, 20)")
        )
    assert seen[0] == "A Skip to the results"
    assert seen[1].startswith("A Verdict")
    assert any(entry.startswith(("BUTTON", "DIV")) for entry in seen)
    outline = opened.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline != "none"


def test_the_page_can_be_read_without_its_script(browser: Any, file: Path) -> None:
    browser.call("Emulation.setScriptExecutionDisabled", value=True)
    browser.call("Page.navigate", url=file.as_uri())
    browser.call("Emulation.setScriptExecutionDisabled", value=False)
    html = file.read_text(encoding="utf-8")
    assert "needs JavaScript" in html
    assert html.count("<svg") == 7
