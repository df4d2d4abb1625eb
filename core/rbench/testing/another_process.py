"""What another process does for the checks that compare it with this one."""

from __future__ import annotations

import json
import sys

from rbench.testing.kinds import subject_of


def print_signature() -> None:
    """Play the last baseline scenario with the agent that stdin describes, and print the signature on stdout."""
    print(subject_of(json.load(sys.stdin)).play_alone().signature)


def print_facts() -> None:
    """Print what the factor or metric that stdin describes says of itself (`facts()`), as one line of JSON."""
    print(json.dumps(subject_of(json.load(sys.stdin)).facts()))
