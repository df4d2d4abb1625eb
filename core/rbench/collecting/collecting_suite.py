"""The suite of a collection: another suite with everything visual at its baseline and every context.

It is written down as a suite file, so that a collection is a run like any other: workers load it, and its episodes
can be replayed, verified and reported.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from rbench.collecting.collection import write_text
from rbench.errors import UsageError
from rbench.plugins.catalog import Catalog
from rbench.suites.document import Document
from rbench.suites.suite import Suite

#: More than anyone collects. Part of the suite's hash, so that it must not follow the number of episodes.
REPEATS = 1_000_000


def write_collecting_suite(
    catalog: Catalog, suite: Suite, target: Path, jitter_xy: float | None, jitter_yaw: float | None
) -> None:
    """Write the suite file of a collection, and copies of the scene files that it names beside it.

    The name is another one than the suite's, so that no demonstration has the jitter of an episode of the benchmark.

    Args:
        jitter_xy, jitter_yaw: half widths (m, degrees) in place of the suite's; None: the suite's.

    Raises:
        StoppedEarly: it cannot be written.
    """
    file, folder = _file_of(catalog, suite)
    data = dict(Document.read(file, suite.source).data)
    for unused in ("interactions", "presets", "metrics", "validation"):
        data.pop(unused, None)
    data["name"] = f"{suite.name}-demonstrations"
    data["contexts"] = {"scheme": "product"}
    data["protocol"] = {
        "repeats": REPEATS,
        "jitter": {
            "xy": suite.protocol.jitter_xy if jitter_xy is None else jitter_xy,
            "yaw": suite.protocol.jitter_yaw if jitter_yaw is None else jitter_yaw,
        },
    }
    data["tasks"] = [_with_own_scene(task, folder, target.parent) for task in data["tasks"]]
    head = f"# What demonstrations are collected in; made from {suite.source} (hash {suite.hash[:12]}).\n"
    write_text(target, head + "".join(f"{key} = {_toml(value)}\n" for key, value in data.items()))


def pattern_of(suite: Suite) -> str:
    """The pattern of the instances in which everything visual has its baseline.

    Raises:
        UsageError: no visual factor has its baseline among its levels, so that no instance is like that.
    """
    for factor in suite.factors.values():
        if factor.role == "visual" and factor.changes(factor.baseline):
            task = "*/" if len(suite.tasks) > 1 else ""
            return f"{task}{factor.name}/{factor.baseline}/*"
    raise UsageError(
        f"suite {suite.name!r} has no instance with everything visual at its baseline: add the baseline of one visual"
        " factor to that factor's levels"
    )


def _file_of(catalog: Catalog, suite: Suite) -> tuple[Traversable | Path, Traversable | Path]:
    """The suite's file, and the folder that its scenes are named from."""
    if suite.source.endswith(".toml"):
        return Path(suite.source), Path(suite.source).parent
    file = catalog.get("suite", suite.source).load()
    return file, Path(str(file)).parent


def _with_own_scene(task: Mapping[str, Any], folder: Traversable | Path, target: Path) -> dict[str, Any]:
    scene = str(task["scene"])
    if not scene.endswith(".toml"):
        return dict(task)
    copy = f"scene-{Path(scene).name}"
    file = Path(scene) if Path(scene).is_absolute() else folder.joinpath(*Path(scene).parts)
    write_text(target / copy, file.read_text(encoding="utf-8"))
    return {**task, "scene": copy}


def _toml(value: Any) -> str:
    """A value as TOML on one line; a string or number of JSON is one of TOML."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(key)} = {_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)
