"""All checks, in the order in which one is likely the cause of the next."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from rbench.doctor.check import Check
from rbench.doctor.installed import (
    check_contributions,
    check_optional_libraries,
    check_plugins,
    check_ray,
    check_suite,
    check_versions,
)
from rbench.doctor.machine import check_cores, check_disk, check_folder, check_python, check_threads
from rbench.doctor.pictures import check_opengl, check_pictures
from rbench.doctor.vision import check_vision
from rbench.errors import one_line
from rbench.plugins.catalog import Catalog


def examine(catalog: Catalog, environ: Mapping[str, str], folder: Path) -> Iterator[Check]:
    """What works on this machine, one finding after the other. Uses no network and changes nothing.

    Args:
        environ: the environment variables to judge.
        folder: where runs would be written.
    """
    checks: list[tuple[str, Callable[[], Check | Iterable[Check]]]] = [
        ("python", check_python),
        ("versions", lambda: check_versions(catalog)),
        ("plugins", lambda: check_plugins(catalog)),
        ("suite", lambda: check_suite(catalog)),
        ("pictures", lambda: _drawing(environ)),
        ("vision", lambda: check_vision(catalog, environ)),
        ("optional libraries", lambda: check_optional_libraries(catalog)),
        ("plugins' own checks", lambda: check_contributions(catalog, environ)),
        ("ray", check_ray),
        ("cores", check_cores),
        ("threads", lambda: check_threads(environ)),
        ("folder", lambda: check_folder(folder)),
        ("disk", lambda: check_disk(folder)),
    ]
    for name, check in checks:
        try:
            found = check()
            yield from [found] if isinstance(found, Check) else found
        except Exception as problem:  # a machine that surprises us must not hide what the other checks find
            detail = f"could not be checked: {one_line(problem)}"
            yield Check(name, "problem", detail, "rbench --debug doctor shows where; please report it")


def _drawing(environ: Mapping[str, str]) -> Iterator[Check]:
    check, backend = check_opengl(environ)
    yield check
    yield from check_pictures(backend)
