from math import comb
from typing import Any

import numpy as np
import polars as pl
import pytest
from statsmodels.stats.contingency_tables import mcnemar as reference

import plmetrics as plm

COUNTS = [(0, 0), (0, 1), (1, 0), (3, 3), (5, 12), (25, 20), (20, 25), (0, 9), (400, 350)]


def masses(n: int) -> list[float]:
    return [comb(n, k) / 2**n for k in range(n + 1)]


@pytest.mark.parametrize(("b", "c"), COUNTS)
@pytest.mark.parametrize("alternative", ["two_sided", "greater"])
def test_exact_p_is_the_binomial_tail(b: int, c: int, alternative: str) -> None:
    mass = masses(b + c)
    least = b if alternative == "greater" else max(b, c)
    tail = sum(mass[least:])
    expected = tail if alternative == "greater" else min(1.0, 2 * tail)
    found = plm.tests.mcnemar_from_counts(b, c, alternative=alternative)
    assert found.p_value == pytest.approx(1.0 if b + c == 0 else expected, rel=1e-10)
    assert (found.statistic, found.estimate, found.status) == (b, None, "ok")


@pytest.mark.parametrize(("b", "c"), [pair for pair in COUNTS if sum(pair)])
@pytest.mark.parametrize("alternative", ["two_sided", "greater"])
def test_mid_p_counts_half_of_what_was_seen(b: int, c: int, alternative: str) -> None:
    mass = masses(b + c)
    if alternative == "greater":
        more, here = sum(mass[b + 1 :]), mass[b]
    else:
        away = abs(b - c)
        more = sum(mass[k] for k in range(b + c + 1) if abs(2 * k - b - c) > away)
        here = sum(mass[k] for k in range(b + c + 1) if abs(2 * k - b - c) == away)
    found = plm.tests.mcnemar_from_counts(b, c, method="mid_p", alternative=alternative)
    assert found.p_value == pytest.approx(more + here / 2, rel=1e-9)


@pytest.mark.parametrize(("b", "c"), [(5, 12), (25, 20), (0, 9), (400, 350)])
def test_chi_squared_is_statsmodels(b: int, c: int) -> None:
    expected = reference([[10, b], [c, 10]], exact=False, correction=True)
    found = plm.tests.mcnemar_from_counts(b, c, method="chi2")
    assert found.statistic == pytest.approx(expected.statistic)
    assert found.p_value == pytest.approx(expected.pvalue)
    sided = plm.tests.mcnemar_from_counts(b, c, method="chi2", alternative="greater").p_value
    if b > c:
        assert sided == pytest.approx(expected.pvalue / 2)
    else:
        assert sided > 0.5


def test_the_worked_example_of_the_handbook() -> None:
    assert plm.tests.mcnemar_from_counts(25, 20, method="chi2").statistic == pytest.approx(0.356, abs=5e-4)


@pytest.mark.parametrize("method", ["exact", "chi2", "mid_p"])
@pytest.mark.parametrize("as_column", [list, np.asarray, pl.Series])
def test_columns_of_any_kind_are_counted(method: str, as_column: type) -> None:
    label, model, baseline = ["a", "b", "c", "a", "a"], ["a", "b", "a", "b", "a"], ["b", "a", "c", "b", "a"]
    found = plm.tests.mcnemar(as_column(label), as_column(model), as_column(baseline), method=method)
    assert (found.n, found.estimate) == (5, pytest.approx(1 / 5))
    assert found.p_value == plm.tests.mcnemar_from_counts(2, 1, 5, method=method).p_value
    same = plm.tests.mcnemar(label, model, model, method=method)
    assert (same.estimate, same.p_value, same.status) == (0.0, 1.0, "ok")


def test_a_large_table_has_no_rounding_of_p() -> None:
    found = plm.tests.mcnemar_from_counts(5_020_000, 4_980_000)
    assert found.p_value == pytest.approx(
        2 * 0.5 * float(_normal_tail((40_000 - 1) / 10_000_000**0.5)), rel=1e-3
    )


def _normal_tail(z: float) -> float:
    from math import erfc, sqrt

    return erfc(z / sqrt(2))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"b": -1, "c": 2}, "0 or more"),
        ({"b": 3, "c": 2, "n": 4}, "at least b"),
        ({"b": 1, "c": 2, "method": "exakt"}, "exact, chi2, mid_p"),
        ({"b": 1, "c": 2, "alternative": "less"}, "two_sided, greater"),
    ],
)
def test_wrong_arguments_are_said(arguments: dict, words: str) -> None:
    with pytest.raises(plm.ConfigError, match=words):
        plm.tests.mcnemar_from_counts(**arguments)


def test_columns_must_belong_together() -> None:
    with pytest.raises(plm.ConfigError, match="label 3, model 2, baseline 2"):
        plm.tests.mcnemar([1, 0, 1], [1, 0], [1, 0])


@pytest.mark.parametrize("columns", [([0.9, 0.2], [1, 0]), ([1, 0], [0.9, 0.0])])
def test_scores_are_no_classes(columns: tuple[list, list]) -> None:
    with pytest.raises(plm.ConfigError, match="not scores"):
        plm.tests.mcnemar([1, 0], *columns)
    assert plm.tests.mcnemar([1.0, 0.0], [1.0, 1.0], [0, 0]).n == 2
    assert plm.tests.mcnemar([0.5, 1.5], [0.5, 1.5], [0.5, 0.5]).estimate == 0.5


def test_small_integers_do_not_wrap_in_counts() -> None:
    found = plm.tests.mcnemar_from_counts(np.uint8(200), np.uint8(100))
    assert (found.n, found.p_value) == (300, plm.tests.mcnemar_from_counts(200, 100).p_value)


@pytest.mark.parametrize("counts", [(2.5, 1), (1, float("nan")), (1, -1), (3, 4, 6)])
def test_counts_that_are_none_are_refused(counts: tuple[float, ...]) -> None:
    with pytest.raises(plm.ConfigError, match="whole numbers of 0 or more"):
        plm.tests.mcnemar_from_counts(*counts)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            ([1, None, 0], [1, 0, 0], [0, 1, 0]),
            "label must have a value in each row: 1 are null or NaN, the first at 1",
        ),
        (([1, 1, 0], pl.Series([1, 0, None]), [0, 1, 0]), "model must have a value in each row"),
        (([1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, np.nan, 0.0]), "baseline must have a value in each row"),
        ((["1", "1", "0"], [1, 0, 0], [0, 1, 0]), "texts equal no numbers"),
        (([1, 1, 0], [1, 0, 0], pl.Series(["0", "1", "0"], dtype=pl.Categorical)), "texts equal no numbers"),
    ],
)
def test_what_cannot_be_right_or_wrong_is_refused(columns: tuple[Any, ...], words: str) -> None:
    with pytest.raises(plm.ConfigError, match=words):
        plm.tests.mcnemar(*columns)
