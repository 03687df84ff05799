import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.special import expit, logit

import plmetrics as plm
from plmetrics.inference.intervals.student import IDENTITY, scale_of, student

DRAWN = np.array([[0.70], [0.80], [0.75], [0.90], [0.85]])


def textbook(centre: float, moved: np.ndarray, blocks: int, level: float) -> tuple[float, float]:
    error = np.sqrt(blocks / (blocks - 1)) * np.std(moved, ddof=1)
    return stats.t.interval(level, blocks - 1, centre, error)


@pytest.mark.parametrize("blocks", [2, 3, 30, 1000])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
def test_identity_scale(blocks: int, level: float) -> None:
    found = student(np.array([0.8]), DRAWN, np.array([blocks]), IDENTITY, level)
    assert np.ravel(found) == pytest.approx(textbook(0.8, DRAWN, blocks, level), rel=1e-9)


@pytest.mark.parametrize(
    ("end", "forward", "inverse"), [(1, logit, expit), (float("inf"), np.log, np.exp)], ids=["logit", "log"]
)
def test_transformed_scales(end: float, forward: Any, inverse: Any) -> None:
    expected = inverse(np.array(textbook(forward(0.8), forward(DRAWN), 20, 0.95)))
    found = student(np.array([0.8]), DRAWN, np.array([20]), scale_of((0, end)), 0.95)
    assert np.ravel(found) == pytest.approx(expected, rel=1e-9)


def test_undefined_replicates_are_left_out() -> None:
    drawn = np.vstack([DRAWN, [[np.nan]]])
    without = student(np.array([0.8]), DRAWN, np.array([9]), scale_of((0, 1)), 0.95)
    assert student(np.array([0.8]), drawn, np.array([9]), scale_of((0, 1)), 0.95) == without


def test_a_replicate_at_an_end_calls_for_the_delta_method() -> None:
    drawn = np.hstack([DRAWN, np.where(DRAWN == 0.9, 1.0, DRAWN)])
    lower, upper = student(np.full(2, 0.8), drawn, np.full(2, 20), scale_of((0, 1)), 0.95)
    half = stats.t.ppf(0.975, 19) * np.sqrt(20 / 19) * np.std(drawn[:, 1], ddof=1) / (0.8 * 0.2)
    expected = 1 / (1 + np.exp(-(np.log(4) + np.array([-half, half]))))
    assert [lower[1], upper[1]] == pytest.approx(expected, rel=1e-9)
    alone = student(np.array([0.8]), DRAWN, np.array([20]), scale_of((0, 1)), 0.95)
    assert (lower[0], upper[0]) == (alone[0][0], alone[1][0])


@pytest.mark.parametrize(
    ("bounds", "end", "near"),
    [((0, 1), 1.0, 1 - 2**-53), ((0, 1), 0.0, 1e-17), ((-1, 1), -1.0, 2**-53 - 1), ((0, np.inf), 0.0, 1e-17)],
)
def test_rounding_does_not_tell_a_replicate_at_an_end_from_one_beside_it(
    bounds: tuple[float, float], end: float, near: float
) -> None:
    exact, rounded = (
        student(np.array([0.8]), np.vstack([DRAWN, [[last]]]), np.array([20]), scale_of(bounds), 0.95)
        for last in (end, near)
    )
    assert np.ravel(rounded) == pytest.approx(np.ravel(exact), rel=1e-9)


def test_a_value_next_to_an_end_has_the_whole_range() -> None:
    lower, upper = student(
        np.array([2.2e-309]), np.array([[0.0], [0.5], [1.0]]), np.array([5]), scale_of((0.0, 1.0)), 0.9
    )
    assert (lower[0], upper[0]) == (0.0, 1.0)


ROWS = 300


def table(seed: int = 4) -> pl.DataFrame:
    random = np.random.default_rng(seed)
    unit = random.integers(0, 60, ROWS)
    shock = random.normal(0, 1, 60)[unit]
    y = random.random(ROWS) < 1 / (1 + np.exp(-shock))
    score = np.clip(0.5 + 0.2 * (y - 0.5) + 0.1 * shock + random.normal(0, 0.2, ROWS), 0, 1)
    weight = random.choice([0.5, 1.0, 3.0], ROWS)
    number = random.normal(10, 3, ROWS)
    guess = number + 0.3 * shock + random.normal(0.2, 1, ROWS)
    given = {"y": y.astype(int), "p": score, "unit": unit, "w": weight, "number": number, "guess": guess}
    return pl.DataFrame(given).with_columns(pl.lit("all").alias("s"))


