"""Prints a command of the README, so that continuous integration runs exactly what the reader is told to run.

Commands stand in fenced `sh` blocks below a comment line `<!-- command: NAME -->`.
"""

import re
import sys
from pathlib import Path


def command(name: str) -> str:
    """The text of the fenced block named `name`."""
    readme = (Path(__file__).resolve().parents[1] / "README.md").read_text()
    found = re.search(rf"<!-- command: {re.escape(name)} -->\s*```sh\n(.*?)```", readme, re.DOTALL)
    if found is None:
        raise SystemExit(f"README.md has no command named {name!r}")
    return found.group(1)


if __name__ == "__main__":
    print(command(sys.argv[1]))
