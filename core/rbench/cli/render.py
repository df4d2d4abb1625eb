"""`rbench render`: what an agent would see of an instance."""

from __future__ import annotations

from pathlib import Path

import click

from rbench.errors import StartError, UsageError, did_you_mean
from rbench.plugins.catalog import build_catalog
from rbench.running.jitter import block_jitter
from rbench.running.worker import build_world
from rbench.scene import jittered
from rbench.suites.loading import load_suite
from rbench.suites.variants import RecursiveVariantTaskManager


@click.command("render")
@click.argument("suite")
@click.argument("instance")
@click.option("-o", "output", required=True, type=click.Path(path_type=Path, dir_okay=False), metavar="FILE.png")
@click.option("--camera", default="front", show_default=True, help="Camera of the scene.")
@click.option("--height", type=click.IntRange(16, 1024), default=480, show_default=True, help="Pixels.")
@click.option("--width", type=click.IntRange(16, 1024), default=480, show_default=True, help="Pixels.")
@click.option("--repeat", type=click.IntRange(min=0), help="With the jitter of this repeat; default: without jitter.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="The run seed of the jitter.")
def command(
    suite: str, instance: str, output: Path, camera: str, height: int, width: int, repeat: int | None, seed: int
) -> None:
    """Render INSTANCE of SUITE at reset to a PNG file."""
    from PIL import Image  # imported here: only this command needs it

    if output.suffix.lower() != ".png":
        raise UsageError(f"-o {output}: only PNG files are written; give a path that ends with .png")
    loaded = load_suite(build_catalog(), suite)
    manager = RecursiveVariantTaskManager(loaded)
    found = manager.instance(instance)
    setup = manager.setup(found)
    names = [c.name for c in setup.scene.cameras]
    if camera not in names:
        raise UsageError(f"camera {camera!r} is not in scene {setup.scene.name!r}.{did_you_mean(camera, names)}")
    if repeat is not None:
        setup = jittered(setup, block_jitter(loaded, found, repeat, seed))
    world = build_world(loaded)
    try:
        world.reset(setup, control_rate=20, cameras={})
        picture = Image.fromarray(world.render(camera, height, width))
    finally:
        world.close()
    try:
        picture.save(output, format="PNG")
    except OSError as problem:
        raise StartError(f"{output}: cannot be written ({problem.strerror or problem}); choose another -o") from None
    click.echo(f"{output}: {width} x {height}, camera {camera}, {found.id}")
