"""The Franka Panda, built with MjSpec from Franka's published kinematics and meshes.

Meshes come with the `gymnasium-robotics` distribution, of which only the files are used: its
environments do not run under MuJoCo 4, so the package is located but never imported. The visual
meshes are thinned in memory, once a process.
"""

from __future__ import annotations

import importlib.util
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import fast_simplification
import mujoco
import numpy as np
import numpy.typing as npt

from rbench.errors import StartError
from rbench.geometry import IDENTITY_POSE, Array, Pose, Quaternion, Vec3
from rbench.scene import Robot
from rbench.world_state import LEFT_FINGER, RIGHT_FINGER

#: Franka's limits: joint positions (rad), joint velocities (rad/s), torques (Nm); finger travel (m).
LOWER = (-2.8973, -1.7628, -2.8973, -3.0718, -2.8973, -0.0175, -2.8973)
UPPER = (2.8973, 1.7628, 2.8973, -0.0698, 2.8973, 3.7525, 2.8973)
MAX_VELOCITY = (2.175, 2.175, 2.175, 2.175, 2.61, 2.61, 2.61)
MAX_TORQUE = (87.0, 87.0, 87.0, 87.0, 12.0, 12.0, 12.0)
FINGER_TRAVEL = 0.04
#: The fingertip point in the hand's frame (m): Franka's default tool centre, middle of the pads.
FINGERTIP: Vec3 = (0.0, 0.0, 0.1034)

#: Collision groups: parts of the robot never collide with each other, everything else does.
ROBOT_BIT, WORLD_BIT = 1, 2
#: Geom groups: 2 is rendered, 3 only collides.
VISUAL_GROUP, COLLISION_GROUP = 2, 3

BODY_PREFIX = "robot/"
ARM_JOINTS = tuple(f"robot/joint{i}" for i in range(1, 8))
FINGER_JOINTS = ("robot/left_finger", "robot/right_finger")
HAND_BODY = "robot/hand"
FINGERTIP_SITE = "robot/fingertip"

_S = 0.5**0.5
_POSITION_GAIN = (4500.0, 4500.0, 3500.0, 3500.0, 2000.0, 2000.0, 2000.0)
_VELOCITY_GAIN = (450.0, 450.0, 350.0, 350.0, 200.0, 200.0, 200.0)
# A stock simulated Panda hand closes with about 2 N and never lifts a pyramid; Franka's own closes with up to 70 N.
_GRIPPER_KP, _GRIPPER_KV, _GRIPPER_FORCE = 4000.0, 120.0, 60.0
# N s/m: a free finger runs at 0.2 m/s at most, so that it meets an object without a blow.
_FINGER_DAMPING = 150.0
# Above that of objects: a grasp has the friction and stiffness of the pads, whatever is held.
_PAD_PRIORITY = 2
_PAD_FRICTION = (1.5, 0.02, 0.001)
_PAD_SOLREF, _PAD_SOLIMP = (0.004, 1.0), (0.95, 0.99, 0.001, 0.5, 2.0)
#: Share of a visual mesh's triangles that is kept; fewer show as facets in the wrist camera.
_KEPT = {"hand": 0.6, "finger": 1.0}
_KEPT_ARM = 0.15


class _Link(NamedTuple):
    position: Vec3
    quaternion: Quaternion
    mass: float
    center: Vec3
    inertia: tuple[float, float, float, float, float, float]


