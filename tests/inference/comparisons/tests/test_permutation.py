from itertools import pairwise, permutations

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH

import plmetrics as plm


def evaluated(outcome: list, treatment: list, score: list, method: str) -> float:
    frame = pl.DataFrame({"y": outcome, "t": treatment, "p": score})
    found = plm.evaluate(
        frame, task="uplift", label="y", treatment="t", models="p", metrics=[f"qini(method={method})"]
    )
    return float(found.metrics["value"].item())


@pytest.mark.parametrize("method", ["radcliffe", "guelman"])
def test_the_coefficient_is_the_metric(method: str) -> None:
    random = np.random.default_rng(1)
    outcome, treatment = random.integers(0, 2, 80), random.integers(0, 2, 80)
    score = random.random(80).round(1)
    found = plm.tests.qini_permutation(outcome, treatment, score, method=method, permutations=3)
    assert found.estimate == pytest.approx(evaluated(outcome, treatment, score, method))


def guelman(rows: tuple, score: list) -> float:
    """Area of Y1/N1 - Y0/N0 over the share of rows, less half of its end, from its definition."""
    sizes = [sum(arm == side for _, arm in rows) for side in (0, 1)]
    points = [(0.0, 0.0)]
    for cut in sorted(set(score), reverse=True):
        above = [row for row, s in zip(rows, score, strict=True) if s >= cut]
        gained = [sum(y for y, arm in above if arm == side) / sizes[side] for side in (0, 1)]
        points.append((len(above) / len(rows), gained[1] - gained[0]))
    area = sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairwise(points))
    return area - points[-1][1] / 2


@pytest.mark.parametrize("alternative", ["greater", "two_sided"])
def test_p_comes_near_the_share_of_all_orders(alternative: str) -> None:
    rows, score = ((1, 1), (0, 0), (1, 1), (1, 0), (0, 1), (0, 0)), [6, 5, 4, 2, 2, 1]
    seen = guelman(rows, score)
    orders = np.array([guelman(moved, score) for moved in permutations(rows)])
    if alternative == "two_sided":
        share = np.mean(np.abs(orders) >= abs(seen) - 1e-12)
    else:
        share = np.mean(orders >= seen - 1e-12)
    found = plm.tests.qini_permutation(
        *map(list, zip(*rows, strict=True)),
        score,
        method="guelman",
        permutations=9999,
        alternative=alternative,
    )
    assert found.estimate == pytest.approx(seen)
    assert found.p_value == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / 9999))


@pytest.mark.parametrize("unit", [2.0**-60, 2.0**60])
def test_the_unit_of_outcomes_does_not_show_in_p(unit: float) -> None:
    random = np.random.default_rng(3)
    outcome, treatment, score = random.random(60), random.integers(0, 2, 60), random.random(60)
    one, other = (
        plm.tests.qini_permutation(outcome * size, treatment, score, permutations=99) for size in (1.0, unit)
    )
    assert one.p_value == other.p_value < 1


def test_an_order_by_the_effect_itself_is_found() -> None:
    random = np.random.default_rng(2)
    effect, treatment = random.random(600), random.integers(0, 2, 600)
    outcome = (random.random(600) < 0.2 + 0.6 * effect * treatment).astype(int)
    assert plm.tests.qini_permutation(outcome, treatment, effect, permutations=199).p_value == 1 / 200
    wrong = plm.tests.qini_permutation(outcome, treatment, -effect, permutations=199)
    assert wrong.p_value > 0.99
    seeds = {
        plm.tests.qini_permutation(
            outcome, treatment, random.random(600), permutations=199, seed=seed
        ).p_value
        for seed in range(4)
    }
    assert len(seeds) > 1


def test_equal_scores_say_nothing() -> None:
    assert plm.tests.qini_permutation([1, 0, 1, 0], [1, 1, 0, 0], [1, 1, 1, 1]).p_value == 1.0


@pytest.mark.parametrize(
    ("arguments", "status"), [(([], [], []), "no_rows"), (([1, 0], [1, 1], [1, 2]), "empty_arm")]
)
def test_without_two_arms_there_is_no_test(arguments: tuple, status: str) -> None:
    found = plm.tests.qini_permutation(*arguments)
    assert (found.status, found.p_value) == (status, None)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"treatment": [2, 0]}, "0 and 1 only"),
        ({"permutations": 0}, "at least 1"),
        ({"method": "x"}, "radcliffe, guelman"),
        ({"score": [1]}, "score 1"),
    ],
)
def test_wrong_arguments_are_said(more: dict, words: str) -> None:
    given = {"outcome": [1, 0], "treatment": [1, 0], "score": [1, 2]} | more
    with pytest.raises(plm.ConfigError, match=words):
        plm.tests.qini_permutation(**given)


@pytest.mark.slow
def test_scores_that_know_nothing_are_found_as_often_as_the_level_says() -> None:
    tables = 1000 if THOROUGH else 150
    random = np.random.default_rng(3)
    p_values = []
    for _ in range(tables):
        outcome, treatment, score = random.integers(0, 2, 60), random.integers(0, 2, 60), random.random(60)
        p_values.append(plm.tests.qini_permutation(outcome, treatment, score, permutations=99).p_value)
    share = np.mean(np.array(p_values) <= 0.1)
    assert abs(share - 0.1) < 4 * np.sqrt(0.09 / tables)
