"""The standard error of an average effect is that of all rows, however many blocks the bootstrap would draw."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm
from plmetrics.suite.yaml.load import load_suite

ROWS = 20_000


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    random = np.random.default_rng(1)
    treated = random.random(ROWS) < 0.3
    outcome = 1e3 + random.gamma(2, 3, ROWS) + treated * random.normal(1, 4, ROWS)
    columns = {"y": outcome, "t": treated.astype(int), "w": random.choice([0.0, 0.5, 1, 4], ROWS)}
    return pl.DataFrame(columns | {"p": 0.5, "g": random.choice(list("abc"), ROWS, p=[0.7, 0.2, 0.1])})


def evaluate(frame: pl.DataFrame, **settings: Any) -> pl.DataFrame:
    given: dict[str, Any] = {
        "task": "uplift",
        "label": "y",
        "treatment": "t",
        "models": "p",
        "metrics": "ate",
    }
    given |= {"slices": "g", "uncertainty": {"method": "analytic"}}
    return plm.evaluate(frame, **(given | settings)).metrics


def arms(frame: pl.DataFrame, place: str, column: str) -> list[np.ndarray]:
    rows = frame if place == "all" else frame.filter(g=place[-1])
    return [rows.filter(t=arm)[column].to_numpy() for arm in (1, 0)]


@pytest.mark.parametrize("method", ["analytic", "delta"])
def test_the_standard_error_is_welch_s(frame: pl.DataFrame, method: str) -> None:
    found = evaluate(frame, uncertainty={"methods": [method]})
    assert found["slice"].to_list() == ["all", "g=a", "g=b", "g=c"]
    for row in found.iter_rows(named=True):
        one, other = arms(frame, row["slice"], "y")
        test = stats.ttest_ind(one, other, equal_var=False)
        assert row["std_error"] == pytest.approx((one.mean() - other.mean()) / test.statistic, rel=1e-9)
        half = stats.t.ppf(0.975, min(len(one), len(other)) - 1) * row["std_error"]
        assert row["upper"] - row["lower"] == pytest.approx(2 * half, rel=1e-9)
        assert row["method"] == "delta"


def test_it_is_that_of_a_readout(frame: pl.DataFrame) -> None:
    found = evaluate(frame)["std_error"].to_list()
    effects = plm.readout(frame, "y", "t", 0, by="g").filter(pl.col("outcome").is_not_null())
    assert effects["std_error"].to_list() == pytest.approx(found, rel=1e-9)


def test_weights_do_not_count_rows(frame: pl.DataFrame) -> None:
    for row in evaluate(frame, weight="w").iter_rows(named=True):
        variance = 0.0
        for y, w in zip(arms(frame, row["slice"], "y"), arms(frame, row["slice"], "w"), strict=True):
            rows = np.count_nonzero(w)
            away = y - np.average(y, weights=w)
            variance += rows / (rows - 1) * np.sum((w * away) ** 2) / w.sum() ** 2
        assert row["std_error"] == pytest.approx(np.sqrt(variance), rel=1e-9)
        sizes = [w.sum() ** 2 / np.sum(w**2) for w in arms(frame, row["slice"], "w")]
        half = stats.t.ppf(0.975, np.floor(min(sizes)) - 1) * row["std_error"]
        assert row["upper"] - row["lower"] == pytest.approx(2 * half, rel=1e-9)


@pytest.mark.parametrize(
    ("uncertainty", "squares"),
    [
        ("null", False),
        ("{method: auto}", False),
        ("{methods: [bootstrap, jackknife]}", False),
        ("{methods: [delta]}", True),
    ],
)
def test_squares_are_summed_only_where_such_intervals_are_asked_for(
    tmp_path: Path, uncertainty: str, squares: bool
) -> None:
    suite = tmp_path / "s.yaml"
    columns = "columns: {label: y, treatment: t}\nmodels: {p: p}\nmetrics: [ate]"
    suite.write_text(f"task: uplift\ndata: {{path: t.csv}}\n{columns}\nuncertainty: {uncertainty}\n")
    needed = [metric.text for metric in load_suite(suite).suite.state_metrics("overall")]
    means = [] if uncertainty == "null" else ["mean outcome|treated", "mean outcome|control"]
    assert needed == ["ate", *(["ate_standard_error"] if squares else []), *means]


def test_an_arm_of_one_number_does_not_hide_the_other() -> None:
    rows = pl.DataFrame({"y": [9, 7, 8, 1, 1, 1], "t": [1, 1, 1, 0, 0, 0], "p": 0.5})
    distance = (7**2 + 2 / 3) / 7  # mean square over mean distance of the treated from the controls
    error = np.sqrt(1 / 3 + (distance * 1.959964 / (3 + 1.959964**2)) ** 2)
    assert evaluate(rows, slices=None)["std_error"].item() == pytest.approx(error)
    assert plm.readout(rows, "y", "t", 0)["std_error"].drop_nulls().item() == pytest.approx(error)
    grouped = pl.concat(
        [rows.with_columns(g=pl.lit("a")), rows.with_columns(g=pl.lit("b"), y=pl.col("y") * 2)]
    )
    assert evaluate(grouped, metrics="cochran_q(by=g)")["value"].item() == pytest.approx(
        7**2 / (5 * error**2)
    )


@pytest.fixture(scope="module")
def assigned() -> pl.DataFrame:
    """6,000 rows, treated by a chance that depends on what the outcome depends on as well."""
    random = np.random.default_rng(5)
    x = random.normal(size=6_000)
    chance = np.clip(1 / (1 + np.exp(-x)), 0.1, 0.9)
    treated = random.random(6_000) < chance
    outcome = 50 + x + 0.7 * treated + random.normal(size=6_000)
    weight = random.choice([0.5, 1.0, 2.0], 6_000)
    return pl.DataFrame({"y": outcome, "t": treated.astype(int), "e": chance, "p": x, "w": weight})


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "w"])
def test_the_hajek_error_is_the_sandwich_of_statsmodels(assigned: pl.DataFrame, weight: str | None) -> None:
    """geepack's and Stata's robust errors: those of a generalised estimating equation, and of HC1."""
    import statsmodels.api as sm

    metrics = ["ate_ipw(propensity=e)", "ate_ipw(propensity=e, estimator=horvitz_thompson)"]
    settings: dict[str, Any] = {"metrics": metrics, "slices": None, "weight": weight}
    hajek, thompson = evaluate(assigned, **settings).iter_rows(named=True)
    y, t, e = (assigned[name].to_numpy() for name in ("y", "t", "e"))
    w = np.ones(len(y)) if weight is None else assigned[weight].to_numpy()
    v, rows = w / np.where(t == 1, e, 1 - e), len(y)
    arms = sm.add_constant(t.astype(float))
    gee = sm.GEE(y, arms, groups=np.arange(rows), weights=v).fit(cov_type="robust")
    assert hajek["value"] == pytest.approx(gee.params[1], rel=1e-9)
    assert hajek["std_error"] == pytest.approx(gee.bse[1] * np.sqrt(rows / (rows - 1)), rel=1e-6)
    stata = sm.WLS(y, arms, weights=v).fit(cov_type="HC1")
    assert hajek["std_error"] == pytest.approx(stata.bse[1] * np.sqrt((rows - 2) / (rows - 1)), rel=1e-8)
    size = min(v[t == arm].sum() ** 2 / (v[t == arm] ** 2).sum() for arm in (0, 1))
    half = stats.t.ppf(0.975, np.floor(size) - 1) * hajek["std_error"]
    assert hajek["upper"] - hajek["lower"] == pytest.approx(2 * half, rel=1e-9)
    effect = (t / e - (1 - t) / (1 - e)) * y
    away = w * (effect - np.average(effect, weights=w)) / w.sum()
    error = np.sqrt(rows / (rows - 1) * (away**2).sum())
    assert thompson["std_error"] == pytest.approx(error, rel=1e-8)


def test_the_hajek_error_needs_outcomes_that_differ(assigned: pl.DataFrame) -> None:
    flat = assigned.with_columns(y=pl.col("t") * 2.0)
    row = evaluate(flat, metrics="ate_ipw(propensity=e)", slices=None).row(0, named=True)
    assert row["value"] == pytest.approx(2.0)
    assert row["std_error"] is None or row["std_error"] == pytest.approx(0.0, abs=1e-9)


def test_inverse_propensities_as_weights_make_areas_comparable(assigned: pl.DataFrame) -> None:
    rows = assigned.with_columns(v=1 / pl.when(pl.col("t") == 1).then("e").otherwise(1 - pl.col("e")))
    metrics = ["qini(method=guelman)", "uplift_at_k(k=0.25, by=arm)", "ate"]
    found = evaluate(rows, metrics=metrics, slices=None, weight="v", uncertainty=None)["value"].to_list()
    y, t, v = (rows.sort("p", descending=True)[name].to_numpy() for name in ("y", "t", "v"))
    gained = np.cumsum(np.where(t == 1, v * y, 0)) / v[t == 1].sum()
    lost = np.cumsum(np.where(t == 0, v * y, 0)) / v[t == 0].sum()
    curve = np.concatenate([[0.0], gained - lost])
    area = np.sum(v / v.sum() * (curve[1:] + curve[:-1]) / 2) - curve[-1] / 2
    tops = []
    for arm in (1, 0):
        inside = np.cumsum(v[t == arm])
        share = np.clip((0.25 * inside[-1] - (inside - v[t == arm])) / v[t == arm], 0, 1)
        tops.append(np.average(y[t == arm], weights=share * v[t == arm]))
    assert found[0] == pytest.approx(area, rel=1e-9)
    assert found[1] == pytest.approx(tops[0] - tops[1], rel=1e-9)
    assert found[2] == pytest.approx(curve[-1], rel=1e-9)
