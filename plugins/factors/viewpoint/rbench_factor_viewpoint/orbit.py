"""Orbit poses: cameras on a sphere around a point, all looking at it."""

from __future__ import annotations

from math import cos, radians, sin

from rbench.geometry import Pose, Vec3, look_at, quaternion


def orbit_pose(target: Vec3, radius: float, elevation: float, azimuth: float) -> Pose:
    """Pose of a camera that looks at `target` with the horizon level.

    Args:
        target: the point looked at (m, world frame).
        radius: distance of the camera from it (m).
        elevation: degrees above the horizontal, below 90.
        azimuth: degrees about the vertical; 0 is in front of the robot (+x), 90 to its left (+y).

    Returns:
        The pose in decimals (1e-6 m), so that it is written down and read back without loss.
    """
    e, a = radians(elevation), radians(azimuth)
    offset = (radius * cos(e) * cos(a), radius * cos(e) * sin(a), radius * sin(e))
    x, y, z = (round(t + o, 6) for t, o in zip(target, offset, strict=True))
    eye = (x, y, z)
    return Pose(eye, quaternion([round(value, 9) for value in look_at(eye, target).quaternion]))
