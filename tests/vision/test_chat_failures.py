"""The vision model `openai` when the server does not reply: what is tried again, what is changed, what ends the run."""

from __future__ import annotations

import gzip
import json
import resource
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbench.errors import InfrastructureError, RbenchError, StartError, StoppedEarly
from rbench.interfaces.vision import Question, Reply
from rbench.vision.chat.failures import failure_of, retry_after
from rbench.vision.chat.model import OpenAi
from rbench.vision.chat.options import Options
from rbench.vision.chat.pacing import Pace, shared_folder
from rbench.vision.questions import PickAndPlace

TEXT = json.dumps({"start": "cube", "start_xyxy": None, "end": "box", "end_xyxy": None})
QUESTION = Question("test.locate/1", "Where? {coordinates}", (np.zeros((56, 56, 3), np.uint8),), PickAndPlace)


@pytest.fixture
def model(endpoint: Any) -> Iterator[Callable[..., OpenAi]]:
    made: list[OpenAi] = []

    def make(**options: Any) -> OpenAi:
        settings = {"model": "qwen-vl-max", "base_url": endpoint.url, "first_wait": 0.01, "max_retries": 2}
        made.append(OpenAi(Options(**{**settings, **options})))
        return made[-1]

    yield make
    for one in made:
        one.close()


def ask(model: OpenAi) -> Reply:
    return model.ask(QUESTION, np.random.default_rng(0))


def error(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def test_a_server_that_asks_for_patience_is_waited_for(endpoint: Any, model: Any, served: Any) -> None:
    """Seen elsewhere: Retry-After is ignored."""
    endpoint.say(served(error("slow down"), 429, {"Retry-After": "0.3"}), TEXT)
    assert ask(model()).value.start == "cube"
    first, second = endpoint.asked
    assert second.when - first.when >= 0.3


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_what_may_pass_is_tried_again(endpoint: Any, model: Any, served: Any, status: int) -> None:
    endpoint.say(served(error("not now"), status), TEXT)
    assert ask(model()).value.start == "cube"


def test_a_connection_that_breaks_is_tried_again(endpoint: Any, model: Any, served: Any) -> None:
    endpoint.say(served("", cut=True), TEXT)
    assert ask(model()).value.start == "cube"


def test_a_slow_server_has_an_end_and_is_not_the_agents_fault(endpoint: Any, model: Any, served: Any) -> None:
    endpoint.say(served("{}", pause=0.6))
    with pytest.raises(InfrastructureError, match=r"no whole reply within 0\.2 s"):
        ask(model(timeout=0.2, max_retries=1))
    assert len(endpoint.asked) == 2


def test_a_response_that_comes_drop_by_drop_has_an_end(endpoint: Any, model: Any, served: Any) -> None:
    endpoint.say(served("slow", 500, drip=0.05))
    with pytest.raises(InfrastructureError, match=r"no whole reply within 0\.3 s"):
        ask(model(timeout=0.3, max_retries=0))


@pytest.mark.parametrize("status", [200, 500, 302])
def test_a_body_that_grows_when_it_is_unpacked_is_not_read_to_its_end(
    endpoint: Any, model: Any, served: Any, status: int
) -> None:
    bomb = gzip.compress(bytes(400 << 20), 1)
    endpoint.say(served(bomb, status, {"content-encoding": "gzip"}))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RbenchError):
        ask(model(max_retries=0))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_a_server_that_is_not_there_is_not_the_agents_fault(endpoint: Any, model: Any) -> None:
    gone = model(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(InfrastructureError, match="no reply after 3 tries"):
        ask(gone)


@pytest.mark.parametrize("retries", [0, 3])
def test_the_number_of_retries_is_kept_to(endpoint: Any, model: Any, served: Any, retries: int) -> None:
    endpoint.say(served(error("not now"), 500))
    with pytest.raises(InfrastructureError):
        ask(model(max_retries=retries))
    assert len(endpoint.asked) == retries + 1


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (error("You exceeded your current quota", type="insufficient_quota", code="insufficient_quota"), 429),
        (error("Access denied, account is in arrears", code="Arrearage"), 400),
        (error("pay first"), 402),
        (error("out of credits", type="insufficient_quota"), 403),
        (error("no money", code="insufficient_quota"), 200),
    ],
)
def test_a_spent_quota_stops_the_run_at_once(endpoint: Any, model: Any, served: Any, body: Any, status: int) -> None:
    """Seen elsewhere: a spent quota is taken for haste, and hammered for hours."""
    endpoint.say(served(body, status, {"Retry-After": "1"}))
    with pytest.raises(StoppedEarly, match="rbench resume"):
        ask(model())
    assert len(endpoint.asked) == 1


