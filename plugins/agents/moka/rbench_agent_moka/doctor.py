"""What `rbench doctor` says of MOKA's perception: which backend can be used, and what the others lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from rbench.doctor.check import Check
from rbench.errors import StartError
from rbench.interfaces.agent import WEIGHTS_VARIABLE
from rbench_agent_moka.backends import BACKENDS, automatic, backend_class, detector, segmenter
from rbench_agent_moka.perception import Settings
from rbench_agent_moka.weights import glance, published


def examine(environ: Mapping[str, str]) -> Iterator[Check]:
    """The released files of weights, and for detector and segmenter what `auto` takes; loads what is there."""
    given = environ.get(WEIGHTS_VARIABLE)
    settings = Settings(weights=Path(given).expanduser() if given else None)
    yield _weights(settings)
    yield _part("detector", settings)
    yield _part("segmenter", settings)


def _weights(settings: Settings) -> Check:
    folder = settings.weights
    released = [f"{p.name} ({p.bytes:,} bytes, {p.address})" for p in published().values()]
    if folder is None:
        detail = f"{WEIGHTS_VARIABLE} names no folder; released files are {', '.join(released)}"
        return Check("moka weights", "ok", f"{detail}. docs/moka.md has the folders that transformers takes")
    if not folder.is_dir():
        remedy = f"make it and copy weights there, or unset {WEIGHTS_VARIABLE}"
        return Check("moka weights", "warning", f"{WEIGHTS_VARIABLE}={folder} is no folder", remedy)
    there = [p.name for p in published().values() if (folder / p.name).is_file()]
    lacking = [text for p, text in zip(published().values(), released, strict=True) if p.name not in there]
    detail = (
        f"{folder} has {', '.join(there) or 'none'} of the released files; not there: {', '.join(lacking) or 'none'}"
    )
    bad = list(_bad_files(settings, [folder / name for name in there]))
    if bad:
        return Check("moka weights", "warning", f"{'; '.join(bad)}. {detail}", "mend or move the files named here")
    idle = _files_without_library(settings)
    if idle:
        extras = ",".join(sorted(idle))
        found = "; ".join(f"no installed library loads {', '.join(files)}" for files in idle.values())
        remedy = f"python3 -m pip install './plugins/agents/moka[{extras}]' (in the clone)"
        return Check("moka weights", "warning", f"{found}. {detail}", remedy)
    return Check("moka weights", "ok", detail)


def _bad_files(settings: Settings, released: Sequence[Path]) -> Iterator[str]:
    """What is wrong with files of weights, as far as can be seen without a library."""
    found = [file for backend in automatic() for file in backend.files(settings)]
    for file in dict.fromkeys([*released, *found]):
        try:
            glance(file)
        except StartError as problem:
            yield str(problem)


def _files_without_library(settings: Settings) -> dict[str, list[str]]:
    """By the extra that would install a library for them, the files that none that is installed can load."""
    usable: set[Path] = set()
    waiting: dict[Path, str] = {}
    for backend in automatic():
        files = backend.files(settings)
        if backend.without() is None:
            usable.update(files)
        else:
            waiting.update(dict.fromkeys(files, backend.extra))
    by_extra: dict[str, list[str]] = {}
    for file, extra in waiting.items():
        if file not in usable:
            root = settings.weights or file.parent
            by_extra.setdefault(extra, []).append(str(file.relative_to(root)))
    return by_extra


def _part(part: str, settings: Settings) -> Check:
    """What `auto` takes for one part, loaded to see that it can be."""
    name = f"moka {part}"
    lacks = []
    for listed in BACKENDS:
        target = getattr(listed, part)
        if target is None or not listed.automatic:
            continue
        why = backend_class(target).missing(settings)
        if why is not None:
            lacks.append(f"{listed.name}: {why}")
            continue
        try:
            _, made = (detector if part == "detector" else segmenter)(listed.name, settings)
        except StartError as problem:
            return Check(name, "warning", f"{listed.name}: {problem}", "mend or move the file, or see docs/moka.md")
        loaded = ", ".join(f"{file} sha256 {digest[:12]}" for file, digest in made.weights.items())
        return Check(name, "ok", "; ".join([f"{listed.name}{f' loads {loaded}' if loaded else ''}", *lacks]))
    return Check(name, "warning", "; ".join(lacks), "python3 -m pip install -r requirements.txt (in the clone)")
