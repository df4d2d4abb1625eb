"""Scene descriptions as data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rbench.errors import SuiteError, UsageError
from rbench.scene import SceneDescription
from rbench.suites.document import Document
from rbench.suites.scene_files import built_in_scenes, load_scene, read_scene
from rbench.values import from_plain, to_plain

TINY = Path(__file__).parent / "data" / "tiny.toml"


@pytest.mark.parametrize("name", [*built_in_scenes(), str(TINY)])
def test_a_scene_survives_the_way_through_json(name: str) -> None:
    scene = load_scene(name)
    again = from_plain(SceneDescription, json.loads(json.dumps(to_plain(scene))))
    assert again == scene
    assert again.hash() == scene.hash()


def test_a_built_in_scene_bears_the_name_of_its_file() -> None:
    assert all(load_scene(name).name == name for name in built_in_scenes())


@pytest.mark.parametrize(
    ("fragment", "mistake", "expected"),
    [
        ("shape =", "shap =", r"line 17: objects\[0\]\.shap: unknown key 'shap'"),
        ("position = [0.45, 0.1, 0.02]", "position = [0.45]", r"line 19: objects\[0\]\.pose\.position: expected 3"),
        ('shape = "cube"', 'shape = "ball"', r"line 17: objects\[0\]\.shape: 'ball' is not one of"),
        ("color = [200, 30, 30]", 'color = "red"', r"line 20: objects\[0\]\.color: expected a list"),
        ('name = "marker"', 'name = "geometry"', r"line 15: objects: 'geometry' is there twice"),
        ('name = "marker"', 'name = "box"', r"line 15: objects: 'box' is there twice"),
        ('name = "marker"', 'name = "table"', r"line 23: objects\[1\]\.name: 'table' is a name of the world"),
        ('name = "wrist"', 'name = "front"', r"cameras: 'front' is there twice"),
        ("size = [0.04, 0.04, 0.04]", "size = [0.04, 0.0, 0.04]", r"line 15: objects\[0\]: 'geometry' needs sizes"),
        ("wall = 0.005", "wall = 0.0", r"receptacles\[0\]: 'box' needs sizes"),
        ('name = "tiny"', "", r"tiny: missing key 'name'"),
    ],
)
def test_a_mistake_is_named_with_line_and_key(fragment: str, mistake: str, expected: str) -> None:
    text = TINY.read_text()
    assert fragment in text
    with pytest.raises(SuiteError, match=expected):
        read_scene(Document.parse(text.replace(fragment, mistake, 1), "tiny"))


def test_an_unknown_scene_names_the_built_in_ones() -> None:
    with pytest.raises(UsageError, match="no built-in scene 'kitchen'"):
        load_scene("kitchen")


def test_a_path_without_a_folder_starts_at_the_working_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TINY.parent)
    assert load_scene("tiny.toml").name == "tiny"
