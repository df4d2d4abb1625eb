"""What is said when Ray does not get into the cluster that an address names. Needs no Ray."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from rbench.errors import StartError
from rbench.running.executors.ray_cluster import check_ray, connected


class AuthenticationError(Exception):
    """Named as Ray's own."""


@pytest.fixture
def open_port() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@pytest.fixture
def refused(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What is said about an address when Ray raises this."""

    def connect(address: str, problem: Exception) -> str:
        def init(**_: Any) -> None:
            raise problem

        ray = SimpleNamespace(is_initialized=lambda: False, shutdown=lambda: None, init=init)
        monkeypatch.setitem(sys.modules, "ray", ray)
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(StartError) as raised, connected(address, 0):
            pass
        return str(raised.value)

    return connect


@pytest.mark.parametrize(
    "problem",
    [
        AuthenticationError("no token was found"),
        RuntimeError("Unauthenticated: RPC error"),
        OSError("InvalidAuthToken"),
    ],
)
def test_a_cluster_that_asks_for_a_token_is_told_with_what_to_set(
    refused: Callable[..., str], open_port: str, problem: Exception
) -> None:
    told = refused(open_port, problem)
    assert told.startswith(f"the Ray cluster at {open_port} (RAY_ADDRESS names it) asks for a token")
    assert all(name in told for name in ("RAY_AUTH_MODE=token", "RAY_AUTH_TOKEN_PATH", "~/.ray/auth_token"))
    assert "Start it" not in told


def test_a_failure_that_does_not_say_why_names_both_causes(refused: Callable[..., str], open_port: str) -> None:
    told = refused(open_port, ConnectionError("Failed to connect to Ray cluster"))
    assert told.startswith(f"something answers at {open_port} ")
    assert "RAY_AUTH_MODE=token" in told
    assert "no Ray cluster" in told


@pytest.mark.parametrize("address", ["one\ntwo:1", "one\rtwo", "127.0.0.1\n:1"])
def test_a_line_break_in_the_address_does_not_break_the_error(refused: Callable[..., str], address: str) -> None:
    assert refused(address, ConnectionError("not asked")).isprintable()


def test_a_line_break_in_a_client_address_does_not_break_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rbench.running.executors.ray_cluster.is_importable", lambda name: True)
    monkeypatch.setenv("RAY_ADDRESS", "ray://one\ntwo:10001")
    with pytest.raises(StartError) as raised:
        check_ray()
    assert str(raised.value).isprintable()
