"""What another process does for the checks that compare it with this one."""

from __future__ import annotations

import contextlib
import json
import os
import sys

from rbench.testing.kinds import subject_of


def print_signature() -> None:
    """Play the last baseline scenario with the agent that stdin describes, and print the signature on stdout."""
    print(subject_of(json.load(sys.stdin)).play_alone().signature)


def print_facts() -> None:
    """Print what the factor or metric that stdin describes says of itself (`facts()`), as one line of JSON."""
    print(json.dumps(subject_of(json.load(sys.stdin)).facts()))


def try_to_make() -> None:
    """Import, make and close the agent or wrapper that stdin describes, and end with status 0, whatever it raises."""
    with contextlib.suppress(Exception, SystemExit):
        subject = subject_of(json.load(sys.stdin))
        subject.prepare()
        subject.build().close()
    os._exit(0)  # threads that it left are found by a check
