"""How well the vision model `opencv` sees and the agent `simple` acts, over the dimensions of roboview-bias.

    python benchmarks/simple_vision.py see [--contexts 3] [--size 224] [--contrast 7] [--sheet FILE.png] [--levels]
    python benchmarks/simple_vision.py lift [--contexts 11]
    python benchmarks/simple_vision.py act [--repeats 5] [--lift depth]

`see` renders every level in so many contexts, asks the eye, and compares with the visible pixels of object and box:
share found (intersection over union above 0.7), and error of the boxes' middles in pixels. `--sheet` draws what went
wrong. `lift` prints how far (mm, horizontally) lifted points are off the middles of object and box, with true boxes.
`act` runs the agent at the baseline colour and camera over all contexts, once with the eye and once with boxes
from ground truth (perfect perception); exits with 1 below 80 or 97 % with the lift `depth`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from rbench.design import Episode, Instance
from rbench.interfaces.agent import AgentContext
from rbench.interfaces.vision import Question, VisionModel
from rbench.interfaces.world import World
from rbench.observation import CameraRequest
from rbench.plugins.catalog import build_catalog
from rbench.running.episode import EpisodeRunner
from rbench.running.jitter import block_jitter
from rbench.running.worker import build_world
from rbench.scene import jittered
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.vision.opencv import OpenCv, Options
from rbench.vision.questions import Box, PickAndPlace
from rbench.vision.scripted import ScriptedVision
from rbench_agent_simple.lifting import Cloud, lifted

CAMERA, OBJECT, RECEPTACLE = "front", "geometry", "box"
Box4 = tuple[float, float, float, float]


@dataclass
class Tally:
    """What was seen at one level, or in one dimension."""

    pictures: int = 0
    found: dict[str, int] = field(default_factory=lambda: {OBJECT: 0, RECEPTACLE: 0})
    wrong: dict[str, int] = field(default_factory=lambda: {OBJECT: 0, RECEPTACLE: 0})
    errors: list[float] = field(default_factory=list)

    def line(self, name: str) -> str:
        """One row of the table."""
        shares = [
            f"{100 * self.found[k] / self.pictures:6.1f} {100 * self.wrong[k] / self.pictures:6.1f}" for k in self.found
        ]
        error = f"{np.mean(self.errors):5.2f} {np.max(self.errors):5.2f}" if self.errors else "    -     -"
        return f"{name:24} {self.pictures:5}   {shares[0]}   {shares[1]}   {error}"


HEADER = f"{'':24} {'n':>5}   {'object':>6} {'wrong':>6}   {'box':>6} {'wrong':>6}   {'px':>5} {'max':>5}"


def true_boxes(world: World, height: int, width: int) -> dict[str, Box4]:
    """Boxes of the visible pixels; empty ones for what cannot be seen."""
    masks = world.masks(CAMERA, height, width)
    return {name: _around(masks[name]) for name in (OBJECT, RECEPTACLE)}


def _around(mask: npt.NDArray[np.bool_]) -> Box4:
    rows, columns = np.nonzero(mask)
    if not len(rows):
        return (0.0, 0.0, 0.0, 0.0)
    return (float(columns.min()), float(rows.min()), columns.max() + 1.0, rows.max() + 1.0)


def overlap(a: Box4, b: Box4) -> float:
    """Intersection over union."""
    common = max(0.0, min(a[2], b[2]) - max(a[0], b[0])) * max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    total = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common
    return common / total if total > 0 else 0.0


def see(suite: Suite, world: World, arguments: argparse.Namespace) -> int:
    """Print the table of what is seen."""
    eye = OpenCv(Options(contrast=arguments.contrast))
    size = arguments.size
    levels: dict[tuple[str, str], Tally] = {}
    failures = []
    seconds = 0.0
    for instance in chosen(suite, arguments.contexts):
        setup = RecursiveVariantTaskManager(suite).setup(instance)
        setup = jittered(setup, block_jitter(suite, instance, 0, arguments.seed))
        world.reset(setup, control_rate=20, cameras={CAMERA: CameraRequest(size, size, ("rgb",))})
        image = world.observe().cameras[CAMERA].rgb
        begin = time.process_time()
        answer = eye.ask(Question("benchmark.locate/1", "", (image,), PickAndPlace), np.random.default_rng(0)).value
        seconds += time.process_time() - begin
        seen = {OBJECT: answer.start_xyxy, RECEPTACLE: answer.end_xyxy}
        truth = true_boxes(world, size, size)
        level = "+".join(instance.levels[f] for f in instance.dimension.split("+"))
        tally = levels.setdefault((instance.dimension, level), Tally())
        if not score(tally, seen, truth):
            failures.append((instance.id, image, [b.root for b in seen.values() if b], list(truth.values())))
    print(HEADER)
    for dimension in dict.fromkeys(d for d, _ in levels):
        rows = {level: t for (d, level), t in levels.items() if d == dimension}
        print(total(rows.values()).line(dimension))
        for level, tally in rows.items():
            if arguments.levels or tally.found[OBJECT] < tally.pictures or tally.found[RECEPTACLE] < tally.pictures:
                print(tally.line(f"  {level}"))
    pictures = sum(t.pictures for t in levels.values())
    print(f"{1000 * seconds / pictures:.1f} ms a picture of {size} x {size}")
    if arguments.sheet and failures:
        draw_sheet(failures[:48], arguments.sheet)
    return 0


def chosen(suite: Suite, contexts: int) -> Iterator[Instance]:
    """Every level of every dimension, in contexts strided over all; grids in the one that they have."""
    names = [context.name for context in suite.contexts]
    wanted = set(names[:: max(1, len(names) // contexts)][:contexts])
    for instance in RecursiveVariantTaskManager(suite).instances():
        if "+" in instance.dimension or instance.context in wanted:
            yield instance


def score(tally: Tally, seen: dict[str, Box | None], truth: dict[str, Box4]) -> bool:
    """Count one picture; whether both things were found."""
    tally.pictures += 1
    good = True
    for name, box in seen.items():
        hit = box is not None and overlap(box.root, truth[name]) > 0.7
        tally.found[name] += hit
        tally.wrong[name] += box is not None and not hit
        good &= hit
        if hit and box is not None and name == OBJECT:
            (x, y), (a, b, c, d) = box.center, truth[name]
            tally.errors.append(float(np.hypot(x - (a + c) / 2, y - (b + d) / 2)))
    return good


def total(tallies: object) -> Tally:
    """The sum of some tallies."""
    result = Tally()
    for tally in tallies:  # type: ignore[attr-defined]
        result.pictures += tally.pictures
        result.errors += tally.errors
        for name in result.found:
            result.found[name] += tally.found[name]
            result.wrong[name] += tally.wrong[name]
    return result


def draw_sheet(failures: list[tuple[str, npt.NDArray[np.uint8], list[Box4], list[Box4]]], path: Path) -> None:
    """Draw failed pictures: what was seen in cyan, what is true in magenta."""
    side, columns = 224, 6
    rows = -(-len(failures) // columns)
    sheet = Image.new("RGB", (columns * side, rows * side))
    for number, (name, image, seen, truth) in enumerate(failures):
        picture = Image.fromarray(image)
        pen = ImageDraw.Draw(picture)
        for boxes, color in ((truth, (255, 0, 255)), (seen, (0, 255, 255))):
            for x1, y1, x2, y2 in boxes:
                pen.rectangle((x1, y1, x2 - 1, y2 - 1), outline=color)
        picture = picture.resize((side, side))
        ImageDraw.Draw(picture).text((3, 3), name, fill=(255, 255, 255))
        sheet.paste(picture, (number % columns * side, number // columns * side))
    sheet.save(path)


def lift(suite: Suite, world: World, arguments: argparse.Namespace) -> int:
    """Print how far lifted points are off, for both lifts."""
    errors: dict[str, list[list[float]]] = {}
    for instance in chosen(suite, arguments.contexts):
        if instance.dimension not in ("camera-pose", "camera-euler", "camera-distance"):
            continue
        setup = RecursiveVariantTaskManager(suite).setup(instance)
        setup = jittered(setup, block_jitter(suite, instance, 0, arguments.seed))
        size = arguments.size
        world.reset(setup, control_rate=20, cameras={CAMERA: CameraRequest(size, size, ("depth",))})
        view, boxes, bodies = world.observe().cameras[CAMERA], true_boxes(world, size, size), world.state().bodies
        cloud = Cloud(view.depth, view.intrinsics, view.extrinsics)
        row = []
        for name, box in boxes.items():
            found = lifted(cloud, box)
            for point in (found.top, found.surface):
                row.append(1000 * float(np.hypot(*(np.array(point[:2]) - bodies[name].position[:2]))))
        errors.setdefault(instance.dimension, []).append(row)
    print(f"{'mean, max (mm)':16}  {'object, depth':>14} {'surface':>14} {'box, depth':>14} {'surface':>14}")
    for dimension, rows in errors.items():
        columns = zip(np.mean(rows, axis=0), np.max(rows, axis=0), strict=True)
        print(f"{dimension:16}  " + " ".join(f"{mean:6.1f} {worst:7.1f}" for mean, worst in columns))
    return 0


def perfect(world: World) -> VisionModel:
    """Boxes from the simulator's masks."""

    def script(question: Question, rng: np.random.Generator) -> PickAndPlace:
        boxes = true_boxes(world, *question.images[0].shape[:2])
        return PickAndPlace(
            start=OBJECT, start_xyxy=Box(boxes[OBJECT]), end=RECEPTACLE, end_xyxy=Box(boxes[RECEPTACLE])
        )

    return ScriptedVision(script)


