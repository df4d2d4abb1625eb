from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rbench


@pytest.mark.parametrize("name", rbench.__all__)
def test_every_exported_name_can_be_imported(name: str) -> None:
    assert getattr(rbench, name) is not None


def test_the_names_that_type_checkers_see_are_those_that_exist() -> None:
    assert rbench.__file__
    tree = ast.parse(Path(rbench.__file__).read_text())
    (block,) = [n for n in tree.body if isinstance(n, ast.If)]
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen == rbench._HOMES
    assert sorted([*seen, "__version__"]) == sorted(rbench.__all__)


def test_an_exported_name_hides_no_module() -> None:
    assert rbench.__file__
    modules = {p.stem for p in Path(rbench.__file__).parent.iterdir()}
    assert not modules & set(rbench.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        rbench.nothing  # noqa: B018


def test_dir_shows_the_public_names() -> None:
    assert dir(rbench) == sorted(rbench.__all__)


def test_importing_rbench_imports_nothing_else() -> None:
    code = "import sys; import rbench; print([m for m in sys.modules if m in ('numpy', 'pluggy') or 'rbench.' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "[]\n"
