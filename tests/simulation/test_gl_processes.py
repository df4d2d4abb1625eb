"""Pictures in several processes, and everything that needs no picture on a machine where rendering is off."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from rbench.results.run_directory import RunDirectory
from rbench.simulation import gl, osmesa_wheel

#: Draws in the parent, then in two child processes of the start method named first; prints mean and hash of each.
PARENT_AND_CHILDREN = """
import hashlib, multiprocessing, sys


def frame(queue):
    from rbench.simulation.gl import choose_gl, use_gl
    use_gl(choose_gl())
    import mujoco
    from rbench.simulation.profiles import render_profile
    from rbench.simulation.rendering import Renderer
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><light pos='0 0 2'/><geom type='plane' size='9 9 1' rgba='1 0 0 1'/>"
        "<geom type='sphere' size='.2' rgba='0 1 0 1'/><camera name='down' pos='0 0 1'/></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    renderer = Renderer(model, render_profile("standard"))
    picture = renderer.rgb(data, "down", 64, 64)
    renderer.close()
    queue.put((float(picture.mean()), hashlib.sha256(picture.tobytes()).hexdigest()))


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    queue = context.SimpleQueue()
    frame(queue)
    children = [context.Process(target=frame, args=(queue,)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        assert child.exitcode == 0, child.exitcode
    for _ in range(3):
        print(*queue.get())
"""


def environment(backend: str | None = None, **environ: str) -> dict[str, str]:
    """Variables of a headless machine where the user chose nothing, or a backend."""
    chosen = (gl.VARIABLE, gl.OSMESA_VARIABLE, "PYOPENGL_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY")
    inherited = {key: value for key, value in os.environ.items() if key not in chosen}
    return inherited | (gl.gl_variables(backend) if backend else {}) | environ


def rbench(*arguments: str, environ: dict[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rbench", *arguments]
    return subprocess.run(command, env=environ, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.gl
@pytest.mark.parametrize("backend", [None, gl.OSMESA_WHEEL], ids=["chosen here", "the wheel"])
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_a_parent_that_rendered_has_children_that_render_the_same(
    method: str, backend: str | None, tmp_path: Path
) -> None:
    if backend is not None and osmesa_wheel.library_folder() is None:
        pytest.skip(f"not installed: {osmesa_wheel.REQUIREMENT}")
    script = tmp_path / "parent_and_children.py"
    script.write_text(PARENT_AND_CHILDREN)
    done = subprocess.run(
        [sys.executable, str(script), method],
        env=environment(backend),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    frames = [line.split() for line in done.stdout.splitlines()]
    assert len(frames) == 3
    assert all(float(mean) > 20 for mean, _ in frames)
    assert len({digest for _, digest in frames}) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.gl
def test_without_display_and_choice_a_picture_comes_out(tmp_path: Path) -> None:
    done = rbench(
        "render", "roboview-bias", "color/teal/position-p2", "-o", "teal.png", environ=environment(), folder=tmp_path
    )
    assert (done.returncode, done.stderr) == (0, "")
    with Image.open(tmp_path / "teal.png") as picture:
        assert np.asarray(picture).std() > 10


#: An agent that looks once, stops, and reports what its process was told about rendering.
LOOKS_AND_TELLS = """
import os
from rbench import Agent, AgentManifest, CameraRequest, Stop

class Teller(Agent):
    def __init__(self, options, context):
        pass
    @property
    def manifest(self):
        return AgentManifest(actions=("waypoints",), cameras={"front": CameraRequest(64, 64)}, primary="front")
    def reset(self, start):
        self.contrast = float(start.observation.cameras["front"].rgb.std())
    def act(self, observation):
        return Stop("told")
    def report(self):
        told = {name: os.environ.get(name) for name in ("MUJOCO_GL", "RBENCH_OSMESA")}
        return told | {"contrast": self.contrast}
"""


@pytest.mark.parametrize("backend", gl.CANDIDATES)
def test_the_users_backend_reaches_the_workers_unchanged(backend: str, tmp_path: Path) -> None:
    if gl.gl_problem(backend) is not None:
        pytest.skip(f"{backend}: {gl.gl_problem(backend)}")
    (tmp_path / "teller.py").write_text(LOOKS_AND_TELLS)
    arguments = ["roboview-bias", "--agent", "teller:Teller", "--limit", "2", "--out", "told"]
    done = rbench("run", *arguments, environ=environment(backend), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    with RunDirectory.open(tmp_path / "told") as run:
        told = [record.agent["report"] for record in run.store().records()]
    assert len(told) == 2
    for report in told:
        assert {**report, **gl.gl_variables(backend)} == report
        assert report["contrast"] > 10


@pytest.mark.parametrize("arguments", [["--help"], ["list-plugins"]], ids=" ".join)
def test_with_rendering_off_listing_works_and_never_imports_mujoco(arguments: list[str], tmp_path: Path) -> None:
    assert _imported_mujoco(arguments, tmp_path) is False


def test_with_rendering_off_a_run_on_states_works_and_its_report_never_imports_mujoco(tmp_path: Path) -> None:
    off = environment(MUJOCO_GL="disable")
    arguments = ["roboview-bias", "--agent", "expert", "--limit", "1", "--out", "states"]
    done = rbench("run", *arguments, environ=off, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert _imported_mujoco(["report", "states", "--format", "json"], tmp_path) is False


def _imported_mujoco(arguments: list[str], folder: Path) -> bool:
    """Whether a command that succeeds with rendering off has imported mujoco at its end."""
    code = (
        "import json, sys\n"
        "from rbench.cli import main\n"
        f"code = main({arguments!r})\n"
        "print(json.dumps([code, 'mujoco' in sys.modules]), file=sys.stderr)\n"
    )
    off = environment(MUJOCO_GL="disable")
    done = subprocess.run([sys.executable, "-c", code], env=off, cwd=folder, capture_output=True, text=True, timeout=60)
    status, imported = json.loads(done.stderr.splitlines()[-1])
    assert status == 0, done.stderr
    return bool(imported)
