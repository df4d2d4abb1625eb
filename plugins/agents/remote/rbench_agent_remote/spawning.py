"""One server a machine: started by whoever needs it first, found by everybody else, ended by itself when unused."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shlex
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from rbench.errors import StartError
from rbench.remote.address import Address
from rbench.remote.agent_server import IDLE_VARIABLE, PORT_VARIABLE, TOKEN_VARIABLE
from rbench.remote.link import Link, Unreachable
from rbench_agent_remote.options import Options

#: Seconds without a client after which a server that was started here ends.
IDLE = 60.0
#: Seconds between looks at a server that is starting.
PAUSE = 0.1

#: Starts a process that outlives this one and belongs to no worker: a child of a child that ends at once.
_LAUNCH = (
    "import subprocess, sys; log = open(sys.argv[1], 'wb'); print(subprocess.Popen(sys.argv[2:],"
    " stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True).pid)"
)


def spawned(options: Options) -> Link:
    """A connection to the server that a command starts; it is started if it is not there.

    Raises:
        StartError: the command cannot be started, or ends, or its server is not there in time.
    """
    assert options.spawn is not None
    words = shlex.split(options.spawn)
    if words[0] == "rbench":
        words[:1] = [sys.executable, "-m", "rbench"]
    folder = _own_folder()
    key = hashlib.sha256(json.dumps([words, str(Path.cwd()), sys.prefix]).encode()).hexdigest()[:16]
    state = folder / f"{key}.json"
    with _alone(folder / f"{key}.lock"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError, Unreachable):
            known = json.loads(state.read_text())
            return Link(_address(options, int(known["port"]), str(known["token"])))
        port, token = _free_port(), secrets.token_urlsafe(24)
        log = folder / f"{key}.log"
        pid = _launched(words, port, token, log)
        link = _first_link(_address(options, port, token), pid, log, options)
        state.unlink(missing_ok=True)
        state.touch(mode=0o600)
        state.write_text(json.dumps({"port": port, "token": token}))
        return link


def _address(options: Options, port: int, token: str) -> Address:
    here = options.model_copy(update={"host": "127.0.0.1", "port": port, "url": None})
    return here.address("agent server", "Bearer", token)


def _launched(words: list[str], port: int, token: str, log: Path) -> int:
    environment = {**os.environ, PORT_VARIABLE: str(port), TOKEN_VARIABLE: token, IDLE_VARIABLE: str(IDLE)}
    try:
        done = subprocess.run(
            [sys.executable, "-c", _LAUNCH, str(log), *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return int(done.stdout)
    except (OSError, ValueError, subprocess.SubprocessError):
        raise StartError(f"agent 'remote': option spawn: {words[0]!r} cannot be started; correct the command") from None


def _first_link(address: Address, pid: int, log: Path, options: Options) -> Link:
    end = time.monotonic() + options.start_timeout
    while True:
        with contextlib.suppress(Unreachable):
            return Link(address)
        if not _runs(pid):
            raise StartError(f"agent 'remote': the command of option spawn ended: {_last_line(log)}; see {log}")
        if time.monotonic() > end:
            with contextlib.suppress(OSError):
                os.killpg(pid, 15)
            raise StartError(
                f"agent 'remote': the server of option spawn was not there after {options.start_timeout:g} s; see"
                f" {log}, and raise start_timeout if it only needs longer"
            )
        time.sleep(PAUSE)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    try:  # one that ended and that nobody has buried yet
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return True


def _last_line(log: Path) -> str:
    lines = log.read_bytes()[-2000:].decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")[:300]


def _own_folder() -> Path:
    """A folder that only this user can enter: tokens are kept there."""
    try:
        import fcntl as _  # noqa: F401 - what the lock below is made of

        folder = Path(tempfile.gettempdir()) / f"rbench-{os.getuid()}"
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except (ImportError, AttributeError):
        raise StartError("agent 'remote': option spawn works on Linux and macOS; start the server yourself") from None
    except OSError as problem:
        raise StartError(f"agent 'remote': option spawn: {problem.filename}: {problem.strerror}; set TMPDIR") from None
    if not folder.is_dir() or folder.is_symlink() or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise StartError(f"agent 'remote': option spawn: {folder} is open to other users; remove it, or set TMPDIR")
    return folder


@contextlib.contextmanager
def _alone(file: Path) -> Iterator[None]:
    import fcntl

    with file.open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
