"""Checks of what is installed: rbench's own needs, plugins and their optional libraries, Ray."""

from __future__ import annotations

import importlib.metadata
import shlex
from collections.abc import Iterator, Mapping

from rbench.doctor.check import Check, Status
from rbench.errors import RbenchError, one_line
from rbench.plugins.catalog import Catalog
from rbench.plugins.discovery import FIRST_PARTY, SELECTION_VARIABLE
from rbench.plugins.importing import is_importable
from rbench.results.provenance import versions
from rbench.suites.loading import load_suite

DEFAULT_SUITE = "roboview-bias"


def check_versions(catalog: Catalog) -> Check:
    """Versions of what every run uses, and whether everything that rbench declares is there in a fitting version."""
    found = {name: version for name, version in versions().items() if name != "python"}
    detail = ", ".join(f"{name} {version}" for name, version in found.items())
    try:
        requirements = importlib.metadata.requires("rbench") or []
        # Those of extras are wanted only by who asked for them.
        catalog.require([text for text in requirements if "extra ==" not in text], "rbench")
    except importlib.metadata.PackageNotFoundError:
        return Check("versions", "problem", "rbench is not installed", "python3 -m pip install -r requirements.txt")
    except RbenchError as problem:
        reason, _, command = str(problem).partition(". Fix it with: ")
        return Check("versions", "problem", f"{detail}; {reason}", command or "install rbench again")
    return Check("versions", "ok", detail)


def check_plugins(catalog: Catalog) -> Iterator[Check]:
    """One finding for those that load, and one for each that does not or shares a name."""
    rows = catalog.rows()
    working = {row["distribution"] for row in rows if row["status"] == "ok"}
    contributions = sum(row["kind"] is not None for row in rows)
    yield Check("plugins", "ok", f"{contributions} contributions of {', '.join(sorted(working))}")
    for row in rows:
        if row["status"] == "ok":
            continue
        label = f"{row['distribution']} {row['version']}".rstrip()
        if row["kind"] is not None:
            label = f"{row['kind']} {row['name']} of {label}"
        # rbench goes on without a plugin of somebody else; only what names it cannot start.
        status: Status = "problem" if row["distribution"] in FIRST_PARTY and row["status"] != "blocked" else "warning"
        yield Check(f"plugin {row['distribution']}", status, f"{label}: {row['status']}: {row['error']}", _mend(row))


def _mend(row: dict[str, object]) -> str:
    distribution = shlex.quote(str(row["distribution"]))
    match row["status"]:
        case "blocked":
            return f"unset {SELECTION_VARIABLE}, or add {distribution} to it"
        case "incompatible":
            return f"python3 -m pip install --upgrade {distribution} rbench"
        case "conflict":
            return f"write {distribution}/{row['name']}, or uninstall one of the two"
    return (
        f"python3 -m pip install --upgrade {distribution}, or uninstall it; it needs its author if that does not help"
    )


def check_suite(catalog: Catalog) -> Check:
    """The built-in suite: it needs the factors of three plugins."""
    try:
        suite = load_suite(catalog, DEFAULT_SUITE)
    except RbenchError as problem:
        return Check(
            f"suite {DEFAULT_SUITE}",
            "problem",
            str(problem),
            "python3 -m pip install -r requirements.txt (in the clone)",
        )
    return Check(f"suite {DEFAULT_SUITE}", "ok", f"hash {suite.hash[:12]}, {len(suite.dimensions)} dimensions")


def check_optional_libraries(catalog: Catalog) -> Iterator[Check]:
    """One finding for each contribution that lacks a library, or one that says that none does."""
    missing = [entry for entry in catalog.entries() if entry.missing]
    for entry in missing:
        packages = " ".join(dict.fromkeys(name.partition(".")[0] for name in entry.missing))
        yield Check(
            f"{entry.kind} {entry.qualified}",
            "warning",
            f"needs {', '.join(entry.missing)}, not installed",
            f"python3 -m pip install {packages} (the README of {entry.distribution} says more)",
        )
    if not missing:
        names = sorted({need for entry in catalog.entries() for need in entry.contribution.needs})
        yield Check("optional libraries", "ok", f"all there: {', '.join(names)}" if names else "no plugin names any")


def check_contributions(catalog: Catalog, environ: Mapping[str, str]) -> Iterator[Check]:
    """What contributions say of themselves; one that cannot is a finding of its own."""
    for entry in catalog.entries():
        if entry.contribution.doctor is None:
            continue
        try:
            yield from entry.doctor()(environ)
        except Exception as problem:  # somebody's plugin must not hide what the others say
            yield Check(
                f"{entry.kind} {entry.qualified}",
                "warning",
                f"its own check failed: {one_line(problem)}",
                f"python3 -m pip install --upgrade {entry.distribution}; tell its author if that does not help",
            )


def check_ray() -> Check:
    """Whether runs can use a Ray cluster."""
    if not is_importable("ray"):
        return Check("ray", "ok", "not installed; only --executor ray needs it")
    try:
        version = importlib.metadata.version("ray")
    except importlib.metadata.PackageNotFoundError:
        version = "of unknown version"
    return Check("ray", "ok", f"ray {version}")
