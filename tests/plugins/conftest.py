"""Fake distributions on the path of this process, forgotten after each test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rbench.plugins.loading import LoadedPlugin

#: An agent, written out in full; `{name}` is filled in by tests.
AGENT = """
from rbench.contributions import AgentContribution
from rbench.hookspecs import hookimpl

@hookimpl
def rbench_agents():
    yield AgentContribution(name="{name}", summary="An agent.", target="{module}:Agent", options={options})
"""


@pytest.fixture(autouse=True)
def forget_fakes(tmp_path: Path) -> Iterator[None]:
    path = list(sys.path)
    yield
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def install(fake_distribution: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Like `fake_distribution`, and puts it on the path of this process."""

    def write(name: str, source: str = "", **details: object) -> Path:
        site = fake_distribution(name, source, **details)
        if str(site) not in sys.path:
            monkeypatch.syspath_prepend(str(site))
        return site

    return write


@pytest.fixture
def install_agent(install: Callable[..., Path]) -> Callable[..., Path]:
    """Installs a distribution with one healthy agent; `extra` is more source."""

    def write(name: str, agent: str, *, options: str = "None", extra: str = "", **details: object) -> Path:
        module = name.lower().replace("-", "_").replace(".", "_")
        return install(name, AGENT.format(name=agent, module=module, options=options) + extra, **details)

    return write


@pytest.fixture
def load_one() -> Callable[[str], LoadedPlugin]:
    """Finds and loads the only plugin of a distribution."""
    from rbench.plugins.discovery import find_plugins
    from rbench.plugins.loading import load_plugin

    def load(distribution: str) -> LoadedPlugin:
        (found,) = [plugin for plugin in find_plugins({}) if plugin.distribution == distribution]
        return load_plugin(found)

    return load
