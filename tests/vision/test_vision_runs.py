"""Whole runs with a served model: outcomes, keys, money, transcripts, replays; the command line as a user calls it."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import rbench
from rbench.cli import main
from rbench.record import identical

KEY = "sk-canary-7Q"

pytestmark = pytest.mark.gl


@dataclass
class Ran:
    """What a command printed and returned."""

    code: int
    out: str
    err: str
    directory: Path

    @property
    def episodes(self) -> list[Any]:
        return sorted(rbench.open_run(self.directory).episodes(), key=lambda record: record.episode)

    def transcripts(self) -> list[Any]:
        return [json.loads(path.read_text()) for path in sorted(self.directory.rglob("transcripts/**/*.json"))]


@pytest.fixture(autouse=True)
def _no_commits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Versions without what git knows: somebody may commit to this working copy between a run and its resume."""
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "no-repository"))


@pytest.fixture
def run(endpoint: Any, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Ran]:
    """Calls `rbench run` with `simple`, a served model and these options of it; serial unless told otherwise."""
    number = 0

    def call(*words: str, limit: int = 1, **options: Any) -> Ran:
        nonlocal number
        number += 1
        directory = tmp_path / f"run-{number}"
        settings = {"model": "qwen-vl-max", "base_url": endpoint.url, "first_wait": 0.01, "max_retries": 1, **options}
        vision = ["--vision", "openai", *(f"-v{key}={_value(value)}" for key, value in settings.items())]
        if "--vision" in words:
            vision = []
        arguments = ["run", "roboview-bias", "--agent", "simple", "--limit", str(limit), "--out", str(directory)]
        if "--executor" not in words:
            arguments += ["--executor", "serial"]
        code = main([*arguments, *vision, *words])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err, directory)

    return call


@pytest.fixture
def resume(capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    def call(before: Ran) -> Ran:
        code = main(["resume", str(before.directory), "--executor", "serial"])
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err, before.directory)

    return call


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def test_an_agent_succeeds_with_a_served_model_and_the_run_says_what_it_took(endpoint: Any, run: Any) -> None:
    endpoint.see()
    ran = run(limit=2, price_in=2.0, price_out=10.0)
    assert ran.code == 0, ran.err
    assert [e.outcome for e in ran.episodes] == ["success"] * 2
    used = ran.episodes[0].agent["vision"]
    assert (used["calls"], used["models"], used["tokens_in"]) == (1, ["served-2025-08-13"], 1000)
    assert used["repairs"] == {"fence": 1}
    assert ran.episodes[0].timing["vision"] > 0
    line = "vision: 2 questions (1.0 an episode) to served-2025-08-13; 2,000 tokens in, 100 out; 0.005 US dollars"
    assert line in ran.out


def test_status_report_and_dry_run_say_what_was_asked(
    endpoint: Any, run: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint.see()
    ran = run(limit=2, price_in=2.0, price_out=10.0)
    expected = {"episodes": 2, "calls": 2, "tokens_in": 2000, "tokens_out": 100, "cost": pytest.approx(0.005)}
    for words in (["status", str(ran.directory), "--json"], ["report", str(ran.directory), "--format", "json"]):
        assert main(words) == 0
        printed = json.loads(capsys.readouterr().out)
        usage = (printed[0] if isinstance(printed, list) else printed)["vision_usage"]
        assert {key: usage[key] for key in expected} == expected
        assert usage["models"] == ["served-2025-08-13"]
    tried = run("--dry-run", limit=100, price_in=2.0, price_out=10.0)
    assert "model calls: about 100 (1.0 an episode)" in tried.out
    assert "tokens: about 100000 in, 5000 out" in tried.out
    assert "cost: about 0.25 US dollars (the probe took 0.0075)" in tried.out


def test_no_price_is_guessed(endpoint: Any, run: Any) -> None:
    endpoint.see()
    ran = run()
    assert ran.episodes[0].agent["vision"]["cost"] is None
    assert "cost not known" in ran.out


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ({"content": '{"start": "cube", "sta', "finish": "length"}, "truncated"),
        ({"content": None, "refusal": "I can't help with that."}, "refused"),
    ],
)
def test_a_reply_that_is_no_answer_is_the_agents_failure_with_its_reason(
    endpoint: Any, run: Any, chat: Any, reply: Any, reason: str
) -> None:
    endpoint.say(chat(**reply))
    ran = run()
    assert ran.code == 0, ran.err
    (record,) = ran.episodes
    assert (record.outcome, record.reason, record.agent["vision"]["outcomes"]) == ("failure", reason, {reason: 1})


