"""The choice of an OpenGL backend, and contexts in processes and threads."""

from __future__ import annotations

import inspect
import os
import platform
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from rbench.errors import StartError, UsageError
from rbench.simulation import gl


def drawn() -> tuple[Any, Any]:
    """A renderer of a red floor seen from `down`, and its data."""
    import mujoco

    from rbench.simulation.profiles import render_profile
    from rbench.simulation.rendering import Renderer

    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><light pos='0 0 2'/><geom type='plane' size='9 9 1' rgba='1 0 0 1'/>"
        "<camera name='down' pos='0 0 1'/></worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return Renderer(model, render_profile("standard")), data


#: The same for child processes.
DRAWN = "from __future__ import annotations\nfrom typing import Any\n" + inspect.getsource(drawn)


def run_python(code: str, **environ: str | None) -> subprocess.CompletedProcess[str]:
    variables = {
        key: value
        for key, value in os.environ.items()
        if key not in (gl.VARIABLE, gl.OSMESA_VARIABLE, "PYOPENGL_PLATFORM")
    }
    variables |= {key: value for key, value in environ.items() if value is not None}
    return subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("asked", ["osmesa", "egl", "glfw"])
def test_the_users_backend_survives(asked: str) -> None:
    assert gl.choose_gl({gl.VARIABLE: asked, gl.OSMESA_VARIABLE: "system", "DISPLAY": ":0"}) == asked
    assert gl.gl_variables(asked)[gl.VARIABLE] == asked


@pytest.mark.skipif(platform.system() != "Linux", reason="elsewhere there is a display always")
@pytest.mark.parametrize("asked", ["glfw", "GLX"])
def test_a_backend_that_wants_a_display_is_refused_where_there_is_none(asked: str) -> None:
    with pytest.raises(StartError, match=r"draws on a display, and there is none here .*unset MUJOCO_GL"):
        gl.choose_gl({gl.VARIABLE: asked, "DISPLAY": ""})
    assert gl.choose_gl({gl.VARIABLE: asked, "WAYLAND_DISPLAY": "wayland-0"}) == asked.lower()


@pytest.mark.skipif(platform.system() != "Linux", reason="elsewhere there is a display always")
def test_a_display_that_does_not_answer_is_told_as_such() -> None:
    code = "from rbench.simulation import gl; gl.make_context()"
    done = run_python(code, MUJOCO_GL="glfw", DISPLAY=":4711", WAYLAND_DISPLAY="")
    assert "opens no window here: its display does not answer" in done.stderr or "cannot be loaded" in done.stderr
    assert "X11: Failed" not in done.stderr


@pytest.mark.parametrize("asked", ["disable", "disabled", "off", "0"])
def test_every_word_for_no_rendering_disables_it(asked: str) -> None:
    assert gl.choose_gl({gl.VARIABLE: asked}) == gl.DISABLED


def test_an_unknown_backend_is_refused_with_what_to_do() -> None:
    with pytest.raises(StartError, match=r"'osmessa'.*Did you mean 'osmesa'.*Unset MUJOCO_GL"):
        gl.choose_gl({gl.VARIABLE: "osmessa"})


@pytest.mark.parametrize(
    ("working", "chosen"),
    [
        ({"egl", "osmesa", "osmesa-wheel"}, "egl"),
        ({"osmesa", "osmesa-wheel"}, "osmesa"),
        ({"osmesa-wheel"}, "osmesa-wheel"),
        (set(), gl.DISABLED),
    ],
    ids=["all", "no EGL", "the wheel only", "none"],
)
def test_what_the_system_has_is_tried_before_the_wheel(
    working: set[str], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gl, "gl_problem", lambda backend: None if backend in working else "missing library")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    assert gl.choose_gl({}) == chosen


def test_where_nothing_works_the_first_picture_names_the_reasons_and_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(gl.VARIABLE, raising=False)
    monkeypatch.setattr(gl, "gl_problem", lambda backend: f"no {backend} library")
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    with pytest.raises(StartError, match=r"no egl library.*no osmesa library.*apt-get install libegl1 libgl1"):
        gl.make_context()


def test_a_backend_that_hangs_counts_as_one_that_does_not_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gl, "_PROBE_SECONDS", 0.001)
    assert gl.probe_gl.__wrapped__("egl").problem == "no answer within 0.001 s"


def test_a_backend_whose_probe_dies_is_reported_with_its_last_line() -> None:
    problem = gl.probe_gl.__wrapped__("nonsense").problem
    assert problem is not None
    assert "nonsense" in problem


def test_importing_the_renderer_sets_nothing() -> None:
    done = run_python("import os, rbench.simulation.rendering as r; print(os.environ.get('MUJOCO_GL'))")
    assert done.stdout.strip() == "None"


def test_with_rendering_off_states_work_and_the_first_picture_is_one_clear_error() -> None:
    code = f"""{DRAWN}
from rbench.errors import StartError
renderer, data = drawn()
import mujoco
mujoco.mj_step(renderer._model, data)
try:
    renderer.rgb(data, "down", 8, 8)
except StartError as problem:
    print(problem)
"""
    done = run_python(code, MUJOCO_GL="disabled")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    assert "MUJOCO_GL=disabled. Unset" in line or "apt-get install" in line


def test_a_backend_whose_library_is_missing_is_a_clear_error(tmp_path: Path) -> None:
    # PyOpenGL fails like this where libOSMesa is not installed, and takes the import of mujoco with it.
    (tmp_path / "OpenGL").mkdir()
    (tmp_path / "OpenGL" / "__init__.py").write_text("None.glGetError")
    code = """
from rbench.errors import StartError
from rbench.simulation.gl import choose_gl, use_gl
try:
    use_gl(choose_gl())
except StartError as problem:
    print(problem)
"""
    done = run_python(code, MUJOCO_GL="osmesa", RBENCH_OSMESA="system", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("OpenGL backend 'osmesa' does not work here (libOSMesa.so cannot be loaded)")
    assert "apt-get install libegl1 libgl1" in done.stdout


@pytest.mark.gl
def test_without_display_and_choice_a_picture_is_drawn_and_the_exit_is_silent() -> None:
    done = run_python(
        f"{DRAWN}\nrenderer, data = drawn()\nprint(renderer.rgb(data, 'down', 8, 8)[..., 0].mean())", DISPLAY=None
    )
    assert float(done.stdout) > 50
    assert done.stderr == ""


@pytest.mark.gl
def test_a_parent_that_rendered_can_fork_children_that_render() -> None:
    code = f"""{DRAWN}
import os
renderer, data = drawn()
parent = renderer.rgb(data, "down", 8, 8)
for _ in range(2):
    child = os.fork()
    if child == 0:
        fresh, _ = drawn()
        same = all((r.rgb(data, "down", 8, 8) == parent).all() for r in (renderer, fresh))
        os._exit(0 if same else 7)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print((renderer.rgb(data, "down", 8, 8) == parent).all())
"""
    done = run_python(code)
    assert done.stdout.split() == ["0", "0", "True"], done.stderr
    assert done.stderr == ""


@pytest.mark.gl
def test_another_thread_is_refused_and_may_have_its_own_renderer() -> None:
    renderer, data = drawn()
    mine = renderer.rgb(data, "down", 8, 8)
    seen: list[Any] = []

    def work() -> None:
        try:
            renderer.rgb(data, "down", 8, 8)
        except UsageError as problem:
            seen.append(str(problem))
        own, _ = drawn()
        seen.append(own.rgb(data, "down", 8, 8))
        own.close()

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert "belongs to the thread" in str(seen[0])
    assert (seen[1] == mine).all()
    renderer.close()
