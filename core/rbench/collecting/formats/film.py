"""Films for trainers: H.264 from which any frame is read quickly."""

from __future__ import annotations

import importlib
import secrets
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from rbench.collecting.collection import cannot_write
from rbench.errors import StartError, UsageError

#: Quality of H.264 (0 lossless .. 51), and a key frame every second frame, as LeRobot has it: trainers jump.
QUALITY, KEY_FRAMES = "18", 2
#: BT.709 with its usual range, said in the file: decoders guess the colours of untagged films, and a red shifts.
_BT709, _LIMITED_RANGE = 1, 1


def check_film(height: int, width: int) -> None:
    """Refuse what cannot become a film.

    Raises:
        UsageError: odd sides, which the usual pixel format does not have. StartError: the library is missing.
    """
    if height % 2 or width % 2:
        raise UsageError(f"{height} x {width}: films need even sides; give another --size, or --pictures png")
    _library()


def film_info(height: int, width: int, rate: int) -> dict[str, Any]:
    """What `meta/info.json` says of a film."""
    return {
        "video.height": height,
        "video.width": width,
        "video.codec": "h264",
        "video.pix_fmt": "yuv420p",
        "video.is_depth_map": False,
        "video.fps": rate,
        "video.channels": 3,
        "has_audio": False,
    }


def write_film(path: Path, pictures: npt.NDArray[np.uint8], rate: int) -> None:
    """Write pictures (n, height, width, 3) as frames 0 .. n-1 at times k / rate; the file appears whole or not at all.

    Raises:
        StoppedEarly: the disk is full or not writable.
    """
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _encode(beside, pictures, rate)
        beside.replace(path)
    except OSError as problem:
        raise cannot_write(path, problem) from problem
    finally:
        with suppress(OSError):
            beside.unlink()


def _encode(path: Path, pictures: npt.NDArray[np.uint8], rate: int) -> None:
    av = _library()
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        # One thread: workers run side by side, and the bytes do not depend on the number of cores.
        stream = container.add_stream("libx264", rate=rate, options={"crf": QUALITY, "threads": "1", "bf": "0"})
        stream.height, stream.width = pictures.shape[1:3]
        stream.pix_fmt = "yuv420p"
        context = stream.codec_context
        context.gop_size = KEY_FRAMES
        context.color_range = _LIMITED_RANGE
        context.colorspace = context.color_primaries = context.color_trc = _BT709
        for number, picture in enumerate(pictures):
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame = frame.reformat(format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG")
            frame.pts = number
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


def _library() -> ModuleType:
    try:
        library = importlib.import_module("av")
    except ImportError as problem:
        raise StartError(
            f"films need PyAV, which the extra rbench[video] names ({problem}): python3 -m pip install 'av>=14'."
            " --pictures png needs nothing more"
        ) from problem
    if "libx264" not in library.codecs_available:
        raise StartError(
            f"this PyAV ({library.__version__}) was built without H.264 (libx264): python3 -m pip install"
            " --force-reinstall --only-binary :all: av. --pictures png needs nothing more"
        )
    return library
