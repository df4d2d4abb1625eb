"""Messages between a run and its workers: whole, in order, however the bytes arrive."""

from __future__ import annotations

import random

import pytest

from rbench.running.executors.messages import Unpacker, begins_with, packed, split, unpacked

MESSAGES = [
    ({"episode": {"id": "color/teal/position-p1#0"}}, b""),
    ({"finished": "é"}, bytes(range(256)) * 40),
    ({}, b"x"),
]


@pytest.mark.parametrize("seed", range(5))
def test_messages_arrive_whole_in_whatever_pieces(seed: int) -> None:
    stream = b"".join(packed(message, blob) for message, blob in MESSAGES)
    sizes = random.Random(seed)
    unpacker, received = Unpacker(), []
    while stream:
        cut = sizes.randint(1, 4000)
        received += unpacker.feed(stream[:cut])
        stream = stream[cut:]
    assert received == MESSAGES


def test_a_piece_of_a_message_is_no_message() -> None:
    unpacker = Unpacker()
    data = packed({"ready": 1})
    assert unpacker.feed(data[:-1]) == []
    assert unpacker.feed(data[-1:]) == [({"ready": 1}, b"")]


def test_what_has_no_json_form_is_refused_where_it_is_sent() -> None:
    with pytest.raises(ValueError, match="JSON"):
        packed({"value": float("nan")})


def test_messages_behind_one_another_are_told_apart_without_reading_them() -> None:
    pieces = list(split(b"".join(packed(message, blob) for message, blob in MESSAGES)))
    assert [unpacked(piece) for piece in pieces] == MESSAGES
    assert [begins_with(piece, "finished") for piece in pieces] == [False, True, False]
    assert list(split(b"")) == []
