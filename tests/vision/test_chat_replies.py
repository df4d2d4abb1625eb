"""The vision model `openai`: what it sends, and what becomes of every kind of reply."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from PIL import Image
from pydantic import RootModel

from rbench.errors import InfrastructureError, NoAnswer, StartError
from rbench.interfaces.vision import Question, Reply
from rbench.vision.chat.known_models import eyes_of
from rbench.vision.chat.model import OpenAi, sent_size
from rbench.vision.chat.options import Options
from rbench.vision.questions import PickAndPlace

PLAN = {"start": "cube", "start_xyxy": [100, 200, 300, 400], "end": "box", "end_xyxy": [500, 500, 750, 1000]}
TEXT = json.dumps(PLAN)
QUESTION = Question("test.locate/1", "Where? {coordinates}", (np.zeros((112, 224, 3), np.uint8),), PickAndPlace)


@pytest.fixture
def model(endpoint: Any) -> Iterator[Callable[..., OpenAi]]:
    made: list[OpenAi] = []

    def make(**options: Any) -> OpenAi:
        settings = {"model": "qwen-vl-max", "base_url": endpoint.url, "first_wait": 0.01, "max_retries": 1}
        made.append(OpenAi(Options(**{**settings, **options})))
        return made[-1]

    yield make
    for one in made:
        one.close()


def ask(model: OpenAi, question: Question = QUESTION) -> Reply:
    return model.ask(question, np.random.default_rng(0))


def test_an_answer_is_in_pixels_of_the_picture_that_was_asked_about(endpoint: Any, model: Any) -> None:
    endpoint.say(TEXT)
    reply = ask(model())
    assert reply.value.start_xyxy.root == pytest.approx((22.4, 22.4, 67.2, 44.8))
    assert reply.usage.model == "served-2025-08-13"
    assert (reply.usage.tokens_in, reply.usage.tokens_out, reply.usage.cost) == (1000, 50, None)
    assert reply.raw == TEXT


def test_cost_follows_from_the_prices_that_are_given(endpoint: Any, model: Any) -> None:
    endpoint.say(TEXT)
    assert ask(model(price_in=3.0, price_out=10.0)).usage.cost == pytest.approx(0.0035)


@pytest.mark.parametrize("form", ["png", "jpeg"])
def test_a_picture_is_sent_as_a_data_uri_of_its_declared_type(endpoint: Any, model: Any, form: str) -> None:
    """Seen elsewhere: bare base64, the wrong type, or broken padding."""
    endpoint.say(TEXT)
    ask(model(image_format=form, detail="low"))
    ((declared, data),) = endpoint.asked[0].images  # decoded with correct padding
    assert declared == f"image/{form}"
    assert data.startswith({"png": b"\x89PNG\r\n\x1a\n", "jpeg": b"\xff\xd8\xff"}[form])
    assert Image.open(io.BytesIO(data)).size == (224, 112)
    assert endpoint.asked[0].body["messages"][0]["content"][1]["image_url"]["detail"] == "low"


def test_the_request_states_convention_form_and_settings(endpoint: Any, model: Any) -> None:
    endpoint.say(TEXT)
    ask(model(extra_body={"top_k": 1}))
    body = endpoint.asked[0].body
    assert "from 0 to 1000" in body["messages"][0]["content"][0]["text"]
    assert body["response_format"]["json_schema"]["schema"]["required"] == list(PLAN)
    settings = {key: body[key] for key in ("model", "temperature", "seed", "max_tokens", "top_k")}
    assert settings == {"model": "qwen-vl-max", "temperature": 0, "seed": 0, "max_tokens": 1024, "top_k": 1}


@pytest.mark.parametrize(
    "text",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        f"```json\n{TEXT}\n```\nI hope this helps!",
        f"Here is the plan. {TEXT}",
        f"```json\n{{}}\n```\nBetter:\n```json\n{TEXT}\n```",
        TEXT.replace('"cube"', '"cube\n"').replace("cube\n", "cu\nbe"),
        f"\ufeff\u00a0{TEXT}",
    ],
    ids=["bare", "fenced", "remark behind the fence", "sentence before", "two fences", "raw newline", "BOM and NBSP"],
)
def test_what_a_person_could_read_is_read(endpoint: Any, model: Any, text: str) -> None:
    """Seen elsewhere: a good plan inside a code fence or prose is refused."""
    endpoint.say(text)
    value = ask(model()).value
    assert value.start.replace("\n", "") == "cube"
    assert value.end_xyxy.root == pytest.approx((112, 56, 168, 112))


@pytest.mark.parametrize(
    "message",
    [
        {"content": [{"type": "text", "text": TEXT[:20]}, {"type": "text", "text": TEXT[20:]}]},
        {"content": None, "tool_calls": [{"type": "function", "function": {"name": "plan", "arguments": TEXT}}]},
        {"content": "", "tool_calls": [{"type": "function", "function": {"name": "plan", "arguments": PLAN}}]},
        {"content": None, "function_call": {"name": "plan", "arguments": TEXT}},
        {"content": PLAN},
        {"content": TEXT, "reasoning_content": "Let me think. {"},
    ],
    ids=["parts", "tool call", "tool call with an object", "function call", "object", "reasoning apart"],
)
def test_an_answer_is_found_in_every_shape_of_message(endpoint: Any, model: Any, chat: Any, message: Any) -> None:
    endpoint.say(chat(**message))
    assert ask(model()).value.start == "cube"


@pytest.mark.parametrize("content", ['{"subtasks":[{"n":"open drawer"},{"n', None, TEXT])
def test_a_reply_cut_off_at_the_limit_is_truncated_and_never_shortened(
    endpoint: Any, model: Any, chat: Any, content: Any
) -> None:
    """Seen elsewhere: called bad JSON, asked for again unchanged, or repaired into a plan that looks whole."""
    endpoint.say(chat(content, "length"))
    with pytest.raises(NoAnswer) as caught:
        ask(model())
    assert caught.value.kind == "truncated"
    assert caught.value.raw == (content or "")
    assert caught.value.usage.tokens_out == 50
    assert len(endpoint.asked) == 1  # no identical retry


def test_a_limit_that_comes_before_any_reply_is_truncated_too(endpoint: Any, model: Any, served: Any) -> None:
    told = "Could not finish the message because max_tokens or model output limit was reached."
    endpoint.say(served({"error": {"message": told}}, 400))
    with pytest.raises(NoAnswer) as caught:
        ask(model())
    assert caught.value.kind == "truncated"
    assert len(endpoint.asked) == 1


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"content": None, "refusal": "I can't help with that."}, "refused"),
        ({"content": "I'm sorry, I can't assist with that request."}, "refused"),
        ({"content": TEXT, "finish": "content_filter"}, "refused"),
        ({"content": [{"type": "refusal", "refusal": "No."}]}, "refused"),
        ({"content": None}, "empty"),
        ({"content": "  \n"}, "empty"),
        ({"content": "The cube is on the left."}, "unparsable"),
        ({"content": '{"start": "cube"}'}, "invalid"),
        ({"content": '{"error": {"message": "overloaded"}}'}, "server_error"),
    ],
)
def test_a_reply_that_is_no_answer_says_why(endpoint: Any, model: Any, chat: Any, body: Any, kind: str) -> None:
    endpoint.say(chat(**body))
    with pytest.raises(NoAnswer) as caught:
        ask(model())
    assert caught.value.kind == kind
    assert len(endpoint.asked) == 1


def test_a_question_that_a_filter_refuses_is_a_refusal_and_no_fault_of_the_server(
    endpoint: Any, model: Any, served: Any
) -> None:
    endpoint.say(served({"error": {"code": "data_inspection_failed", "message": "inappropriate"}}, 400))
    with pytest.raises(NoAnswer) as caught:
        ask(model())
    assert caught.value.kind == "refused"


def test_numbers_of_another_coordinate_space_are_refused_when_they_leave_the_picture(endpoint: Any, model: Any) -> None:
    endpoint.say(TEXT)
    with pytest.raises(NoAnswer) as caught:
        ask(model(coordinate_space="abs"))
    assert caught.value.kind == "bad_boxes"


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "upstream failed", "code": 502}},
        {"error": "upstream failed"},
        {"choices": []},
        {"choices": [{"message": "text"}]},
        [],
        "<html>upstream failed</html>",
        "[" * 5000,
    ],
    ids=["error", "error text", "no choice", "no message", "list", "html", "nested"],
)
def test_an_error_inside_a_response_of_status_200_is_the_servers_fault(
    endpoint: Any, model: Any, served: Any, body: Any
) -> None:
    endpoint.say(served(body))
    with pytest.raises(InfrastructureError, match="no reply after 2 tries"):
        ask(model())
    assert len(endpoint.asked) == 2


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ({"error": {"message": "no such key", "code": "invalid_api_key"}}, StartError),
        ({"error": {"message": "no such key", "code": 401}}, StartError),
        ({"error": {"message": "slow down", "code": 429}}, InfrastructureError),
    ],
)
def test_an_error_inside_counts_as_the_status_that_it_names(
    endpoint: Any, model: Any, served: Any, body: Any, error: type[Exception]
) -> None:
    endpoint.say(served(body))
    with pytest.raises(error):
        ask(model())


def test_a_list_is_asked_for_without_a_schema_which_servers_have_for_objects_only(endpoint: Any, model: Any) -> None:
    class Names(RootModel[list[str]]):
        pass

    endpoint.say('["cube", "box"]')
    question = Question("test.names/1", "What is there?", QUESTION.images, Names)
    assert ask(model(), question).value.root == ["cube", "box"]
    assert "response_format" not in endpoint.asked[0].body


@pytest.mark.parametrize(
    ("name", "space", "multiple"),
    [
        ("qwen-vl-max", "norm1000", 28),
        ("Qwen/Qwen2-VL-7B-Instruct", "norm1000", 28),
        ("Qwen/Qwen2.5-VL-72B-Instruct", "abs_resized", 28),
        ("qwen3-vl-plus", "norm1000", 28),
        ("glm-4.5v", "norm1000", 1),
        ("google/gemma-3-27b-it", "norm1000", 1),
        ("yi-vision", "norm999", 1),
        ("gpt-4o-2024-11-20", "abs", 1),
    ],
)
def test_the_convention_of_a_model_follows_from_its_name(name: str, space: str, multiple: int) -> None:
    eyes = eyes_of(name)
    assert (eyes.space, eyes.multiple) == (space, multiple)


@pytest.mark.parametrize(
    ("size", "longest", "multiple", "sent"),
    [
        ((224, 224), 1000, 28, (224, 224)),
        ((480, 640), 1000, 28, (476, 644)),
        ((1080, 1920), 1000, 28, (560, 980)),
        ((1000, 1000), 1000, 28, (980, 980)),
        ((10, 2000), 1000, 28, (28, 980)),
        ((1080, 1920), 1000, 1, (562, 1000)),
        ((300, 200), 1000, 1, (300, 200)),
    ],
)
def test_pictures_are_sent_in_multiples_and_no_larger_than_wanted(
    size: tuple[int, int], longest: int, multiple: int, sent: tuple[int, int]
) -> None:
    assert sent_size(*size, longest, multiple) == sent


def test_pixels_of_a_resized_picture_come_back_as_pixels_of_the_one_asked_about(endpoint: Any, model: Any) -> None:
    endpoint.say(json.dumps({**PLAN, "start_xyxy": [0, 0, 490, 280], "end_xyxy": [490, 280, 980, 560]}))
    question = Question("test.large/1", "{coordinates}", (np.zeros((1120, 1960, 3), np.uint8),), PickAndPlace)
    reply = ask(model(model="qwen2.5-vl-72b-instruct"), question)
    assert reply.value.end_xyxy.root == pytest.approx((980, 560, 1960, 1120))
    assert "980 pixels wide and 560 pixels high" in endpoint.asked[0].body["messages"][0]["content"][0]["text"]
