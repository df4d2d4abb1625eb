"""From the tables of a suite file to a `Suite`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources.abc import Traversable
from pathlib import Path

from rbench.errors import UsageError, did_you_mean
from rbench.scene import SceneDescription
from rbench.suites.accepted import read_accepted
from rbench.suites.conditions import read_conditions, read_subtasks
from rbench.suites.document import Document
from rbench.suites.fairness import FairnessRules
from rbench.suites.key_lines import KeyPath
from rbench.suites.scene_files import load_scene
from rbench.suites.schema import SuiteTable
from rbench.suites.study import read_contexts, read_dimensions, read_preset
from rbench.suites.suite import Protocol, Suite, SuiteFactor
from rbench.suites.suite_hash import suite_hash
from rbench.tasks.task import Task


def build_suite(
    document: Document,
    table: SuiteTable,
    factors: Mapping[str, SuiteFactor],
    *,
    source: str,
    folder: Traversable | Path,
    file: str,
) -> Suite:
    """The suite of a checked table.

    Args:
        factors: the suite's factors by name, in its order.
        folder: where scene files of relative paths are looked for.
        file: name of the suite's own file there, beside which its accepted validation stands.

    Raises:
        SuiteError: something that is named does not exist; the message has file, line and key.
    """
    scenes = _scenes(document, table, folder)
    tasks = _tasks(document, table, scenes)
    contexts = read_contexts(document, table, factors)
    dimensions = read_dimensions(document, table, factors, contexts)
    suite = Suite(
        name=table.name,
        hash="",
        source=source,
        world=table.world,
        render=table.render,
        viewpoint_cameras=tuple(table.viewpoint_cameras),
        extrinsics=table.extrinsics,
        metrics=_metrics(document, table),
        tasks=tasks,
        scenes=scenes,
        factors=factors,
        contexts=contexts,
        dimensions=dimensions,
        protocol=Protocol(
            repeats=table.protocol.repeats,
            seeds=table.protocol.seeds,
            jitter_xy=float(table.protocol.jitter.xy),
            jitter_yaw=float(table.protocol.jitter.yaw),
        ),
        presets={
            name: read_preset(document, ("presets", name), preset, factors, contexts, dimensions)
            for name, preset in table.presets.items()
        },
        requires=tuple(table.requires),
        validation=FairnessRules(**table.validation.model_dump()),
    )
    found = suite_hash(suite)
    return replace(suite, hash=found, validated=read_accepted(folder, file, found))


def _metrics(document: Document, table: SuiteTable) -> tuple[str, ...]:
    """Names only: whether there are such metrics is asked before a run, for workers load no metric."""
    for i, name in enumerate(table.metrics):
        if name in table.metrics[:i]:
            raise document.error(("metrics", i), f"{name!r} is there twice. Remove one of them.")
    return tuple(table.metrics)


def _scenes(document: Document, table: SuiteTable, folder: Traversable | Path) -> dict[str, SceneDescription]:
    scenes: dict[str, SceneDescription] = {}
    for i, task in enumerate(table.tasks):
        if task.scene in scenes:
            continue
        try:
            scene = load_scene(task.scene, folder)
        except UsageError as problem:
            raise document.error(("tasks", i, "scene"), str(problem)) from problem
        cameras = [camera.name for camera in scene.cameras]
        for j, camera in enumerate(table.viewpoint_cameras):
            if camera not in cameras:
                raise document.error(
                    ("viewpoint_cameras", j),
                    f"scene {task.scene!r} has no camera {camera!r}.{did_you_mean(camera, cameras)} Name one it has.",
                )
        scenes[task.scene] = scene
    return scenes


def _tasks(document: Document, table: SuiteTable, scenes: Mapping[str, SceneDescription]) -> tuple[Task, ...]:
    document.require_different(("tasks",), [task.name for task in table.tasks])
    tasks = []
    for i, task in enumerate(table.tasks):
        path: KeyPath = ("tasks", i)
        if task.hold >= task.limit:
            raise document.error((*path, "hold"), f"must be shorter than the limit of {task.limit} s. Lower it.")
        scene = scenes[task.scene]
        goal = read_conditions(document, (*path, "goal"), task.goal, scene)
        tasks.append(
            Task(
                name=task.name,
                kind=task.kind,
                scene=task.scene,
                instruction=task.instruction,
                goal=goal,
                hold=float(task.hold),
                subtasks=read_subtasks(document, (*path, "subtasks"), task.subtasks, goal, scene),
                limit=float(task.limit),
            )
        )
    return tuple(tasks)
