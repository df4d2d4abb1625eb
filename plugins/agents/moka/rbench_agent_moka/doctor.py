"""What `rbench doctor` says of MOKA's perception: which backend can be used, and what the others lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from rbench.doctor.check import Check
from rbench.errors import StartError
from rbench.interfaces.agent import WEIGHTS_VARIABLE
from rbench_agent_moka.backends import BACKENDS, backend_class, detector, segmenter
from rbench_agent_moka.perception import Settings
from rbench_agent_moka.weights import published


def examine(environ: Mapping[str, str]) -> Iterator[Check]:
    """The released files of weights, and for detector and segmenter what `auto` takes; loads what is there."""
    given = environ.get(WEIGHTS_VARIABLE)
    settings = Settings(weights=Path(given).expanduser() if given else None)
    yield _weights(settings.weights)
    yield _part("detector", settings)
    yield _part("segmenter", settings)


def _weights(folder: Path | None) -> Check:
    released = [f"{p.name} ({p.bytes:,} bytes, {p.address})" for p in published().values()]
    if folder is None:
        detail = f"{WEIGHTS_VARIABLE} names no folder; released files are {', '.join(released)}"
        return Check("moka weights", "ok", f"{detail}. docs/moka.md has the folders that transformers takes")
    if not folder.is_dir():
        remedy = f"make it and copy weights there, or unset {WEIGHTS_VARIABLE}"
        return Check("moka weights", "warning", f"{WEIGHTS_VARIABLE}={folder} is no folder", remedy)
    there = [p.name for p in published().values() if (folder / p.name).is_file()]
    lacking = [text for p, text in zip(published().values(), released, strict=True) if p.name not in there]
    return Check(
        "moka weights",
        "ok",
        f"{folder} has {', '.join(there) or 'none'} of the released files; not there: {', '.join(lacking) or 'none'}",
    )


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
