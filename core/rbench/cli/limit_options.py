"""The options of the limits that workers have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rbench.cli.numbers import SECONDS, FiniteRange


def limit_options(episode: str, start: str, memory: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The options `--episode-limit`, `--start-limit` and `--worker-memory`; the texts say what holds without them."""
    said = (
        ("--episode-limit", "SECONDS", f"Wall time of an episode, after which its worker is ended; default {episode}."),
        ("--start-limit", "SECONDS", f"Wall time until a worker is ready; default {start}."),
        ("--worker-memory", "MB", f"Memory of a worker, beyond which it is ended; default {memory}."),
    )

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for name, unit, text in reversed(said):
            command = click.option(name, type=FiniteRange(0), metavar=unit, help=text)(command)
        return command

    return decorate


def start_limit_option(kind: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option `--start-limit` of a command that makes no worker."""
    return click.option(
        "--start-limit",
        type=SECONDS,
        metavar="SECONDS",
        default=600.0,
        show_default=True,
        help=f"{kind}: wall time until it is made; 0: no limit.",
    )
