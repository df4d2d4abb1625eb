"""The page in a real browser: by keyboard alone, through a kill of its server, with any text."""

from __future__ import annotations

import json
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CODES = {"Enter": 13, "Tab": 9, "Backspace": 8}


class Page:
    """A page in the browser, and a person at the keyboard."""

    def __init__(self, browser: Any) -> None:
        self.browser = browser

    def open(self, server: Any, width: int = 1200, dark: bool = False) -> None:
        self.browser.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.browser.call("Emulation.setEmulatedMedia", media="screen", features=[scheme])
        self.browser.call("Page.navigate", url=server.address)
        self.until(
            "document.body && !document.body.matches('.busy') && document.querySelector('main > :not([hidden])')"
        )

    def until(self, expression: str) -> None:
        """Wait for something to become true on the page."""
        ends = time.monotonic() + 60
        while not self.browser.evaluate(f"Boolean({expression})"):
            assert time.monotonic() < ends, f"never: {expression}; {self.text('body')}"
            time.sleep(0.01)

    def press(self, key: str) -> None:
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        code = {"windowsVirtualKeyCode": CODES[key]} if key in CODES else {}
        self.browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **code)
        self.browser.call("Input.dispatchKeyEvent", type="keyUp", key=key, **code)

    def say_name(self, name: str) -> None:
        """Answer who reads."""
        self.until("!document.querySelector('#ask').hidden && document.activeElement.id === 'name'")
        self.browser.call("Input.insertText", text=name)
        self.press("Enter")
        self.until("!document.querySelector('#foot').hidden")

    def ready(self) -> int | None:
        """Wait for a picture and return its number; None when there is nothing left."""
        self.until(
            "!document.body.matches('.busy') && (!document.querySelector('#nothing').hidden ||"
            " (!document.querySelector('#desk').hidden && document.querySelector('#picture').complete))"
        )
        source = self.browser.evaluate(
            "document.querySelector('#desk').hidden ? '' : document.querySelector('#picture').getAttribute('src')"
        )
        return int(source.rpartition("/")[2]) if source else None

    def answer(self, key: str) -> None:
        """Press a key and wait until the answer is kept."""
        self.browser.evaluate("document.querySelector('#said').textContent = ''")
        self.press(key)
        self.until("document.querySelector('#said').textContent")

    def text(self, selector: str) -> str:
        found: str = self.browser.evaluate(f"document.querySelector({selector!r}).textContent")
        return found


@pytest.fixture
def page(browser: Any) -> Page:
    return Page(browser)


@pytest.fixture
def quiet(page: Page) -> Iterator[Page]:
    """A page whose console stays empty."""
    page.browser.messages.clear()
    page.browser.requests.clear()
    yield page
    assert page.browser.messages == []


def test_fifty_pictures_by_two_reviewers_through_a_kill(
    page: Page, validation: Callable[..., Path], serve: Callable[..., Any]
) -> None:
    path = validation(pictures=50)
    keys = {"ann": lambda n: "ynu"[n % 11 % 3], "ben": lambda n: "123"[n % 11 % 3 if n % 6 else (n + 1) % 3]}
    words = {"y": "yes", "1": "yes", "n": "no", "2": "no", "u": "unsure", "3": "unsure"}
    kept: dict[tuple[str, int], str] = {}

    def read(reviewer: str, at_most: int) -> int | None:
        for _ in range(at_most):
            if (number := page.ready()) is None:
                return None
            key = keys[reviewer](number)
            page.answer(key)
            kept[(reviewer, number)] = words[key]
        return page.ready()

    server = serve(path, "--second", "1")
    page.open(server)
    page.say_name("ann")
    read("ann", 23)
    number = page.ready()
    assert number is not None
    server.end(signal.SIGKILL)
    page.press(keys["ann"](number))
    page.until("!document.querySelector('#problem').hidden")
    assert "Not saved: the server does not answer" in page.text("#problem")
    assert page.ready() == number

    on_disk = [json.loads(line) for line in (path / "decisions" / "ann.jsonl").read_text().splitlines()]
    assert {(d["reviewer"], int(d["instance"].split("-")[1].split("/")[0])): d["answer"] for d in on_disk} == kept
    with (path / "decisions" / "ann.jsonl").open("ab") as file:  # a write that the kill cut short
        file.write(b'{"instance": "color/level-')

    server = serve(path, "--second", "1")
    page.open(server)
    page.say_name("ann")
    assert page.ready() == number, "the order is the same after a restart"
    assert read("ann", 60) is None
    page.browser.evaluate("document.querySelector('#change').click()")
    page.say_name("ben")
    assert read("ben", 60) is None
    assert len(kept) == 100

    page.press("a")
    page.until("!document.querySelector('#summary').hidden")
    found = server.ask("api/summary").data
    table = Counter((kept[("ann", n)], kept[("ben", n)]) for n in range(50))
    (pair,) = found["pairs"]
    assert pair["reviewers"] == ["ann", "ben"]
    for row, first in enumerate(pair["answers"]):
        assert pair["counts"][row] == [table[(first, second)] for second in pair["answers"]]
    observed = sum(count for (a, b), count in table.items() if a == b) / 50
    expected = (
        sum(
            sum(c for (a, _), c in table.items() if a == word) * sum(c for (_, b), c in table.items() if b == word)
            for word in ("yes", "no", "unsure")
        )
        / 50**2
    )
    kappa = (observed - expected) / (1 - expected)
    assert 0.5 < kappa < 0.95
    assert pair["kappa"] == pytest.approx(kappa)
    assert f"Cohen's kappa {kappa:.2f}" in page.text("#summary")


