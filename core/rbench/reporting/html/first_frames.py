"""What an agent saw first in some episodes, rendered again for the report."""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rbench.errors import RbenchError, one_line
from rbench.plugins.catalog import Catalog
from rbench.record import EpisodeRecord
from rbench.results.manifest import Manifest
from rbench.running.jitter import block_jitter
from rbench.running.worker import build_world
from rbench.scene import jittered
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager

if TYPE_CHECKING:
    from rbench.interfaces.world import World

#: A picture's longer side in pixels, and the most bytes it may have.
LONGER_SIDE, MOST_BYTES = 384, 40_000

_log = logging.getLogger("rbench.reporting")


@dataclass
class Frames:
    """Pictures by episode id as JPEG; `problem` says why some or all are missing."""

    camera: str | None = None
    pictures: dict[str, bytes] = field(default_factory=dict)
    problem: str | None = None


def first_frames(manifest: Manifest, records: Sequence[EpisodeRecord], catalog: Catalog) -> Frames:
    """Render the primary camera of episodes at reset. Never raises: without OpenGL there are no pictures.

    Args:
        manifest: of the run.
        records: of the episodes.
        catalog: where the suite is found.
    """
    if not records:
        return Frames()
    try:
        suite = load_suite(catalog, manifest.suite.source)
        if suite.hash != manifest.suite.hash:
            return Frames(problem=f"suite {suite.name!r} is not the version that was run")
        world = build_world(suite)
    except RbenchError as problem:
        return Frames(problem=str(problem))
    except Exception as problem:
        _log.debug("no world for pictures", exc_info=True)
        return Frames(problem=one_line(problem))
    try:
        return _rendered(manifest, records, suite, world)
    finally:
        world.close()


def _rendered(manifest: Manifest, records: Sequence[EpisodeRecord], suite: Suite, world: World) -> Frames:
    manager = RecursiveVariantTaskManager(suite)
    frames = Frames()
    for record in records:
        try:
            instance = manager.instance(record.instance)
            setup = jittered(manager.setup(instance), block_jitter(suite, instance, record.repeat, record.seed))
            camera, height, width = _view(manifest.agent.manifest, [c.name for c in setup.scene.cameras])
            world.reset(setup, control_rate=20, cameras={})
            frames.pictures[record.episode] = _jpeg(world.render(camera, height, width))
            frames.camera = camera
        except Exception as problem:  # one picture is not worth a report
            _log.debug("no picture of %s", record.episode, exc_info=True)
            frames.problem = str(problem) if isinstance(problem, RbenchError) else one_line(problem)
            if not frames.pictures:
                break
    return frames


def _view(declared: Mapping[str, Any], cameras: Sequence[str]) -> tuple[str, int, int]:
    """The agent's primary camera and an image size of the shape that the agent gets."""
    requests = declared.get("cameras") or {}
    camera = declared.get("primary") or next(iter(requests), None)
    if camera not in cameras:
        camera = cameras[0]
    request = requests.get(camera) or {"height": 3, "width": 4}
    longer = max(request["height"], request["width"])
    return str(camera), *(max(16, round(request[side] * LONGER_SIDE / longer)) for side in ("height", "width"))


def _jpeg(pixels: Any) -> bytes:
    from PIL import Image

    picture = Image.fromarray(pixels)
    for quality in (88, 75, 60, 45, 30, 15, 5):
        buffer = io.BytesIO()
        picture.save(buffer, format="JPEG", quality=quality, optimize=True, progressive=True)
        if buffer.tell() < MOST_BYTES:
            break
    return buffer.getvalue()
