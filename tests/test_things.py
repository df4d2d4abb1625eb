"""Which thing of a scene a few words mean, and where its hull ends."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rbench.plugins.catalog import build_catalog
from rbench.scene import SceneDescription
from rbench.suites.loading import load_suite
from rbench.things import kind_called, thing_called, things_of


@pytest.fixture(scope="module")
def scene() -> SceneDescription:
    return load_suite(build_catalog(), "roboview-bias").scenes["tabletop"]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("geometry", "geometry"),
        ("red cube", "geometry"),
        ("the small solid", "geometry"),
        ("Crimson Object", "geometry"),
        ("cylinder", "geometry"),
        ("box", "box"),
        ("open yellow box", "box"),
        ("Yellow container", "box"),
        ("object in the box", "geometry"),
        ("square container", "box"),
        ("toy box next to the red cube", "box"),
        ("banana", None),
        ("", None),
        ("红色方块", None),
    ],
)
def test_a_few_words_mean_a_thing(scene: SceneDescription, text: str, name: str | None) -> None:
    found = thing_called(scene, text)
    assert (None if found is None else found.name) == name


def test_of_two_objects_the_shape_tells(scene: SceneDescription) -> None:
    first = scene.objects[0]
    both = replace(scene, objects=(first, replace(first, name="other", shape="prism")))
    assert thing_called(both, "hexagonal block").name == "other"  # type: ignore[union-attr]
    assert thing_called(both, "cube").name == first.name  # type: ignore[union-attr]
    assert thing_called(both, "object") is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tray", "receptacle"),
        ("toy block", "object"),
        ("block in a bin", "object"),
        ("block box", "receptacle"),
        ("in", None),
        ("robot", None),
    ],
)
def test_kinds_are_told_by_what_things_are_called_anywhere(text: str, kind: str | None) -> None:
    assert kind_called(text) == kind


def test_objects_come_before_receptacles(scene: SceneDescription) -> None:
    assert [thing.kind for thing in things_of(scene)] == ["object", "receptacle"]


def test_a_hull_is_measured_in_the_frame_of_its_thing(scene: SceneDescription) -> None:
    item, box = things_of(scene)
    points = np.array([[0.0, 0.0, 0.0], [0.025, 0.0, 0.0], [0.035, 0.0, 0.0], [0.028, 0.029, 0.0]])
    assert item.outside(points) == pytest.approx([0.0, 0.0, 0.01, 0.005])
    # Its frame lies in the underside of its floor.
    assert box.outside(np.array([0.0, 0.0, 0.055])) == pytest.approx(0.0)
    assert box.outside(np.array([0.0, 0.0, -0.01])) == pytest.approx(0.01)
