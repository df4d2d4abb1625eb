"""Names of reviewers: any text, and the file that the decisions of one are in."""

from __future__ import annotations

import hashlib
import re
import unicodedata

from rbench.errors import UsageError

LONGEST = 80


def reviewer_name(text: object) -> str:
    """A name as it is kept: composed characters, no space around it.

    Raises:
        UsageError: nothing, too long, or with characters that cannot be shown (controls, halves of characters).
    """
    name = unicodedata.normalize("NFC", text).strip() if isinstance(text, str) else ""
    if not name:
        raise UsageError("who reads? Give the name of the reviewer")
    if len(name) > LONGEST:
        raise UsageError(f"the name of a reviewer has {len(name)} characters; give one of at most {LONGEST}")
    if any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in name):
        raise UsageError(f"{name!r} holds characters that cannot be shown; give another name of the reviewer")
    return name


def file_name(name: str) -> str:
    """The file of a reviewer: the name itself when it is plain, else what is plain in it, and a hash."""
    if re.fullmatch(r"[a-z0-9][a-z0-9_-]{0,39}", name):
        return f"{name}.jsonl"
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:30]
    return f"{plain or 'reviewer'}.{hashlib.sha256(name.encode()).hexdigest()[:12]}.jsonl"
