"""Fixtures for all of core's tests."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from rbench.plugins.catalog import Catalog, build_catalog


@pytest.fixture(autouse=True, scope="session")
def _interrupts_are_heard() -> Iterator[None]:
    """SIGINT has its default action, also where the tests were started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session")
def catalog() -> Catalog:
    """The catalog of what is installed."""
    return build_catalog()


@pytest.fixture(scope="session")
def gl_problem() -> str | None:
    """Why nothing can be rendered here, or None."""
    from rbench.errors import StartError
    from rbench.simulation.gl import DISABLED, choose_gl

    try:
        backend = choose_gl()
    except StartError as problem:
        return str(problem)
    return None if backend != DISABLED else "no OpenGL works here, or MUJOCO_GL switches it off"


@pytest.fixture(autouse=True)
def _needs_gl(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("gl"):
        problem = request.getfixturevalue("gl_problem")
        if problem:
            pytest.skip(problem)


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Child processes of tests get one thread each, as workers do."""
    for name, value in {"OMP_NUM_THREADS": "1", "LP_NUM_THREADS": "0"}.items():
        monkeypatch.setenv(name, value)
    yield


@pytest.fixture
def fake_distribution(tmp_path: Path) -> Callable[..., Path]:
    """Writes an installed-looking distribution whose plugin is one module; returns the folder for the path.

    The module of `my-dist` is `my_dist`; by default its only entry point is `plugin = my_dist`.
    """

    def write(
        name: str,
        source: str = "",
        *,
        version: str = "1.0",
        requires: Sequence[str] = (),
        entry_points: str | None = None,
        folder: str = "site",
    ) -> Path:
        site = tmp_path / folder
        module = name.lower().replace("-", "_").replace(".", "_")
        information = site / f"{module}-{version}.dist-info"
        information.mkdir(parents=True)
        (site / f"{module}.py").write_text(source)
        lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
        lines += [f"Requires-Dist: {requirement}" for requirement in requires]
        (information / "METADATA").write_text("\n".join(lines) + "\n")
        (information / "entry_points.txt").write_text(
            f"[rbench]\nplugin = {module}\n" if entry_points is None else entry_points
        )
        return site

    return write
