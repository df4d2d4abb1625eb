"""Calibration of the statistics on agents whose truth is known. Prints the tables of docs/statistics.md.

    python benchmarks/calibration.py            # all parts: about 20 minutes on one core
    python benchmarks/calibration.py floor -n 50

Every part draws its datasets from a fixed seed. With n datasets a share near 0.05 has a standard error of
sqrt(0.05 * 0.95 / n): 0.011 at 400.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
from calibration_agents import CONTEXTS, JITTERS, Jitter, logits, table, true_correlation, true_square

from rbench_metric_bias.additivity import additivity_of_cells, additivity_over_blocks, iec_floor, logit_components
from rbench_metric_bias.coefficients import coefficient_of_variation, interaction_effect, mean_of_defined
from rbench_metric_bias.comparison import cv_comparison, mcnemar, mean_difference, rate_comparison, unit_differences
from rbench_metric_bias.debiased import debiased
from rbench_metric_bias.independent import beta_binomial_posterior, published_e3
from rbench_metric_bias.intervals import pooled_rate_interval, wilson_interval
from rbench_metric_bias.permutation import any_bias, main_effect
from rbench_metric_bias.verdict import LEVEL, holm

PERMUTATIONS = 199
LEVELS, REPEATS = (9, 21, 141), (5, 2)
Row = Sequence[str | int | float | None]


def floor(datasets: int) -> Iterator[Row]:
    """Without bias: p is uniform, and the floor is what the CV is

    Rejected: share of p at most 0.05 and 0.10. Excess: by how much the share of p at most x exceeds x, at the x where
    it does so most (by chance up to 0.061 at 400 datasets). KS: largest distance either way; equal statistics, frequent
    with few levels and repeats, count against a rejection and make it large. In the floor: share of CVs inside the
    95 % interval of their floor. No p: no block distinguishes levels.
    """
    yield "jitter", "n", "r", "rejected 5 %", "10 %", "excess", "KS", "mean CV", "mean floor", "in the floor", "no p"
    for jitter in JITTERS:
        for levels in LEVELS:
            for repeats in REPEATS:
                rng = np.random.default_rng([1, levels, repeats])
                p, cv, expected, inside, untested = [], [], [], 0, 0
                for _ in range(datasets):
                    y = jitter.outcomes(rng, logits(rng, levels), jitter.effects(rng, CONTEXTS, repeats, levels))
                    one = table(y)
                    found = any_bias(one, not jitter.shared, PERMUTATIONS, rng, 0.01, 0)
                    seen = mean_of_defined(coefficient_of_variation(one.cell_rates))
                    if found.floor is None or found.floor_interval is None or seen is None:
                        continue
                    cv.append(seen)
                    expected.append(found.floor)
                    low, high = found.floor_interval
                    inside += low - 1e-9 <= seen <= high + 1e-9
                    untested += found.p_value is None
                    p += [found.p_value] if found.p_value is not None else []
                yield (
                    jitter.name, levels, repeats, share(p, 0.05), share(p, 0.10), *distances(p),
                    np.mean(cv), np.mean(expected), inside / len(cv), untested / len(cv),
                )  # fmt: skip


def main(datasets: int) -> Iterator[Row]:
    """The main-effect p keeps its level when levels and contexts interact without a main effect

    Power: of both tests for a bias of 0.5 logits (standard deviation) common to all contexts.
    """
    yield "jitter", "n", "r", "no bias", "interaction of 0.7 only", "any-bias p there", "power, main", "power, any"
    for jitter in JITTERS:
        for levels in (9, 21):
            for repeats in REPEATS:
                rng = np.random.default_rng([2, levels, repeats])
                rejected = []
                for spread, both in ((0.0, 0.0), (0.0, 0.7), (0.5, 0.0)):
                    p_main, p_any = [], []
                    for _ in range(datasets):
                        truth = logits(rng, levels, level_sd=spread, interaction_sd=both)
                        one = table(jitter.outcomes(rng, truth, jitter.effects(rng, CONTEXTS, repeats, levels)))
                        p_main.append(main_effect(one, PERMUTATIONS, rng))
                        p_any.append(any_bias(one, not jitter.shared, PERMUTATIONS, rng, 0.01, 0).p_value)
                    rejected.append([sum(q is not None and q <= 0.05 for q in p) / datasets for p in (p_main, p_any)])
                (none, _), (inter, inter_any), (power, power_any) = rejected
                yield jitter.name, levels, repeats, none, inter, inter_any, power, power_any


def verdicts(datasets: int) -> Iterator[Row]:
    """How often a study calls something biased

    Wrong: share of studies of four dimensions without any bias (141, 21, 9 and 9 levels, r = 5) that call at least one
    biased. Quick: 3 contexts, 12, 9, 9 and 9 levels, r = 2 (234 episodes); the share that finds an effect of 1 or 2
    logits (standard deviation) in the first dimension.
    """
    yield "jitter", "wrong, full study", "wrong, quick", "found at 1 logit, quick", "found at 2 logits, quick"
    full, quick = ((141, 21, 9, 9), CONTEXTS, 5), ((12, 9, 9, 9), 3, 2)
    for jitter in JITTERS:
        found = []
        for (sizes, contexts, repeats), spread in ((full, 0.0), (quick, 0.0), (quick, 1.0), (quick, 2.0)):
            rng = np.random.default_rng([8, contexts, int(spread)])
            called = 0
            for _ in range(datasets):
                block = jitter.effects(rng, contexts, repeats, max(sizes))
                p = {}
                for number, levels in enumerate(sizes):
                    truth = logits(rng, levels, level_sd=0.0 if number else spread, contexts=contexts)
                    effects = block[..., :levels] if jitter.shared else jitter.effects(rng, contexts, repeats, levels)
                    one = table(jitter.outcomes(rng, truth, effects))
                    permutations = PERMUTATIONS if contexts == CONTEXTS else 999
                    p[number, "any"] = any_bias(one, not jitter.shared, permutations, rng, 0.01, 0).p_value
                    p[number, "main"] = main_effect(one, permutations, rng)
                adjusted = holm(p)
                wanted = [q for (number, _), q in adjusted.items() if spread == 0 or number == 0]
                called += any(q is not None and q <= LEVEL for q in wanted)
            found.append(called / datasets)
        yield jitter.name, *found


def rates(datasets: int) -> Iterator[Row]:
    """The interval of a pooled success rate covers the truth

    Level effects of 0.5 logits. Wilson over all episodes for comparison. Exact truth: mean over the 11 contexts.
    """
    yield "jitter", "n", "r", "t over blocks", "mean width", "Wilson over episodes"
    for jitter in JITTERS:
        for levels in LEVELS:
            for repeats in REPEATS:
                rng = np.random.default_rng([3, levels, repeats])
                over_blocks, over_episodes, width = 0, 0, 0.0
                for _ in range(datasets):
                    truth = logits(rng, levels, level_sd=0.5)
                    y = jitter.outcomes(rng, truth, jitter.effects(rng, CONTEXTS, repeats, levels))
                    rate = float(jitter.rates(truth).mean())
                    blocks = y.sum(axis=2)
                    interval = pooled_rate_interval(blocks, np.full(blocks.shape, levels))
                    assert interval is not None
                    over_blocks += interval[0] <= rate <= interval[1]
                    width += interval[1] - interval[0]
                    wilson = wilson_interval(float(y.mean()), y.size)
                    over_episodes += wilson[0] <= rate <= wilson[1]
                yield jitter.name, levels, repeats, over_blocks / datasets, width / datasets, over_episodes / datasets


def cv(datasets: int) -> Iterator[Row]:
    """The debiased CV is unbiased, and its interval covers the truth

    11 contexts. Debiased, E3: root of the mean signed square; 0 where the mean is negative. Covered: share of intervals
    that hold the true CV. No interval: share of datasets in which no block distinguishes levels.
    """
    yield (
        "jitter", "n", "r", "mean logit", "levels, interaction", "true CV", "debiased", "E3 as published",
        "ICC", "true ICC", "covered", "no interval",
    )  # fmt: skip
    cases = ((0.0, 0.0, 0.0), (0.0, 0.7, 0.0), (0.0, 0.7, 0.7), (-1.5, 0.7, 0.0))
    for jitter in JITTERS:
        for levels in LEVELS:
            for repeats in REPEATS:
                for mean, spread, both in cases if levels < 141 else cases[1:3]:
                    if jitter.deterministic and spread == 0:
                        continue  # all levels succeed and fail together: no block distinguishes them
                    rng = np.random.default_rng([4, levels, repeats])
                    truth = logits(rng, levels, mean=mean, level_sd=spread, interaction_sd=both)
                    true = jitter.rates(truth)
                    square, icc = true_square(true), true_correlation(true)
                    squares, published, correlations, covered, without = [], [], [], 0, 0
                    for _ in range(datasets):
                        y = jitter.outcomes(rng, truth, jitter.effects(rng, CONTEXTS, repeats, levels))
                        found = debiased(y, np.ones_like(y))
                        e3 = published_e3(y.sum(axis=1), np.full((CONTEXTS, levels), repeats), "independent")
                        squares += [found.square] if found.square is not None else []
                        published += [e3.square] if e3 is not None and e3.square is not None else []
                        correlations += [found.icc] if found.icc is not None else []
                        if found.cv_interval is None:
                            without += 1
                            continue
                        low, high = found.cv_interval
                        covered += low <= 100 * square**0.5 <= high
                    yield (
                        jitter.name, levels, repeats, mean, f"{spread}, {both}", 100 * square**0.5,
                        root_percent(np.mean(squares)), root_percent(np.mean(published)),
                        np.mean(correlations), icc, covered / (datasets - without), without / datasets,
                    )  # fmt: skip


def posterior(datasets: int) -> Iterator[Row]:
    """Beta-binomial posterior, for independent seeds: how often its intervals cover

    Cells drawn from the model itself, r = 5, mean rate 0.4; contexts of one mean.
    """
    yield "n", "ICC", "true CV", "CV", "pooled CV", "ICC interval", "blocks, for comparison"
    for levels in (9, 21):
        for correlation in (0.05, 0.2, 0.5):
            rng = np.random.default_rng([5, levels])
            covered = np.zeros(4)
            size, truths = 1 / correlation - 1, []
            for _ in range(datasets):
                true = rng.beta(0.4 * size, 0.6 * size, (CONTEXTS, levels))
                y = (rng.random((CONTEXTS, 5, levels)) < true[:, None]).astype(np.int64)
                found = beta_binomial_posterior(
                    y.sum(axis=1), np.full(true.shape, 5), "independent", rng, eps=0.01, ddof=0
                )
                paper = mean_of_defined(coefficient_of_variation(true))
                pooled = 100 * true_square(true) ** 0.5
                assert found is not None
                assert paper is not None
                truths.append(pooled)
                intervals = (found.cv, found.cv_pooled, found.icc, debiased(y, np.ones_like(y)).cv_interval)
                for i, (interval, value) in enumerate(
                    zip(intervals, (paper, pooled, correlation, pooled), strict=True)
                ):
                    covered[i] += interval is not None and interval[0] <= value <= interval[1]
            yield levels, correlation, np.mean(truths), *(covered / datasets)


def interaction(datasets: int) -> Iterator[Row]:
    """Additivity keeps its level, finds interaction, and the floor explains the IEC

    One context, 21 x 7 cells (A x B), logit standard deviations of A, B and A x B. In the floor: share of IECs inside
    their 95 % floor. Components: mean of the estimated standard deviations.
    """
    yield (
        "jitter", "r", "A, B, A x B", "rejected 5 %", "IEC(A;B)", "floor", "in the floor", "IEC(B;A)", "floor",
        "in the floor", "A", "B", "A x B",
    )  # fmt: skip
    sizes = {"a": 21, "b": 7}
    for jitter in JITTERS:
        for repeats, (a, b, both) in (
            (10, (0.0, 0.0, 0.0)), (10, (1.5, 0.5, 0.0)), (10, (2.4, 0.7, 0.0)), (10, (1.5, 0.5, 0.5)),
            (10, (1.5, 0.5, 1.0)), (5, (1.5, 0.5, 0.0)), (5, (1.5, 0.5, 1.0)),
        ):  # fmt: skip
            rng = np.random.default_rng([6, repeats, int(10 * (a + both))])
            rejected, values, inside, components = 0, [], np.zeros(2), []
            for _ in range(datasets):
                truth = a * rng.normal(size=(21, 1)) + b * rng.normal(size=(1, 7)) + both * rng.normal(size=(21, 7))
                y = jitter.outcomes(rng, truth.reshape(1, -1), jitter.effects(rng, 1, repeats, 147))
                one = table(y, sizes)
                if jitter.shared:
                    test = additivity_over_blocks(one, PERMUTATIONS, rng)
                else:
                    test = additivity_of_cells(one, "independent", 99, rng)
                rejected += test.p_value is not None and test.p_value <= 0.05
                bound = iec_floor(one, not jitter.shared, 99, rng, 0.01, 0)
                seen = (interaction_effect(one.cell_rates.swapaxes(1, 2)).iec, interaction_effect(one.cell_rates).iec)
                values.append([*seen, *bound.mean.values()])
                for i, (value, interval) in enumerate(zip(seen, bound.interval.values(), strict=True)):
                    inside[i] += value is not None and interval is not None and interval[0] <= value <= interval[1]
                if len(components) < 20:
                    components.append([c or 0.0 for c in logit_components(one).values()])
            mean = np.nanmean(np.array(values, float), axis=0)
            yield (
                jitter.name, repeats, f"{a}, {b}, {both}", rejected / datasets, mean[0], mean[2], inside[0] / datasets,
                mean[1], mean[3], inside[1] / datasets, *np.mean(components, axis=0)[:3],
            )  # fmt: skip


def comparison(datasets: int) -> Iterator[Row]:
    """Comparing two equal agents: how often a difference is found that is not there

    11 contexts, r = 5, level effects of 0.5 logits. Own jitter: the two agents react to the jitter each in its own
    way; same: alike. Power: for a difference of 0.4 logits. Wrongly equivalent: with a margin of exactly the true
    difference. CV of the difference: share of intervals that hold the true difference 0.
    """
    yield (
        "jitter", "reaction", "n", "type I", "interval covers", "power", "wrongly equivalent", "McNemar type I",
        "CV interval covers",
    )  # fmt: skip
    for jitter in JITTERS:
        for own in (True, False):
            for levels in (9, 21):
                rng = np.random.default_rng([7, levels])
                wrong, found, covered, nemar, equivalent, spread = 0, 0, 0, 0, 0, 0
                for _ in range(datasets):
                    truth = logits(rng, levels, level_sd=0.5)
                    first, second, better = _runs(rng, jitter, truth, own)
                    margin = float((jitter.rates(truth + 0.4) - jitter.rates(truth)).mean())
                    p, interval, _ = _compare(first, second, not jitter.shared, margin, rng)
                    wrong += p <= 0.05
                    covered += interval[0] <= 0 <= interval[1]
                    p, _, close = _compare(first, better, not jitter.shared, margin, rng)
                    found += p <= 0.05
                    equivalent += close
                    second_number = mcnemar(first, second)["mcnemar_p"]
                    nemar += second_number is not None and second_number <= 0.05
                    difference = cv_comparison(first, second, 0.01, 0)["cv_difference_interval"]
                    spread += difference is not None and difference[0] <= 0 <= difference[1]
                yield (
                    jitter.name, "own" if own else "same", levels, wrong / datasets, covered / datasets,
                    found / datasets, equivalent / datasets, nemar / datasets, spread / datasets,
                )  # fmt: skip


def _runs(rng, jitter: Jitter, truth, own: bool):  # type: ignore[no-untyped-def]
    levels = truth.shape[1]
    shared = jitter.effects(rng, CONTEXTS, 5, levels)
    for extra in (0.0, 0.0, 0.4):
        effects = jitter.effects(rng, CONTEXTS, 5, levels) if own else shared
        yield table(jitter.outcomes(rng, truth + extra, effects))


def _compare(first, second, independent: bool, margin: float, rng):  # type: ignore[no-untyped-def]
    differences = mean_difference([unit_differences(first, second, independent)])
    row = rate_comparison(differences, margin, PERMUTATIONS, rng)
    return row["p_value"], row["difference_interval"], row["equivalent"]


def share(p: Sequence[float], level: float) -> float | None:
    return float(np.mean(np.array(p) <= level)) if p else None


def distances(p: Sequence[float]) -> tuple[float | None, float | None]:
    """Largest excess of the share of p at most x over x, and largest distance either way."""
    if not p:
        return None, None
    values = np.sort(p)
    above = np.arange(1, len(values) + 1) / len(values) - values
    below = values - np.arange(len(values)) / len(values)
    return float(above.max()), float(max(above.max(), below.max()))


def root_percent(square: float) -> float:
    return 100.0 * max(0.0, float(square)) ** 0.5


PARTS: dict[str, tuple[Callable[[int], Iterator[Row]], int]] = {
    "floor": (floor, 400),
    "main": (main, 400),
    "verdicts": (verdicts, 300),
    "rates": (rates, 1000),
    "cv": (cv, 1000),
    "posterior": (posterior, 200),
    "interaction": (interaction, 200),
    "comparison": (comparison, 1000),
}


def cell(value: str | int | float | None) -> str:
    if value is None:
        return "-"
    return (
        f"{value:.3f}"
        if isinstance(value, float) and abs(value) < 2
        else (f"{value:.1f}" if isinstance(value, float) else str(value))
    )


def run() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    parser.add_argument("-n", "--datasets", type=int, help="datasets a row")
    given = parser.parse_args()
    for name in given.parts or PARTS:
        part, datasets = PARTS[name]
        title, _, text = (part.__doc__ or "").partition("\n\n")
        count, start = given.datasets or datasets, time.process_time()
        sys.stdout.write(f"### {title.strip()}\n{count} datasets a row. {' '.join(text.split())}\n\n")
        for number, row in enumerate(part(count)):
            sys.stdout.write("| " + " | ".join(cell(value) for value in row) + " |\n")
            if number == 0:
                sys.stdout.write("|" + "---|" * len(row) + "\n")
            sys.stdout.flush()
        sys.stdout.write(f"\n({time.process_time() - start:.0f} s)\n\n")
    return 0


if __name__ == "__main__":
    sys.exit(run())
