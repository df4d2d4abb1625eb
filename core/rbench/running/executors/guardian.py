"""A small process that outlives a killed run just long enough to end what the run's workers started."""

from __future__ import annotations

import contextlib
import secrets
import subprocess
import sys
from pathlib import Path

from rbench.errors import StartError
from rbench.running.executors.guardian_main import end_marked

_SCRIPT = Path(__file__).with_name("guardian_main.py")

#: Seconds that it has to end after the run has let go of it.
_PATIENCE = 5.0


class Guardian:
    """Watches over the processes of one pool of workers.

    Workers of a run that is killed end by themselves; what they started does not. The guardian holds one end of a
    pipe, and the end of the run, in whatever way, is the end of that pipe.

    Attributes:
        mark: the value of `RBENCH_WORKER` in the environment of the pool's workers begins with it and a dot.
    """

    def __init__(self) -> None:
        self.mark = secrets.token_hex(8)
        try:
            self._process = subprocess.Popen(
                # Isolated: nothing of the user's path or site packages is needed.
                [sys.executable, "-I", "-S", str(_SCRIPT), self.mark],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                # Out of the way of Ctrl-C and of signals to the run's group.
                process_group=0,
            )
        except OSError as problem:
            raise StartError(
                f"the process that looks after workers cannot be started: {problem}; run with --executor serial"
            ) from problem

    def add(self, group: int) -> None:
        """A worker has started; it leads this process group."""
        self._tell(f"+{group}\n")

    def remove(self, group: int) -> None:
        """It has ended, and its group with it."""
        self._tell(f"-{group}\n")

    def close(self) -> None:
        """End what is left of the pool's processes, and the guardian."""
        end_marked(self.mark)
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError):
            stdin.close()
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _tell(self, line: str) -> None:
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError):  # somebody has ended it; workers still end with the run
            stdin.write(line.encode())
            stdin.flush()
