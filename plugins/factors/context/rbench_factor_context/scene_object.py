"""The object that a factor acts on."""

from __future__ import annotations

from rbench.errors import UsageError
from rbench.scene import SceneDescription, SceneObject


def object_of(scene: SceneDescription, name: str, factor: str) -> SceneObject:
    """The object of that name.

    Raises:
        UsageError: the scene has no such object.
    """
    try:
        return scene.object(name)
    except KeyError as problem:
        raise UsageError(f"factor {factor}: {problem.args[0]}; set its option `object`") from problem
