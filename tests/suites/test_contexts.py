"""Contexts: structured union with and without multiplicity, and the full product."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rbench.suites.suite import Suite

Load = Callable[[str], Suite]


def names(suite: Suite) -> list[str]:
    return [context.name for context in suite.contexts]


def test_the_paper_counts_the_baseline_once_for_every_factor(small: str, load: Load) -> None:
    assert names(load(small)) == ["place-p1", "place-p2", "place-p3", "words-i1", "words-i2"]


def test_as_a_set_the_baseline_is_one_context(small: str, load: Load) -> None:
    unique = load(small.replace('"paper"', '"unique"'))
    assert names(unique) == ["base", "place-p2", "place-p3", "words-i2"]


def test_unique_is_what_a_suite_gets_that_says_nothing(small: str, load: Load) -> None:
    assert names(load(small.replace('multiplicity = "paper"', "")))[0] == "base"


def test_a_context_varies_one_factor_and_keeps_the_baselines_of_the_others(small: str, load: Load) -> None:
    assert load(small).context("place-p3").levels == {"place": "p3", "words": "i1"}


def test_the_base_context_exists_even_when_the_scheme_does_not_list_it(small: str, load: Load) -> None:
    assert load(small).context("base").levels == {"place": "p1", "words": "i1"}


def test_a_baseline_outside_the_levels_is_no_context_of_the_union(small: str, load: Load) -> None:
    text = small.replace('baseline = "p1"', 'baseline = "default"').replace('"paper"', '"unique"')
    assert names(load(text)) == ["base", "place-p1", "place-p2", "place-p3", "words-i2"]


def test_no_baseline_among_the_levels_leaves_no_base_context(small: str, load: Load) -> None:
    text = small.replace('"p1"', '"default"').replace('baseline = "i1"', 'baseline = "none"')
    text = text.replace("scene =", 'instruction = "Do it."\nscene =').replace('"paper"', '"unique"')
    assert names(load(text)) == ["place-p1", "place-p2", "place-p3", "words-i1", "words-i2"]


def test_the_product_has_every_combination(small: str, load: Load) -> None:
    text = small.replace('"structured-union"\nmultiplicity = "paper"', '"product"')
    suite = load(text)
    assert len(suite.contexts) == 6
    assert suite.context("place-p2_words-i2").levels == {"place": "p2", "words": "i2"}


@pytest.mark.parametrize("scheme", ["structured-union", "product"])
def test_without_context_factors_there_is_one_context(small: str, load: Load, scheme: str) -> None:
    start, end = small.index("[factors.place]"), small.index("[[interactions]]")
    text = small[:start] + f'[contexts]\nscheme = "{scheme}"\n\n' + small[end:]
    text = text.replace("scene =", 'instruction = "Do it."\nscene =').replace("contexts = 2", "contexts = 1")
    assert names(load(text)) == ["base"]
