"""What goes between a run and its worker processes: JSON with an optional run of bytes behind it.

No pickle: a message is data. Eight bytes of lengths, the JSON, the bytes.
"""

from __future__ import annotations

import json
import struct
from typing import Any

_LENGTHS = struct.Struct("!II")

Message = dict[str, Any]


def packed(message: Message, blob: bytes = b"") -> bytes:
    """A message as bytes."""
    text = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    return _LENGTHS.pack(len(text), len(blob)) + text + blob


class Unpacker:
    """Collects bytes as they come and gives the messages that are complete."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[tuple[Message, bytes]]:
        """The messages that `data` completes, each with its bytes."""
        self._buffer += data
        complete = []
        while len(self._buffer) >= _LENGTHS.size:
            text, blob = _LENGTHS.unpack_from(self._buffer)
            middle, end = _LENGTHS.size + text, _LENGTHS.size + text + blob
            if len(self._buffer) < end:
                break
            complete.append((json.loads(self._buffer[_LENGTHS.size : middle]), bytes(self._buffer[middle:end])))
            del self._buffer[:end]
        return complete
