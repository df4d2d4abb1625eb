"""Groups of levels: factors know them, designs carry them to the metrics."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rbench.design import Design
from rbench.suites.suite import Suite
from rbench.suites.variants import RecursiveVariantTaskManager
from rbench.values import from_plain, to_plain


@pytest.fixture
def suite(small: str, load: Callable[[str], Suite], monkeypatch: pytest.MonkeyPatch) -> Suite:
    suite = load(small)
    families = {"red": "warm", "green": "cold", "blue": "cold", "pink": "warm"}
    monkeypatch.setattr(suite.factors["paint"].factor, "groups", families, raising=False)
    return suite


def test_a_design_has_the_groups_of_the_levels_it_uses(suite: Suite) -> None:
    design = RecursiveVariantTaskManager(suite).design({})
    assert design.groups == {"paint": {"red": "warm", "green": "cold", "blue": "cold"}}


def test_a_part_of_the_design_has_the_groups_of_that_part(suite: Suite) -> None:
    grid = [dimension for dimension in suite.dimensions if dimension.name == "zoom+paint"]
    design = RecursiveVariantTaskManager(suite).design({}, grid)
    assert design.groups == {"paint": {"red": "warm", "blue": "cold"}}


def test_groups_survive_the_manifest_and_old_manifests_have_none(suite: Suite) -> None:
    design = RecursiveVariantTaskManager(suite).design({})
    plain = to_plain(design)
    assert from_plain(Design, plain) == design
    del plain["groups"]
    assert from_plain(Design, plain).groups == {}
