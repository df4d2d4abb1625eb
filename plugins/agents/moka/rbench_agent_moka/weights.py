"""Files of weights: whether one is what its name says, before anything reads it.

A file that was cut off, a web page saved under the name of a model, or the stand-in that a version control system
leaves in its place are found here and named, instead of by a library's message about pickles.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
import zipfile
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

from rbench.errors import StartError

#: The list of hashes that may stand beside the files, as `sha256sum` writes it.
SUMS = "SHA256SUMS"
#: Endings of files of weights, the one that needs no unpickling first.
ENDINGS = (".safetensors", ".pth", ".pt", ".bin")
#: Longer lists of hashes and headers of tensors are none.
_LONGEST = 100_000_000


@dataclass(frozen=True)
class Published:
    """A released file: its size, how its SHA-256 begins and ends as far as that is published, and where it is."""

    name: str
    bytes: int
    address: str
    begins: str = ""
    ends: str = ""


@cache
def published() -> dict[str, Published]:
    """The released files by name."""
    text = files("rbench_agent_moka").joinpath("published_weights.toml").read_text()
    return {name: Published(name, **facts) for name, facts in tomllib.loads(text).items()}


def checked(path: Path) -> str:
    """The SHA-256 of a file of weights that is whole, and what its name and the list beside it say.

    Raises:
        StartError: it is not; names the file, what is wrong, and what to do.
    """
    glance(path)
    known = published().get(path.name)
    try:
        digest = _sha256(path)
        listed = _listed(path)
    except OSError as problem:
        raise _unreadable(path, problem) from None
    if known and not (digest.startswith(known.begins) and digest.endswith(known.ends)):
        raise _refused(path, f"its SHA-256 is {digest[:12]}.., that of the released file begins {known.begins}", known)
    if listed is not None and listed != digest:
        raise _refused(path, f"its SHA-256 is {digest[:12]}.., {SUMS} says {listed[:12]}..", known)
    return digest


def glance(path: Path) -> None:
    """Look whether a file is one of weights and whole, by its size and by what it begins and ends with.

    Needs no library of models and reads next to nothing; `checked` looks at all of it.

    Raises:
        StartError: it is not; names the file, what is wrong, and what to do.
    """
    try:
        if not path.is_file():
            raise StartError(f"weights {path}: there is no such file; give the folder that holds it")
        _check_content(path, path.stat().st_size, published().get(path.name))
    except OSError as problem:
        raise _unreadable(path, problem) from None


def _check_content(path: Path, size: int, known: Published | None) -> None:
    """Refuse by size and by what the file begins and ends with; reads next to nothing."""
    with path.open("rb") as file:
        head = file.read(512)
    if head.lstrip().startswith(b"<"):
        raise _refused(path, "it is a web page and not a model: the download gave an error page", known)
    if head.startswith(b"version https://git-lfs"):
        raise _refused(path, "it is the stand-in of git-lfs for a file that was not fetched (git lfs pull)", known)
    if known and size != known.bytes:
        raise _refused(path, f"it has {size:,} bytes, the released file {known.bytes:,}", known)
    if path.suffix == ".safetensors":
        whole = _safetensors_end(path, size)
        if whole != size:
            raise _refused(path, f"it is cut off or no safetensors file: {size:,} bytes", known)
    elif head.startswith(b"PK\x03\x04"):
        if not zipfile.is_zipfile(path):  # what a zip file holds is listed at its end
            raise _refused(path, f"it is cut off: {size:,} bytes, and its end is missing", known)
    elif not head.startswith(b"\x80"):  # neither as torch saves since 1.6, nor as before
        raise _refused(path, "it is no file that torch saved", known)


def _safetensors_end(path: Path, size: int) -> int | None:
    """Where the last tensor ends by what the header says; None: there is no header."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(size - 8, _LONGEST):
            return None
        try:
            header = json.loads(file.read(length))
            ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
            return 8 + length + max(ends, default=0)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
            return None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _listed(path: Path) -> str | None:
    """What the list of hashes beside a file says of it."""
    sums = path.parent / SUMS
    if not sums.is_file() or sums.stat().st_size > _LONGEST:
        return None
    for line in sums.read_text(errors="replace").splitlines():
        digest, _, name = line.partition(" ")
        if name.removeprefix(" ").removeprefix("*") == path.name:
            return digest.lower()
    return None


def _unreadable(path: Path, problem: OSError) -> StartError:
    return StartError(f"weights {path}: cannot be read ({problem.strerror}); make it readable")


def _refused(path: Path, why: str, known: Published | None) -> StartError:
    where = f" from {known.address}" if known else " from where it came"
    return StartError(f"weights {path}: {why}. Fetch it again{where}, or give another folder with -o weights=DIR")
