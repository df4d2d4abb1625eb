"""Where in the user's folder the weights of a model are; nothing is ever fetched."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from rbench_agent_moka.weights import ENDINGS, published

#: A description of a model is some kilobytes.
_LONGEST = 1_000_000


def model_folder(root: Path | None, model_type: str) -> Path | None:
    """The folder, `root` itself or one in it, that holds a model of that type as transformers saves it.

    Args:
        model_type: what `config.json` says, such as `sam`.
    """
    return next((folder for folder in _folders(root) if _model_type(folder) == model_type), None)


def weights_file(root: Path | None, beginning: str) -> Path | None:
    """The file, `root` itself or one in it, whose name begins so; of several a released one, then safetensors first."""
    if root is not None and root.is_file():
        return root if root.name.startswith(beginning) or root.suffix in ENDINGS else None
    found = [path for path in _entries(root) if path.name.startswith(beginning) and path.suffix in ENDINGS]
    released = list(published())
    order = {name: place for place, name in enumerate(released)}
    return min(
        (path for path in found if path.is_file()),
        key=lambda path: (ENDINGS.index(path.suffix), order.get(path.name, len(released)), path.name),
        default=None,
    )


def files_of(folder: Path) -> list[Path]:
    """The files of weights of a model that transformers saved: safetensors if there are any."""
    for ending in ENDINGS:
        found = sorted(path for path in _entries(folder) if path.suffix == ending and path.is_file())
        if found:
            return found
    return []


def _folders(root: Path | None) -> Iterator[Path]:
    if root is not None and root.is_dir():
        yield root
        yield from (path for path in sorted(_entries(root)) if path.is_dir())


def _entries(root: Path | None) -> list[Path]:
    try:
        return list(root.iterdir()) if root is not None and root.is_dir() else []
    except OSError:
        return []


def _model_type(folder: Path) -> str | None:
    path = folder / "config.json"
    try:
        if not path.is_file() or path.stat().st_size > _LONGEST:
            return None
        config = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    found = config.get("model_type") if isinstance(config, dict) else None
    return found if isinstance(found, str) else None