# Frames: Franka's Denavit-Hartenberg table. Masses, centres of mass (m) and inertia (kg m2: xx yy zz xy xz yz): Gaz
# et al., Dynamic Identification of the Franka Emika Panda Robot With Retrieval of Feasible Parameters (2019).
_LINKS = (
    _Link((0, 0, 0), (1, 0, 0, 0), 0.629769, (-0.041018, -0.00014, 0.049974),
          (0.00315, 0.00388, 0.004285, 8.2904e-7, 0.00015, 8.2299e-6)),
    _Link((0, 0, 0.333), (1, 0, 0, 0), 4.970684, (0.003875, 0.002081, -0.04762),
          (0.70337, 0.70661, 0.009117, -0.000139, 0.006772, 0.019169)),
    _Link((0, 0, 0), (_S, -_S, 0, 0), 0.646926, (-0.003141, -0.02872, 0.003495),
          (0.007962, 0.02811, 0.025995, -0.003925, 0.010254, 0.000704)),
    _Link((0, -0.316, 0), (_S, _S, 0, 0), 3.228604, (0.027518, 0.039252, -0.066502),
          (0.037242, 0.036155, 0.01083, -0.004761, -0.011396, -0.012805)),
    _Link((0.0825, 0, 0), (_S, _S, 0, 0), 3.587895, (-0.05317, 0.104419, 0.027454),
          (0.025853, 0.019552, 0.028323, 0.007796, -0.001332, 0.008641)),
    _Link((-0.0825, 0.384, 0), (_S, -_S, 0, 0), 1.225946, (-0.011953, 0.041065, -0.038437),
          (0.035549, 0.029474, 0.008627, -0.002117, -0.004037, 0.000229)),
    _Link((0, 0, 0), (_S, _S, 0, 0), 1.666555, (0.060149, -0.014117, -0.010517),
          (0.001964, 0.004354, 0.005433, 0.000109, -0.001158, 0.000341)),
    _Link((0.088, 0, 0), (_S, _S, 0, 0), 0.735522, (0.010517, -0.004252, 0.061597),
          (0.012516, 0.010027, 0.004815, -0.000428, -0.001196, -0.000741)),
)  # fmt: skip
_HAND = _Link((0, 0, 0.107), (0.92388, 0, 0, -0.38268), 0.73, (-0.01, 0, 0.03), (0.001, 0.0025, 0.0017, 0, 0, 0))


def add_panda(spec: mujoco.MjSpec, robot: Robot) -> None:
    """Add the robot to a spec: bodies `robot/link0` .. `robot/hand`, joints, actuators 0..6 (rad) and 7 (m a finger).

    The spec must take angles in radians (`spec.compiler.degree = False`).

    Raises:
        StartError: the meshes are not installed.
    """
    spec.add_material(name="robot/shell", rgba=(0.93, 0.94, 0.95, 1), specular=0.25, shininess=0.3)
    spec.add_material(name="robot/hand", rgba=(0.86, 0.87, 0.88, 1), specular=0.25, shininess=0.3)
    spec.add_material(name="robot/finger", rgba=(0.25, 0.26, 0.28, 1), specular=0.1, shininess=0.2)
    links = _add_chain(spec, robot.pose)
    for number, (body, link) in enumerate(zip(links, (*_LINKS, _HAND), strict=True)):
        hand = number == len(_LINKS)
        _finish_link(spec, body, link, "hand" if hand else f"link{number}", "robot/hand" if hand else "robot/shell")
    _add_mesh(spec, "finger", visual=True)
    for side, name in enumerate((LEFT_FINGER, RIGHT_FINGER)):
        _add_finger(links[-1], name, side)
    _add_actuators(spec)


@cache
def kinematic_model() -> mujoco.MjModel:
    """The bare arm at the origin: frames, joints and the fingertip site, for inverse kinematics. Not to be changed."""
    spec = mujoco.MjSpec()
    spec.compiler.degree = False
    for body in _add_chain(spec, IDENTITY_POSE):
        body.explicitinertial = 1
        body.mass, body.inertia = 1.0, (1.0, 1.0, 1.0)
    return spec.compile()


