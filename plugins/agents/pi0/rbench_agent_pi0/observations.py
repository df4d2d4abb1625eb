"""An observation as DROID's policies take it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from rbench.observation import Observation
from rbench_agent_pi0.options import Options

#: What `gray` puts in place of a picture.
GRAY = 128


def droid_observation(observation: Observation, instruction: str, options: Options, size: int) -> dict[str, Any]:
    """The keys of openpi's DROID policies: two uint8 RGB pictures, joints (7,) rad, gripper (1,) 0 open .. 1 closed.

    Raw values: normalisation is the policy's. Pictures are letterboxed to squares of `size`; 0: they stay as they are.
    """
    return {
        "observation/exterior_image_1_left": _picture(observation, options.exterior, size, options.gray == "exterior"),
        "observation/wrist_image_left": _picture(observation, options.wrist, size, options.gray == "wrist"),
        "observation/joint_position": observation.joint_positions.astype(np.float32),
        "observation/gripper_position": np.array([observation.gripper], dtype=np.float32),
        "prompt": instruction,
    }


def letterboxed(image: npt.NDArray[np.uint8], height: int, width: int) -> npt.NDArray[np.uint8]:
    """The picture as large as fits, its shape kept, in the middle of black: openpi's resize_with_pad, bilinear."""
    if image.shape[:2] == (height, width):
        return image
    ratio = max(image.shape[1] / width, image.shape[0] / height)
    inner_height, inner_width = max(1, int(image.shape[0] / ratio)), max(1, int(image.shape[1] / ratio))
    resized = Image.fromarray(image).resize((inner_width, inner_height), Image.Resampling.BILINEAR)
    top, left = (height - inner_height) // 2, (width - inner_width) // 2
    result = np.zeros((height, width, 3), dtype=np.uint8)
    result[top : top + inner_height, left : left + inner_width] = np.asarray(resized)
    return result


def _picture(observation: Observation, camera: str, size: int, gray: bool) -> npt.NDArray[np.uint8]:
    view = observation.cameras[camera]
    # A picture that nobody sees is not rendered.
    image = np.full((view.height, view.width, 3), GRAY, dtype=np.uint8) if gray else view.rgb
    return letterboxed(image, size, size) if size else image
