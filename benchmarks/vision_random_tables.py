"""Whether the vision model `opencv` depends on the built-in scene: solids of any colour on tables of any look.

    python benchmarks/vision_random_tables.py [--scenes 120] [--contrast 5 7 10 14 20] [--sheet FILE.png]

Every scene has a random table (flat, checkered or mottled, of two tones of one colour), floor, background, object
colour, shape, place and camera, and is drawn once with and once without its solid. Prints for each contrast how many
solids were found (intersection over union above 0.5), missed, taken for something else, and seen where there was none.
`--sheet` draws the failures at the first contrast.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
from simple_vision import OBJECT, Box4, draw_sheet, overlap

from rbench.geometry import Pose, axis_angle
from rbench.interfaces.vision import Question
from rbench.observation import CameraRequest
from rbench.plugins.catalog import build_catalog
from rbench.running.worker import build_world
from rbench.scene import Color, SceneDescription, Setup, Shape, Texture
from rbench.suites.loading import load_suite
from rbench.vision.opencv import OpenCv, Options
from rbench.vision.questions import PickAndPlace

CAMERAS = ("front", "left_top", "right_top")
SIZE = 224


def random_color(rng: np.random.Generator, low: int, high: int) -> Color:
    """Three random numbers in [low, high)."""
    red, green, blue = (int(v) for v in rng.integers(low, high, 3))
    return (red, green, blue)


def random_scene(scene: SceneDescription, rng: np.random.Generator) -> SceneDescription:
    """The scene with everything that can be seen changed, but for box and robot."""
    color = random_color(rng, 30, 226)
    shade = 1 - rng.uniform(0.05, 0.25)
    second = (int(color[0] * shade), int(color[1] * shade), int(color[2] * shade))
    kind = ("noise", "checker", "noise", "flat")[int(rng.integers(4))]
    texture = Texture(kind, color, second, float(rng.choice([0.01, 0.02, 0.03, 0.05, 0.1])))  # type: ignore[arg-type]
    x0, x1, y0, y1 = scene.work_area
    place = (float(rng.uniform(x0, x1)), float(rng.uniform(y0, y1)), scene.object(OBJECT).pose.position[2])
    item = replace(
        scene.object(OBJECT),
        shape=get_args(Shape)[int(rng.integers(4))],
        color=random_color(rng, 0, 256),
        pose=Pose(place, axis_angle((0.0, 0.0, 1.0), float(rng.uniform(-0.7, 0.7)))),
    )
    return replace(
        scene.with_object(item),
        table=replace(scene.table, texture=texture),
        floor=replace(scene.floor, color=random_color(rng, 40, 200)),
        background=replace(scene.background, color=random_color(rng, 40, 240)),
    )


def without_object(scene: SceneDescription) -> SceneDescription:
    """The scene with its object far behind the table, out of every picture."""
    return scene.with_object(replace(scene.object(OBJECT), pose=Pose((-3.0, 0.0, -0.7))))


def main() -> int:
    """Draw the scenes, look at them, print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=120)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--contrast", type=float, nargs="+", default=[5, 7, 10, 14, 20])
    parser.add_argument("--sheet", type=Path)
    arguments = parser.parse_args()
    suite = load_suite(build_catalog(), "roboview-bias")
    base = suite.scenes[suite.tasks[0].scene]
    rng = np.random.default_rng(arguments.seed)
    world = build_world(suite)
    pictures: list[tuple[npt.NDArray[np.uint8], Box4 | None]] = []
    for number in range(arguments.scenes):
        scene, camera = random_scene(base, rng), CAMERAS[number % 3]
        for there in (True, False):
            setup = Setup(scene if there else without_object(scene), "")
            world.reset(setup, control_rate=20, cameras={camera: CameraRequest(SIZE, SIZE, ("rgb",))})
            rows, columns = np.nonzero(world.masks(camera, SIZE, SIZE)[OBJECT])
            box = (float(columns.min()), float(rows.min()), columns.max() + 1.0, rows.max() + 1.0) if there else None
            pictures.append((world.observe().cameras[camera].rgb, box))
    world.close()
    failures: list[Any] = []
    for contrast in arguments.contrast:
        counts, wrong = look_at_all(pictures, contrast)
        failures = failures or wrong
        print(f"contrast {contrast:4g}: " + ", ".join(f"{name} {count}" for name, count in counts.items()), flush=True)
    if arguments.sheet and failures:
        draw_sheet(failures[:48], arguments.sheet)
    return 0


def look_at_all(
    pictures: list[tuple[npt.NDArray[np.uint8], Box4 | None]], contrast: float
) -> tuple[dict[str, int], list[Any]]:
    """Counts of what became of the solids, and the pictures where it went wrong."""
    eye, rng = OpenCv(Options(contrast=contrast)), np.random.default_rng(0)
    counts = dict.fromkeys(("found", "missed", "taken for something else", "seen where there is none"), 0)
    failures = []
    for image, truth in pictures:
        box = eye.ask(Question("benchmark.locate/1", "", (image,), PickAndPlace), rng).value.start_xyxy
        if truth is None:
            verdict = "seen where there is none" if box else ""
        elif box is None:
            verdict = "missed"
        else:
            verdict = "found" if overlap(box.root, truth) > 0.5 else "taken for something else"
        if verdict:
            counts[verdict] += 1
        if verdict not in ("", "found"):
            failures.append((verdict, image, [box.root] if box else [], [truth] if truth else []))
    return counts, failures


if __name__ == "__main__":
    sys.exit(main())
