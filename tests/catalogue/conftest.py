"""Rows to try metrics on, and the comparison of `.expr` with an independent formula."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from plmetrics.states.expressions import point_expression, sum_expressions
from plmetrics.states.sums import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from plmetrics.catalogue.metric import Metric

    Reference = Callable[[np.ndarray, np.ndarray, np.ndarray], float]


def _random(seed: int, rows: int, digits: int, groups: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label = rng.random(rows) < 0.35
    score = np.clip(rng.normal(0.35 + 0.25 * label, 0.3), 0, 1).round(digits)
    weight = np.where(rng.random(rows) < 0.15, 0.0, rng.gamma(2.0, 1.5, rows))
    return _frame(label, score, weight, rng.integers(0, groups, rows))


def _frame(label: Any, score: Any, weight: Any, group: Any = 0) -> pl.DataFrame:
    rows = len(label)
    return pl.DataFrame(
        {
            "y": np.asarray(label, dtype=np.int64),
            "p": np.asarray(score, dtype=np.float64),
            "w": np.broadcast_to(np.asarray(weight, dtype=np.float64), rows),
            "g": np.broadcast_to(group, rows),
        }
    )


BINARY = {
    "random": _random(1, 120, 1, 3),
    "random_distinct": _random(2, 60, 6, 5),
    "one_row": _frame([1], [0.7], [2.5]),
    "one_negative_row": _frame([0], [0.7], [2.5]),
    "positives_only": _frame([1, 1, 1], [0.2, 0.5, 0.9], [1.0, 0.5, 3.0]),
    "negatives_only": _frame([0, 0, 0], [0.2, 0.5, 0.9], [1.0, 0.5, 3.0]),
    "all_tied_above": _frame([1, 0, 0, 1, 0], [0.5] * 5, [1.0, 2.0, 0.5, 0.0, 1.0], [0, 0, 0, 1, 1]),
    "all_tied_below": _frame([1, 0, 0], [0.4] * 3, [1.0, 2.0, 0.5]),
    "scores_0_and_1": _frame([1, 0, 1, 0], [1.0, 0.0, 0.0, 1.0], [1.0, 2.0, 3.0, 0.7], [0, 0, 1, 1]),
    "perfect": _frame([1, 1, 0, 0, 0], [0.9, 0.8, 0.3, 0.2, 0.2], [0.1, 0.7, 0.3, 0.1, 1.1]),
    "reversed": _frame([0, 0, 1, 1, 1], [0.9, 0.8, 0.3, 0.2, 0.2], [0.1, 0.7, 0.3, 0.1, 1.1]),
    "no_weight_at_all": _frame([1, 0], [0.9, 0.1], [0.0, 0.0]),
    "empty": _frame([], [], []),
}


def _regression() -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(7)
    label = rng.gamma(2.0, 10.0, 80).round(1) - 4.0
    weight = np.where(rng.random(80) < 0.15, 0.0, rng.gamma(2.0, 1.5, 80))
    group = rng.integers(0, 30, 80)
    frames = {
        "random": (label, label + rng.normal(0.5, 3.0, 80), weight, group),
        "perfect": (label, label, weight, group),
        "one_row": ([3.0], [4.5], [2.0], 0),
        "with_zeros": ([0.0, 2.0, -4.0, 0.0], [1.0, 1.5, -5.0, 0.0], [1.0, 2.0, 0.5, 1.5], [0, 0, 0, 1]),
        "zero_of_no_weight": ([0.0, 2.0, -4.0], [1.0, 1.5, -5.0], [0.0, 2.0, 0.5], 0),
        "constant_label": ([0.1] * 7, rng.random(7), weight[:7] + 0.1, 0),
        "empty": ([], [], [], 0),
    }
    out = {}
    for name, (y, p, w, g) in frames.items():
        frame = _frame(np.zeros(len(y)), p, w, g)
        out[name] = frame.with_columns(y=pl.Series(np.asarray(y, dtype=np.float64)))
    return out


REGRESSION = _regression()


@pytest.fixture(params=[None, "w"], ids=["unweighted", "weighted"])
def weight(request: pytest.FixtureRequest) -> str | None:
    return request.param


def _expected(rows: pl.DataFrame, weight: str | None, reference: Reference) -> float | None:
    w = rows[weight].to_numpy() if weight else np.ones(rows.height)
    kept = w > 0
    if not kept.any():
        return None
    label = rows["y"].to_numpy()[kept]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        value = reference(label, rows["p"].to_numpy()[kept], w[kept])
    return float(value) if np.isfinite(value) else None


@pytest.fixture(scope="session")
def check_expr() -> Callable[[Metric, str | None, Reference], None]:
    """Compare a metric with a reference: overall, and by case and group. NaN of the reference is null."""

    def check(metric: Metric, weight: str | None, reference: Reference) -> None:
        cases = BINARY if metric.task == "binary" else REGRESSION
        expression = metric.expr("y", "p", weight)
        near = {"rel": 1e-9, "abs": 1e-12}
        for name in ("random", "one_row", "empty"):
            found = cases[name].select(expression).item()
            assert found == _approx(_expected(cases[name], weight, reference), near), name
        together = pl.concat([rows.with_columns(case=pl.lit(name)) for name, rows in cases.items()])
        grouped = together.lazy().group_by("case", "g").agg(expression).collect()
        by_group = {(case, group): value for case, group, value in grouped.iter_rows()}
        parts = together.partition_by("case", "g", as_dict=True)
        assert by_group.keys() == parts.keys()
        for key, part in parts.items():
            assert by_group[key] == _approx(_expected(part, weight, reference), near), key

    return check


def _approx(value: float | None, near: dict[str, float]) -> Any:
    return None if value is None else pytest.approx(value, **near)


class _Names:
    """A state of zeros: enough to learn the names of the reasons."""

    def __getattr__(self, name: str) -> float:
        return 0.0


def _holds(metric: Metric, rows: pl.DataFrame, index: int) -> bool:
    """Whether the metric's reason number `index` holds."""
    roles = [pl.col("y"), pl.col("p"), pl.col("w")]

    def reason(state: View) -> pl.Expr:
        return metric.undefined(state)[index][1]

    if metric.family == "sums":
        return rows.select(reason(sum_expressions(metric, *roles))).item()
    return rows.select(point_expression(reason, *roles)).item()


