"""What vision models were asked and what that cost, in one line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def questions_asked(usage: Mapping[str, Any], replayed: bool = False) -> str:
    """The line for a table or a status.

    Args:
        usage: `rbench.results.vision_usage.vision_usage`.
        replayed: the answers were recorded before, so the tokens and the money are those of the recording.
    """
    models = ", ".join(usage["models"]) or "a model without a name"
    parts = [f"{usage['calls']:,} questions ({usage['calls'] / usage['episodes']:.1f} an episode) to {models}"]
    if usage["tokens_in"] is not None and usage["tokens_out"] is not None:
        parts.append(f"{usage['tokens_in']:,} tokens in, {usage['tokens_out']:,} out")
        parts.append("cost not known" if usage["cost"] is None else f"{usage['cost']:.4g} US dollars")
    if usage["seconds"] is not None:
        parts.append(f"{usage['seconds'] / usage['calls']:.2f} s each")
    return f"vision: {'; '.join(parts)}{' (recorded; nothing was asked anew)' if replayed else ''}"