def row(metric: str, method: str = "delta", task: str = "binary", **given: Any) -> dict[str, Any]:
    columns = {"label": "y", "models": "p"} if task == "binary" else {"label": "number", "models": "guess"}
    asked = {"uncertainty": {"methods": [method]}, "task": task, **columns, **given}
    return plm.evaluate(table(), metrics=[metric], **asked).metrics.row(0, named=True)


def arrays() -> tuple[np.ndarray, ...]:
    frame = table()
    return tuple(frame[name].to_numpy() for name in ("y", "p", "unit", "w", "number", "guess"))


@pytest.mark.exhaustive
@pytest.mark.parametrize("method", ["delta", "jackknife", "t"])
@pytest.mark.parametrize("metric", ["mse", "mae", "mean_error"])
def test_a_mean_has_the_standard_error_of_a_mean(method: str, metric: str) -> None:
    *_, number, guess = arrays()
    error = guess - number
    values = {"mse": error**2, "mae": abs(error), "mean_error": error}[metric]
    found = row(metric, method, task="regression")
    assert found["std_error"] == pytest.approx(values.std(ddof=1) / ROWS**0.5, rel=1e-7)
    if method == "t":
        low, high = stats.t.interval(0.95, ROWS - 1, values.mean(), values.std(ddof=1) / ROWS**0.5)
        assert (found["lower"], found["upper"]) == pytest.approx((low, high), rel=1e-7)


@pytest.mark.parametrize("method", ["delta", "jackknife"])
def test_a_root_of_a_mean(method: str) -> None:
    *_, number, guess = arrays()
    squares = (guess - number) ** 2
    error = squares.std(ddof=1) / ROWS**0.5 / (2 * squares.mean() ** 0.5)
    found = row("rmse", method, task="regression")
    assert found["std_error"] == pytest.approx(error, rel=1e-7 if method == "delta" else 0.01)
    half = stats.t.ppf(0.975, ROWS - 1) * found["std_error"] / found["value"]
    assert found["upper"] / found["value"] == pytest.approx(np.exp(half), rel=1e-9)
    assert found["lower"] / found["value"] == pytest.approx(np.exp(-half), rel=1e-9)


def test_f1_by_its_gradient() -> None:
    """F1 = 2 TP / (2 TP + FP + FN) of multinomial counts, on the logit scale."""
    y, p, *_ = arrays()
    called = p >= 0.5
    tp, fp, fn = (y & called).sum(), (called & (y == 0)).sum(), ((y == 1) & ~called).sum()
    f1 = 2 * tp / (2 * tp + fp + fn)
    influence = (2 * (y & called) - f1 * (called.astype(int) + y)) / (2 * tp + fp + fn)
    error = (ROWS / (ROWS - 1) * (influence**2).sum()) ** 0.5
    found = row("f1")
    assert found["std_error"] == pytest.approx(error, rel=1e-6)
    half = stats.t.ppf(0.975, found["blocks"] - 1) * error / (f1 * (1 - f1))
    centre = np.log(f1 / (1 - f1))
    ends = [1 / (1 + np.exp(-centre + half)), 1 / (1 + np.exp(-centre - half))]
    assert [found["lower"], found["upper"]] == pytest.approx(ends, rel=1e-6)


def by_pairs(y: np.ndarray, p: np.ndarray, w: np.ndarray) -> float:
    inside, outside = y == 1, y == 0
    pair = np.sign(p[inside][:, None] - p[outside]) / 2 + 0.5
    mass = w[inside][:, None] * w[outside]
    return float((pair * mass).sum() / mass.sum())


def ratio(y: np.ndarray, p: np.ndarray, w: np.ndarray) -> float:
    hit = ((p >= 0.5) & (y == 1)) * w
    return float(hit.sum() / ((p >= 0.5) * w).sum())


