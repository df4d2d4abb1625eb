"""Scene descriptions as data: built-in ones by name, others by the path of a TOML file."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from rbench.errors import UsageError, did_you_mean
from rbench.scene import SceneDescription
from rbench.suites.document import Document
from rbench.world_state import FLOOR, ROBOT_PARTS, TABLE

_BUILT_IN = files("rbench.suites") / "scenes"


def built_in_scenes() -> tuple[str, ...]:
    """Names of the scenes that come with rbench."""
    return tuple(sorted(f.name.removesuffix(".toml") for f in _BUILT_IN.iterdir() if f.name.endswith(".toml")))


def load_scene(name_or_path: str, beside: Traversable | Path | None = None) -> SceneDescription:
    """The scene of a built-in name (`tabletop`) or of a path to a `.toml` file.

    Args:
        beside: the folder that relative paths start from; by default the working directory.

    Raises:
        UsageError: there is no such scene.
        SuiteError: the file is not a scene description; names file, line and key.
    """
    if name_or_path.endswith(".toml"):
        path = Path(name_or_path)
        if path.is_absolute() or beside is None:
            return read_scene(Document.read(path, name_or_path))
        file = beside.joinpath(*path.parts)
        return read_scene(Document.read(file, str(file)))
    known = built_in_scenes()
    if name_or_path not in known:
        raise UsageError(
            f"there is no built-in scene {name_or_path!r}.{did_you_mean(name_or_path, known)} "
            "Name a built-in scene or the path of a .toml file."
        )
    return read_scene(Document.read(_BUILT_IN / f"{name_or_path}.toml", f"scene {name_or_path}"))


def read_scene(document: Document) -> SceneDescription:
    """The scene of a document.

    Raises:
        SuiteError: an unknown or missing key, a wrong value, a name used twice.
    """
    scene = document.decode(SceneDescription)
    document.require_different(("objects",), [item.name for item in scene.objects + scene.receptacles])
    document.require_different(("cameras",), [camera.name for camera in scene.cameras])
    document.require_different(("lights",), [light.name for light in scene.lights])
    for key, names in (
        ("objects", [item.name for item in scene.objects]),
        ("receptacles", [item.name for item in scene.receptacles]),
    ):
        for i, name in enumerate(names):
            if name in (*ROBOT_PARTS, TABLE, FLOOR):
                raise document.error((key, i, "name"), f"{name!r} is a name of the world itself. Choose another.")
    for i, item in enumerate(scene.objects):
        if min(item.size) <= 0 or item.mass <= 0:
            raise document.error(("objects", i), f"{item.name!r} needs sizes and a mass above 0. Correct them.")
    for i, receptacle in enumerate(scene.receptacles):
        if min(*receptacle.inner, receptacle.wall, receptacle.mass) <= 0:
            raise document.error(
                ("receptacles", i), f"{receptacle.name!r} needs sizes, a wall and a mass above 0. Correct them."
            )
    return scene
