"""What a model may write and still be understood, and what is refused with its cause."""

from __future__ import annotations

import json

import pytest
from pydantic import BaseModel, RootModel

from rbench.errors import NoAnswer
from rbench.interfaces.vision import Usage
from rbench.vision.coordinates import Frame
from rbench.vision.parsing import ModelText, error_inside, parse_answer
from rbench.vision.questions import PickAndPlace

FRAME = Frame("abs", (100, 200))


class Plan(BaseModel):
    subtasks: list[str]
    note: str | None = None


class Steps(RootModel[list[dict[str, str]]]):
    pass


PLAN = '{"subtasks": ["open drawer", "take cup"]}'


def parse(text: str | None, **said: str | None) -> tuple[Plan, tuple[str, ...]]:
    reply = parse_answer(ModelText(text, **said), Plan, FRAME)
    return reply.value, reply.repairs


@pytest.mark.parametrize(
    ("text", "repairs"),
    [
        (PLAN, ()),
        (f"```json\n{PLAN}\n```", ("fence",)),
        (f"```JSON {PLAN}```", ("fence",)),
        (f"```\n{PLAN}\n```\nLet me know if you need more.", ("fence",)),
        (f"Here's the plan you asked for:\n{PLAN}", ("prose",)),
        (f"{PLAN}\nThis is {{only}} a [sketch], see [1].", ("prose",)),
        (f'```json\n{{"subtasks": ["wrong"]}}\n```\nNo, better:\n```json\n{PLAN}\n```', ("fence", "several_fences")),
        (f"```json\n{PLAN}\n```\n```python\nprint('hi')\n```", ("fence",)),
        (f"```json\n{PLAN}", ("fence", "unclosed_fence")),
        ('First {"subtasks": ["wrong"]} but rather ' + PLAN, ("prose",)),
        (f"\ufeff{PLAN}", ("invisible_characters",)),
        ('\u00a0{\u00a0"subtasks":\u00a0["open drawer", "take cup"]}', ("invisible_characters",)),
        ('{"subtasks": ["open drawer", "take cup",],}', ("trailing_comma",)),
        ('{"subtasks": ["open drawer", // the "left" one, it\'s near\n "take cup"]}', ("comments",)),
        ("{'subtasks': ['open drawer', 'take cup'], 'note': None}", ("python_literal",)),
        ("{'subtasks': ('open drawer', 'take cup'), 'note': null}", ("python_literal",)),
        ("{“subtasks”: [“open drawer”, “take cup”]}", ("typographic_quotes",)),
        (f"<think>Maybe {{this}}...</think>\n{PLAN}", ("thinking",)),
        (f"[{PLAN}]", ("unwrapped_list",)),
    ],
)
def test_reads_what_a_person_could_read_and_names_each_repair(text: str, repairs: tuple[str, ...]) -> None:
    plan, found = parse(text)
    assert plan.subtasks == ["open drawer", "take cup"]
    assert found == repairs


def test_keeps_a_raw_line_break_inside_a_string() -> None:
    plan, repairs = parse('{"subtasks": ["open\ndrawer"]}')
    assert plan.subtasks == ["open\ndrawer"]
    assert repairs == ("newline_in_string",)


@pytest.mark.parametrize("text", ['{"subtasks": ["a // b, }", "it\'s [here]"]}', "{'subtasks': ['a // b, }', 'x']}"])
def test_leaves_the_inside_of_strings_alone(text: str) -> None:
    assert parse(text)[0].subtasks[0] == "a // b, }"


@pytest.mark.parametrize("text", ['{"subtasks":["open drawer","tak', None, PLAN])
def test_a_reply_that_hit_the_token_limit_is_never_used(text: str | None) -> None:
    with pytest.raises(NoAnswer) as caught:
        parse(text, finish_reason="length")
    assert caught.value.kind == "truncated"


@pytest.mark.parametrize(
    "text",
    [
        '{"subtasks":[{"n":"open drawer"},{"n',
        '{"subtasks": ["open drawer"',
        '```json\n{"subtasks": ["open drawer",',
        f'{PLAN} or better {{"subtasks": ["open',
        "<think>I see a cube and",
    ],
)
def test_a_reply_that_ends_inside_its_answer_is_truncated_whatever_the_server_says(text: str) -> None:
    with pytest.raises(NoAnswer) as caught:
        parse(text, finish_reason="stop")
    assert caught.value.kind == "truncated"


