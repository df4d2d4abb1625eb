"""A policy server that sends what is no answer, or never stops: it costs an episode, and nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import msgpack
import numpy as np
import pytest

from rbench.errors import AgentError, InfrastructureError
from rbench.remote import link

Make = Callable[..., Any]


def wire(**array: Any) -> bytes:
    """An answer with an array as it is described."""
    packed: bytes = msgpack.packb({"actions": {b"__ndarray__": True, **{k.encode(): v for k, v in array.items()}}})
    return packed


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (wire(data=b"\x80\x04.", dtype="|O", shape=[1]), "only numbers and text are read"),
        (wire(data=b"0" * 16, dtype="<c16", shape=[1]), "only numbers and text are read"),
        (wire(data=b"", dtype="|V8", shape=[0]), "only numbers and text are read"),
        (wire(data=b"0" * 8, dtype="f4,f4", shape=[1]), "only numbers and text are read"),
        (wire(data=b"", dtype="<f4", shape=[10**9, 8]), "came with 0 bytes"),
        (wire(data=b"0" * 8, dtype="<f4", shape=[-2, -1]), "has shape"),
        (wire(data=b"0" * 8, dtype="<f4", shape=[2, True]), "has shape"),
        (wire(data=b"0" * 8, dtype="<f4", shape="2"), "has shape"),
        (wire(data="text", dtype="<f4", shape=[1]), "has no data"),
        (wire(data=b"0" * 8, dtype="<f4"), "has shape"),
        (b"\xc1", "cannot be read"),
        (b"", "cannot be read"),
        (msgpack.packb([1, 2]), "a list where a map belongs"),
        (b"\x91" * 5000 + b"\x00", "cannot be read"),
        (b"\xdf\xff\xff\xff\xff", "cannot be read"),
        (msgpack.packb(msgpack.ExtType(5, b"x")), "extension 5"),
        (msgpack.packb({"actions": 1}) * 2, "cannot be read"),
    ],
    ids=[
        "array of objects",
        "complex numbers",
        "raw records",
        "named records",
        "huge shape",
        "negative sizes",
        "a boolean as size",
        "text as shape",
        "text as data",
        "no shape",
        "no msgpack",
        "nothing",
        "a list",
        "deep nesting",
        "a map of four thousand million",
        "an extension",
        "two messages in one",
    ],
)
def test_a_message_that_is_none_is_an_infrastructure_error(
    policy_server: Make, agent: Make, start: Make, seen: Make, answer: bytes, words: str
) -> None:
    pi0 = agent(policy_server(lambda asked: answer))
    pi0.reset(start())
    with pytest.raises(InfrastructureError, match=words):
        pi0.act(seen())


def test_a_message_beyond_the_limit_is_not_read(
    policy_server: Make, agent: Make, start: Make, seen: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "MAX_MESSAGE", 10_000)
    pi0 = agent(policy_server(lambda asked: bytes(20_000)))
    pi0.reset(start())
    with pytest.raises(InfrastructureError, match=r"the connection was lost.*1009"):
        pi0.act(seen())


def test_an_answer_that_never_ends_is_given_up(policy_server: Make, agent: Make, start: Make, seen: Make) -> None:
    server = policy_server()

    def drip(asked: Any) -> None:
        def forever() -> Any:
            while True:
                time.sleep(0.05)
                yield b"x"

        server.links[-1].send(forever())

    server.infer = drip
    pi0 = agent(server, timeout=0.4)
    pi0.reset(start())
    with pytest.raises(InfrastructureError, match="did not answer within"):
        pi0.act(seen())


def test_a_server_that_closes_in_the_middle_of_a_frame_costs_one_episode(
    policy_server: Make, agent: Make, start: Make, seen: Make
) -> None:
    server = policy_server()

    def half(asked: Any) -> None:
        server.links[-1].socket.sendall(b"\x82\x7f" + (1000).to_bytes(8, "big") + b"half")
        server.cut()

    server.infer = half
    pi0 = agent(server)
    pi0.reset(start())
    with pytest.raises(InfrastructureError, match="the connection was lost"):
        pi0.act(seen())


@pytest.mark.parametrize(
    "actions",
    [np.full((10, 8), np.nan), np.zeros((10, 7)), np.zeros((0, 8)), None],
    ids=["nan", "7-D", "empty", "none"],
)
def test_actions_that_cannot_be_executed_are_the_agents_error_and_leave_the_connection(
    policy_server: Make, agent: Make, start: Make, seen: Make, numbered: Make, actions: Any
) -> None:
    answers = iter([{"actions": actions}, numbered()])
    server = policy_server(lambda asked: next(answers))
    pi0 = agent(server)
    pi0.reset(start())
    with pytest.raises(AgentError, match="agent 'pi0'"):
        pi0.act(seen())
    pi0.reset(start())
    assert len(pi0.act(seen()).rows) == 8
    assert len(server.links) == 1
