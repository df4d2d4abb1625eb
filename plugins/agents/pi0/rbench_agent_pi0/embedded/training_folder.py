"""The folder of a training: one writer at a time, and files that belong together."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from torch import Tensor

from rbench.errors import StartError, UsageError
from rbench.results.atomic import remove_leftovers, replacing
from rbench.results.lock import WriterLock, holder
from rbench_agent_pi0.embedded.checkpoint import Head, write_checkpoint
from rbench_agent_pi0.embedded.training_state import About, is_checkpoint_of

STATE, POLICY, SAID, CURVE, LOCK = (
    "state.safetensors",
    "policy.safetensors",
    "training.json",
    "curve.png",
    "training.lock",
)


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Make the folder, keep other trainings out of it, and remove what a killed one left half written.

    Raises:
        UsageError: it is no folder.
        StartError: it cannot be written, or another training writes it now.
    """
    lock = WriterLock(folder / LOCK)
    try:
        if folder.exists() and not folder.is_dir():
            raise UsageError(f"{folder} is no folder; give another one with -o")
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # said now and not after the first hundred steps
            free = lock.acquire()
    except OSError as problem:
        raise StartError(f"{folder} cannot be written ({problem}); give another folder with -o") from problem
    if not free:
        who = holder(lock.path)
        raise StartError(
            f"{folder} is being trained in by {'another process' if who is None else f'process {who}'}; wait for its"
            " end, or give another folder"
        )
    try:
        with told_what_to_do(folder):
            for name in (STATE, POLICY, SAID, CURVE):
                remove_leftovers(folder / name)
        yield
    finally:
        lock.release()


@contextmanager
def told_what_to_do(folder: Path) -> Iterator[None]:
    """Turn a failure to write into what to do about it.

    Raises:
        StartError: it could not be written.
    """
    try:
        yield
    except (OSError, StartError) as problem:
        cause = problem.__cause__ or problem
        raise StartError(
            f"{folder} cannot be written ({cause}); free space or make it writable: the same command goes on"
        ) from problem


def write_policy(folder: Path, weights: Mapping[str, Tensor], head: Head, about: About) -> None:
    """Write what others read: the checkpoint and training.json."""
    write_checkpoint(folder / POLICY, dict(weights), head)
    _write_said(folder, about)


def mend(folder: Path, weights: Mapping[str, Tensor], head: Head, about: About, note: Callable[[str], None]) -> None:
    """Write again what is missing, or not as this training left it, and say so."""
    if not is_checkpoint_of(folder / POLICY, head, weights):
        write_checkpoint(folder / POLICY, dict(weights), head)
        note(f"{folder / POLICY} was missing or not of this training's step {about.step}: written again")
    if _said(folder) != _text(about):
        _write_said(folder, about)
        note(f"{folder / SAID} was missing or not of this training's step {about.step}: written again")


def _write_said(folder: Path, about: About) -> None:
    with replacing(folder / SAID) as file:
        file.write(_text(about))


def _said(folder: Path) -> str | None:
    try:
        return (folder / SAID).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _text(about: About) -> str:
    return json.dumps(about.plain, indent=1, allow_nan=False) + "\n"