@pytest.mark.parametrize("text", [None, "", " \n\t", "\ufeff\u00a0"])
def test_an_empty_reply_is_empty(text: str | None) -> None:
    with pytest.raises(NoAnswer) as caught:
        parse(text)
    assert caught.value.kind == "empty"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("I'm sorry, but I can't help with that.", {}),
        ("I cannot assist with this request", {}),
        (None, {"refusal": "no robots"}),
        ("", {"finish_reason": "content_filter"}),
    ],
)
def test_a_refusal_is_called_a_refusal(text: str | None, said: dict[str, str]) -> None:
    with pytest.raises(NoAnswer) as caught:
        parse(text, **said)
    assert caught.value.kind == "refused"


def test_an_error_in_place_of_a_reply_is_the_servers() -> None:
    with pytest.raises(NoAnswer, match="model is overloaded") as caught:
        parse('{"error": {"message": "model is overloaded", "code": 503}}')
    assert caught.value.kind == "server_error"
    assert error_inside({"choices": []}) is None


@pytest.mark.parametrize("text", ["The cube is on the left.", "{'subtasks': __import__('os').system('true')}", "{]"])
def test_what_cannot_be_read_is_unparsable_and_kept_whole(text: str) -> None:
    with pytest.raises(NoAnswer) as caught:
        parse(text)
    assert caught.value.kind == "unparsable"
    assert caught.value.raw == text


@pytest.mark.parametrize(
    "text",
    [
        '{"subtasks": ["a"], "subtasks": ["b"]}',
        '{"subtasks": [NaN]}',
        '{"subtasks": [' + "9" * 5_000 + "]}",
        "[" * 100_000 + "]" * 100_000,
        "{'a':" * 2_000 + "1" + "}" * 2_000,
        "x" * 300_000,
    ],
    ids=["same key twice", "not a number", "huge number", "deep", "deep python", "long"],
)
def test_what_is_ambiguous_or_absurd_is_unparsable(text: str) -> None:
    with pytest.raises(NoAnswer) as caught:
        parse(text)
    assert caught.value.kind == "unparsable"


def test_an_answer_of_another_shape_is_invalid_and_says_where() -> None:
    with pytest.raises(NoAnswer, match="subtasks") as caught:
        parse('{"steps": ["a"]}')
    assert caught.value.kind == "invalid"
    assert caught.value.raw == '{"steps": ["a"]}'


def test_a_list_answer_is_found_beside_objects() -> None:
    reply = parse_answer(ModelText('Steps: [{"n": "a"}, {"n": "b"}] as in {"x": 1}'), Steps, FRAME)
    assert reply.value.root == [{"n": "a"}, {"n": "b"}]


def test_what_a_failed_reply_cost_is_known() -> None:
    with pytest.raises(NoAnswer) as caught:
        parse_answer(ModelText("nothing"), Plan, FRAME, Usage("m", 100, 5, 0.01))
    assert caught.value.usage == Usage("m", 100, 5, 0.01)


def located(**boxes: object) -> str:
    return json.dumps(
        {"start": "cube", "start_xyxy": [10, 20, 30, 40], "end": "box", "end_xyxy": [0, 0, 9, 9], **boxes}
    )


@pytest.mark.parametrize(
    "box", [[30, 40, 10, 20], [10, 20, 10, 40], [10, 20, 211, 40], [10, -6, 30, 40], [300, 20, 305, 40], [1e308] * 4]
)
def test_a_box_that_cannot_be_is_bad_boxes(box: list[float]) -> None:
    with pytest.raises(NoAnswer, match="start_xyxy") as caught:
        parse_answer(ModelText(located(start_xyxy=box)), PickAndPlace, FRAME)
    assert caught.value.kind == "bad_boxes"


@pytest.mark.parametrize("box", [[10, 20, 210, 40], [-10, 20, 30, 105]])
def test_a_box_may_stick_out_by_five_percent(box: list[float]) -> None:
    assert parse_answer(ModelText(located(start_xyxy=box)), PickAndPlace, FRAME).value.start_xyxy.root == tuple(box)


@pytest.mark.parametrize("box", [[1, 2, 3], "here", {"x": 1}, [1, 2, 3, "a"]])
def test_what_is_no_box_is_invalid(box: object) -> None:
    with pytest.raises(NoAnswer) as caught:
        parse_answer(ModelText(located(start_xyxy=box)), PickAndPlace, FRAME)
    assert caught.value.kind == "invalid"


def test_a_thing_that_was_not_found_has_no_box() -> None:
    answer = parse_answer(ModelText(located(start_xyxy=None)), PickAndPlace, FRAME).value
    assert answer.object is None
    assert answer.destination is not None
    assert answer.destination.label == "box"
