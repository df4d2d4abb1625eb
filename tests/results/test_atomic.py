"""Replacing files: only regular files are replaced, and they keep what belongs to their place."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from rbench.results import atomic
from rbench.results.atomic import remove_leftovers, replacing, replacing_binary


def write(path: Path, text: str, binary: bool) -> None:
    if binary:
        with replacing_binary(path) as raw:
            raw.write(text.encode())
    else:
        with replacing(path) as file:
            file.write(text)


either = pytest.mark.parametrize("binary", [False, True], ids=["text", "bytes"])


@either
def test_a_fifo_is_written_and_stays_one(tmp_path: Path, binary: bool) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(fifo.read_text()), daemon=True)
    reader.start()
    write(fifo, "rows\n", binary)
    reader.join(10)
    assert read == ["rows\n"]
    assert stat.S_ISFIFO(fifo.stat().st_mode)
    assert list(tmp_path.iterdir()) == [fifo]


@either
def test_what_stands_for_an_open_file_is_written_and_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, binary: bool
) -> None:
    # As with /dev/stdout, which leads to a regular file when output is sent to one.
    devices = tmp_path / "dev"
    devices.mkdir()
    target = tmp_path / "rows"
    target.touch()
    inode = target.stat().st_ino
    (devices / "stdout").symlink_to(target)
    monkeypatch.setattr(atomic, "_OPEN_FILES", (devices,))
    write(devices / "stdout", "rows", binary)
    assert (target.read_text(), target.stat().st_ino) == ("rows", inode)
    assert (devices / "stdout").is_symlink()


@either
@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_stays_and_its_file_is_replaced(tmp_path: Path, binary: bool, exists: bool) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    link, target = tmp_path / "link", folder / "file"
    if exists:
        target.write_text("old")
    link.symlink_to(target)
    write(link, "new", binary)
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert [*folder.iterdir()] == [target]


@either
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_an_existing_file_keeps_its_permissions(tmp_path: Path, binary: bool, mode: int) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    write(path, "new", binary)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("new", mode)


@either
def test_permissions_are_there_before_anything_is_written(tmp_path: Path, binary: bool) -> None:
    path = tmp_path / "file"
    path.touch(0o600)
    with (replacing_binary if binary else replacing)(path):
        (part,) = tmp_path.glob(".file.*.part")
        assert stat.S_IMODE(part.stat().st_mode) == 0o600


def test_what_fails_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as file:
        file.write("new")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError), replacing(tmp_path):
        pass
    assert tmp_path.is_dir()


def test_what_a_killed_writer_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    others = [".rows.part", ".rows.0123abcd.part.old", ".rowsx.0123abcd.part", "rows", ".rows.0123ABCD.part"]
    for name in (*others, ".rows.0123abcd.part", ".rows.ffffffff.part"):
        (tmp_path / name).touch()
    (tmp_path / ".rows.00000000.part").mkdir()
    remove_leftovers(tmp_path / "rows")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*others, ".rows.00000000.part"])


def test_leftovers_are_removed_where_a_link_leads(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / ".rows.0123abcd.part").touch()
    (tmp_path / "link").symlink_to(tmp_path / "there" / "rows")
    remove_leftovers(tmp_path / "link")
    assert list((tmp_path / "there").iterdir()) == []