def test_a_wait_longer_than_allowed_stops_the_run(endpoint: Any, model: Any, served: Any) -> None:
    endpoint.say(served(error("daily limit"), 429, {"Retry-After": "3600"}))
    with pytest.raises(StoppedEarly, match="asks to wait 3600 s"):
        ask(model())
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_is_not_accepted_is_named_by_its_variable(
    endpoint: Any, model: Any, served: Any, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-canary-7Q")
    endpoint.say(served(error("Incorrect API key provided: sk-canary-7Q"), status))
    with pytest.raises(StartError, match="MY_KEY") as caught:
        ask(model(api_key_env="MY_KEY"))
    assert "canary" not in str(caught.value)
    assert endpoint.asked[0].headers["authorization"] == "Bearer sk-canary-7Q"
    assert len(endpoint.asked) == 1


def test_a_server_of_ones_own_is_asked_without_a_key_and_that_is_said(
    endpoint: Any, model: Any, caplog: pytest.LogCaptureFixture
) -> None:
    endpoint.say(TEXT)
    asking = model()
    asking.check()
    ask(asking)
    assert "OPENAI_API_KEY is not set" in caplog.text
    assert "authorization" not in endpoint.asked[0].headers


@pytest.mark.parametrize("options", [{"base_url": "https://api.openai.com/v1"}, {"api_key_env": "MY_KEY"}])
def test_a_key_that_is_needed_and_not_set_is_said_before_anything_is_asked(
    endpoint: Any, model: Any, options: Any
) -> None:
    with pytest.raises(StartError, match=r"environment variable (OPENAI_API_KEY|MY_KEY) is not set"):
        model(**options)


def test_a_key_in_further_fields_of_the_request_is_not_repeated(endpoint: Any, model: Any, served: Any) -> None:
    endpoint.say(served(error("sk-canary-7Q is not known"), 400))
    with pytest.raises(StartError) as caught:
        ask(model(extra_body={"provider": {"api_key": "sk-canary-7Q"}}))
    assert endpoint.asked[0].body["provider"]["api_key"] == "sk-canary-7Q"
    assert "canary" not in str(caught.value)


def test_a_clock_that_was_set_back_keeps_nobody_waiting(endpoint: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pace = Pace("an endpoint")
    pace.hold(0.0)
    (file,) = shared_folder().iterdir()  # type: ignore[union-attr]
    file.write_text(f"{time.time() + 1e6:020.6f}")
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    with pace.turn():
        pass
    assert waits == []


@pytest.mark.parametrize("key", ["sk-canary-7Q\nX-Evil: 1", "sk-canary-\u00e9"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(
    endpoint: Any, model: Any, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(StartError, match="OPENAI_API_KEY") as caught:
        model()
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "message", "advice"),
    [
        (400, "This model's maximum context length is 4096 tokens, however you requested 9000", "longest_side"),
        (400, "'max_tokens' is too large: 99999", "max_tokens"),
        (404, "The model `qwen-vl-max` does not exist", "base_url"),
        (400, "At most 1 image(s) may be provided in one request.", "fewer"),
        (400, "messages: malformed", "describe"),
        (307, "moved", "base_url"),
    ],
)
def test_a_request_that_is_refused_ends_the_run_with_the_servers_reason(
    endpoint: Any, model: Any, served: Any, status: int, message: str, advice: str
) -> None:
    endpoint.say(served(error(message), status, {"Location": "http://127.0.0.1:9/v1"}))
    with pytest.raises(StartError) as caught:
        ask(model())
    assert message in str(caught.value)
    assert advice in str(caught.value).rpartition(". ")[2]
    assert len(endpoint.asked) == 1


def test_a_limit_of_pictures_is_found_before_any_episode(endpoint: Any, model: Any, served: Any) -> None:
    """Seen elsewhere: found at the first call, in the middle of a run."""
    limit = served(error("At most 1 image(s) may be provided in one request."), 400)
    fine = served({"choices": [{"message": {"content": "{}"}}]})
    endpoint.answer = lambda request: limit if len(request.images) > 1 else fine
    model(check_images=1).check()
    with pytest.raises(StartError, match="At most 1 image"):
        model(check_images=2).check()
    assert endpoint.asked == []


def test_a_server_that_is_not_there_is_found_before_any_episode(endpoint: Any, model: Any) -> None:
    with pytest.raises(StartError, match="no reply after 1 tries"):
        model(base_url="http://127.0.0.1:9/v1", max_retries=0).check()
    model(base_url="http://127.0.0.1:9/v1", check_images=0).check()


def refusing(endpoint: Any, served: Any, chat: Any, refusals: dict[str, dict[str, Any]]) -> None:
    """The server refuses each request that has one of these fields."""

    def answer(request: Any) -> Any:
        for field, body in refusals.items():
            if field in json.dumps(request.body):
                return served(body, 400)
        return served(chat(TEXT))

    endpoint.answer = answer


def test_a_token_limit_of_another_name_is_found_out_once_and_remembered(
    endpoint: Any, model: Any, served: Any, chat: Any
) -> None:
    """Seen elsewhere: newer models refuse `max_tokens`."""
    told = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    refusing(endpoint, served, chat, {"max_tokens": error(told, code="unsupported_parameter", param="max_tokens")})
    asking = model(max_retries=0)
    assert ask(asking).usage.adapted == ("max_completion_tokens",)
    assert ask(asking).usage.adapted == ("max_completion_tokens",)
    assert [("max_tokens" in r.body, r.body.get("max_completion_tokens")) for r in endpoint.asked] == [
        (True, None),
        (False, 1024),
        (False, 1024),
    ]


def test_a_temperature_and_a_seed_that_are_refused_are_left_out(
    endpoint: Any, model: Any, served: Any, chat: Any
) -> None:
    """Seen elsewhere: newer models refuse a temperature."""
    told = (
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported."
    )
    refusing(
        endpoint,
        served,
        chat,
        {"temperature": error(told, param="temperature"), "seed": error("Unrecognized request argument: seed")},
    )
    assert ask(model()).usage.adapted == ("no_temperature", "no_seed")
    assert len(endpoint.asked) == 3


def test_structured_output_goes_down_to_what_the_server_takes(
    endpoint: Any, model: Any, served: Any, chat: Any
) -> None:
    refusing(
        endpoint,
        served,
        chat,
        {
            "json_schema": error("Failed to compile the grammar of json_schema"),
            "response_format": error("unknown field response_format"),
        },
    )
    asking = model()
    assert ask(asking).usage.adapted == ("structured_none",)
    ask(asking)
    assert ["response_format" in request.body for request in endpoint.asked] == [True, True, False, False]


def test_what_was_asked_for_explicitly_is_not_changed(endpoint: Any, model: Any, served: Any, chat: Any) -> None:
    refusing(endpoint, served, chat, {"json_schema": error("response_format json_schema is not supported")})
    with pytest.raises(StartError, match="json_schema is not supported"):
        ask(model(structured="json_schema"))
    assert len(endpoint.asked) == 1


def test_workers_back_off_together(endpoint: Any, model: Any, served: Any, chat: Any) -> None:
    """When one is told to wait, the others do not find out by asking."""
    limited = served(error("slow down"), 429, {"Retry-After": "0.5"})
    rest = [limited]
    endpoint.answer = lambda request: rest.pop() if rest else served(chat(TEXT))
    workers = [model() for _ in range(4)]
    first = threading.Thread(target=ask, args=(workers[0],))
    first.start()
    while not list(Path(tempfile.gettempdir()).glob("*/*.hold")):
        time.sleep(0.005)
    others = [threading.Thread(target=ask, args=(worker,)) for worker in workers[1:]]
    for thread in others:
        thread.start()
    for thread in (first, *others):
        thread.join()
    told = endpoint.asked[0].when
    assert len(endpoint.asked) == 5
    assert all(request.when - told >= 0.45 for request in endpoint.asked[1:])


def test_requests_of_all_workers_keep_to_the_rate(endpoint: Any, model: Any) -> None:
    endpoint.say(TEXT)
    workers = [model(requests_per_minute=600) for _ in range(2)]
    for worker in workers * 2:
        ask(worker)
    times = [request.when for request in endpoint.asked]
    assert times[-1] - times[0] >= 0.2  # 0.3 where they left; they take time to arrive


def test_no_more_requests_are_under_way_than_allowed(endpoint: Any, model: Any, chat: Any, served: Any) -> None:
    under_way, most = [0], [0]
    endpoint.say(served(chat(TEXT), pause=0.05))
    pace = [Pace("an endpoint", concurrency=2) for _ in range(5)]
    lock = threading.Lock()

    def work(one: Pace) -> None:
        with one.turn():
            with lock:
                under_way[0] += 1
                most[0] = max(most[0], under_way[0])
            time.sleep(0.05)
            with lock:
                under_way[0] -= 1

    threads = [threading.Thread(target=work, args=(one,)) for one in pace]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 <= most[0] <= 2


def test_nothing_is_written_for_a_server_that_never_asks_to_wait(endpoint: Any, model: Any) -> None:
    endpoint.say(TEXT)
    ask(model())
    assert list(Path(tempfile.gettempdir()).iterdir()) == []


def test_the_folder_that_workers_share_is_the_users_own(endpoint: Any) -> None:
    folder = shared_folder()
    assert folder is not None
    assert folder.stat().st_mode & 0o077 == 0
    folder.chmod(0o777)
    assert shared_folder() is None
    with Pace("an endpoint", per_minute=60_000, concurrency=1).turn():
        pass  # each worker for itself


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Fri, 01 Jan 2027 00:00:30 GMT"}, 30.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "1e999"}, None),
        ({}, None),
    ],
)
def test_retry_after_is_seconds_or_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, datetime(2027, 1, 1, tzinfo=UTC)) == seconds


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "a\nb\x1b[2J"}}, "a b [2J"),
        ({"error": "text"}, "text"),
        ({"object": "error", "message": "vllm's old form"}, "vllm's old form"),
        ({"code": "InvalidParameter", "message": "another form"}, "another form"),
        (None, "<html>"),
        (["odd"], "<html>"),
        ({"error": {"message": "m" * 5000}}, "m" * 597 + "..."),
    ],
)
def test_the_message_of_an_error_is_found_and_made_one_line(body: Any, message: str) -> None:
    assert failure_of(500, body, "<html>", {}).message == message


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"base_url": "127.0.0.1:8000"}, "base_url"),
        ({"base_url": "http://user:sk-canary-7Q@host/v1"}, "base_url"),
        ({"api_key_env": "sk-canary-7Q"}, "name of an environment variable"),
        ({"api_key_env": "sk_canary_7Q"}, "name of an environment variable"),
        ({"headers_env": {"X-Key": "sk-canary-7Q"}}, "name of an environment variable"),
        ({"extra_body": {"messages": []}}, "messages"),
        ({"budget_usd": 1.0}, "price_in and price_out"),
        ({"api_key": "sk-canary-7Q"}, "api_key_env"),
        ({"max_tokens": "many"}, "max_tokens"),
        ({"temperature": float("nan")}, "temperature"),
    ],
)
def test_options_that_cannot_be_are_refused_and_no_key_is_shown(catalog: Any, options: Any, said: str) -> None:
    entry = catalog.get("vision-model", "openai")
    with pytest.raises(RbenchError) as caught:
        entry.resolve_options({"model": "m", **options})
    assert said in str(caught.value)
    assert "canary" not in str(caught.value)


def test_a_proxy_is_not_asked_for_what_is_on_this_machine(
    endpoint: Any, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    endpoint.say(TEXT)
    assert ask(model()).value.start == "cube"
