"""A fresh virtual environment that sees everything that is installed here, in which plugins can be installed."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Environment:
    """A virtual environment over the running one; `rbench`, `python` and `pip` in it need no network."""

    folder: Path

    def run(self, *command: str, cwd: Path, timeout: float = 280) -> subprocess.CompletedProcess[str]:
        """Run a command in a folder; what it prints is returned."""
        environ = os.environ | {
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "PIP_NO_BUILD_ISOLATION": "0",  # pip's word for "build with what is installed"
            "PIP_NO_DEPS": "1",
            "PIP_NO_INDEX": "1",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return subprocess.run(
            command, cwd=cwd, env=environ, capture_output=True, text=True, timeout=timeout, check=False
        )

    def succeed(self, *command: str, cwd: Path) -> str:
        """Run a command that must exit with 0; its stdout."""
        done = self.run(*command, cwd=cwd)
        assert done.returncode == 0, (
            f"{' '.join(command)}: {done.returncode}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
        )
        return done.stdout


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment of this test alone."""
    pytest.importorskip("hatchling", reason="plugins are built with hatchling (requirements-test.txt)")
    pytest.importorskip("editables", reason="editable installs need editables (requirements-test.txt)")
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False)
    (site,) = (folder / "lib").glob("python*/site-packages")
    # One by one, so that editable installs there are found too; pip and setuptools come from there as well.
    outer = [path for path in sys.path if Path(path).name == "site-packages"]
    (site / "outer.pth").write_text("".join(f"import site; site.addsitedir({path!r})\n" for path in outer))
    script = folder / "bin" / "rbench"
    script.write_text(f'#!/bin/sh\nexec "{folder}/bin/python" -m rbench "$@"\n')
    script.chmod(0o755)
    return Environment(folder)
