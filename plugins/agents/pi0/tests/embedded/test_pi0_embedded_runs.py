"""The shipped policy in the real world: alone, behind openpi's protocol, and inside the wrapper `sgl`."""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

import rbench
from rbench.cli import main

pytest.importorskip("torch", reason="the embedded policy needs PyTorch, not installed here")
pytest.importorskip("safetensors", reason="checkpoints need safetensors, not installed here")

from rbench.interfaces.agent import AgentContext
from rbench_agent_pi0.agent import Pi0
from rbench_agent_pi0.embedded.policy import checkpoint_path
from rbench_agent_pi0.options import Options

pytestmark = pytest.mark.gl


@pytest.fixture
def played(tmp_path: Path) -> Callable[..., list[Any]]:
    """Runs the first episodes of the baseline and returns their records."""

    def play(*words: str, episodes: int = 2) -> list[Any]:
        number = len(list(tmp_path.iterdir()))
        given = ["run", "roboview-bias", "--agent", "pi0", "--instances", "color/red/*", "--limit", str(episodes)]
        out = tmp_path / f"run-{number}"
        assert main([*given, *words, "--executor", "serial", "--out", str(out)]) == 0
        with rbench.open_run(out) as run:
            return list(run.episodes())

    return play


def outcomes(records: list[Any]) -> list[str]:
    return [str(record.outcome) for record in records]


def test_without_options_it_puts_the_object_into_the_box(played: Callable[..., list[Any]]) -> None:
    assert "success" in outcomes(played())


def test_a_card_counts_the_successes_of_a_run_by_context_and_shape(
    played: Callable[..., list[Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rbench_agent_pi0.cli import main as rbench_pi0

    records = played("-o", "weights=hue", episodes=1)
    capsys.readouterr()
    assert rbench_pi0(["card", "hue", "--run", str(tmp_path / "run-0")]) == 0
    card = capsys.readouterr().out
    successes = outcomes(records).count("success")
    assert "## roboview-bias: pi0 (weights=hue), seed 0" in card
    assert f"| context {records[0].context} | {successes}/1 |" in card


def test_a_run_of_other_weights_is_on_no_card_of_these(
    played: Callable[..., list[Any]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from rbench_agent_pi0.cli import main as rbench_pi0

    played(episodes=1)
    capsys.readouterr()
    assert rbench_pi0(["card", "plain", "--run", str(tmp_path / "run-0")]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert "is no run of this checkpoint" in said.err
    assert hashlib.sha256(checkpoint_path("hue").read_bytes()).hexdigest() in said.err


def test_an_episode_is_the_same_twice(played: Callable[..., list[Any]]) -> None:
    first, second = played(episodes=1), played(episodes=1)
    assert first[0].hashes == second[0].hashes
    assert (first[0].steps, first[0].outcome) == (second[0].steps, second[0].outcome)


def test_records_say_which_file_of_weights_answered(played: Callable[..., list[Any]], tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("weights") / "mine.safetensors"
    shutil.copy(checkpoint_path("plain"), path)
    record = played("-o", f"weights={path}", episodes=1)[0]
    assert record.agent["report"]["weights"] == {"mine.safetensors": hashlib.sha256(path.read_bytes()).hexdigest()}


def test_inside_sgl_it_runs(played: Callable[..., list[Any]]) -> None:
    assert "success" in outcomes(played("--wrap", "sgl", "--vision", "opencv"))


def test_behind_the_protocol_of_openpi_it_does_as_well(played: Callable[..., list[Any]]) -> None:
    from rbench_agent_pi0.embedded.policy import EmbeddedPolicy
    from rbench_agent_pi0.embedded.server import EmbeddedPolicyServer

    server = EmbeddedPolicyServer(EmbeddedPolicy("hue"), 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    address = ["-o", "host=127.0.0.1", "-o", f"port={server.port}"]
    records = played(*address, "-o", "height=128", "-o", "width=128", "-o", "image_size=0")
    server.shutdown()
    thread.join(5)
    assert "success" in outcomes(records)


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ("open_loop=13", "gives 12 rows and option open_loop wants 13; give -o open_loop=12 or less"),
        ("height=256", "options make them 256 x 128; give height and width alike"),
    ],
)
def test_what_no_episode_could_do_is_refused_before_the_first(
    option: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "run"
    assert main(["run", "roboview-bias", "--agent", "pi0", "-o", option, "--limit", "1", "--out", str(out)]) == 3
    assert words in capsys.readouterr().err
    assert not out.exists()


def test_another_camera_than_it_was_trained_on_is_said(caplog: pytest.LogCaptureFixture) -> None:
    for camera in ("left_top", "front"):
        caplog.clear()
        Pi0(Options(exterior=camera), AgentContext()).close()
        told = [record.getMessage() for record in caplog.records]
        assert told == (
            ["the embedded policy was trained on the cameras left_top and wrist and is shown front and wrist"]
            if camera == "front"
            else []
        )


def test_serving_ends_when_interrupted_although_somebody_is_connected() -> None:
    command = [sys.executable, "-c", "import sys; from rbench_agent_pi0.cli import main; sys.exit(main())"]
    with subprocess.Popen(
        [*command, "serve", "hue", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline().split()[3].rstrip(":"))
        with connect(f"ws://127.0.0.1:{port}") as link:
            link.recv()
            server.send_signal(signal.SIGINT)
            _, said = server.communicate(timeout=20)
    assert server.returncode == 130
    assert "Traceback" not in said
    assert "train" not in said
