"""`python -m rbench`: the command line without the script."""

from __future__ import annotations

import sys

from rbench.cli import main

if __name__ == "__main__":
    sys.exit(main())
