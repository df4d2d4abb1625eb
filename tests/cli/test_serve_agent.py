"""`rbench serve-agent`: serving, the file, and wrong use."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from rbench.cli import main
from rbench.remote import agent_server
from rbench.remote.agent_server import unpacked

Call = Callable[..., Any]


@pytest.fixture
def serving() -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Starts `rbench serve-agent ARGUMENTS --port 0`; returns the process and the address."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: str, **environment: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "rbench", "serve-agent", *arguments, "--port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        running.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().rpartition(" ")[2].strip()

    yield start
    for process in running:
        process.kill()
        process.communicate()


def greeting(url: str, **headers: str) -> Any:
    with connect(url, additional_headers=headers, proxy=None) as link:
        return unpacked(link.recv(20))


def test_an_installed_agent_is_served_until_it_is_told_to_end(serving: Any) -> None:
    process, url = serving("random", "-o", "scale=0.5")
    told = greeting(url)
    assert (told["name"], told["at_once"], told["manifest"]["actions"]) == ("random", 1, ["joint_velocities"])
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 143


def test_a_token_comes_from_a_variable(serving: Any) -> None:
    _, url = serving("idle", "--token-env", "AGENT_TOKEN", AGENT_TOKEN="sesame-12345")
    with pytest.raises(Exception, match="401"):
        greeting(url)
    assert greeting(url, Authorization="Bearer sesame-12345")["name"] == "idle"


def test_numerical_libraries_get_the_threads_that_are_said(serving: Any, tmp_path: Path) -> None:
    (tmp_path / "threaded.py").write_text(
        "import os\nfrom rbench import Agent, AgentManifest, Stop\n\n"
        "class Threaded(Agent):\n"
        "    def __init__(self, options, context): pass\n"
        "    manifest = AgentManifest(actions=('waypoints',), control_rate=int(os.environ['OMP_NUM_THREADS']) * 10)\n"
        "    def reset(self, start): pass\n"
        "    def act(self, observation): return Stop()\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "rbench", "serve-agent", "threaded:Threaded", "--threads", "3", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().rpartition(" ")[2].strip()
        assert greeting(url)["manifest"]["control_rate"] == 30
    finally:
        process.kill()
        process.communicate()


def test_the_file_is_written_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "rbench_agent_server.py"
    assert main(["serve-agent", "--write", str(file)]) == 0
    assert file.read_bytes() == Path(agent_server.__file__).read_bytes()
    assert main(["serve-agent", "--write", str(file)]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ([], 2, "which agent? Give its name"),
        (["simpel"], 2, "Did you mean 'simple'?"),
        (["random", "-o", "scael=1"], 2, "there is no option 'scael'"),
        (["random", "-o", "scale=7"], 2, "option 'scale' = 7"),
        (["random", "--wrap", "sgll"], 2, "sgll"),
        (["random", "-w", "sgl.x=1"], 2, "no wrapper 'sgl'"),
        (["simple", "-v", "x=1"], 2, "Name it with --vision"),
        (["random", "--port", "70000"], 2, "70000"),
        (["random", "--at-once", "0"], 2, "0"),
        (["random", "--token-env", "NO_SUCH_VARIABLE"], 3, "NO_SUCH_VARIABLE"),
        (["random", "--write", "x.py"], 2, "--write writes a file"),
        (["--write", "/no/such/folder/x.py"], 2, "/no/such/folder/x.py"),
        (["remote", "-o", "port=1"], 3, "cannot be reached"),
        (["random", "--host", "no.such.host.invalid"], 3, "cannot listen at no.such.host.invalid"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_use_is_told_in_one_line(
    arguments: list[str], code: int, words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "MUJOCO_GL"):
        monkeypatch.setenv(variable, os.environ.get(variable, "disable" if variable == "MUJOCO_GL" else "1"))
    assert main(["serve-agent", *arguments]) == code
    err = capsys.readouterr().err
    assert words in err
    assert "Traceback" not in err


def test_a_port_that_is_taken_is_named(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS", "MUJOCO_GL"):
        monkeypatch.setenv(variable, os.environ.get(variable, "disable" if variable == "MUJOCO_GL" else "1"))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["serve-agent", "random", "--port", str(port)]) == 3
    assert f"port {port}" in capsys.readouterr().err
