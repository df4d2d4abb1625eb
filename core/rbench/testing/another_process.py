"""What another process does for the check `same-in-another-process`."""

from __future__ import annotations

import json
import sys

from rbench.testing.kinds import subject_of


def print_signature() -> None:
    """Play the last baseline scenario with the subject that stdin describes, and print the signature on stdout."""
    print(subject_of(json.load(sys.stdin)).play_alone().signature)
