"""OSMesa out of a Python wheel: found, loaded and drawn with, and what is said when it cannot be."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from packaging.requirements import Requirement

from rbench.errors import StartError
from rbench.simulation import gl, osmesa_wheel

ROOT = Path(__file__).resolve().parents[2]

needs_wheel = pytest.mark.skipif(
    osmesa_wheel.library_folder() is None, reason=f"not installed: {osmesa_wheel.REQUIREMENT}"
)

#: Draws the built-in scene with the backend of the environment, and saves it to the file named first.
DRAW = """
import os, sys
import numpy as np
from rbench.simulation.gl import choose_gl, use_gl
use_gl(choose_gl())
from rbench.scene import Setup
from rbench.simulation.profiles import render_profile
from rbench.simulation.world import MujocoWorld
from rbench.suites.scene_files import load_scene

world = MujocoWorld(render_profile("standard"))
world.reset(Setup(load_scene("tabletop"), ""), control_rate=20, cameras={})
np.save(sys.argv[1], world.render("front", 192, 256))
world.close()
"""


def drawn(backend: str, folder: Path, **environ: str) -> npt.NDArray[np.uint8]:
    """The built-in scene, drawn with a backend in a process of its own that says nothing."""
    file = folder / f"{backend}.npy"
    inherited = {key: value for key, value in os.environ.items() if key not in ("PYOPENGL_PLATFORM", "DISPLAY")}
    done = subprocess.run(
        [sys.executable, "-c", DRAW, str(file)],
        env=inherited | gl.gl_variables(backend) | environ,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    picture: npt.NDArray[np.uint8] = np.load(file, allow_pickle=False)
    return picture


@needs_wheel
@pytest.mark.gl
def test_the_wheel_draws_what_egl_draws(tmp_path: Path) -> None:
    if gl.gl_problem("egl") is not None:
        pytest.skip(f"egl: {gl.gl_problem('egl')}")
    egl, wheel = drawn("egl", tmp_path), drawn(gl.OSMESA_WHEEL, tmp_path)
    assert egl.std() > 10
    if "llvmpipe" in gl.probe_gl("egl").renderer and "EPYC" in Path("/proc/cpuinfo").read_text():
        # Two versions of the same renderer; on this family of processors they agree in every bit.
        assert hashlib.sha256(egl.tobytes()).digest() == hashlib.sha256(wheel.tobytes()).digest()
    difference = np.abs(egl.astype(int) - wheel.astype(int))
    assert difference.mean() < 1
    assert (difference.max(axis=2) > 20).mean() < 0.01


@needs_wheel
def test_the_wheel_needs_no_library_path(tmp_path: Path) -> None:
    assert drawn(gl.OSMESA_WHEEL, tmp_path, LD_LIBRARY_PATH="").std() > 10


@needs_wheel
def test_the_wheels_renderer_is_named_by_the_probe() -> None:
    assert "llvmpipe" in gl.probe_gl(gl.OSMESA_WHEEL).renderer


@needs_wheel
def test_nothing_of_the_wheels_own_package_is_imported() -> None:
    code = (
        "import sys; from rbench.simulation.gl import use_gl; use_gl('osmesa-wheel');"
        "print([m for m in sys.modules if m.startswith('lavavu')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "[]", done.stderr


@needs_wheel
def test_a_process_that_inherits_the_choice_can_import_the_world_at_once() -> None:
    code = "import rbench.simulation.world, OpenGL.platform as p; print(type(p.PLATFORM).__name__)"
    environ = {k: v for k, v in os.environ.items() if k != "PYOPENGL_PLATFORM"} | gl.gl_variables(gl.OSMESA_WHEEL)
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "WheelPlatform", done.stderr


def test_a_wheel_that_is_not_installed_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, None)
    assert osmesa_wheel.library_folder() is None
    problem = gl.probe_gl.__wrapped__(gl.OSMESA_WHEEL).problem
    assert problem == "lavavu-osmesa is not installed"


def test_using_a_wheel_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, None)
    with pytest.raises(StartError, match=r"pip install --no-deps lavavu-osmesa==") as raised:
        osmesa_wheel.load_libraries.__wrapped__()
    assert "not installed" in str(raised.value)


def test_a_damaged_library_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "lavavu_osmesa.libs"
    folder.mkdir()
    (folder / "libOSMesa-0.so.8").write_text("half a download")
    _install(monkeypatch, tmp_path)
    with pytest.raises(StartError, match=r"libOSMesa-0\.so\.8.*--force-reinstall"):
        osmesa_wheel.load_libraries.__wrapped__()


@pytest.mark.parametrize(
    ("source", "chosen"), [("wheel", gl.OSMESA_WHEEL), ("system", "osmesa"), ("", gl.OSMESA_WHEEL)]
)
def test_osmesa_comes_from_where_the_user_says_or_else_from_where_it_works(
    source: str, chosen: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(osmesa_wheel, "library_folder", lambda: tmp_path)
    monkeypatch.setattr(gl, "gl_problem", lambda backend: "missing" if backend == "osmesa" else None)
    assert gl.choose_gl({gl.VARIABLE: "osmesa", gl.OSMESA_VARIABLE: source}) == chosen


def test_an_unknown_source_of_osmesa_is_refused_with_what_to_do() -> None:
    with pytest.raises(StartError, match=r"'weel'.*Did you mean 'wheel'.*Unset RBENCH_OSMESA"):
        gl.choose_gl({gl.VARIABLE: "osmesa", gl.OSMESA_VARIABLE: "weel"})


@pytest.mark.parametrize("backend", ["egl", "osmesa", gl.OSMESA_WHEEL])
def test_processes_that_get_the_variables_of_a_backend_choose_it_without_trying(
    backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tried(backend: str) -> str:
        raise AssertionError(f"{backend} was tried")

    monkeypatch.setattr(gl, "gl_problem", tried)
    assert gl.choose_gl(gl.gl_variables(backend)) == backend


def test_the_wheel_is_pinned_to_one_version_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = (ROOT / "requirements-gl.txt").read_text().splitlines()
    (listed,) = [Requirement(line) for line in lines if not line.startswith("#")]
    (extra,) = [Requirement(text) for text in project["optional-dependencies"]["osmesa"]]
    assert listed == extra
    assert f"{listed.name}{listed.specifier}" == osmesa_wheel.REQUIREMENT


def test_a_wheel_is_offered_where_its_marker_says() -> None:
    (line,) = [text for text in (ROOT / "requirements-gl.txt").read_text().splitlines() if not text.startswith("#")]
    marker = Requirement(line).marker
    assert marker is not None
    assert marker.evaluate() == osmesa_wheel.is_offered()


def _install(monkeypatch: pytest.MonkeyPatch, site: Path | None) -> None:
    """Have the wheel's files lie in a folder, or be not there at all."""

    class Installed:
        def locate_file(self, name: str) -> Path:
            assert site is not None
            return site / name

    def distribution(name: str) -> Installed:
        if site is None:
            raise importlib.metadata.PackageNotFoundError(name)
        return Installed()

    monkeypatch.setattr(importlib.metadata, "distribution", distribution)
