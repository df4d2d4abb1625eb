"""Scene descriptions to compiled MuJoCo models, cached by structure.

Structure is what the compiler bakes into a model: shapes, sizes, masses, the robot, textures, which
cameras are mounted on the hand, which lights cast shadows. Everything else is a parameter
(`rbench.simulation.parameters`), written into the model at every reset. A model is compiled from the
structure alone, so it cannot remember the parameters of the scene that was built first.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import mujoco

from rbench.errors import UsageError, one_line
from rbench.geometry import IDENTITY_POSE
from rbench.scene import MATTE, Camera, Headlight, Light, Receptacle, SceneDescription, SceneObject
from rbench.simulation import panda
from rbench.simulation.profiles import RenderProfile
from rbench.simulation.solids import BODY_PREFIX, add_object, add_receptacle
from rbench.simulation.surroundings import add_surroundings
from rbench.world_state import FLOOR, LEFT_FINGER, RIGHT_FINGER, ROBOT, TABLE

#: Physics steps a simulated second.
PHYSICS_RATE = 480
#: Compiled models kept in a process (about 6 MB each).
KEPT_MODELS = 16
_BLACK = (0, 0, 0)


@dataclass(frozen=True)
class FreeBody:
    """Where a free body lives: its id, its geoms, and its addresses in qpos and qvel."""

    body: int
    geoms: tuple[int, ...]
    qpos: int
    dof: int


@dataclass(frozen=True, eq=False)
class CompiledScene:
    """A compiled model and its tables of names.

    Attributes:
        structure: the scene description with every parameter blanked.
        entity_of_geom: the entity that each geom belongs to, by geom id.
        bodies: free bodies (objects, then receptacles) by name.
        cameras, lights: ids by name.
        fingertip: the site between the fingertips. hand: the body that carries it.
    """

    model: mujoco.MjModel
    structure: SceneDescription
    entity_of_geom: tuple[str, ...]
    bodies: Mapping[str, FreeBody]
    cameras: Mapping[str, int]
    lights: Mapping[str, int]
    fingertip: int
    hand: int


def compile_scene(scene: SceneDescription, profile: RenderProfile) -> CompiledScene:
    """The scene's structure as a model of the caller's own; parameters are not written yet.

    The structure is compiled once a process; later calls copy the compiled model.

    Raises:
        UsageError: an unknown robot, a name that is given twice, an impossible size or mass.
    """
    compiled = _compiled(structure_of(scene), profile)
    return replace(compiled, model=copy.copy(compiled.model))


def free_bodies(scene: SceneDescription) -> tuple[SceneObject | Receptacle, ...]:
    """Everything that moves on its own: objects, then receptacles."""
    return (*scene.objects, *scene.receptacles)


@lru_cache(maxsize=256)
def structure_of(scene: SceneDescription) -> SceneDescription:
    """The scene with every parameter replaced by a constant: equal structures share a compiled model."""
    return replace(
        scene,
        name="",
        robot=replace(scene.robot, home=(0.0,) * 7, gripper=0.0),
        objects=tuple(
            replace(o, pose=IDENTITY_POSE, color=_BLACK, friction=1.0, material=MATTE) for o in scene.objects
        ),
        receptacles=tuple(replace(r, pose=IDENTITY_POSE, color=_BLACK, material=MATTE) for r in scene.receptacles),
        cameras=tuple(Camera(c.name, IDENTITY_POSE, mount=c.mount) for c in scene.cameras),
        lights=tuple(
            Light(li.name, (0.0, 0.0, 0.0), (0.0, 0.0, -1.0), directional=li.directional, shadow=li.shadow)
            for li in scene.lights
        ),
        headlight=Headlight(),
        work_area=(0.0, 0.0, 0.0, 0.0),
    )


@lru_cache(maxsize=KEPT_MODELS)
def _compiled(structure: SceneDescription, profile: RenderProfile) -> CompiledScene:
    _check_names(structure)
    spec = mujoco.MjSpec()
    _set_options(spec, structure, profile)
    add_surroundings(spec, structure)
    panda.add_panda(spec, structure.robot)
    for item in structure.objects:
        add_object(spec, item)
    for receptacle in structure.receptacles:
        add_receptacle(spec, receptacle)
    for camera in structure.cameras:
        parent = spec.body(panda.HAND_BODY) if camera.mount == "hand" else spec.worldbody
        parent.add_camera(name=camera.name, fovy=camera.fovy)
    for light in structure.lights:
        kind = mujoco.mjtLightType.mjLIGHT_DIRECTIONAL if light.directional else mujoco.mjtLightType.mjLIGHT_SPOT
        spec.worldbody.add_light(name=light.name, type=kind, castshadow=light.shadow, cutoff=80, exponent=1)
    try:
        model = spec.compile()
    except ValueError as problem:
        raise UsageError(f"scene: MuJoCo cannot build it ({one_line(problem)}); check sizes and masses") from problem
    return _with_tables(model, structure)


def _check_names(structure: SceneDescription) -> None:
    if structure.robot.model != "panda":
        raise UsageError(f"scene: robot model {structure.robot.model!r} is unknown; use 'panda'")
    reserved = [FLOOR, TABLE, ROBOT, LEFT_FINGER, RIGHT_FINGER]
    for kind, names in (
        ("body", [*reserved, *(item.name for item in free_bodies(structure))]),
        ("camera", [camera.name for camera in structure.cameras]),
        ("light", [light.name for light in structure.lights]),
    ):
        for name in names:
            if names.count(name) > 1 or "/" in name:
                raise UsageError(f"scene: {kind} name {name!r} is taken or holds '/'; give the {kind} another name")


def _set_options(spec: mujoco.MjSpec, structure: SceneDescription, profile: RenderProfile) -> None:
    spec.compiler.degree = False
    option = spec.option
    option.timestep = 1.0 / PHYSICS_RATE
    # Solves constraints in the inertia that it integrates with. The other implicit integrators solve them in the bare
    # inertia, several times smaller than that of a stiffly controlled wrist: with them a held object crept 4 mm on a
    # lift of 0.2 m, ten times as much, at the same speed of simulation.
    option.integrator = mujoco.mjtIntegrator.mjINT_DISCRETE
    # With pyramidal friction cones grasps slip; with less stiff friction (10) a held pyramid sinks by 1 mm a second.
    option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    option.impratio = 100.0
    spec.visual.quality.shadowsize = profile.shadow_size
    spec.visual.quality.offsamples = profile.multisamples
    # MuJoCo measures clipping planes and directional shadows in extents: a fixed extent makes these metres, and no
    # object's size can change them.
    spec.stat.extent = 1.0
    spec.stat.center = structure.table.center
    spec.visual.map.znear, spec.visual.map.zfar = 0.01, 20.0
    # Far away the endless floor fades into this colour: the background's, so that no bright band stands on the horizon.
    spec.visual.rgba.haze = (*(c / 255 for c in structure.background.color), 1.0)


def _with_tables(model: mujoco.MjModel, structure: SceneDescription) -> CompiledScene:
    bodies = {}
    for item in free_bodies(structure):
        body = model.body(BODY_PREFIX + item.name)
        joint, first = int(body.jntadr[0]), int(body.geomadr[0])
        geoms = tuple(range(first, first + int(body.geomnum[0])))
        bodies[item.name] = FreeBody(int(body.id), geoms, int(model.jnt_qposadr[joint]), int(model.jnt_dofadr[joint]))
    return CompiledScene(
        model=model,
        structure=structure,
        entity_of_geom=tuple(_entity(model.geom(number).name) for number in range(model.ngeom)),
        bodies=bodies,
        cameras={camera.name: int(model.camera(camera.name).id) for camera in structure.cameras},
        lights={light.name: int(model.light(light.name).id) for light in structure.lights},
        fingertip=int(model.site(panda.FINGERTIP_SITE).id),
        hand=int(model.body(panda.HAND_BODY).id),
    )


def _entity(geom: str) -> str:
    for finger in (LEFT_FINGER, RIGHT_FINGER):
        if geom.startswith(panda.BODY_PREFIX + finger):
            return finger
    return geom.removeprefix(BODY_PREFIX).split("/")[0]
