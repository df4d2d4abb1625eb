from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
import pytest

from rbench.scene import SceneDescription
from rbench.suites.scene_files import load_scene
from rbench.values import content_hash, from_plain, to_plain


@dataclass(frozen=True)
class Leaf:
    kind: Literal["a", "b"]
    size: tuple[float, float] | None = None


@dataclass(frozen=True)
class Tree:
    name: str
    leaves: tuple[Leaf, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    flag: bool = False
    count: int = 0


TREE = Tree("t", (Leaf("a"), Leaf("b", (1.0, 2.5))), {"x": [1, None]}, True, 3)


def test_a_tree_of_values_survives_json() -> None:
    assert from_plain(Tree, json.loads(json.dumps(to_plain(TREE)))) == TREE


def test_a_scene_survives_json_and_keeps_its_hash() -> None:
    scene = load_scene("tabletop")
    again = from_plain(SceneDescription, json.loads(json.dumps(to_plain(scene))))
    assert again == scene
    assert hash(again) == hash(scene)
    assert again.hash() == scene.hash()


def test_a_changed_value_has_another_hash() -> None:
    assert content_hash(TREE) != content_hash(replace(TREE, count=4))
    assert content_hash({"a": 1, "b": 2}) == content_hash({"b": 2, "a": 1})


def test_numbers_that_json_does_not_have_become_null() -> None:
    assert to_plain([math.nan, math.inf, np.float64(-math.inf), np.int64(3), np.array([1.0, math.nan])]) == [
        None,
        None,
        None,
        3,
        [1.0, None],
    ]


def test_what_has_no_plain_form_is_refused() -> None:
    with pytest.raises(TypeError, match="set"):
        to_plain({"x": {1, 2}})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"nam": "x"}, "unknown key 'nam'"),
        ({"name": 3}, "name: expected str"),
        ({"count": True}, "count: expected int"),
        ({"flag": 1}, "flag: expected bool"),
        ({"leaves": [{"kind": "c"}]}, r"leaves\[0\].kind: 'c' is not one of"),
        ({"leaves": [{"kind": "a", "size": [1]}]}, r"leaves\[0\].size: expected 2 items"),
        ({"leaves": [{}]}, r"leaves\[0\]: missing key 'kind'"),
        ({"leaves": "ab"}, "leaves: expected a list"),
        ({"facts": [1]}, "facts: expected a table"),
    ],
)
def test_a_wrong_value_is_refused_with_its_path(change: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        from_plain(Tree, {**to_plain(TREE), **change})
