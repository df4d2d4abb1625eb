"""Keys, and every form in which a server could send one back.

Whatever comes from a server goes through a `Redactor` before it reaches an answer, a message, a log or a file.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import quote, quote_plus

REDACTED = "[redacted]"

#: Shorter texts are no secret to speak of, and replacing them everywhere would garble what is none.
SHORTEST_SECRET = 6
_SHORTEST_BASE64 = 8
#: Zero-width characters and soft hyphens, as such or as JSON escapes.
_UNSEEN = r"(?:[\u200b-\u200f\u2060\ufeff\u00ad]|\\u(?i:200[b-f]|2060|feff|00ad))*"


class Redactor:
    """Takes secrets out of texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        known = {secret for secret in secrets if len(secret) >= SHORTEST_SECRET}
        #: The secrets and their encoded forms.
        self.forms = frozenset(form for secret in known for form in _forms(secret))
        longest_first = sorted(self.forms, key=len, reverse=True)
        spelt = [_spelt(secret) for secret in sorted(known, key=len, reverse=True)]
        self._pattern = re.compile("|".join([*spelt, *map(re.escape, longest_first)])) if known else None

    def clear(self, text: str) -> str:
        """The text with every form of a secret replaced."""
        return text if self._pattern is None else self._pattern.sub(REDACTED, text)

    def clear_plain(self, value: Any) -> Any:
        """Plain data with every text in it cleared, keys of mappings too."""
        if isinstance(value, str):
            return self.clear(value)
        if isinstance(value, dict):
            return {self.clear(str(key)): self.clear_plain(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.clear_plain(item) for item in value]
        return value


def _spelt(secret: str) -> str:
    """A pattern of a secret in which any letter is a JSON escape, and between which invisible ones stand."""
    letters = (f"(?:{re.escape(c)}|\\\\u(?i:{ord(c):04x}))" for c in secret)
    return _UNSEEN.join(letters)


def _forms(secret: str) -> Iterator[str]:
    yield secret
    data = secret.encode()
    for encoded in (quote(secret, safe=""), quote_plus(secret), "".join(f"%{byte:02X}" for byte in data)):
        yield encoded
        yield re.sub("%[0-9A-F]{2}", lambda match: match.group().lower(), encoded)
    yield json.dumps(secret)[1:-1]
    yield html.escape(secret)
    yield data.hex()
    yield data.hex().upper()
    yield from _inside_base64(data)


def _inside_base64(data: bytes) -> Iterator[str]:
    """What of a secret stands in the base64 of any longer text that holds it, such as `user:secret`.

    The secret may begin at three places relative to the groups of three bytes; the characters at its ends that
    also depend on its neighbours are left out.
    """
    for before in range(3):
        padded = bytes(before) + data
        text = base64.b64encode(padded).decode("ascii")
        inside = text[(0, 2, 3)[before] : 8 * len(padded) // 6]
        if len(inside) >= _SHORTEST_BASE64:
            yield inside
            yield inside.translate(str.maketrans("+/", "-_"))
