"""`rbench doctor`: what works on this machine, and the one line that fixes what does not."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rbench.cli import main
from rbench.doctor import installed, machine, pictures
from rbench.doctor.check import Check
from rbench.doctor.examination import examine
from rbench.doctor.vision import check_vision
from rbench.plugins.catalog import Catalog, build_catalog
from rbench.simulation import gl, osmesa_wheel

#: A vision model that needs nothing and names the variable of its key.
VISION_PLUGIN = """
from pydantic import BaseModel, ConfigDict
from rbench.contributions import VisionModelContribution
from rbench.hookspecs import hookimpl

class Options(BaseModel):
    model_config = ConfigDict(extra="forbid")
    api_key_env: str = "PEER_KEY"

@hookimpl
def rbench_vision_models():
    yield VisionModelContribution(
        name="peer", summary="Peers.", target="x:y", options="peer_plugin:Options", needs=NEEDS
    )
"""


@pytest.fixture
def with_plugin(
    fake_distribution: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., Catalog]]:
    """The catalog of what is installed, with `peer-plugin` besides."""

    def catalog(source: str, **metadata: Any) -> Catalog:
        monkeypatch.syspath_prepend(str(fake_distribution("peer-plugin", source, **metadata)))
        return build_catalog()

    yield catalog
    sys.modules.pop("peer_plugin", None)


def finding(checks: Iterator[Check] | list[Check], name: str) -> Check:
    """The one finding of that name."""
    (found,) = [check for check in checks if check.check == name]
    return found


@pytest.mark.gl
def test_on_a_machine_that_works_it_finds_no_problem_and_asks_no_network(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr("socket.socket.connect", refuse)
    code = main(["doctor", "--json"])
    rows = json.loads(capsys.readouterr().out)
    assert code == 0, rows
    assert {tuple(row) for row in rows} == {("check", "status", "detail", "remedy")}
    assert {row["status"] for row in rows} <= {"ok", "warning"}
    looked_at = {row["check"] for row in rows}
    wanted = {"python", "versions", "plugins", "suite roboview-bias", "opengl", "simulation", "pictures", "ray"}
    assert wanted | {"vision opencv", "cores", "threads", "folder", "disk"} <= looked_at
    assert all((row["remedy"] is None) == (row["status"] == "ok") for row in rows)


@pytest.mark.parametrize(("status", "code"), [("ok", 0), ("warning", 0), ("problem", 1)])
def test_only_a_problem_makes_it_fail(
    status: Any, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = Check("thing", status, "is so", None if status == "ok" else "do that")
    monkeypatch.setattr("rbench.cli.doctor.examine", lambda *_: iter([check]))
    assert main(["doctor"]) == code
    out = capsys.readouterr().out
    assert "thing: is so" in out
    assert ("fix: do that" in out) == (status != "ok")


def test_a_check_that_fails_itself_hides_no_other(
    catalog: Catalog, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def surprise() -> Check:
        raise ValueError("what is this")

    monkeypatch.setattr("rbench.doctor.examination.check_python", surprise)
    monkeypatch.setattr("rbench.doctor.examination.check_pictures", lambda backend: iter(()))
    found = list(examine(catalog, {gl.VARIABLE: "disabled"}, tmp_path))
    assert finding(found, "python").detail == "could not be checked: ValueError: what is this"
    assert finding(found, "folder").status == "ok"


class TestInstalled:
    def test_a_library_of_the_wrong_version_is_a_problem_with_the_command(
        self, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("importlib.metadata.requires", lambda name: ["numpy>=99", "none-such>=1; extra == 'x'"])
        check = installed.check_versions(catalog)
        assert (check.status, check.remedy) == ("problem", "pip install 'numpy>=99'")
        assert "numpy" in check.detail

    def test_a_broken_plugin_of_somebody_else_is_a_warning_with_its_reason(
        self, with_plugin: Callable[..., Catalog]
    ) -> None:
        catalog = with_plugin("raise ImportError('no such luck')", version="2.1")
        check = finding(installed.check_plugins(catalog), "plugin peer-plugin")
        assert check.status == "warning"
        assert "peer-plugin 2.1" in check.detail
        assert "no such luck" in check.detail
        assert "pip install --upgrade peer-plugin" in str(check.remedy)

    def test_a_suite_without_its_factors_is_a_problem_that_names_them(self, monkeypatch: pytest.MonkeyPatch) -> None:
        check = installed.check_suite(build_catalog({"RBENCH_PLUGINS": "-rbench-factor-viewpoint"}))
        assert check.status == "problem"
        assert "rbench-factor-viewpoint" in check.detail

    def test_a_missing_optional_library_is_a_warning_with_the_command(
        self, with_plugin: Callable[..., Catalog]
    ) -> None:
        catalog = with_plugin(VISION_PLUGIN.replace("NEEDS", "('none_such.part',)"))
        check = finding(installed.check_optional_libraries(catalog), "vision-model peer-plugin/peer")
        assert check.status == "warning"
        assert "none_such.part" in check.detail
        assert "pip install none_such " in str(check.remedy)


class TestVision:
    @pytest.mark.parametrize(("key", "status"), [(None, "warning"), ("sk-very-secret", "ok")])
    def test_a_key_is_said_to_be_set_or_not_and_never_shown(
        self, key: str | None, status: str, with_plugin: Callable[..., Catalog]
    ) -> None:
        catalog = with_plugin(VISION_PLUGIN.replace("NEEDS", "()"))
        environ: Mapping[str, str] = {} if key is None else {"PEER_KEY": key}
        check = finding(check_vision(catalog, environ), "vision peer")
        assert check.status == status
        assert f"key in PEER_KEY: {'set' if key else 'not set'}" in check.detail
        assert "secret" not in str(check)

    def test_a_library_that_cannot_be_imported_is_found_without_harm(
        self, with_plugin: Callable[..., Catalog], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "crashes.py").write_text("import os; os.abort()")
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        catalog = with_plugin(VISION_PLUGIN.replace("NEEDS", "('crashes',)"))
        check = finding(check_vision(catalog, {}), "vision peer")
        assert check.status == "warning"
        assert check.detail == "crashes cannot be imported: killed by signal 6"


class TestPictures:
    def test_rendering_that_the_user_switched_off_is_a_warning(self) -> None:
        check, backend = pictures.check_opengl({gl.VARIABLE: "off"})
        assert (check.status, check.remedy, backend) == ("warning", "unset MUJOCO_GL", gl.DISABLED)

    def test_no_working_backend_is_a_problem_with_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(gl, "gl_problem", lambda backend: f"no {backend}")
        monkeypatch.setattr(osmesa_wheel, "library_folder", lambda: None)
        monkeypatch.setattr(osmesa_wheel, "is_offered", lambda: True)
        monkeypatch.setattr("platform.system", lambda: "Linux")
        check, backend = pictures.check_opengl({})
        assert (check.status, backend) == ("problem", gl.DISABLED)
        assert "no egl; osmesa: no osmesa; osmesa-wheel: no osmesa-wheel" in check.detail
        assert "apt-get install libegl1 libgl1" in str(check.remedy)
        assert osmesa_wheel.HOW_TO_INSTALL in str(check.remedy)

    def test_a_backend_of_the_users_that_does_not_work_is_told_apart_from_one_that_would(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        probes = {"egl": gl.GlProbe("no device"), "osmesa": gl.GlProbe(vendor="Mesa", renderer="llvmpipe")}
        monkeypatch.setattr(gl, "probe_gl", lambda backend: probes.get(backend, gl.GlProbe("missing")))
        check, _ = pictures.check_opengl({gl.VARIABLE: "egl"})
        assert (check.status, check.remedy) == ("problem", "unset MUJOCO_GL: osmesa works here")
        assert "MUJOCO_GL=egl does not work: no device" in check.detail

    def test_a_black_picture_is_a_problem(self, monkeypatch: pytest.MonkeyPatch) -> None:
        seen = {"build_seconds": 0.1, "frame_milliseconds": 9.0, "mean": 0.0, "contrast": 0.0}
        monkeypatch.setattr(pictures, "module_answer", lambda *_, **__: (seen, ""))
        check = finding(pictures.check_pictures("egl"), "pictures")
        assert check.status == "problem"
        assert "nothing on it" in check.detail

    def test_a_driver_that_dies_leaves_the_simulation_to_be_checked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def answer(module: str, backend: str, **_: Any) -> tuple[dict[str, Any] | None, str]:
            return ({"build_seconds": 0.1}, "") if backend == gl.DISABLED else (None, "killed by signal 11")

        monkeypatch.setattr(pictures, "module_answer", answer)
        found = list(pictures.check_pictures("egl"))
        assert finding(found, "pictures").detail == "egl: killed by signal 11"
        assert finding(found, "simulation").status == "ok"


class TestMachine:
    def test_a_system_that_is_not_tested_is_a_warning(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("platform.system", lambda: "Darwin")
        assert machine.check_python().status == "warning"

    def test_too_little_memory_for_a_worker_a_core_names_how_many_fit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(machine, "host", lambda: {"cores": 8, "python": ""})
        monkeypatch.setattr(machine, "_memory", lambda: (4e9, 1.6e9))
        check = machine.check_cores()
        assert (check.status, check.remedy) == ("warning", "rbench run ... --workers 3")

    def test_several_drawing_threads_a_worker_are_a_warning(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(machine, "host", lambda: {"cores": 8, "python": ""})
        assert machine.check_threads({"LP_NUM_THREADS": "8"}).remedy == "unset LP_NUM_THREADS"
        assert machine.check_threads({"LP_NUM_THREADS": "0"}).status == "ok"
        assert machine.check_threads({}).status == "ok"

    def test_a_folder_that_cannot_be_written_to_is_a_problem(self, tmp_path: Path) -> None:
        check = machine.check_folder(tmp_path / "gone")
        assert check.status == "problem"
        assert "--out" in str(check.remedy)

    def test_looking_at_a_folder_leaves_nothing_in_it(self, tmp_path: Path) -> None:
        assert machine.check_folder(tmp_path).status == "ok"
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(("free", "status"), [(5e9, "ok"), (3e8, "warning"), (1e6, "problem")])
    def test_the_less_space_is_free_the_worse(
        self, free: float, status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        usage = type(shutil.disk_usage(tmp_path))(10**12, 0, int(free))
        monkeypatch.setattr("shutil.disk_usage", lambda folder: usage)
        assert machine.check_disk(tmp_path).status == status


#: A vision model that looks for itself whether it works.
DOCTOR_PLUGIN = """
from rbench.contributions import VisionModelContribution
from rbench.hookspecs import hookimpl

