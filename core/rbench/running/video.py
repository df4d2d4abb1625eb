"""Video files: H.264 that browsers play, and without its library animated or still pictures.

The suffix decides: `.mp4` needs PyAV (extra `video`), `.gif` and `.png` (a strip of moments) need nothing more. A file
appears whole or not at all.
"""

from __future__ import annotations

import importlib
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from rbench.errors import StartError, UsageError

Picture = npt.NDArray[np.uint8]

#: Quality of H.264 (0 lossless .. 51): to the eye nothing is lost.
_QUALITY = "20"
#: BT.709 with its usual range, said in the file: untagged colours are guessed by their height, and a red shifts.
_BT709, _LIMITED_RANGE = 1, 1
#: Moments on a strip, and how many side by side.
_STRIP, _STRIP_COLUMNS = 12, 4
#: Frames of a GIF are at least this long (1/100 s): browsers slow down what is faster.
_SHORTEST_GIF_FRAME = 2


@dataclass(frozen=True)
class Film:
    """What is known of a film before its first picture.

    Attributes:
        title: what players show as its name.
        fps: pictures a second.
        pictures: how many there will be; fewer if something ends early.
    """

    title: str
    fps: int
    pictures: int


class VideoFile(ABC):
    """A film being written, picture by picture, all of one size."""

    @abstractmethod
    def add(self, picture: Picture) -> None:
        """Append a picture (height, width, 3)."""

    @abstractmethod
    def finish(self) -> None:
        """Write what is left and close the file."""

    def abandon(self) -> None:  # noqa: B027 - most have nothing open
        """Let go of the file without finishing it."""


@contextmanager
def writing_video(path: Path, film: Film) -> Iterator[VideoFile]:
    """Open a video file; it appears when the block ends well.

    Raises:
        UsageError: an unknown suffix. StartError: the library for it is missing, or the file cannot be written.
    """
    kinds: dict[str, Callable[[Path, Film], VideoFile]] = {".mp4": _H264, ".gif": _Gif, ".png": _Strip}
    kind = kinds.get(path.suffix.lower())
    if kind is None:
        raise UsageError(f"{path}: cannot write a {path.suffix or 'file without suffix'}; choose .mp4, .gif or .png")
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        video = kind(beside, film)
        try:
            yield video
            video.finish()
        except BaseException:
            video.abandon()
            raise
        beside.replace(path)
    except OSError as problem:
        what = problem.strerror or problem
        raise StartError(f"{path}: cannot be written ({what}); choose another place or free space") from problem
    finally:
        with suppress(OSError):
            beside.unlink()


class _H264(VideoFile):
    def __init__(self, path: Path, film: Film) -> None:
        self._av = _library()
        self._container = self._av.open(
            str(path), "w", format="mp4", options={"movflags": "+faststart"}, metadata_errors="replace"
        )
        self._container.metadata["title"] = film.title
        self._fps = film.fps
        self._stream: Any = None
        self._count = 0

    def add(self, picture: Picture) -> None:
        if self._stream is None:
            self._stream = self._opened_stream(picture)
        frame = self._av.VideoFrame.from_ndarray(picture, format="rgb24")
        frame = frame.reformat(format="yuv420p", dst_colorspace="ITU709", dst_color_range="MPEG")
        frame.pts = self._count
        self._count += 1
        self._container.mux(self._stream.encode(frame))

    def finish(self) -> None:
        if self._stream is not None:
            self._container.mux(self._stream.encode(None))
        self._container.close()

    def abandon(self) -> None:
        self._container.close()

    def _opened_stream(self, picture: Picture) -> Any:
        height, width = picture.shape[:2]
        stream = self._container.add_stream(
            # A key frame every second, so that players can jump; one thread, so that workers may go on.
            "libx264",
            rate=self._fps,
            options={"crf": _QUALITY, "preset": "medium", "threads": "1"},
        )
        stream.height, stream.width, stream.pix_fmt = height, width, "yuv420p"
        context = stream.codec_context
        context.gop_size = self._fps
        context.color_range = _LIMITED_RANGE
        context.colorspace = context.color_primaries = context.color_trc = _BT709
        return stream


class _Gif(VideoFile):
    def __init__(self, path: Path, film: Film) -> None:
        self._path, self._film = path, film
        self._pictures: list[Image.Image] = []

    def add(self, picture: Picture) -> None:
        # Each with colours of its own: 256 for a whole film would move the colour that is being studied.
        self._pictures.append(Image.fromarray(picture).quantize(256, dither=Image.Dither.NONE))

    def finish(self) -> None:
        hundredths = max(_SHORTEST_GIF_FRAME, round(100 / self._film.fps))
        first, *others = self._pictures
        first.save(
            self._path, "GIF", save_all=True, append_images=others, duration=10 * hundredths, loop=0,
            comment=self._film.title.encode("ascii", "replace"),
        )  # fmt: skip


class _Strip(VideoFile):
    def __init__(self, path: Path, film: Film) -> None:
        self._path = path
        last = film.pictures - 1
        self._moments = sorted({round(k * last / (_STRIP - 1)) for k in range(_STRIP)})
        self._count = 0
        self._shown: list[Image.Image] = []

    def add(self, picture: Picture) -> None:
        if self._count in self._moments:
            self._shown.append(Image.fromarray(picture))
        self._count += 1

    def finish(self) -> None:
        width, height = self._shown[0].size
        columns = min(_STRIP_COLUMNS, len(self._shown))
        sheet = Image.new("RGB", (columns * width, ceil(len(self._shown) / columns) * height))
        for number, picture in enumerate(self._shown):
            row, column = divmod(number, columns)
            sheet.paste(picture, (column * width, row * height))
        sheet.save(self._path, "PNG")


def _library() -> ModuleType:
    try:
        library = importlib.import_module("av")
    except ImportError as problem:
        raise StartError(
            f"an .mp4 needs PyAV, which the extra rbench[video] names ({problem}): python3 -m pip install 'av>=14'."
            " A .gif or .png needs nothing more"
        ) from problem
    if "libx264" not in library.codecs_available:
        raise StartError(
            f"this PyAV ({library.__version__}) was built without H.264 (libx264): python3 -m pip install"
            " --force-reinstall --only-binary :all: av. A .gif or .png needs nothing more"
        )
    return library