def test_numbers_of_another_coordinate_space_are_a_failure_with_its_reason(endpoint: Any, run: Any) -> None:
    endpoint.see(span=1000.0)
    ran = run(coordinate_space="abs")
    (record,) = ran.episodes
    assert (record.outcome, record.reason) == ("failure", "bad_boxes")


def test_what_cannot_be_read_is_kept_raw(endpoint: Any, run: Any) -> None:
    """Seen elsewhere: the log does not show what the model said."""
    endpoint.say("It is on the left.\x1b[2J")
    ran = run()
    assert ran.episodes[0].outcome == "failure"
    (transcript,) = ran.transcripts()
    assert {entry["raw"] for entry in transcript["questions"]} == {"It is on the left.\x1b[2J"}
    assert "\x1b" not in ran.out + ran.err


def test_a_server_that_fails_is_no_failure_of_the_agent_and_runs_again(
    endpoint: Any, run: Any, resume: Any, served: Any
) -> None:
    endpoint.say(served({"error": {"message": "upstream failed"}}, 500))
    ran = run()
    assert ran.code == 1
    assert [(e.outcome, e.success) for e in ran.episodes] == [("infrastructure_error", False)]
    assert "no reply after 2 tries" in ran.episodes[0].error
    endpoint.see()
    again = resume(ran)
    assert again.code == 0, again.err
    assert [e.outcome for e in again.episodes] == ["success"]


def test_a_spent_quota_stops_the_run_and_costs_no_episode(endpoint: Any, run: Any, resume: Any, served: Any) -> None:
    """Seen elsewhere: a spent quota is asked again and again, and costs episodes."""
    endpoint.see()
    seeing = endpoint.answer
    endpoint.answer = lambda request: (
        seeing(request)
        if len(endpoint.requests) < 3
        else served({"error": {"message": "no money", "code": "insufficient_quota"}}, 429)
    )
    ran = run(limit=3)
    assert ran.code == 4
    assert "no money" in ran.err
    assert [e.outcome for e in ran.episodes] == ["success"]
    endpoint.see()
    again = resume(ran)
    assert again.code == 0, again.err
    assert [e.outcome for e in again.episodes] == ["success"] * 3


def test_a_budget_stops_the_run_and_resume_goes_on_with_as_much_again(endpoint: Any, run: Any, resume: Any) -> None:
    endpoint.see()
    ran = run(limit=5, budget_calls=2)
    assert ran.code == 4
    assert "budget_calls = 2, used 2" in ran.err
    assert len(ran.episodes) == 2
    again = resume(ran)
    assert (again.code, len(again.episodes)) == (4, 4)
    last = resume(ran)
    assert (last.code, len(last.episodes)) == (0, 5), last.err


def test_a_budget_that_suffices_to_the_last_question_stops_nothing(endpoint: Any, run: Any) -> None:
    endpoint.see()
    assert run(limit=2, budget_usd=0.005, price_in=2.0, price_out=10.0).code == 0


