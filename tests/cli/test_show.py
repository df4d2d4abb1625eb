"""`rbench show` and `rbench instances`."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from rbench.cli import main


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Any:
    """Calls the command line and returns (exit code, stdout, stderr)."""

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def test_show_gives_the_counts_as_json(shown: Any) -> None:
    code, out, _ = shown("show", "roboview-bias", "--json")
    summary = json.loads(out)
    assert code == 0
    assert summary["suite"] == "roboview-bias"
    assert summary["tasks"] == ["geometry-in-box"]
    assert (summary["instances"], summary["episodes"]) == (2127, 11_370)
    assert {name: row["instances"] for name, row in summary["dimensions"].items()} == {
        "color": 1551,
        "camera-pose": 231,
        "camera-euler": 99,
        "camera-distance": 99,
    }
    assert len(summary["contexts"]) == 11
    assert [(row["factors"], row["instances"]) for row in summary["interactions"]] == [(["camera-pose", "color"], 147)]


def test_show_names_levels_and_baselines(shown: Any) -> None:
    dimensions = json.loads(shown("show", "roboview-bias", "--json")[1])["dimensions"]
    assert len(dimensions["color"]["levels"]) == 141
    assert {name: row["baseline"] for name, row in dimensions.items()} == {
        "color": "red",
        "camera-pose": "default",
        "camera-euler": "yaw0_pitch0",
        "camera-distance": "d0.00",
    }


def test_show_of_a_preset_counts_its_part(shown: Any) -> None:
    summary = json.loads(shown("show", "roboview-bias", "--preset", "quick", "--json")[1])
    assert (summary["instances"], summary["episodes"]) == (117, 234)
    assert summary["interactions"] == []
    assert len(summary["contexts"]) == 3


def test_show_for_people_has_a_line_for_each_dimension(shown: Any) -> None:
    code, out, err = shown("show", "roboview-bias")
    assert (code, err) == (0, "")
    assert "2,127 instances, 11,370 episodes" in out
    for name in ("color", "camera-pose", "camera-euler", "camera-distance", "camera-pose+color"):
        assert f" {name} " in out


def test_instances_are_one_id_a_line(shown: Any) -> None:
    lines = shown("instances", "roboview-bias")[1].splitlines()
    assert len(lines) == len(set(lines)) == 2127
    assert "color/crimson/position-p2" in lines
    assert lines[-1] == "camera-pose+color/r3a7+gray/base"


def test_instances_as_json_name_every_factor(shown: Any) -> None:
    lines = shown("instances", "roboview-bias", "--dimension", "camera-pose+color", "--json")[1].splitlines()
    assert len(lines) == 147
    assert json.loads(lines[0]) == {
        "id": "camera-pose+color/r1a1+red/base",
        "task": "geometry-in-box",
        "dimension": "camera-pose+color",
        "context": "base",
        "levels": {
            "color": "red",
            "camera-pose": "r1a1",
            "camera-euler": "yaw0_pitch0",
            "camera-distance": "d0.00",
            "position": "p1",
            "shape": "cube",
            "instruction": "i1",
        },
        "repeats": 10,
    }


def test_instances_of_a_preset_are_its_part(shown: Any) -> None:
    assert len(shown("instances", "roboview-bias", "--preset", "quick")[1].splitlines()) == 117


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("show", "roboview-bais"), "roboview-bias"),
        (("show", "roboview-bias", "--preset", "qick"), "Did you mean 'quick'"),
        (("instances", "roboview-bias", "--dimension", "colour"), "Did you mean 'color'"),
        (("show", "nowhere.toml"), "nowhere.toml: cannot be read"),
    ],
)
def test_unknown_names_are_wrong_use_with_a_hint(shown: Any, arguments: tuple[str, ...], hint: str) -> None:
    code, out, err = shown(*arguments)
    assert (code, out) == (2, "")
    assert hint in err


def test_a_reader_that_goes_away_is_no_error() -> None:
    program = "import sys; from rbench.cli import main; sys.exit(main(['instances', 'roboview-bias', '--json']))"
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b'{"id": ')
        process.stdout.close()
        assert process.stderr.read() == b""
