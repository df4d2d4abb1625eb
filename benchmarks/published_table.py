"""What the CVs that RoboView-Bias prints say, beside the floor of an unbiased agent of the same success rate.

    python benchmarks/published_table.py

Only printed numbers are known, so contexts are taken as alike: five independent repeats, eleven contexts.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from rbench_metric_bias.coefficients import coefficient_of_variation, correlation_behind, mean_over_defined

TABLES = Path(__file__).parents[1] / "plugins/metrics/bias/tests/published_tables.json"
LEVELS = {"color": 141, "camera-pose": 21, "camera-euler": 9, "camera-distance": 9}
CONTEXTS, REPEATS, DRAWS = 11, 5, 4000


def main() -> None:
    rng = np.random.default_rng(0)
    sys.stdout.write("| agent | dimension | success | CV | floor | p | correlation |\n|---|---|---|---|---|---|---|\n")
    for agent, printed in json.loads(TABLES.read_text())["success_rate_and_cv"].items():
        for (dimension, levels), rate, cv in zip(LEVELS.items(), printed["success_rate"], printed["cv"], strict=True):
            if cv is None:
                continue
            p = float(rate) / 100
            cells = rng.binomial(REPEATS, p, (DRAWS, CONTEXTS, levels)) / REPEATS
            floor = mean_over_defined(coefficient_of_variation(cells))
            floor = floor[~np.isnan(floor)]
            low, high = np.quantile(floor, [0.025, 0.975])
            chance = ((floor >= float(cv)).sum() + 1) / (len(floor) + 1)
            correlation = correlation_behind(p, float(cv), REPEATS, levels)
            sys.stdout.write(
                f"| {agent} | {dimension} | {rate} | {cv} | {floor.mean():.1f} [{low:.1f}, {high:.1f}]"
                f" | {'<0.001' if chance < 0.001 else f'{chance:.3f}'} | {correlation:.2f} |\n"
            )


if __name__ == "__main__":
    main()
