from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from conftest import THOROUGH
from scipy.stats import chi2, norm
from scipy.stats import t as student
from sklearn.metrics import roc_auc_score

import plmetrics as plm
from plmetrics.inference.comparisons.tests.delong import delong_tests, placements


def naive_covariance(label: np.ndarray, scores: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """DeLong's definition, pair by pair."""
    ups, downs = [], []
    for score in scores:
        inside, outside = score[label], score[~label]
        kernel = [[float(x > y) + 0.5 * float(x == y) for y in outside] for x in inside]
        ups.append(np.mean(kernel, axis=1))
        downs.append(np.mean(kernel, axis=0))
    return (np.mean(ups, axis=1), np.cov(ups) / label.sum() + np.cov(downs) / (~label).sum())


def table(seed: int, rows: int, models: int, ties: bool) -> tuple[np.ndarray, list[np.ndarray]]:
    random = np.random.default_rng(seed)
    label = random.random(rows) < 0.4
    label[:4] = [True, True, False, False]
    scores = [label + random.normal(size=rows) * (1 + 0.3 * model) for model in range(models)]
    return label, [score.round(1) for score in scores] if ties else scores


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("rows", [4, 9, 60])
def test_areas_and_covariance_are_those_of_the_definition(rows: int, ties: bool) -> None:
    label, scores = table(rows, rows, 3, ties)
    areas, covariance = naive_covariance(label, scores)
    found = plm.tests.delong_covariance(label, dict(zip("abc", scores, strict=True)))
    np.testing.assert_allclose(found.areas, areas, rtol=1e-12)
    np.testing.assert_allclose(found.covariance, covariance, rtol=1e-10, atol=1e-15)
    np.testing.assert_allclose(found.areas, [roc_auc_score(label, score) for score in scores])


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("as_column", [list, pl.Series])
def test_the_test_of_two_models(ties: bool, as_column: type) -> None:
    label, scores = table(3, 80, 2, ties)
    areas, covariance = naive_covariance(label, scores)
    error = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    z = (areas[0] - areas[1]) / error
    found = plm.tests.delong(as_column(label.astype(int)), *map(as_column, scores), level=0.9)
    assert found.estimate == pytest.approx(areas[0] - areas[1])
    assert found.statistic == pytest.approx(z)
    assert found.p_value == pytest.approx(2 * norm.sf(abs(z)))
    half = norm.ppf(0.95) * error
    assert (found.lower, found.upper) == pytest.approx(
        (areas[0] - areas[1] - half, areas[0] - areas[1] + half)
    )
    assert (found.n, found.status) == (80, "ok")


def test_the_positive_label_may_be_named() -> None:
    label, scores = table(5, 40, 2, False)
    words = np.where(label, "yes", "no")
    assert plm.tests.delong(words, *scores, positive="yes") == plm.tests.delong(label, *scores)


@pytest.mark.parametrize(
    ("label", "model", "baseline", "status"),
    [
        ([], [], [], "no_rows"),
        ([0, 0, 0], [1, 2, 3], [3, 2, 1], "no_positives"),
        ([1, 1, 1], [1, 2, 3], [3, 2, 1], "no_negatives"),
        ([1, 0, 0], [1, 2, 3], [3, 2, 1], "too_few_units"),
        ([1, 1, 0, 0], [3, 4, 1, 2], [1, 2, 3, 4], "zero_variance"),
        ([1, 1, 0, 0], [3, 4, 1, 2], [3, 4, 1, 2], "ok"),
        ([1, 1, 0, 0], [3, 4, 1, 2], [9, 7, 2, 2], "ok"),
    ],
)
def test_what_cannot_be_tested_has_a_status(label: list, model: list, baseline: list, status: str) -> None:
    found = plm.tests.delong(label, model, baseline)
    assert found.status == status
    assert (found.p_value is not None) == (status == "ok")
    if status == "ok":
        assert (found.estimate, found.lower, found.upper, found.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_slices_are_tested_as_if_each_were_alone() -> None:
    label, (one, other) = table(8, 300, 2, True)
    code = np.random.default_rng(8).integers(0, 6, 300)
    label[code == 3] = True
    first, second = (placements(score, label, code) for score in (one, other))
    found = delong_tests(first, second, label, code, 7)
    for index in range(7):
        rows = code == index
        alone = plm.tests.delong(label[rows], one[rows], other[rows])
        assert alone.status == found.status[index]
        assert int(found.n[index]) == alone.n
        if alone.p_value is not None:
            assert found.p_value[index] == pytest.approx(alone.p_value)
            assert found.lower[index] == pytest.approx(alone.lower)


def test_a_score_that_is_no_number_is_named() -> None:
    with pytest.raises(plm.ConfigError, match="baseline must be finite: 1 values are null, NaN or infinite"):
        plm.tests.delong([1, 0], [0.1, 0.2], pl.Series([0.3, None]))
    with pytest.raises(plm.ConfigError, match="two rows of either class"):
        plm.tests.delong_covariance([1, 0], {"a": [0.1, 0.2]})


@pytest.mark.slow
def test_models_that_are_equally_good_are_called_different_as_often_as_the_level_says() -> None:
    tables = 4000 if THOROUGH else 400
    random = np.random.default_rng(20)
    rows = 200
    code = np.repeat(np.arange(tables), rows)
    label = random.random(tables * rows) < 0.3
    shared = label + random.normal(size=tables * rows)
    one, other = (shared + random.normal(size=tables * rows) for _ in range(2))
    first, second = (placements(score, label, code) for score in (one, other))
    found = delong_tests(first, second, label, code, tables)
    share = float((found.p_value < 0.05).mean())
    assert abs(share - 0.05) < 4 * np.sqrt(0.05 * 0.95 / tables)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_one_sided_p_values_are_tails_of_the_same_z(order: tuple[int, int]) -> None:
    label, scores = table(3, 60, 2, ties=False)
    pair = [scores[place] for place in order]
    areas, covariance = naive_covariance(label, pair)
    z = (areas[0] - areas[1]) / np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    found = plm.tests.delong(label, *pair, alternative="greater")
    assert found.p_value == pytest.approx(norm.sf(z), rel=1e-10)
    assert (found.lower, found.upper) == (
        plm.tests.delong(label, *pair).lower,
        plm.tests.delong(label, *pair).upper,
    )
    with pytest.raises(plm.ConfigError, match="alternative must be one of two_sided, greater"):
        plm.tests.delong(label, *pair, alternative="less")


def test_a_suite_may_ask_a_one_sided_question() -> None:
    label, scores = table(3, 60, 2, ties=False)
    frame = pl.DataFrame({"y": label, "a": scores[0], "b": scores[1]})
    compare: Any = {"baseline": "b", "tests": [{"delong": {"alternative": "greater"}}], "correction": "none"}
    found = plm.evaluate(
        frame, label="y", models=["a", "b"], metrics=["roc_auc"], compare=compare
    ).comparisons
    tested = found.filter(pl.col("test").str.starts_with("delong"))
    one_sided = plm.tests.delong(label, *scores, alternative="greater").p_value
    assert tested["p_value"].to_list()[-1] == pytest.approx(one_sided, rel=1e-10)


@pytest.mark.parametrize("models", [2, 3, 5])
def test_the_joint_test_is_walds_of_any_contrasts(models: int) -> None:
    label, scores = table(models, 80, models, ties=True)
    areas, covariance = naive_covariance(label, scores)
    contrasts = np.eye(models)[1:] - np.eye(models)[:-1]
    difference = contrasts @ areas
    statistic = difference @ np.linalg.solve(contrasts @ covariance @ contrasts.T, difference)
    found = plm.tests.delong_joint(label, dict(zip("abcde", scores, strict=False)))
    assert found.statistic == pytest.approx(statistic, rel=1e-9)
    assert found.df == models - 1
    assert found.p_value == pytest.approx(chi2.sf(statistic, models - 1), rel=1e-9)
    if models == 2:
        assert found.p_value == pytest.approx(plm.tests.delong(label, *scores).p_value, rel=1e-9)


def test_models_that_rank_alike_take_no_degree_of_freedom() -> None:
    label, scores = table(5, 60, 2, ties=False)
    doubled = plm.tests.delong_joint(label, {"a": scores[0], "b": scores[1], "c": 2.0 * scores[1]})
    pair = plm.tests.delong_joint(label, {"a": scores[0], "b": scores[1]})
    assert doubled.df == 1.0
    assert doubled.statistic == pytest.approx(pair.statistic, rel=1e-9)
    same = plm.tests.delong_joint(label, {"a": scores[0], "b": 2.0 * scores[0]})
    assert (same.statistic, same.p_value, same.df) == (0.0, 1.0, 0.0)
    with pytest.raises(plm.ConfigError, match="at least two"):
        plm.tests.delong_joint(label, {"a": scores[0]})


def obuchowski(label: np.ndarray, scores: list[np.ndarray], unit: np.ndarray) -> np.ndarray:
    """The covariance of areas on clustered rows as the paper has it, unit by unit."""
    placed, areas = [], []
    for score in scores:
        kernel = [[float(x > y) + 0.5 * float(x == y) for y in score[~label]] for x in score[label]]
        placed.append((np.mean(kernel, axis=1), np.mean(kernel, axis=0)))
        areas.append(np.mean(kernel))
    of_positive, of_negative, units = unit[label], unit[~label], list(dict.fromkeys(unit.tolist()))
    m, n = label.sum(), (~label).sum()
    i10, i01, every = len(set(of_positive.tolist())), len(set(of_negative.tolist())), len(units)
    out = np.zeros((len(scores), len(scores)))
    for r, (up_r, down_r) in enumerate(placed):
        for s, (up_s, down_s) in enumerate(placed):
            s10 = s01 = s11 = s11_swapped = 0.0
            for one in units:
                here, there = of_positive == one, of_negative == one
                ups = [up[here].sum() - here.sum() * areas[k] for up, k in ((up_r, r), (up_s, s))]
                downs = [down[there].sum() - there.sum() * areas[k] for down, k in ((down_r, r), (down_s, s))]
                s10 += i10 / ((i10 - 1) * m) * ups[0] * ups[1]
                s01 += i01 / ((i01 - 1) * n) * downs[0] * downs[1]
                s11 += every / (every - 1) * ups[0] * downs[1]
                s11_swapped += every / (every - 1) * ups[1] * downs[0]
            out[r, s] = s10 / m + s01 / n + (s11 + s11_swapped) / (m * n)
    return out


@pytest.mark.parametrize("ties", [False, True])
def test_covariance_of_rows_that_belong_together(ties: bool) -> None:
    label, scores = table(5, 60, 3, ties)
    unit = np.random.default_rng(0).choice(["a", "b", "c", "d", "e", "f", "g"], 60)
    wanted = obuchowski(label, scores, unit)
    found = plm.tests.delong_covariance(label, dict(zip("abc", scores, strict=True)), unit=unit)
    np.testing.assert_allclose(found.covariance, wanted, rtol=1e-10, atol=1e-15)
    test = plm.tests.delong(label, scores[0], scores[1], unit=unit)
    error = np.sqrt(wanted[0, 0] + wanted[1, 1] - 2 * wanted[0, 1])
    assert test.estimate is not None
    assert test.statistic == pytest.approx(test.estimate / error)
    alone = plm.tests.delong(label, scores[0], scores[1], unit=np.arange(60))
    assert alone.p_value == pytest.approx(plm.tests.delong(label, scores[0], scores[1]).p_value, rel=1e-12)


def test_units_of_slices() -> None:
    label, scores = table(6, 120, 2, True)
    random = np.random.default_rng(1)
    code, unit = random.integers(0, 2, 120), random.integers(0, 15, 120)
    found = delong_tests(*(placements(score, label, code) for score in scores), label, code, 3, unit=unit)
    for number in range(2):
        here = code == number
        alone = plm.tests.delong(label[here], scores[0][here], scores[1][here], unit=unit[here])
        assert found.p_value[number] == pytest.approx(alone.p_value, rel=1e-10)
    assert found.status.tolist() == ["ok", "ok", "no_rows"]


def test_a_single_unit_has_no_variance() -> None:
    label, scores = table(6, 20, 2, False)
    with pytest.raises(plm.ConfigError, match="two units"):
        plm.tests.delong(label, *scores, unit=np.zeros(20))


def test_areas_of_two_samples() -> None:
    (label, (score, _)), (other_label, (other, _)) = table(1, 70, 2, True), table(2, 40, 2, True)
    found = plm.tests.delong_two_samples(label, score, other_label, other, level=0.9)
    parts = [naive_covariance(label, [score, score]), naive_covariance(other_label, [other, other])]
    v, w = (covariance[0, 0] for _, covariance in parts)
    difference = parts[0][0][0] - parts[1][0][0]
    df = (v + w) ** 2 / (v**2 / 69 + w**2 / 39)
    assert found.estimate == pytest.approx(difference)
    assert found.df == pytest.approx(df)
    assert found.p_value == pytest.approx(2 * student.sf(abs(difference) / np.sqrt(v + w), df))
    half = student.ppf(0.95, df) * np.sqrt(v + w)
    assert (found.lower, found.upper) == pytest.approx((difference - half, difference + half))
    same = plm.tests.delong_two_samples([1, 1, 0, 0], [4, 3, 2, 1], [1, 1, 0, 0], [4, 3, 2, 1])
    assert (same.status, same.p_value) == ("zero_variance", None)


@pytest.mark.parametrize("lacking", [None, float("nan")])
def test_a_row_without_a_label_or_unit_is_no_negative_and_no_unit(lacking: float | None) -> None:
    label, scores = [lacking, 1, 0, 1, 1, 0, 0], np.arange(7.0)
    for test in (
        lambda: plm.tests.delong(label, scores, -scores),
        lambda: plm.tests.delong_joint(pl.Series(label), {"a": scores, "b": -scores}),
        lambda: plm.tests.delong_two_samples([0, *label[1:]], scores, label, scores),
    ):
        with pytest.raises(plm.ConfigError, match="label must have a value in each row"):
            test()
    with pytest.raises(plm.ConfigError, match="unit must have a value in each row"):
        plm.tests.delong([0, *label[1:]], scores, -scores, unit=[lacking, *range(6)])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([None, True, False, True, True, False, False], dtype="boolean"),
        pd.Series([None, "1", "0", "1", "1", "0", "0"], dtype="string"),
        pd.Series([pd.NaT, 1, 0, 1, 1, 0, 0], dtype=object),
    ],
)
def test_na_of_pandas_is_no_label(column: pd.Series[Any]) -> None:
    scores = np.arange(7.0)
    with pytest.raises(plm.ConfigError, match="label must have a value in each row: 1 are null or NaN"):
        plm.tests.delong(column, scores, -scores, positive=column[1])


def test_units_of_several_columns_are_tuples() -> None:
    label, scores = np.arange(8) % 2, np.array([3.0, 8, 1, 6, 7, 5, 2, 4])
    pairs = pd.Series([("a", number // 2) for number in range(8)])
    by_pair, by_number = (
        plm.tests.delong(label, scores, -scores, unit=unit) for unit in (pairs, np.arange(8) // 2)
    )
    assert by_pair.p_value == by_number.p_value