def test_hostile_text_is_shown_as_typed(
    quiet: Page, validation: Callable[..., Path], serve: Callable[..., Any], hostile: str
) -> None:
    name = "<script>document.title='owned'</script>"
    path = validation(pictures=1, instruction=hostile)
    server = serve(path, "--second", "0")
    quiet.open(server)
    quiet.say_name(name)
    quiet.ready()
    assert quiet.text("#instruction") == hostile
    assert quiet.text("#reviewer") == name
    quiet.answer("u")
    quiet.press("d")
    quiet.ready()
    assert quiet.text("#statements").startswith(f"{name}unsure")
    quiet.press("a")
    quiet.until("!document.querySelector('#summary').hidden")
    assert name in quiet.text("#summary")
    assert quiet.browser.evaluate("document.title") == "Review of some-suite"
    assert quiet.browser.evaluate("document.querySelectorAll('main script, main b, main a').length") == 0
    assert all(url.startswith(server.address) for url in quiet.browser.requests if url.startswith("http"))


def test_undo_brings_the_picture_back(quiet: Page, validation: Callable[..., Path], serve: Callable[..., Any]) -> None:
    path = validation(pictures=5)
    quiet.open(serve(path, "--reviewer", "ann"))
    first = quiet.ready()
    quiet.answer("y")
    second = quiet.ready()
    quiet.answer("n")
    for number in (second, first):
        quiet.answer("z")
        assert quiet.text("#said") == "Taken back."
        assert quiet.ready() == number
    quiet.answer("Backspace")
    assert quiet.text("#said") == "There is nothing to take back."
    answers = [json.loads(line)["answer"] for line in (path / "decisions" / "ann.jsonl").read_text().splitlines()]
    assert answers == ["yes", "no", None, None]


def test_a_disagreement_is_ruled_on_by_keyboard(
    quiet: Page, validation: Callable[..., Path], serve: Callable[..., Any], decide: Callable[..., None]
) -> None:
    path = validation(pictures=1)
    decide(path, "ann", ["yes"])
    decide(path, "ben", ["no"], reading=2)
    server = serve(path, "--second", "1", "--reviewer", "cleo")
    quiet.open(server)
    quiet.until("document.querySelector('#differing').textContent === '1'")
    quiet.press("d")
    assert quiet.ready() == 0
    assert "readers differ" in quiet.text("#statements")
    assert quiet.text("#origin") == "color/level-0/base (front)"
    quiet.answer("n")
    assert quiet.text("#nothing-title") == "Nobody differs"
    assert server.ask("api/summary").data["answers"] == {"yes": 0, "no": 1, "unsure": 0}


def test_a_key_that_is_held_or_pressed_with_others_is_no_answer(
    quiet: Page, validation: Callable[..., Path], serve: Callable[..., Any]
) -> None:
    server = serve(validation(pictures=3), "--reviewer", "ann")
    quiet.open(server)
    quiet.ready()
    for extra in ({"modifiers": 2}, {"modifiers": 1}, {"autoRepeat": True}):
        quiet.browser.call("Input.dispatchKeyEvent", type="keyDown", key="y", text="y", **extra)
        quiet.browser.call("Input.dispatchKeyEvent", type="keyUp", key="y")
    quiet.answer("n")
    assert server.ask("api/summary").data["decisions"] == 1