@pytest.mark.exhaustive
@pytest.mark.parametrize(("metric", "value"), [("roc_auc", by_pairs), ("precision", ratio)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_units_left_out_one_by_one(metric: str, value: Any, weighted: bool, clustered: bool) -> None:
    """The jackknife is what a loop over units says; the delta method is close to it."""
    y, p, unit, w, *_ = arrays()
    w = w if weighted else np.ones(ROWS)
    unit = unit if clustered else np.arange(ROWS)
    units = np.unique(unit)
    without = np.array([value(y[unit != u], p[unit != u], w[unit != u]) for u in units])
    error = ((len(units) - 1) / len(units) * ((without - without.mean()) ** 2).sum()) ** 0.5
    given = {"weight": "w" if weighted else None, "unit": "unit" if clustered else None}
    assert row(metric, "jackknife", **given)["std_error"] == pytest.approx(error, rel=1e-9)
    assert row(metric, "delta", **given)["std_error"] == pytest.approx(error, rel=0.05)


def test_the_cluster_robust_error_of_a_mean() -> None:
    _, _, unit, w, number, guess = arrays()
    loss = (guess - number) ** 2
    mean = (w * loss).sum() / w.sum()
    scores = np.bincount(unit, w * (loss - mean))[np.unique(unit)]
    groups = len(scores)
    error = (groups / (groups - 1) * (scores**2).sum()) ** 0.5 / w.sum()
    found = row("mse", "delta", task="regression", weight="w", unit="unit")
    assert found["std_error"] == pytest.approx(error, rel=1e-6)


def test_blocks_without_rows_of_a_slice_count_for_nothing() -> None:
    frame = table()
    other = frame.with_columns(pl.lit("other").alias("s"), pl.col("p") * 0.5)
    both = pl.concat([frame, other])
    asked = {"label": "y", "models": "p", "metrics": ["f1", "roc_auc", "brier"]}
    for method in ("delta", "jackknife"):
        alone = plm.evaluate(frame, uncertainty={"methods": [method]}, **asked).metrics
        among = plm.evaluate(both, uncertainty={"methods": [method]}, slices={"s": "s"}, **asked).metrics
        part = among.filter(slice="s=all")
        assert part["std_error"].to_list() == pytest.approx(alone["std_error"].to_list(), rel=1e-6)


def test_totals_vary_as_the_ordinary_bootstrap_says() -> None:
    y, p, *_ = arrays()
    share = np.mean((y == 1) & (p >= 0.5))
    for method in ("delta", "jackknife"):
        found = row("tp", method)
        assert found["std_error"] == pytest.approx((ROWS * share * (1 - share)) ** 0.5, rel=0.01)


def test_blocks_of_many_units_say_the_same_as_single_ones() -> None:
    random = np.random.default_rng(9)
    y = random.integers(0, 2, 60_000)
    frame = pl.DataFrame({"y": y, "p": np.clip(random.normal(0.4 + 0.2 * y, 0.2), 0, 1)})
    made = plm.evaluate(frame, label="y", models="p", metrics=["brier"], uncertainty={"method": "analytic"})
    loss = (frame["p"] - frame["y"]).to_numpy() ** 2
    assert made.metrics["std_error"][0] == pytest.approx(loss.std() / 60_000**0.5, rel=0.08)


INFINITY = float("inf")
RANGES = [
    (0.0, 1.0),
    (-1.0, 1.0),
    (0.0, INFINITY),
    (-INFINITY, INFINITY),
    (-INFINITY, 1.0),
    (0.5, 1.0),
    (0.0, 200.0),
]
INSIDE = np.array([0.6, 0.75, 0.999])


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ((0, 1), math.log(0.75 / 0.25)),
        ((-1, 1), math.log(0.875 / 0.125)),
        ((0, INFINITY), math.log(0.75)),
        ((-INFINITY, INFINITY), 0.75),
        ((-INFINITY, 1.0), 0.75),
        ((0.5, 1.0), 0.75),
    ],
)
def test_the_function_by_range(bounds: tuple[float, float], expected: float) -> None:
    assert scale_of(bounds).forward(np.array([0.75]))[0] == pytest.approx(expected)


@pytest.mark.parametrize("bounds", RANGES)
def test_there_and_back(bounds: tuple[float, float]) -> None:
    scale = scale_of(bounds)
    assert scale.backward(scale.forward(INSIDE)) == pytest.approx(INSIDE, rel=1e-12)


@pytest.mark.parametrize("bounds", RANGES)
def test_the_slope_is_the_derivative(bounds: tuple[float, float]) -> None:
    scale, step = scale_of(bounds), 1e-6
    numeric = (scale.forward(INSIDE + step) - scale.forward(INSIDE - step)) / (2 * step)
    assert scale.slope(INSIDE) == pytest.approx(numeric, rel=1e-5)


@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0), (0.0, INFINITY)])
def test_the_ends_are_infinite_and_come_back(bounds: tuple[float, float]) -> None:
    scale = scale_of(bounds)
    ends = np.array([end for end in bounds if math.isfinite(end)])
    assert np.isinf(scale.forward(ends)).all()
    assert scale.backward(np.array([-1e4, 1e4])).tolist() == list(bounds)
    assert np.isnan(scale.forward(np.array([np.nan]))).all()
