"""What a language model may have called, and what is refused without ever being evaluated."""

from __future__ import annotations

import pytest

from rbench_agent_simple.calls import ALLOWED, FunctionCall, RefusedCall, parse_call


@pytest.mark.parametrize(
    ("text", "call"),
    [
        ('vlm_move("put the cube into the box")', FunctionCall("vlm_move", "put the cube into the box")),
        ("vlm_move('the robot\\'s cup')", FunctionCall("vlm_move", "the robot's cup")),
        (" back_zero() ", FunctionCall("back_zero")),
        ("move_to_top_view()", FunctionCall("move_to_top_view")),
        ("pump_on()", FunctionCall("pump_on")),
        ("pump_off()", FunctionCall("pump_off")),
        ("wait(2)", FunctionCall("wait", 2.0)),
        ("wait(0.5)", FunctionCall("wait", 0.5)),
    ],
)
def test_allowed_calls_are_read(text: str, call: FunctionCall) -> None:
    assert parse_call(text) == call


@pytest.mark.parametrize(
    "text",
    [
        "",
        "back_zero",
        "go home",
        "back_zero(); pump_on()",
        "back_zero() or pump_on()",
        "[back_zero()]",
        "__import__('os').system('true')",
        "eval('1')",
        "open('/etc/passwd')",
        "robot.back_zero()",
        "(lambda: back_zero())()",
        "time.sleep(3)",
        "single_joint_move(1, 90)",
        "vlm_move()",
        "vlm_move('a', 'b')",
        "vlm_move(text='a')",
        "vlm_move(*'a')",
        "vlm_move(name)",
        "vlm_move('a' + 'b')",
        "vlm_move(f'{1}')",
        "vlm_move(b'a')",
        "vlm_move(7)",
        "vlm_move('  ')",
        "back_zero(1)",
        "wait('2')",
        "wait(True)",
        "wait(-1)",
        "wait(0)",
        "wait(6)",
        "wait(1e999)",
        "wait(9 ** 9 ** 9)",
        "wait((((((1))))",
        "(" * 400,
        "vlm_move('" + "a" * 600 + "')",
        "back_zero(\x00)",
        "def f(): pass",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(RefusedCall):
        parse_call(text)


def test_odd_escapes_are_no_warning() -> None:
    assert parse_call(r"vlm_move('a\d')").argument == r"a\d"


def test_the_list_is_short() -> None:
    assert set(ALLOWED) == {"vlm_move", "move_to_top_view", "back_zero", "pump_on", "pump_off", "wait"}