def _add_chain(spec: mujoco.MjSpec, base: Pose) -> list[Any]:
    """Bodies of the links and the hand, with the arm's joints and the fingertip site."""
    bodies = [spec.worldbody.add_body(name="robot/link0", pos=base.position, quat=base.quaternion)]
    for number, joint in enumerate(ARM_JOINTS):
        link = _LINKS[number + 1]
        body = bodies[-1].add_body(name=f"robot/link{number + 1}", pos=link.position, quat=link.quaternion)
        body.add_joint(
            name=joint,
            axis=(0, 0, 1),
            range=(LOWER[number], UPPER[number]),
            limited=mujoco.mjtLimited.mjLIMITED_TRUE,
            armature=0.1,
            damping=(1.0, 0.0, 0.0),
        )
        bodies.append(body)
    bodies.append(bodies[-1].add_body(name=HAND_BODY, pos=_HAND.position, quat=_HAND.quaternion))
    bodies[-1].add_site(name=FINGERTIP_SITE, pos=FINGERTIP, group=COLLISION_GROUP)
    return bodies


def _finish_link(spec: mujoco.MjSpec, body: Any, link: _Link, mesh: str, material: str) -> None:
    body.explicitinertial = 1
    body.mass, body.ipos, body.fullinertia = link.mass, link.center, link.inertia
    body.gravcomp = 1.0
    visual, collision = _add_mesh(spec, mesh, visual=True), _add_mesh(spec, mesh, visual=False)
    _visual_geom(body, f"robot/{mesh}", visual, material)
    body.add_geom(
        name=f"robot/{mesh}_collision",
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=collision,
        contype=ROBOT_BIT,
        conaffinity=WORLD_BIT,
        group=COLLISION_GROUP,
    )


def _add_finger(hand: Any, name: str, side: int) -> None:
    finger = hand.add_body(
        name=BODY_PREFIX + name, pos=(0, 0, 0.0584), quat=(1, 0, 0, 0) if side == 0 else (0, 0, 0, 1)
    )
    finger.explicitinertial = 1
    finger.mass, finger.ipos, finger.inertia = 0.015, (0, 0.011, 0.028), (2.375e-6, 2.375e-6, 7.5e-7)
    finger.gravcomp = 1.0
    finger.add_joint(
        name=FINGER_JOINTS[side],
        type=mujoco.mjtJoint.mjJNT_SLIDE,
        axis=(0, 1, 0),
        range=(0, FINGER_TRAVEL),
        limited=mujoco.mjtLimited.mjLIMITED_TRUE,
        armature=0.1,
        damping=(_FINGER_DAMPING, 0.0, 0.0),
    )
    _visual_geom(finger, f"robot/{name}", "robot/finger", "robot/finger")
    collides = {
        "type": mujoco.mjtGeom.mjGEOM_BOX,
        "contype": ROBOT_BIT,
        "conaffinity": WORLD_BIT,
        "group": COLLISION_GROUP,
        "condim": 4,
        "priority": _PAD_PRIORITY,
        "friction": _PAD_FRICTION,
        "solref": _PAD_SOLREF,
        "solimp": _PAD_SOLIMP,
    }
    finger.add_geom(name=f"robot/{name}_pad", size=(0.009, 0.005, 0.009), pos=(0, 0.005, 0.045), **collides)
    finger.add_geom(name=f"robot/{name}_root", size=(0.0105, 0.007, 0.018), pos=(0, 0.0183, 0.018), **collides)


def _visual_geom(body: Any, name: str, mesh: str, material: str) -> None:
    body.add_geom(
        name=name,
        type=mujoco.mjtGeom.mjGEOM_MESH,
        meshname=mesh,
        material=material,
        contype=0,
        conaffinity=0,
        group=VISUAL_GROUP,
        mass=0.0,
    )


