"""Importing targets: with stdout kept clean, and looking for libraries without importing them."""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Iterator
from functools import reduce
from typing import Any


def import_target(target: str) -> Any:
    """Import `"module"` or `"module:attribute"` (the attribute may be dotted).

    Raises:
        ValueError: the target has another form. Anything else that the import raises is passed on.
    """
    module, colon, attribute = target.partition(":")
    names = [*module.split("."), *(attribute.split(".") if colon else [])]
    if not all(name.isidentifier() for name in names):
        raise ValueError(f"target {target!r} is not of the form 'module:attribute'")
    imported = importlib.import_module(module)
    return reduce(getattr, attribute.split("."), imported) if colon else imported


def is_importable(name: str) -> bool:
    """Whether a module is there, judged without importing it or any of its parents."""
    if name in sys.modules:
        return sys.modules[name] is not None
    top, _, rest = name.partition(".")
    try:
        spec = importlib.util.find_spec(top)
        walked = top
        for part in rest.split(".") if rest else ():
            if spec is None or spec.submodule_search_locations is None:
                return False
            walked = f"{walked}.{part}"
            # `importlib.util.find_spec` would import the parent of a dotted name.
            spec = importlib.machinery.PathFinder.find_spec(walked, list(spec.submodule_search_locations))
    except (ImportError, ValueError, AttributeError):
        return False
    return spec is not None


@contextlib.contextmanager
def stdout_to_stderr() -> Iterator[None]:
    """Send what is printed inside to stderr: results on stdout stay machine-readable.

    Covers `print`, `sys.__stdout__` and writes to file descriptor 1, those of child processes included. Text
    that a C library keeps in its own buffer until later is not covered.
    """
    _flush_stdout()
    saved = _point_descriptor_at_stderr()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _flush_stdout()
        if saved is not None:
            os.dup2(saved, 1)
            os.close(saved)


def _flush_stdout() -> None:
    for stream in (sys.stdout, sys.__stdout__):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()  # type: ignore[union-attr]  # both are None in a process without a console


def _point_descriptor_at_stderr() -> int | None:
    """A duplicate of descriptor 1, which now points at descriptor 2; None when either is closed."""
    try:
        saved = os.dup(1)
    except OSError:
        return None
    try:
        os.dup2(2, 1)
    except OSError:
        os.close(saved)
        return None
    return saved