def test_names_may_hold_the_letters_that_answer(
    quiet: Page, validation: Callable[..., Path], serve: Callable[..., Any]
) -> None:
    server = serve(validation(pictures=3))
    quiet.open(server)
    for key in "yunz":
        quiet.press(key)
    quiet.press("Enter")
    quiet.ready()
    assert quiet.text("#reviewer") == "yunz"
    assert server.ask("api/summary").data["decisions"] == 0


def test_everything_that_acts_is_reached_by_tab_and_shows_its_focus(
    quiet: Page, validation: Callable[..., Path], serve: Callable[..., Any]
) -> None:
    server = serve(validation(pictures=3))
    quiet.open(server)
    quiet.say_name("ann")
    quiet.ready()
    outlines = {}
    for _ in range(10):
        quiet.press("Tab")
        name, outline = quiet.browser.evaluate(
            "[document.activeElement.matches('body') ? '' : document.activeElement.textContent.trim().split(/\\s/)[0],"
            " getComputedStyle(document.activeElement).outlineStyle]"
        )
        outlines[name] = outline
    outlines.pop("", None)  # after the last comes the browser's own
    names = ("Yes", "No", "Unsure", "Undo", "Read", "Disagreements", "Agreement", "change")
    assert outlines == dict.fromkeys(names, "solid")
    quiet.browser.evaluate("document.querySelector('[data-answer=no]').focus()")
    quiet.answer("Enter")
    assert quiet.text("#said") == "Saved: no."


def test_pictures_are_loaded_before_they_are_wanted(
    quiet: Page, validation: Callable[..., Path], serve: Callable[..., Any]
) -> None:
    server = serve(validation(pictures=40), "--reviewer", "ann")
    quiet.open(server)
    quiet.ready()
    quiet.until("performance.getEntriesByType('resource').filter(e => e.name.includes('/image/')).length >= 6")
    loaded = [url for url in quiet.browser.requests if "/image/" in url]
    assert len(set(loaded)) == len(loaded) == 6, "neither all of them nor one twice"


CONTRAST = """(() => {
    const channel = (c) => { c /= 255; return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4; };
    const light = (color) => { const [r, g, b] = color.match(/[\\d.]+/g).map(Number);
        return 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b); };
    const ground = (element) => { for (let at = element; at; at = at.parentElement) {
        const color = getComputedStyle(at).backgroundColor; if (!/, 0\\)|transparent/.test(color)) return color; } };
    return [...document.querySelectorAll('body *')].filter((element) => element.getClientRects().length
        && [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim())).map((element) => {
        const [a, b] = [light(getComputedStyle(element).color), light(ground(element))];
        return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.textContent.slice(0, 30)]; }); })()"""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_view_fits_every_width_and_is_dark_enough_to_read(
    quiet: Page, validation: Callable[..., Path], serve: Callable[..., Any], decide: Callable[..., None], dark: bool
) -> None:
    path = validation(pictures=3, instruction="Put " + "x" * 300)
    decide(path, "ann" * 25, ["yes"])
    decide(path, "ben", ["no"], reading=2)
    server = serve(path, "--second", "1")
    for width in (360, 800, 1600):
        quiet.open(server, width, dark)
        if width == 360:
            texts = quiet.browser.evaluate(CONTRAST)
            assert min(texts)[0] >= 4.5, min(texts)
            quiet.say_name("cleo" * 20)
        for key in "rda":
            quiet.until("!document.body.matches('.busy')")
            quiet.press(key)
            quiet.until("!document.body.matches('.busy')")
            assert quiet.browser.evaluate("document.documentElement.scrollWidth") == width
            texts = quiet.browser.evaluate(CONTRAST)
            assert len(texts) > 10
            assert min(texts)[0] >= 4.5, min(texts)


def test_a_disk_that_takes_nothing_is_told_and_nothing_moves_on(
    page: Page, validation: Callable[..., Path], serve: Callable[..., Any]
) -> None:
    path = validation(pictures=3)
    (path / "decisions").rmdir()
    server = serve(path, "--reviewer", "ann")
    page.open(server)
    number = page.ready()
    page.press("y")
    page.until("!document.querySelector('#problem').hidden")
    assert "Not saved: cannot write" in page.text("#problem")
    assert page.ready() == number
    (path / "decisions").mkdir()
    page.answer("y")
    assert page.browser.evaluate("document.querySelector('#problem').hidden")
    assert page.ready() != number