def act(suite: Suite, world: World, arguments: argparse.Namespace) -> int:
    """Print successes at the baseline colour and camera, by context."""
    manager = RecursiveVariantTaskManager(suite)
    entry = build_catalog().get("agent", "simple")
    instances = [manager.instance(f"color/red/{context.name}") for context in suite.contexts]
    rates = {}
    for name, model in {"opencv": OpenCv(), "perfect perception": perfect(world)}.items():
        options = entry.resolve_options({"lift": arguments.lift})
        agent = entry.load()(options, AgentContext(vision=model))
        runner = EpisodeRunner(suite, world, agent, "simple", agent.manifest, arguments.seed)
        wins = 0
        for instance in instances:
            records = [runner.run(Episode(instance, repeat)).record for repeat in range(arguments.repeats)]
            good = sum(r.success for r in records)
            wins += good
            reasons = ", ".join(sorted({r.reason for r in records if not r.success}))
            print(f"{name:20} {instance.context:16} {good}/{len(records)}  {reasons}", flush=True)
        rates[name] = wins / (len(instances) * arguments.repeats)
        print(f"{name}: {100 * rates[name]:.1f} % of {len(instances) * arguments.repeats}")
    return 0 if arguments.lift != "depth" or (rates["opencv"] >= 0.8 and rates["perfect perception"] >= 0.97) else 1


def main() -> int:
    """Run one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    commands = parser.add_subparsers(required=True)
    seeing = commands.add_parser("see")
    seeing.add_argument("--contexts", type=int, default=3)
    seeing.add_argument("--size", type=int, default=224)
    seeing.add_argument("--contrast", type=float, default=Options().contrast)
    seeing.add_argument("--sheet", type=Path)
    seeing.add_argument("--levels", action="store_true", help="every level, not only those where something was missed")
    seeing.set_defaults(command=see)
    lifting = commands.add_parser("lift")
    lifting.add_argument("--contexts", type=int, default=11)
    lifting.add_argument("--size", type=int, default=224)
    lifting.set_defaults(command=lift)
    acting = commands.add_parser("act")
    acting.add_argument("--repeats", type=int, default=5)
    acting.add_argument("--lift", default="depth")
    acting.set_defaults(command=act)
    arguments = parser.parse_args()
    suite = load_suite(build_catalog(), "roboview-bias")
    world = build_world(suite)
    try:
        code: int = arguments.command(suite, world, arguments)
    finally:
        world.close()
    return code


if __name__ == "__main__":
    sys.exit(main())
