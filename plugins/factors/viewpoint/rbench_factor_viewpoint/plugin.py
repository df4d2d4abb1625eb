"""Hooks of rbench-factor-viewpoint."""

from __future__ import annotations

from collections.abc import Iterable

from rbench.contributions import FactorContribution
from rbench.hookspecs import hookimpl

_VERIFIED = "Every level built and read back in MuJoCo; object and box stay whole in the picture."


@hookimpl
def rbench_factors() -> Iterable[FactorContribution]:
    """The factors `camera-pose`, `camera-euler` and `camera-distance`."""
    yield FactorContribution(
        name="camera-pose",
        summary="Pose of the viewpoint cameras: 21 orbit poses on three rings around the work area.",
        target="rbench_factor_viewpoint.camera_pose:CameraPose",
        options="rbench_factor_viewpoint.camera_pose:Options",
        verified=_VERIFIED,
    )
    yield FactorContribution(
        name="camera-euler",
        summary="Viewpoint cameras turned in place: yaw and pitch of -6, 0 and 6 degrees.",
        target="rbench_factor_viewpoint.camera_euler:CameraEuler",
        options="rbench_factor_viewpoint.camera_euler:Options",
        verified=_VERIFIED,
    )
    yield FactorContribution(
        name="camera-distance",
        summary="Viewpoint cameras moved back along their optical axis by 0 to 0.40 m.",
        target="rbench_factor_viewpoint.camera_distance:CameraDistance",
        options="rbench_factor_viewpoint.camera_distance:Options",
        verified=_VERIFIED,
    )
