"""Durations as people say them."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """`0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return _in_two(whole, 60, "min", "s")
    minutes = round(seconds / 60)
    if minutes < 24 * 60:
        return _in_two(minutes, 60, "h", "min")
    return _in_two(round(seconds / 3600), 24, "d", "h")


def _in_two(count: int, size: int, large: str, small: str) -> str:
    many, few = divmod(count, size)
    return f"{many} {large} {few} {small}" if few else f"{many} {large}"