def test_a_wrong_key_keeps_the_run_from_starting_and_is_found_nowhere(
    endpoint: Any, run: Any, served: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The endpoint echoes the key with status 401."""
    monkeypatch.setenv("MY_KEY", KEY)
    endpoint.answer = lambda request: served(echo(request), 401)
    ran = run("--debug", api_key_env="MY_KEY")
    assert ran.code == 3
    assert "MY_KEY" in ran.err
    assert endpoint.requests[0].headers["authorization"] == f"Bearer {KEY}"
    search(ran, tmp_path)


def echo(request: Any) -> dict[str, Any]:
    forms = [KEY, base64.b64encode(KEY.encode()).decode(), "".join(f"%{b:02X}" for b in KEY.encode()), request.path]
    return {"error": {"message": f"Incorrect API key: {' '.join(forms)}", "headers": request.headers}}


def search(ran: Ran, *folders: Path) -> None:
    """Nothing that was printed or written holds the key, in whatever form."""
    found = [ran.out, ran.err]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert any(path.name == "manifest.json" for path in files)
    for text in [*(text.encode() for text in found), *(path.read_bytes() for path in files)]:
        for form in (KEY, base64.b64encode(KEY.encode()).decode().rstrip("="), KEY.encode().hex(), "%73%6B%2D"):
            assert form.encode() not in text


@pytest.mark.parametrize(
    ("way", "executor"),
    [("variable", "serial"), ("header", "serial"), ("query", "serial"), ("variable", "processes")],
)
def test_a_key_that_the_model_repeats_is_found_nowhere(
    endpoint: Any, run: Any, served: Any, chat: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, way: str,
    executor: str,
) -> None:  # fmt: skip
    """By environment, in a header, and in the query of the address; the reply and a 500 repeat it."""
    monkeypatch.setenv("MY_KEY", KEY)
    monkeypatch.setenv("OPENAI_LOG", "debug")
    options = {
        "variable": {"api_key_env": "MY_KEY"},
        "header": {"headers_env": {"X-Api-Key": "MY_KEY"}},
        "query": {"base_url": f"{endpoint.url}?key={KEY}"},
    }[way]
    number = 0

    def answer(request: Any) -> Any:
        nonlocal number
        number += not request.trial
        if request.trial or number == 1:
            return served(chat(f"You sent {KEY}: {json.dumps(request.headers)} {request.path}"))
        return served(echo(request), 500)

    endpoint.answer = answer
    ran = run("--debug", "--executor", executor, "--workers", "1", **options)
    assert ran.code in (0, 1), ran.err
    assert len(ran.transcripts()) == 1
    assert "[redacted]" in json.dumps(ran.transcripts())
    assert any(KEY in json.dumps([r.headers, r.path]) for r in endpoint.requests)
    search(ran, ran.directory)


def test_a_key_given_as_an_option_is_refused_and_not_shown(run: Any, tmp_path: Path) -> None:
    """By config file and on the command line."""
    given = run(api_key=KEY)
    file = tmp_path / "run.toml"
    file.write_text(
        "suite = 'roboview-bias'\nagent = 'simple'\nvision = 'openai'\n"
        f"vision-option = {{ model = 'm', api_key = '{KEY}' }}\n"
    )
    configured = run("--config", str(file))
    for ran in (given, configured):
        assert ran.code == 2
        assert "api_key_env" in ran.err
        assert KEY not in ran.out + ran.err


def test_a_replay_is_the_run_again_without_a_server(endpoint: Any, run: Any) -> None:
    endpoint.see()
    recorded = run(limit=3, price_in=2.0, price_out=10.0)
    asked = len(endpoint.requests)
    replays = [
        run("--vision", "replay", "-v", f"recording={recorded.directory}", "-v", f"match={match}", limit=3)
        for match in ("image", "call", "image")
    ]
    assert len(endpoint.requests) == asked
    for replay in replays:
        assert replay.code == 0, replay.err
        assert all(identical(a, b) for a, b in zip(recorded.episodes, replay.episodes, strict=True))
        assert "(recorded; nothing was asked anew)" in replay.out


def test_a_question_that_is_not_recorded_stops_a_replay(endpoint: Any, run: Any) -> None:
    endpoint.see()
    recorded = run()
    for file in recorded.directory.rglob("transcripts/**/*.json"):
        file.write_text(re.sub(r'"key": "..', '"key": "00', file.read_text()))
    replay = run("--vision", "replay", "-v", f"recording={recorded.directory}")
    assert replay.code == 3
    assert "has no answer to 'simple.locate/" in replay.err
    assert replay.episodes == []


def test_the_embedded_eye_is_recorded_when_asked_to(run: Any) -> None:
    silent = run("--vision", "opencv")
    assert silent.transcripts() == []
    recorded = run("--vision", "opencv", "-v", "transcripts=true")
    (transcript,) = recorded.transcripts()
    pictures = [path.stem for path in recorded.directory.rglob("images/*.png")]
    assert transcript["questions"][0]["images"] == pictures
    replay = run("--vision", "replay", "-v", f"recording={recorded.directory}")
    assert identical(replay.episodes[0], recorded.episodes[0])


def test_an_agent_that_swallows_the_error_of_its_model_is_not_blamed(
    endpoint: Any, run: Any, served: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "swallowing.py").write_text(
        "from rbench_agent_simple.agent import SimpleAgent\n"
        "from rbench_agent_simple.options import Options as SimpleOptions\n"
        "from rbench import Stop\n\n\n"
        "class Swallowing(SimpleAgent):\n"
        "    Options = SimpleOptions\n\n"
        "    def act(self, observation):\n"
        "        try:\n"
        "            return super().act(observation)\n"
        "        except Exception:\n"
        "            return Stop('gave_up')\n"
    )
    monkeypatch.chdir(tmp_path)
    endpoint.say(served({"error": {"message": "upstream failed"}}, 500))
    ran = run("--agent", "swallowing:Swallowing")
    assert [e.outcome for e in ran.episodes] == ["infrastructure_error"]
    endpoint.say(served({"error": {"message": "no money", "code": "insufficient_quota"}}, 429))
    assert run("--agent", "swallowing:Swallowing").code == 4


def test_listing_models_needs_no_client() -> None:
    code = (
        "import sys; sys.modules['openai'] = None\n"
        "from rbench.cli import main\n"
        "assert main(['list-plugins', '--kind', 'vision-model']) == 0\n"
        "assert main(['describe', 'vision-model:openai']) == 0\n"
    )
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "replay" in done.stdout
