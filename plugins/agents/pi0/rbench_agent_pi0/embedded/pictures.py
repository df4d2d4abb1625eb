"""A camera's picture as the embedded policy sees it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from PIL import Image

from rbench.errors import AgentError
from rbench_agent_pi0.embedded.design import Eye

Picture = npt.NDArray[np.uint8]


def seen(picture: Picture, eye: Eye) -> Picture:
    """The crop (height, width, 3) uint8 that an eye takes of a square picture, averaged down to its size.

    Raises:
        AgentError: the picture is not square: the policy would see it stretched.
    """
    if picture.ndim != 3 or picture.shape[0] != picture.shape[1] or picture.shape[2] != 3:
        raise AgentError(
            f"agent 'pi0': the embedded policy was trained on square pictures, and {eye.camera!r} gives one of shape"
            f" {picture.shape}; leave out height, width and image_size, or give -o height=128 -o width=128"
            " -o image_size=0"
        )
    side = picture.shape[0]
    left, top, right, bottom = (share * side for share in eye.crop)
    image = Image.fromarray(np.ascontiguousarray(picture, dtype=np.uint8))
    small = image.resize((eye.size, eye.size), Image.Resampling.BOX, box=(left, top, right, bottom))
    return np.asarray(small)