def _add_actuators(spec: mujoco.MjSpec) -> None:
    for number, joint in enumerate(ARM_JOINTS):
        kp, kv, force = _POSITION_GAIN[number], _VELOCITY_GAIN[number], MAX_TORQUE[number]
        spec.add_actuator(
            name=joint,
            target=joint,
            trntype=mujoco.mjtTrn.mjTRN_JOINT,
            gaintype=mujoco.mjtGain.mjGAIN_FIXED,
            biastype=mujoco.mjtBias.mjBIAS_AFFINE,
            gainprm=[kp] + [0.0] * 9,
            biasprm=[0.0, -kp, -kv] + [0.0] * 7,
            ctrlrange=(LOWER[number], UPPER[number]),
            ctrllimited=mujoco.mjtLimited.mjLIMITED_TRUE,
            forcerange=(-force, force),
            forcelimited=mujoco.mjtLimited.mjLIMITED_TRUE,
        )
    tendon = spec.add_tendon(name="robot/fingers")
    for joint in FINGER_JOINTS:
        tendon.wrap_joint(joint, 0.5)
    equality = spec.add_equality(name="robot/fingers", type=mujoco.mjtEq.mjEQ_JOINT, objtype=mujoco.mjtObj.mjOBJ_JOINT)
    equality.name1, equality.name2 = FINGER_JOINTS
    equality.data[:5] = (0.0, 1.0, 0.0, 0.0, 0.0)
    equality.solref, equality.solimp = (0.005, 1.0), (0.95, 0.99, 0.001, 0.5, 2.0)
    spec.add_actuator(
        name="robot/gripper",
        target="robot/fingers",
        trntype=mujoco.mjtTrn.mjTRN_TENDON,
        gaintype=mujoco.mjtGain.mjGAIN_FIXED,
        biastype=mujoco.mjtBias.mjBIAS_AFFINE,
        gainprm=[_GRIPPER_KP] + [0.0] * 9,
        biasprm=[0.0, -_GRIPPER_KP, -_GRIPPER_KV] + [0.0] * 7,
        ctrlrange=(0.0, FINGER_TRAVEL),
        ctrllimited=mujoco.mjtLimited.mjLIMITED_TRUE,
        forcerange=(-_GRIPPER_FORCE, _GRIPPER_FORCE),
        forcelimited=mujoco.mjtLimited.mjLIMITED_TRUE,
    )


def _add_mesh(spec: mujoco.MjSpec, mesh: str, *, visual: bool) -> str:
    name = f"robot/{mesh}" if visual else f"robot/{mesh}_collision"
    vertices, faces = _mesh(mesh, visual)
    spec.add_mesh(name=name, uservert=vertices.ravel(), userface=faces.ravel())
    return name


@cache
def _mesh(mesh: str, visual: bool) -> tuple[Array, npt.NDArray[np.int32]]:
    path = mesh_folder() / ("visual" if visual else "collision") / f"{mesh}.stl"
    vertices, faces = read_stl(path)
    kept = _KEPT.get(mesh, _KEPT_ARM) if visual else 1.0
    if kept < 1.0:
        thin_vertices, thin_faces = fast_simplification.simplify(vertices, faces, target_reduction=1.0 - kept)
        vertices, faces = np.asarray(thin_vertices, dtype=np.float64), np.asarray(thin_faces, dtype=np.int32)
    return vertices, faces


def read_stl(path: Path) -> tuple[Array, npt.NDArray[np.int32]]:
    """Vertices (n, 3) m and triangles (m, 3) of a binary STL file, equal vertices merged."""
    layout = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    with path.open("rb") as file:
        file.seek(84)
        triangles = np.frombuffer(file.read(), dtype=layout)
    vertices, index = np.unique(triangles["corners"].reshape(-1, 3), axis=0, return_inverse=True)
    faces = index.reshape(-1, 3).astype(np.int32)
    distinct = (faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 0] != faces[:, 2])
    return vertices.astype(np.float64), faces[distinct]


@cache
def mesh_folder() -> Path:
    """The folder with Franka's meshes inside the installed gymnasium-robotics package.

    Raises:
        StartError: the package, or the folder in it, is missing.
    """
    found = importlib.util.find_spec("gymnasium_robotics")
    for place in (found.submodule_search_locations or ()) if found else ():
        folder = Path(place) / "envs/assets/kitchen_franka/franka_assets/meshes"
        if folder.is_dir():
            return folder
    raise StartError(
        "the Panda's meshes were not found; they come with gymnasium-robotics 1.4:"
        " run `pip install 'gymnasium-robotics>=1.4,<2'`"
    )
