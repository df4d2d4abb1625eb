"""The plan of the house: who may import whom, how large a file gets, and what start-up loads."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CORE = ROOT / "core" / "rbench"

#: Floor of every room and of every module that stands at the top of the package.
FLOORS = {
    **dict.fromkeys(["reading", "secret_names"], 0),
    **dict.fromkeys(["errors", "values", "geometry", "rounding", "seeding", "scene", "things", "observation"], 0),
    **dict.fromkeys(["action", "world_state", "record", "design"], 0),
    **dict.fromkeys(["interfaces", "contributions", "hookspecs"], 1),
    **dict.fromkeys(["tasks", "plugins", "builtin"], 2),
    "suites": 3,
    **dict.fromkeys(["simulation", "vision", "results"], 4),
    "running": 5,
    **dict.fromkeys(["testing", "reporting", "doctor", "remote", "collecting", "validation"], 6),
    "review": 7,
    "cli": 8,
    "__main__": 9,
}


def room_of(module: str) -> str:
    """`rbench.tasks.monitor` -> `tasks`."""
    return module.split(".")[1]


def python_files(*folders: Path) -> list[Path]:
    return sorted(p for folder in folders for p in folder.rglob("*.py") if ".venv" not in p.parts)


def module_name(path: Path) -> str:
    parts = path.relative_to(CORE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_modules(path: Path) -> set[str]:
    """Every module of rbench that a file imports or names as a lazy target `"rbench.x.y:z"`."""
    found: set[str] = set()
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import; write the full name"
            if node.module:
                found.add(node.module)
                if node.module == "rbench":
                    found |= {f"rbench.{alias.name}" for alias in node.names if alias.name in FLOORS}
    return {name for name in found if name.startswith("rbench.")}


def test_every_module_stands_on_a_floor() -> None:
    names = {p.stem if p.is_file() else p.name for p in CORE.iterdir() if p.suffix == ".py" or p.is_dir()}
    names -= {"__init__", "__pycache__"}
    assert names == set(FLOORS)


@pytest.mark.parametrize("path", python_files(CORE), ids=module_name)
def test_imports_run_down_the_floors(path: Path) -> None:
    module = module_name(path)
    if module == "rbench":
        return
    room = room_of(module)
    for target in imported_modules(path):
        other = room_of(target)
        if other == room:
            continue
        assert FLOORS[other] <= FLOORS[room], f"{module} ({room}) imports {target}, which stands on a higher floor"
        if FLOORS[other] == FLOORS[room] >= 2:
            pytest.fail(f"{module} imports {target}: rooms of one floor do not know each other")


def test_no_import_circles() -> None:
    modules = {module_name(p): p for p in python_files(CORE)}
    graph = {name: {t for t in imported_modules(path) if t in modules and t != name} for name, path in modules.items()}
    done: set[str] = set()

    def visit(name: str, trail: tuple[str, ...]) -> None:
        assert name not in trail, " -> ".join((*trail, name))
        if name in done:
            return
        for target in sorted(graph[name]):
            visit(target, (*trail, name))
        done.add(name)

    for name in sorted(graph):
        visit(name, ())


def test_core_never_names_a_plugin_package() -> None:
    packages = {p.name for p in ROOT.glob("plugins/*/*/rbench_*")}
    assert packages
    for path in python_files(CORE):
        tree = ast.parse(path.read_text())
        for node in ast.walk(tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [a.name for a in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module]
            assert not {n.split(".")[0] for n in names} & packages, f"{path} imports a plugin"


@pytest.mark.parametrize("folder", sorted(ROOT.glob("plugins/*/*")), ids=lambda p: p.name)
def test_a_plugin_imports_no_other_plugin(folder: Path) -> None:
    own = {p.name for p in folder.glob("rbench_*")}
    others = {p.name for p in ROOT.glob("plugins/*/*/rbench_*")} - own
    for path in python_files(folder):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                assert node.module.split(".")[0] not in others, f"{path} imports {node.module}"


@pytest.mark.parametrize("path", python_files(CORE, ROOT / "plugins", ROOT / "tests", ROOT / "benchmarks"), ids=str)
def test_no_file_is_longer_than_500_lines(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 500


@pytest.mark.parametrize("path", python_files(CORE, ROOT / "plugins"), ids=str)
def test_no_vague_module_names(path: Path) -> None:
    assert path.stem not in {"utils", "util", "helpers", "helper", "common", "misc", "tools"}


@pytest.mark.parametrize("arguments", [["--help"], ["list-plugins"], ["list-plugins", "--json"]], ids=" ".join)
def test_start_up_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from rbench.cli import main\n"
        f"code = main({arguments!r})\n"
        "libraries = ('mujoco', 'torch', 'pydantic', 'scipy', 'gymnasium_robotics')\n"
        "heavy = [m for m in libraries if m in sys.modules]\n"
        "parts = [m for m in sys.modules if m.startswith('rbench_') and '.' in m]\n"
        "implementation = [m for m in parts if not m.endswith('.plugin')]\n"
        "rooms = [m for m in sys.modules if m.startswith(('rbench.simulation', 'rbench.running', 'rbench.suites.'))]\n"
        "assert code == 0, code\n"
        "assert not heavy + implementation + rooms, heavy + implementation + rooms\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr[-2000:]
