import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from plmetrics.catalogue.registry import create
from plmetrics.states.sums import Rows, View


def scikit(score):
    return lambda y, p, w: score(y, p, sample_weight=w)


def error_variance(y, p, w):
    return np.average((p - y - np.average(p - y, weights=w)) ** 2, weights=w)


CASES = [
    ("mae", scikit(sk.mean_absolute_error)),
    ("mse", scikit(sk.mean_squared_error)),
    ("rmse", scikit(sk.root_mean_squared_error)),
    ("mean_error", lambda y, p, w: np.average(p - y, weights=w)),
    ("error_variance", error_variance),
    ("bias_squared", lambda y, p, w: np.average(p - y, weights=w) ** 2),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "reference"), CASES)
def test_expression_equals_the_independent_formula(name, reference, weight, check_expr):
    check_expr(create("regression", name, {}), weight, reference)


@pytest.mark.parametrize(("name", "reference"), CASES)
def test_undefined_only_without_rows(name, reference, status):
    metric = create("regression", name, {})
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [1.0, 2.0], [1.0, 1.0], [0.0, 0.0]) == "no_rows"
    assert status(metric, [1.0], [1.0]) == "ok"


VALUES = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=20)
NAMES = [name for name, _ in CASES]


def found(frame, names=NAMES):
    return frame.select(create("regression", name, {}).expr("y", "p") for name in names).row(0, named=True)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(rows=VALUES, shift=st.integers(-1000, 1000))
def test_errors_do_not_move_with_both_sides(rows, shift):
    frame = pl.DataFrame(rows, schema={"y": pl.Float64, "p": pl.Float64}, orient="row")
    assert found(frame + shift) == pytest.approx(found(frame), rel=1e-9, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(rows=VALUES, offset=st.sampled_from([0.0, 1e9]))
def test_mean_squared_error_is_bias_squared_and_variance(rows, offset):
    frame = pl.DataFrame(rows, schema={"y": pl.Float64, "p": pl.Float64}, orient="row") + offset
    values = found(frame)
    parts = values["bias_squared"] + values["error_variance"]
    assert values["mse"] == pytest.approx(parts, rel=1e-9, abs=1e-12)
    assert values["bias_squared"] == pytest.approx(values["mean_error"] ** 2, rel=1e-12)


@pytest.mark.parametrize("centre", ["equal", 0.0, 77.7])
@pytest.mark.parametrize("error", [0.1, -1 / 3, 1e7 + 0.1])
def test_equal_errors_have_no_variance_at_all_whatever_the_centre(error, centre):
    rows = pl.DataFrame({"y": [0.0] * 1000, "p": [error] * 1000})
    metric = create("regression", "error_variance", {})
    assert [value.key for value in metric.centres()] == ["error"]
    roles = Rows(
        pl.col("y"), pl.col("p"), pl.lit(value=False), {"error": error if centre == "equal" else centre}
    )
    sums = rows.select(atom.aggregate(roles, None).alias(name) for name, atom in metric.atoms().items())
    state = View({**sums.row(0, named=True), "n": 1000.0, "weight": 1000.0})
    assert metric.finalise(state) == 0.0
    assert rows.select(metric.expr("y", "p")).item() == 0.0
