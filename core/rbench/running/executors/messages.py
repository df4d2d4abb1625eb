"""What goes between a run and its worker processes: JSON with an optional run of bytes behind it.

No pickle: a message is data. Eight bytes of lengths, the JSON, the bytes.
"""

from __future__ import annotations

import json
import struct
import traceback
from collections.abc import Iterator
from typing import Any, NoReturn

import rbench.errors
from rbench.errors import RbenchError, StartError, StoppedEarly, UsageError

_LENGTHS = struct.Struct("!II")

Message = dict[str, Any]


def packed(message: Message, blob: bytes = b"") -> bytes:
    """A message as bytes."""
    text = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    return _LENGTHS.pack(len(text), len(blob)) + text + blob


def unpacked(data: bytes) -> tuple[Message, bytes]:
    """One whole message from its bytes."""
    text, _ = _LENGTHS.unpack_from(data)
    middle = _LENGTHS.size + text
    return json.loads(data[_LENGTHS.size : middle]), data[middle:]


def split(data: bytes) -> Iterator[bytes]:
    """Packed messages that were put one behind the other. They are not read for that."""
    start = 0
    while start < len(data):
        text, blob = _LENGTHS.unpack_from(data, start)
        end = start + _LENGTHS.size + text + blob
        yield data[start:end]
        start = end


def begins_with(data: bytes, key: str) -> bool:
    """Whether the first key of a packed message is this one. It is not read for that."""
    return data.startswith(f'{{"{key}":'.encode(), _LENGTHS.size)


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


def failure(problem: Exception) -> Message:
    """An error that ends the run, as the process that leads the run raises it again."""
    trace = "".join(traceback.format_exception(problem))
    known = [cls.__name__ for cls in type(problem).__mro__ if getattr(rbench.errors, cls.__name__, None) is cls]
    return {"failure": [*known, type(problem).__name__][0], "message": str(problem), "traceback": trace}


def raise_failure(message: Message) -> NoReturn:
    """Raise here what ended a worker: it would end them all.

    Raises:
        UsageError, StartError, StoppedEarly: as there; anything else is a StartError.
    """
    kind = getattr(rbench.errors, message["failure"], None)
    if isinstance(kind, type) and issubclass(kind, (UsageError, StartError, StoppedEarly)):
        problem: RbenchError = kind(message["message"])
    else:
        problem = StartError(
            f"a worker failed: {message['failure']}: {message['message']}; run again with --debug for the traceback"
        )
    problem.add_note(message["traceback"])
    raise problem
