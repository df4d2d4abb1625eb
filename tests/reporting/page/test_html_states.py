"""What a page says about runs that are not whole, not clean, not alike, or not there."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rbench.cli import main
from rbench.plugins.catalog import Catalog
from rbench.reporting.html.page import report_page
from rbench.reporting.run_report import RunReport
from rbench.results.manifest import AgentUsed, PartUsed, SuiteUsed

WriteRun = Callable[..., Path]
Build = Callable[..., Any]


def banners(page: Any) -> list[tuple[str, str]]:
    """Kind and text of each banner; all stand before the first section."""
    found = [(a, text) for a, text in page.all("p") if str(a.get("class")).startswith("banner")]
    assert page.html.find('class="banner') < page.html.index("<main") or not found
    return [(str(attributes["class"]).split()[1], " ".join(text.split())) for attributes, text in found]


def test_a_whole_clean_run_has_no_banner(write_run: WriteRun, page: Build) -> None:
    assert banners(page(write_run())) == []


def test_a_half_finished_run_says_so_at_the_top(write_run: WriteRun, page: Build) -> None:
    ((kind, text),) = banners(page(write_run(limit=20, state="interrupted")))
    assert kind == "warning"
    assert text.startswith("Not finished (interrupted). 28 of 48 episodes are missing.")


def test_errors_are_said_in_red(write_run: WriteRun, page: Build) -> None:
    outcomes = ("agent_error", "unstable", "infrastructure_error", "success")
    path = write_run(rule=lambda d, levels, c, repeat: (outcomes[repeat], "why"), error="it broke")
    found = page(path)
    errors = [text for kind, text in banners(found) if kind == "error"]
    assert len(errors) == 1
    counts = found.document["runs"][0]["counts"]
    for outcome in outcomes[:3]:
        assert f"{counts[outcome]} {outcome}" in errors[0]
    style = found.all("style")[0][1]
    assert re.search(r"\.banner\.error \{[^}]*color: var\(--bad\)", style)


def test_a_metric_that_is_missing_is_an_error_and_the_rest_is_there(write_run: WriteRun, page: Build) -> None:
    found = page(write_run(metrics=("no-such-metric",)))
    ((kind, text),) = banners(found)
    assert kind == "error"
    assert "no-such-metric" in text
    assert "No metric of this run judged it." in found.text
    assert len(found.all("svg")) == 2


def test_another_render_profile_is_named(write_run: WriteRun, page: Build) -> None:
    found = page(write_run(render="fast"))
    assert banners(found) == [
        (
            "note",
            "Rendered with the profile fast, not with standard: what the agent saw differs, and so may its success.",
        )
    ]
    assert "render profile fast" in " ".join(found.text.split())


def test_a_privileged_agent_is_marked(write_run: WriteRun, page: Build) -> None:
    agent = AgentUsed("expert", "x/expert", "x", "1", privileged=True)
    ((kind, text),) = banners(page(write_run(agent=agent)))
    assert kind == "note"
    assert text.startswith("Privileged.")


def test_a_dimension_that_no_camera_shows_gets_no_other_verdict(write_run: WriteRun, page: Build) -> None:
    found = " ".join(page(write_run(unseen=("camera-pose",), metrics=("bias",))).text.split())
    assert "Not seen by this agent: camera-pose." in found
    assert "No camera of this agent shows it" in found


def test_no_episodes_at_all_opens(write_run: WriteRun, page: Build, browser: Any, tmp_path: Path) -> None:
    found = page(write_run(limit=0, state="running", metrics=("bias",)))
    assert "No episodes yet." in found.text
    assert "No episode failed." in found.text
    assert found.all("svg") == []
    file = tmp_path / "empty.html"
    file.write_text(found.html, encoding="utf-8")
    browser.open(file, width=800)
    assert browser.messages == []
    assert browser.evaluate("document.querySelector('#episode-list').textContent") == "There are no episodes."


def test_runs_of_different_suites_or_profiles_are_not_to_be_compared(write_run: WriteRun, page: Build) -> None:
    other = SuiteUsed("some-suite", "b" * 64, "rbench")
    texts = [text for _, text in banners(page(write_run("a"), write_run("b", suite=other)))]
    assert texts == ["Not the same test. These runs differ in their suite; do not compare their numbers."]
    texts = [text for _, text in banners(page(write_run("c"), write_run("d", suite=other, render="fast")))]
    assert any("differ in their suite and in their render profile" in text for text in texts)


def test_runs_of_one_agent_are_told_apart(write_run: WriteRun, page: Build) -> None:
    first = write_run("first")
    assert [r["label"] for r in page(first, write_run("second")).document["runs"]] == [
        "looker, first",
        "looker, second",
    ]
    assert [r["label"] for r in page(first, write_run("third", seed=8)).document["runs"]] == [
        "looker, seed 7",
        "looker, seed 8",
    ]
    assert [r["label"] for r in page(first, first).document["runs"]] == ["looker (1)", "looker (2)"]


def test_the_verdict_is_a_sentence_a_dimension(judged_page: Any) -> None:
    cards = [" ".join(text.split()) for a, text in judged_page.all("article") if a.get("class") == "card"]
    assert [card.split()[0] for card in cards] == [
        "color",
        "camera-pose",
        "camera-euler",
        "camera-distance",
        "texture",
    ]
    assert "Success depends on color: from" in cards[0]
    assert "chance alone gives" in cards[0]
    assert "Whether success depends on texture is not resolved" in cards[4]


def test_before_and_after_a_wrapper(pair_page: Any, judged_page: Any) -> None:
    assert "looker → sgl(looker)" in " ".join(pair_page.text.split())
    assert {r[:2] for r in map(tuple, pair_page.document["tables"]["wrappers"]["rows"])} == {("looker", "sgl(looker)")}
    assert not [a for a, _ in judged_page.all("section") if a.get("id") == "wrappers"]


def test_wrapped_runs_of_another_seed_are_no_pair(write_run: WriteRun, page: Build) -> None:
    part = PartUsed("sgl", "x/sgl", "x", "1")
    found = page(write_run("a"), write_run("b", wrappers=(part,), seed=8))
    assert found.document["tables"]["wrappers"]["rows"] == []


def test_what_belongs_to_the_run_is_listed(write_run: WriteRun, page: Build) -> None:
    path = write_run()
    text = " ".join(page(path).text.split())
    for fact in (
        str(path),
        "rbench-agent-looker/looker",
        "aaaaaaaaaaaa",
        "the whole suite",
        "3.11.7",
        "shared, run seed 7",
    ):
        assert fact in text


def test_failures_stand_with_reason_instruction_and_command(write_run: WriteRun, page: Build) -> None:
    reasons = ("time_limit", "object_not_found")
    path = write_run(
        "a run", rule=lambda d, levels, c, repeat: ("failure", reasons[repeat % 2]), instruction="Lift it."
    )
    found = page(path)
    cards = [" ".join(text.split()) for a, text in found.all("figure") if a.get("class") == "shot"]
    assert len(cards) == 24
    assert len({card.split()[0] for card in cards}) == 24
    for card in cards:
        assert "Lift it." in card
        assert f"rbench replay '{path}' " in card
    assert {reason for card in cards for reason in reasons if reason in card} == set(reasons)


def test_the_gallery_shows_every_kind_of_failure_before_a_second_of_one(write_run: WriteRun, page: Build) -> None:
    found = page(write_run(rule=lambda d, levels, c, repeat: ("failure", f"reason {repeat}")))
    cards = [text.split() for a, text in found.all("figure") if a.get("class") == "shot"]
    kinds = [(card[0].split("/")[0], card[3]) for card in cards]
    assert len(cards) == 24
    assert len(set(kinds[:6])) == 6


def test_a_film_that_the_run_has_is_linked(
    write_run: WriteRun, catalog: Catalog, reports: Callable[..., list[RunReport]]
) -> None:
    path = write_run("a run", rule=lambda d, levels, c, repeat: ("failure", "why"))
    name = "texture~stone~position-p2~2.mp4"
    (path / "artifacts" / name).write_bytes(b"")
    html = report_page(reports(path), catalog, pictures=False, folder=path / "report")
    assert re.findall(r'href="([^#"][^"]*)"', html) == [f"../artifacts/{name}"]
    elsewhere = report_page(reports(path), catalog, pictures=False, folder=path.parent)
    assert re.findall(r'href="([^#"][^"]*)"', elsewhere) == [f"a%20run/artifacts/{name}"]


def test_without_a_suite_to_render_the_gallery_says_so(
    write_run: WriteRun, catalog: Catalog, reports: Callable[..., list[RunReport]]
) -> None:
    html = report_page(reports(write_run()), catalog)
    assert "Pictures are missing:" in html
    assert "<img" not in html


def test_the_page_asks_for_nothing(judged_page: Any) -> None:
    for tag, attributes, _ in judged_page.elements:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            value = attributes.get(name)
            assert value is None or value.startswith(("#", "data:image/jpeg")), (tag, name, value)
    assert not judged_page.all("link")
    assert not re.search(r"url\((?!#)", judged_page.html.split("<script")[0])
    (policy,) = [a["content"] for a, _ in judged_page.all("meta") if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert "script-src 'sha256-" in policy


def test_the_page_can_be_read_without_seeing_it(judged_page: Any) -> None:
    ((html, _),) = judged_page.all("html")
    assert html["lang"] == "en"
    for attributes, text in judged_page.all("svg"):
        assert attributes["role"] == "img"
        assert attributes["aria-labelledby"]
        assert "Success by" in text or "Bias coefficients" in text
    ids = [str(a["id"]) for _, a, _ in judged_page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes, _ in judged_page.elements:
        assert attributes.get("aria-labelledby") in (None, *ids)
    levels = [int(tag[1]) for tag, _, _ in judged_page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert all("scope" in attributes for attributes, _ in judged_page.all("th"))


def test_the_command_writes_into_the_run_directory(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_run()
    assert main(["report", str(path), "--format", "html", "--no-pictures"]) == 0
    assert (path / "report" / "index.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert str(path / "report" / "index.html") in printed.err


def test_a_report_of_several_runs_needs_a_place(write_run: WriteRun, capsys: pytest.CaptureFixture[str]) -> None:
    first, second = str(write_run("a")), str(write_run("b"))
    assert main(["report", first, second, "--format", "html"]) == 2
    assert "-o PATH" in capsys.readouterr().err
    folder = Path(first).parent / "folder"
    folder.mkdir()
    assert main(["report", first, second, "--format", "html", "--no-pictures", "-o", str(folder)]) == 0
    assert (folder / "index.html").is_file()
    target = Path(first).parent / "both" / "page.html"
    assert main(["report", first, second, "--format", "html", "--no-pictures", "-o", str(target)]) == 0
    assert target.is_file()


def test_the_same_run_gives_the_same_page(write_run: WriteRun, page: Build) -> None:
    path = write_run()
    assert page(path).html == page(path).html