def examine(environ):
    from rbench.doctor.check import Check
    yield Check("peer weights", "warning", environ["PEER_WEIGHTS"], "copy them there")

def fail(environ):
    raise RuntimeError("out of\\norder")

@hookimpl
def rbench_vision_models():
    yield VisionModelContribution(name="peer", summary="Peers.", target="x:y", doctor="peer_plugin:FUNCTION")
"""


def test_a_contribution_says_for_itself_what_works(with_plugin: Callable[..., Catalog]) -> None:
    catalog = with_plugin(DOCTOR_PLUGIN.replace("FUNCTION", "examine"))
    found = finding(installed.check_contributions(catalog, {"PEER_WEIGHTS": "/there"}), "peer weights")
    assert found == Check("peer weights", "warning", "/there", "copy them there")


@pytest.mark.parametrize(("function", "said"), [("fail", "out of order"), ("absent", "absent")])
def test_a_contribution_whose_own_check_fails_is_a_finding(
    with_plugin: Callable[..., Catalog], function: str, said: str
) -> None:
    catalog = with_plugin(DOCTOR_PLUGIN.replace("FUNCTION", function))
    found = finding(installed.check_contributions(catalog, {}), "vision-model peer-plugin/peer")
    assert found.status == "warning"
    assert said in found.detail
    assert "peer-plugin" in str(found.remedy)
