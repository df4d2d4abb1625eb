"""Small collections, made in this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rbench.collecting.api import collect
from rbench.collecting.collection import Collection
from rbench.plugins.catalog import Catalog
from rbench.running.description import Part
from rbench.running.executors import Execution

HERE = Path(__file__).resolve().parent
SERIAL = Execution("serial")


@pytest.fixture(scope="session", autouse=True)
def _no_commits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Versions without what git knows: somebody may commit to this working copy between two calls."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("GIT_DIR", str(tmp_path_factory.mktemp("no-repository")))
        yield


@pytest.fixture(scope="session")
def small() -> Collection:
    """Three demonstrations with execution noise, of two cameras, small and drawn fast."""
    return Collection(
        suite=str(HERE / "data/small.toml"),
        suite_hash="",
        agent=Part("servo", {"noise": 1.0}),
        form="raw",
        episodes=3,
        cameras=("wrist", "left_top"),
        height=32,
        width=48,
    )


@pytest.fixture(scope="session")
def collected(
    small: Collection, catalog: Catalog, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., tuple[Path, Collection]]:
    """Collects the small collection with some fields changed; equal ones once."""
    made: dict[str, tuple[Path, Collection]] = {}

    def call(**changes: Any) -> tuple[Path, Collection]:
        key = repr(sorted(changes.items()))
        if key not in made:
            wanted = replace(small, **changes)
            path = tmp_path_factory.mktemp("collected") / "demos"
            collect(catalog, wanted, path, SERIAL)
            made[key] = path, wanted
        return made[key]

    return call


@pytest.fixture(scope="session")
def unpackaged() -> Callable[[str], Part]:
    """An agent of `agents_that_demonstrate` by the name of its class."""
    return lambda name: Part(f"agents_that_demonstrate:{name}", {}, str(HERE))


@pytest.fixture(scope="session")
def lines_of() -> Callable[[Path], list[dict[str, Any]]]:
    """The values of a file of JSON lines."""
    return lambda path: [json.loads(line) for line in path.read_text().splitlines()]
