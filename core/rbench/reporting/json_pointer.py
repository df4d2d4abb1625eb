"""Where a value stands in plain data, as text (JSON pointer, RFC 6901)."""

from __future__ import annotations


def pointer(*path: str | int) -> str:
    """`/runs/0/dimensions/color/cv` from keys and indices."""
    return "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
