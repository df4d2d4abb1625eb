"""`rbench review`: what it prints, and how it ends."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rbench.cli import main
from rbench.validation.directory import ValidationDirectory

Printed = pytest.CaptureFixture[str]


def test_the_address_is_one_line_with_a_new_secret_each_time(
    validation: Callable[..., Path], serve: Callable[..., Any]
) -> None:
    path = validation()
    one, other = serve(path), serve(path)
    assert one.host == other.host == "127.0.0.1"
    assert one.path != other.path
    assert len(one.path) >= 30
    one.process.send_signal(signal.SIGINT)
    out, _ = one.process.communicate(timeout=60)
    assert out == ""


def test_ctrl_c_is_a_clean_end_that_says_how_far_people_are(
    validation: Callable[..., Path], serve: Callable[..., Any], decide: Callable[..., None]
) -> None:
    path = validation()
    server = serve(path, "--reviewer", "ann")
    assert server.ask("api/start").data["reviewer"] == "ann"
    decide(path, "ben", ["yes", "yes", None, "no"])
    code, said = server.end(signal.SIGINT)
    assert code == 0
    assert "3 decision(s) so far: 3 of 4 picture(s) read" in said
    assert "Traceback" not in said
    assert server.path.strip("/") not in said


def test_a_kill_while_two_servers_write_loses_no_answer_that_was_confirmed(
    validation: Callable[..., Path], serve: Callable[..., Any]
) -> None:
    path = validation(pictures=60)
    confirmed: list[tuple[str, str]] = []
    servers = {name: serve(path, "--second", "1") for name in ("ann", "ben")}

    def read(name: str) -> None:
        server = servers[name]
        with contextlib.suppress(OSError, http.client.HTTPException):  # killed
            work = server.ask(f"api/work?view=read&reviewer={name}").data
            while work["items"]:
                item = work["items"][0]
                answer = {"number": item["number"], "image_hash": item["image_hash"], "answer": "yes"}
                work = server.ask("api/decide", answer | {"reviewer": name, "view": "read"}).data
                confirmed.append((name, item["image_hash"]))

    readers = [threading.Thread(target=read, args=(name,)) for name in servers]
    for reader in readers:
        reader.start()
    while len(confirmed) < 40:
        time.sleep(0.001)
    servers["ann"].process.kill()
    for reader in readers:
        reader.join(timeout=120)
    kept = {(d.reviewer, d.image_hash) for d in ValidationDirectory.open(path).decisions()}
    assert kept >= set(confirmed)
    assert len(kept) <= len(confirmed) + 1, "at most the one that was under way"
    assert sum(name == "ben" for name, _ in kept) == 60


def test_sigterm_ends_it_with_its_own_code(validation: Callable[..., Path], serve: Callable[..., Any]) -> None:
    code, said = serve(validation()).end(signal.SIGTERM)
    assert code == 143
    assert "0 decision(s) so far" in said


def test_a_page_for_one_reviewer_takes_no_other(validation: Callable[..., Path], serve: Callable[..., Any]) -> None:
    server = serve(validation(), "--reviewer", "ann")
    assert server.ask("api/work?view=read&reviewer=ann").status == 200
    assert server.ask("api/work?view=read&reviewer=ben").status == 400


def test_a_port_that_is_taken_is_named(validation: Callable[..., Path], capsys: Printed) -> None:
    pytest.importorskip("uvicorn", reason="the page needs the extra rbench[review]")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["review", str(validation()), "--port", str(port)]) == 3
    assert f"port {port}: Address already in use; choose another with" in capsys.readouterr().err


def test_an_address_that_is_not_of_this_machine_is_named(validation: Callable[..., Path], capsys: Printed) -> None:
    pytest.importorskip("uvicorn", reason="the page needs the extra rbench[review]")
    assert main(["review", str(validation()), "--host", "192.0.2.1"]) == 3
    assert "cannot listen at 192.0.2.1" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["missing", "empty", "file"])
@pytest.mark.parametrize("more", [[], ["--summary"]])
def test_what_is_no_validation_is_wrong_use(tmp_path: Path, capsys: Printed, kind: str, more: list[str]) -> None:
    path = tmp_path / "thing"
    if kind == "empty":
        path.mkdir()
    elif kind == "file":
        path.write_text("{}")
    assert main(["review", str(path), *more]) == 2
    assert "holds no validation; make one with: rbench validate SUITE -o" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--json"],
        ["--second", "1.5"],
        ["--second", "nan"],
        ["--reviewer", " "],
        ["--reviewer", "a\nb"],
        ["--port", "-1"],
    ],
)
def test_wrong_options_are_wrong_use(validation: Callable[..., Path], capsys: Printed, arguments: list[str]) -> None:
    assert main(["review", str(validation()), *arguments]) == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize("file", ["queue.jsonl", "verdicts.jsonl", "validation.json", "decisions/ann.jsonl"])
def test_a_damaged_file_is_named(validation: Callable[..., Path], capsys: Printed, file: str) -> None:
    path = validation()
    (path / file).write_text('{"instance": 7}\n')
    assert main(["review", str(path), "--summary"]) == 2
    assert file in capsys.readouterr().err


def test_without_a_server_installed_the_summary_works_and_the_page_says_what_to_install(
    validation: Callable[..., Path], capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("starlette", "starlette.applications", "uvicorn"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "rbench.review.server", raising=False)
    path = validation()
    assert main(["review", str(path), "--summary"]) == 0
    assert main(["review", str(path)]) == 3
    assert "pip install 'rbench[review]'" in capsys.readouterr().err


def test_the_summary_is_complete_as_json(
    validation: Callable[..., Path], decide: Callable[..., None], capsys: Printed
) -> None:
    path = validation(pictures=6)
    decide(path, "ann", ["yes", "yes", "no", "no", "yes", "unsure"])
    decide(path, "ben", ["yes", "no", "no", "no", "yes", None], reading=2)
    decide(path, "cleo", [None, "yes"], reading=3)
    assert main(["review", str(path), "--summary", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["answers"] == {"yes": 3, "no": 2, "unsure": 0}
    assert found["yes_rate"] == pytest.approx(0.6)
    assert (found["read"], found["read_twice"], found["open"], found["decisions"]) == (6, 5, 1, 12)
    assert found["disagreements"] == {"readers": 0, "unsure": 1, "measured": 1, "model": 0}
    (pair,) = found["pairs"]
    assert (pair["reviewers"], pair["pictures"], pair["agreement"]) == (["ann", "ben"], 5, 0.8)
    assert pair["counts"] == [[2, 1, 0], [0, 2, 0], [0, 0, 0]]
    assert pair["kappa"] == pytest.approx((0.8 - 0.48) / (1 - 0.48))
    assert found["measured"] == {
        "passed": {"yes": 3, "no": 1, "unsure": 0},
        "failed": {"yes": 0, "no": 1, "unsure": 0},
    }


def test_the_summary_reads_well_and_escapes_names(
    validation: Callable[..., Path], decide: Callable[..., None], capsys: Printed
) -> None:
    path = validation(pictures=3)
    decide(path, "a\u202eb", ["yes", "no", "yes"])
    decide(path, "ben", ["yes", "no", "no"], reading=2)
    assert main(["review", str(path), "--summary"]) == 0
    out = capsys.readouterr().out
    assert "\u202e" not in out
    assert "3 of 3 pictures read" in out
    assert "Cohen's kappa 0.40" in out


def test_a_review_of_nothing_says_so(validation: Callable[..., Path], capsys: Printed) -> None:
    assert main(["review", str(validation(pictures=0)), "--summary"]) == 0
    assert "0 of 0 pictures read" in capsys.readouterr().out
