"""A catalog of small factors, and a small suite that tests change line by line."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.contributions import FactorContribution
from rbench.plugins.catalog import Catalog
from rbench.plugins.discovery import FoundPlugin
from rbench.plugins.loading import LoadedPlugin
from rbench.suites.loading import load_suite
from rbench.suites.suite import Suite

HERE = Path(__file__).resolve().parent

FACTORS = {
    "paint": ("Paint", "Options"),
    "zoom": ("Zoom", None),
    "place": ("Place", None),
    "words": ("Words", None),
    "many": ("Many", "CountOptions"),
    "faulty": ("Faulty", "FaultOptions"),
}


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """A catalog that holds only the small factors."""
    monkeypatch.syspath_prepend(str(HERE / "fakes"))
    module = "suite_test_factors"
    contributions = tuple(
        FactorContribution(
            name=name, summary="For tests.", target=f"{module}:{cls}", options=options and f"{module}:{options}"
        )
        for name, (cls, options) in FACTORS.items()
    )
    found = FoundPlugin("suite-test-factors", "1.0", "plugin", module)
    return Catalog([LoadedPlugin(found, "ok", contributions)])


@pytest.fixture
def small() -> str:
    """The text of the small suite."""
    return (HERE / "data" / "small.toml").read_text()


@pytest.fixture
def suite_file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a suite file beside the scene that the small suite uses."""

    def write(text: str) -> Path:
        shutil.copy(HERE / "data" / "tiny.toml", tmp_path / "tiny.toml")
        path = tmp_path / "suite.toml"
        path.write_text(text)
        return path

    return write


@pytest.fixture
def load(catalog: Catalog, suite_file: Callable[[str], Path]) -> Callable[[str], Suite]:
    """Loads a suite from its text."""

    def load_text(text: str) -> Suite:
        return load_suite(catalog, str(suite_file(text)))

    return load_text
