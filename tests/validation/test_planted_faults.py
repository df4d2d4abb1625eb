"""Every fault that is planted in the scene is found by the rule that is about it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.suites.suite import Suite
from rbench.validation.directory import ValidationDirectory
from rbench.validation.findings import Finding
from rbench.validation.gate import chosen_instances, measure

pytestmark = pytest.mark.gl

OBJECT = "pose = { position = [0.49, 0.04, 0.025] }"
SIZE = "size = [0.05, 0.05, 0.05]"
COLOR = "color = [255, 0, 0]"
BOX = "pose = { position = [0.36, -0.055, 0.0] }"
INNER = "inner = [0.12, 0.12, 0.05]"
FRONT = "pose = { position = [0.857, 0.0, 0.355], quaternion = [0.645984796, 0.287582411, 0.287582411, 0.645984796] }"

FAULTS = {
    "object behind the box": (
        {OBJECT: "pose = { position = [0.26, -0.055, 0.025] }", INNER: "inner = [0.12, 0.12, 0.12]"},
        ("object hidden",),
    ),
    "object half outside the frame": (
        {OBJECT: "pose = { position = [0.49, 0.22, 0.025] }"},
        ("object cut off",),
    ),
    "object wholly outside the frame": (
        {OBJECT: "pose = { position = [0.49, 0.4, 0.025] }"},
        ("object cut off",),
    ),
    "box half outside the frame": ({BOX: "pose = { position = [0.36, -0.26, 0.0] }"}, ("box cut off",)),
    "object 6 pixels wide": (
        {SIZE: "size = [0.01, 0.01, 0.01]", OBJECT: "pose = { position = [0.49, 0.04, 0.005] }"},
        ("object small",),
    ),
    "object of the colour of the table": ({COLOR: "color = [98, 66, 54]"}, ("object like its surroundings",)),
    "camera inside the arm": (
        {FRONT: FRONT.replace("[0.857, 0.0, 0.355]", "[0.0, 0.0, 0.25]")},
        ("camera blocked",),
    ),
    "black frame": (
        {
            "ambient = 0.36\ndiffuse = 0.28": "ambient = 0.0\ndiffuse = 0.0",
            "diffuse = 0.34\nspecular = 0.05": "diffuse = 0.0\nspecular = 0.0",
        },
        ("nothing to see",),
    ),
    "object that shows one face": (
        {FRONT: "pose = { position = [0.485, 0.0, 0.6], quaternion = [0.70710678, 0.0, 0.0, 0.70710678] }"},
        ("object flat",),
    ),
}


def _look(suite: Suite, tmp_path: Path) -> Finding:
    directory = ValidationDirectory.create(tmp_path / "out")
    chosen = chosen_instances(suite, patterns=["camera-distance/d0.00/*"])
    findings, _ = measure(suite, chosen, directory, 1)
    assert len(findings) == 1
    return findings[0]


def test_nothing_is_found_where_nothing_is_planted(looked_at: Callable[..., Suite], tmp_path: Path) -> None:
    finding = _look(looked_at(), tmp_path)
    assert (finding.passed, finding.reasons, finding.notes) == (True, (), ())
    assert (tmp_path / "out" / finding.image).is_file()


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_caught_by_its_rule(fault: str, looked_at: Callable[..., Suite], tmp_path: Path) -> None:
    changes, reasons = FAULTS[fault]
    finding = _look(looked_at(changes), tmp_path)
    assert finding.reasons == reasons, finding.measures
    assert not finding.passed


def test_the_rules_are_those_of_the_suite(looked_at: Callable[..., Suite], tmp_path: Path) -> None:
    finding = _look(looked_at(more="[validation]\nwidth = 60\n"), tmp_path)
    assert finding.reasons == ("object small",)


def test_an_object_of_the_colour_of_the_box_is_noted(looked_at: Callable[..., Suite], tmp_path: Path) -> None:
    finding = _look(looked_at({COLOR: "color = [255, 215, 1]"}), tmp_path)
    assert (finding.passed, finding.notes) == (True, ("like the box",))
