"""Draws every picture of docs/pictures.md: `python docs/make_pictures.py [NAME...]`, from the folder of the clone."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

import rbench
from rbench.geometry import look_at
from rbench.plugins.catalog import build_catalog
from rbench.running.jitter import block_jitter
from rbench.running.worker import build_world
from rbench.scene import Camera, Setup, jittered
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager

FOLDER = Path(__file__).resolve().parent / "pictures"
PAPER, INK = (255, 255, 255), (40, 40, 40)
GAP = 6

Pixels = npt.NDArray[np.uint8]


class Studio:
    """The suite, its baseline setup, and a world to photograph it in."""

    def __init__(self) -> None:
        self.suite: Suite = load_suite(build_catalog(), "roboview-bias")
        self.manager = RecursiveVariantTaskManager(self.suite)
        self.world = build_world(self.suite)
        self.baseline = self.manager.setup(self.manager.instance("color/red/position-p1"))

    def with_level(self, factor: str, level: str, setup: Setup | None = None) -> Setup:
        chosen = self.suite.factors[factor]
        return chosen.factor.apply(setup or self.baseline, chosen.level(level))

    def photograph(self, setup: Setup, camera: str, size: int) -> Pixels:
        self.world.reset(setup, control_rate=20, cameras={})
        return self.world.render(camera, size, size)

    def levels(self, factor: str) -> list[str]:
        return [level.name for level in self.suite.factors[factor].levels]


def with_camera(setup: Setup, camera: Camera) -> Setup:
    """The setup with one more camera, which no agent has."""
    return replace(setup, scene=replace(setup.scene, cameras=(*setup.scene.cameras, camera)))


def sheet(pictures: Sequence[Pixels], titles: Sequence[str], columns: int, text: int = 13) -> Image.Image:
    """Pictures of one size in rows, each with its title below."""
    font = ImageFont.load_default(text)
    height, width = pictures[0].shape[:2]
    line = text + 8
    rows = -(-len(pictures) // columns)
    page = Image.new("RGB", (columns * (width + GAP) + GAP, rows * (height + line + GAP) + GAP), PAPER)
    draw = ImageDraw.Draw(page)
    for number, (picture, title) in enumerate(zip(pictures, titles, strict=True)):
        x = GAP + number % columns * (width + GAP)
        y = GAP + number // columns * (height + line + GAP)
        page.paste(Image.fromarray(picture), (x, y))
        draw.text((x + width / 2, y + height + line / 2), title, INK, font, anchor="mm")
    return page


def overview(studio: Studio) -> Image.Image:
    """The whole robot at its table, from a camera that no agent has."""
    eye = Camera("overview", look_at((1.02, -1.22, 0.74), (0.16, 0.0, 0.29)), fovy=37.0)
    studio.world.reset(with_camera(studio.baseline, eye), control_rate=20, cameras={})
    return Image.fromarray(studio.world.render(eye.name, 480, 720))


def cameras(studio: Studio) -> Image.Image:
    """The four cameras of the scene, at reset."""
    names = ("front", "left_top", "right_top", "wrist")
    return sheet([studio.photograph(studio.baseline, name, 384) for name in names], names, 4, 16)


def orbit_poses(studio: Studio) -> Image.Image:
    """The 21 orbit poses."""
    names = studio.levels("camera-pose")
    setups = [studio.with_level("camera-pose", name) for name in names]
    return sheet([studio.photograph(setup, "front", 208) for setup in setups], names, 7)


def euler_angles(studio: Studio) -> Image.Image:
    """The front camera turned by yaw and pitch."""
    names = [f"yaw{yaw}_pitch{pitch}" for pitch in (6, 0, -6) for yaw in (6, 0, -6)]
    setups = [studio.with_level("camera-euler", name) for name in names]
    return sheet([studio.photograph(setup, "front", 256) for setup in setups], names, 3)


def distances(studio: Studio) -> Image.Image:
    """The front camera moved back."""
    names = studio.levels("camera-distance")
    setups = [studio.with_level("camera-distance", name) for name in names]
    return sheet([studio.photograph(setup, "front", 170) for setup in setups], names, 9)


def shapes(studio: Studio) -> Image.Image:
    """The four shapes, seen from the left."""
    names = studio.levels("shape")
    setups = [studio.with_level("shape", name) for name in names]
    return sheet([studio.photograph(setup, "left_top", 288) for setup in setups], names, 4, 16)


def positions(studio: Studio) -> Image.Image:
    """The four start positions."""
    names = studio.levels("position")
    setups = [studio.with_level("position", name) for name in names]
    return sheet([studio.photograph(setup, "front", 288) for setup in setups], names, 4, 16)


def colors(studio: Studio) -> Image.Image:
    """The object in all 141 colours, cut out of the front camera's picture."""
    names = studio.levels("color")
    size, half = 448, 50
    # At p3 the box is out of the way.
    place = studio.with_level("position", "p3")
    studio.world.reset(place, control_rate=20, cameras={})
    rows, columns = np.nonzero(studio.world.masks("front", size, size)["geometry"])
    row, column = int(rows.mean()), int(columns.mean())
    part = (slice(row - half, row + half), slice(column - half, column + half))
    pictures = [studio.photograph(studio.with_level("color", name, place), "front", size)[part] for name in names]
    return sheet(pictures, names, 12, 10)


def episode(studio: Studio) -> Image.Image:
    """An episode of the expert: its recorded commands replayed and photographed, as any recorded episode can be."""
    instance = studio.manager.instance("color/red/position-p1")
    with tempfile.TemporaryDirectory() as folder:
        directory = rbench.run(
            studio.suite.name, "expert", instances=[instance.id], repeats=1, out=Path(folder) / "run"
        )
        with directory.store(readonly=True) as store:
            trajectory = store.trajectory(f"{instance.id}#0")
    setup = jittered(studio.manager.setup(instance), block_jitter(studio.suite, instance, 0, 0))
    eye = Camera("side", look_at((1.0, -0.5, 0.5), (0.38, 0.0, 0.17)), fovy=48.0)
    studio.world.reset(with_camera(setup, eye), control_rate=trajectory.control_rate, cameras={})
    wanted = np.linspace(0, len(trajectory.commands), 10).round().astype(int)
    pictures = [studio.world.render(eye.name, 256, 256)]
    for tick, _ in enumerate(studio.world.replay(trajectory.commands), 1):
        if tick in wanted:
            pictures.append(studio.world.render(eye.name, 256, 256))
    return sheet(pictures, [f"{tick / trajectory.control_rate:.1f} s" for tick in wanted], 5, 14)


PICTURES: dict[str, Callable[[Studio], Image.Image]] = {
    "overview": overview,
    "cameras": cameras,
    "orbit-poses": orbit_poses,
    "euler-angles": euler_angles,
    "distances": distances,
    "shapes": shapes,
    "positions": positions,
    "colors": colors,
    "episode": episode,
}


def main(names: Sequence[str]) -> None:
    """Draw some pictures, or all."""
    unknown = sorted(set(names) - set(PICTURES))
    if unknown:
        sys.exit(f"no picture {', '.join(unknown)}; there are: {', '.join(PICTURES)}")
    studio = Studio()
    for name in names or PICTURES:
        file = FOLDER / f"{name}.png"
        drawn = PICTURES[name](studio)
        drawn.save(file, optimize=True)
        print(f"{file.name}: {drawn.width} x {drawn.height}, {file.stat().st_size // 1024} kB")
    studio.world.close()


if __name__ == "__main__":
    main(sys.argv[1:])
