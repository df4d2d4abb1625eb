"""docs/plugins.md describes every hook, status and variable; its example works as it stands there."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest

from rbench import hookspecs
from rbench.plugins.catalog import STRICT_VARIABLE, build_catalog
from rbench.plugins.discovery import SELECTION_VARIABLE
from rbench.plugins.loading import HOOKS, PluginStatus

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "plugins.md").read_text()


def signature(hook: str) -> str:
    """`rbench_agents() -> Iterable[AgentContribution]`, as the specification writes it."""
    function: Any = getattr(hookspecs, hook)
    return f"{hook}{inspect.signature(function)}".replace("'", "")


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_heading_with_its_signature(hook: str) -> None:
    assert f"\n### `{signature(hook)}`\n" in PAGE


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_says_what_it_is_for_and_shows_an_example(hook: str) -> None:
    doc = inspect.getdoc(getattr(hookspecs, hook)) or ""
    assert "Example:\n    yield " in doc


def test_no_heading_names_a_hook_that_does_not_exist() -> None:
    assert set(re.findall(r"^### `(rbench_\w+)\(", PAGE, re.MULTILINE)) == set(HOOKS)


@pytest.mark.parametrize("word", [*get_args(PluginStatus), "conflict"])
def test_every_status_is_explained(word: str) -> None:
    assert f"| `{word}` |" in PAGE


@pytest.mark.parametrize("variable", [SELECTION_VARIABLE, STRICT_VARIABLE, "RBENCH_DEBUG"])
def test_every_environment_variable_is_explained(variable: str) -> None:
    assert f"| `{variable}" in PAGE


def test_the_plugin_on_the_page_loads(install: Callable[..., Path]) -> None:
    blocks = re.findall(r"```python\n# my_agent/plugin.py\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 1
    install("my-agent", blocks[0])
    assert build_catalog({}).get("agent", "my-agent").qualified == "my-agent/my-agent"
