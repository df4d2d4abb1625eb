"""Transcripts: everything that one episode asked a vision model, and what came back.

```
artifacts/transcripts/<episode id>.json    {schema, episode, questions: [...]}
artifacts/images/<sha256>.png              every picture once, whatever asked about it
```
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rbench.errors import UsageError

SCHEMA = 1
TRANSCRIPTS, IMAGES = Path("artifacts", "transcripts"), Path("artifacts", "images")

#: Characters of one reply that are kept: as many as the parser looks at.
RAW_LIMIT = 200_000


@dataclass(frozen=True)
class Transcript:
    """The questions of one episode, in the order they were asked, as plain data (JSON in and out).

    Attributes:
        episode: its id.
        questions: `question`, `key`, `prompt`, `images` (hashes), `backend`, `outcome`, `value`, `repairs`, `raw`,
            `usage`, `seconds`, and `error` when there was no answer.
        images: PNG files in base64, by hash.
    """

    episode: str
    questions: tuple[Mapping[str, Any], ...]
    images: Mapping[str, str]

    def files(self) -> Iterator[tuple[Path, bytes]]:
        """The files that it becomes, with their places in a run directory; pictures first."""
        for name, picture in self.images.items():
            yield IMAGES / f"{name}.png", base64.b64decode(picture)
        plain = {"schema": SCHEMA, "episode": self.episode, "questions": self.questions}
        # ASCII: whatever a model said, the file is text that every program can show.
        yield transcript_path(self.episode), (json.dumps(plain, indent=1, allow_nan=False) + "\n").encode("ascii")


def transcript_path(episode: str) -> Path:
    """Where the transcript of an episode stands in a run directory."""
    return TRANSCRIPTS / f"{episode}.json"


def read_transcripts(place: Path) -> Iterator[Mapping[str, Any]]:
    """The transcripts of a run directory, of a folder that holds some, or of one file, in order of their episodes.

    Raises:
        UsageError: there are none, or one is damaged.
    """
    folder = place / TRANSCRIPTS if (place / TRANSCRIPTS).is_dir() else place
    files = sorted(folder.rglob("*.json")) if folder.is_dir() else [folder]
    files = [file for file in files if file.name != "manifest.json"]
    if not folder.exists() or not files:
        raise UsageError(
            f"{place} holds no transcripts; give the directory of a run that kept them (vision option transcripts)"
        )
    for file in files:
        yield _read(file)


def _read(file: Path) -> Mapping[str, Any]:
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as problem:
        raise UsageError(f"{file} cannot be read ({problem}); take it from a backup of its run") from None
    questions = data.get("questions") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(questions, list) or not isinstance(data.get("episode"), str):
        raise UsageError(f"{file} is no transcript of an episode; give a run directory that kept transcripts")
    if data.get("schema") != SCHEMA:
        raise UsageError(f"{file} has schema {data.get('schema')!r}, and this rbench reads {SCHEMA}; upgrade rbench")
    if not all(isinstance(entry, dict) for entry in questions):
        raise UsageError(f"{file} is damaged: a question is no table; take it from a backup of its run")
    return data