@pytest.fixture(scope="session")
def status() -> Callable[..., str]:
    """The status of a metric on some rows: the first reason that holds, else ok."""

    def find(metric: Metric, label: Any, score: Any, weight: Any = 1.0) -> str:
        rows = _frame(np.zeros(len(label)), score, weight).with_columns(
            y=pl.Series(np.asarray(label, dtype=np.float64))
        )
        names = [name for name, _ in metric.undefined(_Names())]
        for index, name in enumerate(names):
            if _holds(metric, rows, index):
                assert rows.select(metric.expr("y", "p", "w")).item() is None
                return name
        return "ok"

    return find


@pytest.fixture(scope="session")
def counted() -> Callable[..., View]:
    """A state of the confusion table from four numbers or arrays."""

    def build(tp: Any, fp: Any, fn: Any, tn: Any) -> View:
        cells = {
            name: np.asarray(cell, dtype=np.float64)
            for name, cell in zip("abcd", (tp, fp, fn, tn), strict=True)
        }
        tp, fp, fn, tn = cells.values()
        weight = tp + fp + fn + tn
        totals = {"positives": tp + fn, "negatives": fp + tn, "weight": weight, "n": weight}
        return View({"tp": tp, "fp": fp, "fn": fn, "tn": tn, **totals})

    return build


@pytest.fixture(scope="session")
def check_axes() -> Callable[[Metric, dict[str, np.ndarray]], None]:
    """Finalising an array with leading axes equals finalising each of its states."""

    def check(metric: Metric, arrays: dict[str, np.ndarray]) -> None:
        whole = np.asarray(metric.finalise(View(arrays)))
        reasons = metric.undefined(View(arrays))
        assert whole.shape == arrays["weight"].shape
        for index in np.ndindex(whole.shape):
            state = View({name: array[index] for name, array in arrays.items()})
            assert whole[index] == pytest.approx(metric.finalise(state), rel=1e-12, abs=1e-14, nan_ok=True)
            for (name, condition), (again, single) in zip(reasons, metric.undefined(state), strict=True):
                assert name == again
                assert np.broadcast_to(condition, whole.shape)[index] == single

    return check
