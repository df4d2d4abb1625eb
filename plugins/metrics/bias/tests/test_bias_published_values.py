"""What RoboView-Bias prints, from the counts and cells behind it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rbench.interfaces.metric import Convention
from rbench.rounding import half_up, half_up_percent
from rbench_metric_bias.bias import Bias, Options
from rbench_metric_bias.coefficients import average_coefficient, average_rate

PUBLISHED = json.loads(Path(__file__).with_name("published_tables.json").read_text())
AGENTS = PUBLISHED["success_rate_and_cv"]


def printed(value: float | None) -> str | None:
    return None if value is None else str(half_up(value))


@pytest.mark.parametrize("agent", AGENTS)
def test_average_success_rate_of_table_1(agent: str) -> None:
    rates = [float(text) / 100 for text in AGENTS[agent]["success_rate"]]
    average = average_rate(rates, "paper")
    assert average is not None
    assert str(half_up_percent(average)) == AGENTS[agent]["average_success_rate"]


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("convention", ["paper", "default"])
def test_average_cv_of_table_1(agent: str, convention: Convention) -> None:
    percents = [None if text is None else float(text) for text in AGENTS[agent]["cv"]]
    assert printed(average_coefficient(percents, convention)) == AGENTS[agent]["average_cv"]


@pytest.mark.parametrize("column", PUBLISHED["columns_of_table_2"])
def test_averages_of_table_2(column: str) -> None:
    table = PUBLISHED["columns_of_table_2"][column]
    assert printed(average_coefficient([float(text) for text in table["values"]], "paper")) == table["average"]


@pytest.mark.parametrize("case", PUBLISHED["counts_behind_success_rates"], ids=lambda c: c["printed"])
def test_success_rate_from_counts(case: dict[str, Any]) -> None:
    assert str(half_up_percent(case["successes"] / case["episodes"])) == case["printed"]


def test_average_of_printed_cells_differs_from_average_of_exact_counts() -> None:
    exact = [1855 / 7755, 788 / 1155, 355 / 495, 349 / 495]
    paper, default = average_rate(exact, "paper"), average_rate(exact, "default")
    assert paper is not None and default is not None
    assert (str(half_up_percent(paper)), str(half_up_percent(default))) == ("58.60", "58.59")


def reconstruction(case: dict[str, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    counts = np.zeros((case["contexts"], case["levels"]), dtype=np.int64)
    for context, cells in enumerate(case["cells_with_one_success"]):
        counts[context, :cells] = 1
    return counts


@pytest.mark.parametrize("case", PUBLISHED["low_success_reconstructions"], ids=lambda c: c["printed"])
class TestLowSuccessCoefficients:
    def cv(self, study: Any, case: dict[str, Any], convention: Convention, options: Options | None = None) -> float:
        records, design = study({"distance": reconstruction(case)}, repeats=case["repeats"])
        cv: float = Bias(options).compute(records, design, convention).dimensions["distance"]["cv"]
        return cv

    def test_paper_convention_prints_what_the_paper_prints(self, study: Any, case: dict[str, Any]) -> None:
        cv = self.cv(study, case, "paper")
        assert cv == pytest.approx(case["paper"], abs=1e-9)
        assert printed(cv) == case["printed"]

    def test_default_convention_does_not_round_contexts(self, study: Any, case: dict[str, Any]) -> None:
        assert self.cv(study, case, "default") == pytest.approx(case["unrounded"], abs=1e-6)

    def test_other_constants_give_something_else(self, study: Any, case: dict[str, Any]) -> None:
        assert printed(self.cv(study, case, "paper", Options(eps=0, ddof=1))) != case["printed"]


def test_sample_deviation_without_eps_on_the_distance_case(study: Any) -> None:
    records, design = study({"distance": reconstruction(PUBLISHED["low_success_reconstructions"][0])})
    result = Bias(Options(eps=0, ddof=1)).compute(records, design, "default")
    assert result.dimensions["distance"]["cv"] == pytest.approx(259.37253933193773, abs=1e-6)
    assert result.dimensions["distance"]["success_rate"] == pytest.approx(0.014141414141414141)
    assert result.dimensions["distance"]["contexts_used"] == 5
