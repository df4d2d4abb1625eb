"""Text from outside, made fit for any file: what cannot be shown or stored is spelled out."""

from __future__ import annotations

import re

# Control characters but tab and newline, lone surrogates, non-characters: XML and UTF-8 refuse them, HTML drops them.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


def printable(text: str) -> str:
    r"""The text with every character that no page can hold written as Python would: `\x00`, `\ud800`."""
    return _UNFIT.sub(lambda match: match[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)
