"""Video files: what is in them, that colours and directions stay as they are, and what happens when they fail."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from rbench.errors import StartError, UsageError
from rbench.running.video import Film, writing_video

Picture = npt.NDArray[np.uint8]
RED, BLUE, WOOD = (200, 30, 20), (20, 40, 190), (80, 52, 44)


@pytest.fixture
def picture() -> Picture:
    """Something red above and left of something blue: flips, mirrors and swapped channels all show."""
    picture = np.full((120, 160, 3), WOOD, dtype=np.uint8)
    picture[16:48, 16:64] = RED
    picture[72:104, 96:144] = BLUE
    return picture


def write(path: Path, pictures: list[Picture], fps: int = 20) -> None:
    with writing_video(path, Film("color/red/base#0", fps, len(pictures))) as video:
        for picture in pictures:
            video.add(picture)


def decoded(path: Path) -> list[Picture]:
    av = pytest.importorskip("av")
    with av.open(str(path)) as container:
        return [rgb(frame.to_ndarray(format="yuv420p")) for frame in container.decode(video=0)]


def rgb(planes: Picture) -> Picture:
    """BT.709 with limited range, by its formula: not by the library that wrote the file."""
    height, width = planes.shape[0] * 2 // 3, planes.shape[1]
    y = (planes[:height].astype(float) - 16) * 255 / 219
    halves = planes[height:].reshape(2, height // 2, width // 2).astype(float) - 128
    u, v = (half.repeat(2, axis=0).repeat(2, axis=1) * 255 / 224 for half in halves)
    channels = (y + 1.5748 * v, y - 0.1873 * u - 0.4681 * v, y + 1.8556 * u)
    return np.clip(np.stack(channels, axis=-1).round(), 0, 255).astype(np.uint8)


def center(mask: npt.NDArray[np.bool_]) -> tuple[float, float]:
    rows, columns = np.nonzero(mask)
    return float(rows.mean()), float(columns.mean())


def assert_as_drawn(shown: Picture, picture: Picture, tolerance: int) -> None:
    red = (shown[..., 0] > 120) & (shown[..., 2] < 80)
    blue = (shown[..., 2] > 120) & (shown[..., 0] < 80)
    assert center(red) == pytest.approx((31.5, 39.5), abs=1)
    assert center(blue) == pytest.approx((87.5, 119.5), abs=1)
    for row, column in ((32, 40), (88, 120), (10, 150)):
        assert np.abs(shown[row, column].astype(int) - picture[row, column]).max() <= tolerance


def test_an_mp4_is_what_browsers_play(tmp_path: Path, picture: Picture) -> None:
    av = pytest.importorskip("av")
    write(tmp_path / "a.mp4", [picture] * 41)
    with av.open(str(tmp_path / "a.mp4")) as container:
        stream = container.streams.video[0]
        context = stream.codec_context
        assert (context.name, stream.profile, context.pix_fmt) == ("h264", "High", "yuv420p")
        assert (context.height, context.width) == (120, 160)
        assert (stream.average_rate, stream.frames) == (20, 41)
        assert float(stream.duration * stream.time_base) == pytest.approx(2.05)
        assert (context.colorspace, context.color_range) == (1, 1)  # BT.709, limited range
        assert container.metadata["title"] == "color/red/base#0"
        assert sum(packet.is_keyframe for packet in container.demux(stream) if packet.size) >= 3
    content = (tmp_path / "a.mp4").read_bytes()
    assert content.index(b"moov") < content.index(b"mdat")  # players start before they have all of it


def test_the_same_pictures_give_the_same_file(tmp_path: Path, picture: Picture) -> None:
    pytest.importorskip("av")
    for name in ("a.mp4", "b.mp4"):
        write(tmp_path / name, [picture] * 5)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()


def test_an_mp4_keeps_colours_and_directions(tmp_path: Path, picture: Picture) -> None:
    # Seen elsewhere: frames upside down, mirrored, or with red and blue swapped.
    write(tmp_path / "a.mp4", [picture] * 3)
    frames = decoded(tmp_path / "a.mp4")
    assert len(frames) == 3
    for frame in frames:
        assert_as_drawn(frame, picture, tolerance=5)


def test_a_gif_keeps_colours_directions_and_speed(tmp_path: Path, picture: Picture) -> None:
    dark = picture // 2
    write(tmp_path / "a.gif", [picture, dark, picture], fps=20)
    with Image.open(tmp_path / "a.gif") as gif:
        assert (gif.format, getattr(gif, "n_frames", 1), gif.info["loop"]) == ("GIF", 3, 0)
        assert gif.info["duration"] == 50
        assert_as_drawn(np.asarray(gif.convert("RGB")), picture, tolerance=2)
        gif.seek(1)
        assert np.abs(np.asarray(gif.convert("RGB")).astype(int) - dark).max() <= 2


def test_a_png_is_a_strip_of_moments_from_first_to_last(tmp_path: Path) -> None:
    pictures = [np.full((20, 30, 3), n, dtype=np.uint8) for n in range(101)]
    write(tmp_path / "a.png", pictures)
    sheet = np.asarray(Image.open(tmp_path / "a.png"))
    assert sheet.shape == (60, 120, 3)
    moments = [int(sheet[20 * row + 5, 30 * column + 5, 0]) for row in range(3) for column in range(4)]
    assert moments[0] == 0
    assert moments[-1] == 100
    assert moments == sorted(moments)
    assert max(np.diff(moments)) - min(np.diff(moments)) <= 1


def test_a_film_of_one_picture_is_a_film(tmp_path: Path, picture: Picture) -> None:
    for suffix in ("mp4", "gif", "png"):
        write(tmp_path / f"a.{suffix}", [picture])
        assert (tmp_path / f"a.{suffix}").stat().st_size > 0


@pytest.mark.parametrize("name", ["a.avi", "a", "a.mp4.txt"])
def test_another_suffix_is_refused_with_those_that_work(tmp_path: Path, picture: Picture, name: str) -> None:
    with pytest.raises(UsageError, match=r"choose \.mp4, \.gif or \.png"):
        write(tmp_path / name, [picture])


def test_without_its_library_an_mp4_says_what_to_install(
    tmp_path: Path, picture: Picture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "av", None)
    with pytest.raises(StartError, match=r"rbench\[video\].*pip install 'av>=14'.*\.gif or \.png needs nothing more"):
        write(tmp_path / "a.mp4", [picture])
    write(tmp_path / "a.gif", [picture])
    assert [path.name for path in tmp_path.iterdir()] == ["a.gif"]


@pytest.mark.parametrize("suffix", ["mp4", "gif", "png"])
@pytest.mark.parametrize("pictures", [0, 2])
def test_a_film_that_is_not_finished_leaves_the_old_file(
    tmp_path: Path, picture: Picture, suffix: str, pictures: int
) -> None:
    target = tmp_path / f"a.{suffix}"
    target.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), writing_video(target, Film("t", 20, 9)) as video:
        for _ in range(pictures):
            video.add(picture)
        raise KeyboardInterrupt
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("suffix", ["mp4", "gif", "png"])
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, picture: Picture, suffix: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match=r"file/a\..*cannot be written .*choose another place"):
        write(tmp_path / "file" / f"a.{suffix}", [picture])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_said(tmp_path: Path, picture: Picture, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("av")
    opened: list[Any] = []
    real = Path.with_name

    def onto_full_disk(path: Path, name: str) -> Path:
        link = real(path, name)
        link.symlink_to("/dev/full")
        opened.append(link)
        return link

    monkeypatch.setattr(Path, "with_name", onto_full_disk)
    with pytest.raises(StartError, match=r"a\.mp4: cannot be written \(No space left on device\).*free space"):
        write(tmp_path / "a.mp4", [picture] * 10)
    assert opened
    assert not (tmp_path / "a.mp4").exists()
