"""Which names of options mean a secret: its value is never shown, written down or logged."""

from __future__ import annotations

import re
from typing import Any

_WORDS = frozenset(
    {"password", "passwd", "passphrase", "secret", "secrets", "authorization", "credentials", "credential"}
)
# `key` and `token` mean a secret only at the end of a name: `api_key`, but not `key_points` or `token_limit`.
_ENDINGS = frozenset({"key", "keys", "token", "tokens", "apikey", "authtoken", "accesstoken"})
_VARIABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


def is_secret(key: str, value: Any) -> bool:
    """Whether the value of an option of this name is a secret.

    The *name* of an environment variable (`api_key_env = "OPENAI_API_KEY"`) is none, nor are flags and counts.
    """
    if value is None or isinstance(value, bool):
        return False
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", key).lower()
    parts = [part for part in re.split(r"[^a-z0-9]+", words) if part]
    if not parts:
        return False
    if parts[-1] in ("env", "variable"):
        return not (isinstance(value, str) and _VARIABLE_NAME.fullmatch(value)) and _names_secret(parts[:-1])
    if parts[-1] in ("keys", "tokens") and isinstance(value, (int, float)):
        return False  # a count
    return _names_secret(parts)


def _names_secret(parts: list[str]) -> bool:
    return bool(parts) and (parts[-1] in _ENDINGS or not _WORDS.isdisjoint(parts))
