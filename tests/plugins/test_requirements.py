from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rbench.errors import StartError, UsageError
from rbench.plugins.catalog import build_catalog

Install = Callable[..., Path]


@pytest.mark.parametrize(
    "requirement",
    ["rbench", "rbench>=0.0.1", "Fake.One>=1,<2", "no-such-library; python_version < '3'", "fake-one[extra]==1.0"],
)
def test_what_is_installed_passes(install_agent: Install, requirement: str) -> None:
    install_agent("fake-one", "one")
    build_catalog({}).require([requirement], "suite 'x'")


def test_everything_missing_is_named_at_once_with_the_command(install_agent: Install) -> None:
    install_agent("fake-one", "one")
    with pytest.raises(StartError) as problem:
        build_catalog({}).require(["fake-one>=2", "rbench", "no-such-library"], "suite 'x'")
    assert str(problem.value) == (
        "suite 'x' cannot start: fake-one 1.0 is installed, fake-one>=2 is needed; no-such-library is not installed."
        " Fix it with: pip install 'fake-one>=2' no-such-library"
    )


def test_an_installed_plugin_that_did_not_load_does_not_pass(install: Install) -> None:
    install("fake-one", "1 / 0")
    with pytest.raises(StartError, match=r"fake-one 1\.0 did not load: ZeroDivisionError"):
        build_catalog({}).require(["fake-one"], "suite 'x'")


def test_a_requirement_that_cannot_be_read_is_wrong_use() -> None:
    with pytest.raises(UsageError, match=r"suite 'x': requirement 'a b' cannot be read"):
        build_catalog({}).require(["a b"], "suite 'x'")
