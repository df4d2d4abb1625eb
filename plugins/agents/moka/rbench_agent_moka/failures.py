"""Why an episode cannot go on."""

from __future__ import annotations


class GaveUp(Exception):
    """The agent stops; `reason` is the short word that the record keeps."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
