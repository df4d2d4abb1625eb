"""A process that looks at instances: job and ids on stdin, looks on stdout. Started by `looking_pool` alone."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

from rbench.running.executors.messages import Message, Unpacker, failure, packed

_CHUNK = 1 << 16


def main() -> None:
    """Look at one instance after another until stdin ends, as it does when the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to act on
    # What libraries print must not come between the messages.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    messages = _messages(sys.stdin.buffer)
    try:
        _work(next(messages)["job"], messages, out)
    except BrokenPipeError:
        os._exit(1)
    except Exception as problem:
        out.write(packed(failure(problem)))
        out.flush()


def _work(job: dict[str, Any], messages: Iterator[Message], out: BinaryIO) -> None:
    # Imported here: whatever is wrong with them is reported to the parent.
    from rbench.errors import StartError
    from rbench.plugins.catalog import build_catalog
    from rbench.suites.loading import load_suite
    from rbench.suites.variants import RecursiveVariantTaskManager
    from rbench.validation.looking import Looker

    suite = load_suite(build_catalog(only=job["distributions"]), job["suite"])
    if suite.hash != job["suite_hash"]:
        raise StartError(f"suite {suite.name!r} changed while it was looked at; leave its file alone and start again")
    manager, looker = RecursiveVariantTaskManager(suite), Looker(suite)
    try:
        for message in messages:
            looks = looker.look(manager.instance(message["instance"]))
            answer = {
                "instance": message["instance"],
                "looks": [
                    {"camera": k.camera, "measures": k.measures, "image_hash": k.image_hash, "size": len(k.png)}
                    for k in looks
                ],
                "gl": dict(looker.gl),
            }
            out.write(packed(answer, b"".join(look.png for look in looks)))
            out.flush()
    finally:
        looker.close()


def _messages(file: BinaryIO) -> Iterator[Message]:
    unpacker = Unpacker()
    while data := os.read(file.fileno(), _CHUNK):
        for message, _ in unpacker.feed(data):
            yield message


if __name__ == "__main__":
    main()
