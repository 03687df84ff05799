import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics as sk

from plmetrics.catalogue.metric import ParameterError
from plmetrics.catalogue.registry import create
from plmetrics.states.sums import Rows, View


def r2(y, p, w):
    if np.ptp(y) == 0:
        return np.nan
    return sk.r2_score(y, p, sample_weight=w)


def mape(keep=lambda y: True, floor=0.0):
    def reference(y, p, w):
        kept = np.broadcast_to(keep(y), y.shape)
        if not kept.any():
            return np.nan
        relative = np.abs(p - y)[kept] / np.maximum(np.abs(y[kept]), floor)
        return 100 * np.average(relative, weights=w[kept])

    return reference


def scikit(score):
    return lambda y, p, w: score(y, p, sample_weight=w)


CASES = [
    ("mae", {}, scikit(sk.mean_absolute_error)),
    ("mse", {}, scikit(sk.mean_squared_error)),
    ("rmse", {}, scikit(sk.root_mean_squared_error)),
    ("mean_error", {}, lambda y, p, w: np.average(p - y, weights=w)),
    ("r2", {}, r2),
    (
        "mape",
        {},
        lambda y, p, w: 100 * sk.mean_absolute_percentage_error(y, p, sample_weight=w) if y.all() else np.nan,
    ),
    ("mape", {"zeros": "drop"}, mape(lambda y: y != 0)),
    ("mape", {"zeros": "epsilon", "epsilon": 0.5}, mape(floor=0.5)),
    ("quantile_loss", {"tau": 0.9}, lambda y, p, w: sk.mean_pinball_loss(y, p, sample_weight=w, alpha=0.9)),
    ("quantile_loss", {"tau": 0.05}, lambda y, p, w: sk.mean_pinball_loss(y, p, sample_weight=w, alpha=0.05)),
]


@pytest.mark.parametrize(("name", "parameters", "reference"), CASES)
def test_expression_equals_the_independent_formula(name, parameters, reference, weight, check_expr):
    check_expr(create("regression", name, parameters), weight, reference)


@pytest.mark.parametrize(("name", "parameters", "reference"), CASES)
def test_undefined_without_rows(name, parameters, reference, status):
    metric = create("regression", name, parameters)
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [1.0, 2.0], [1.0, 1.0], [0.0, 0.0]) == "no_rows"
    assert status(metric, [1.0, 2.0], [1.0, 1.0]) == "ok"


def test_a_large_offset_costs_r2_no_digits():
    rng = np.random.default_rng(0)
    label = rng.normal(size=1000)
    rows = pl.DataFrame({"y": label + 1e9, "p": label + rng.normal(0, 0.3, 1000) + 1e9})
    exact = (
        1 - ((rows["p"] - rows["y"]) ** 2).sum() / ((rows["y"] - 1e9 - (rows["y"] - 1e9).mean()) ** 2).sum()
    )
    metric = create("regression", "r2", {})
    assert rows.select(metric.expr("y", "p")).item() == pytest.approx(exact, rel=1e-9)
    assert around(metric, rows, centre=1e9 + 0.7) == pytest.approx(exact, rel=1e-9)
    assert [value.key for value in metric.centres()] == ["label"]


def around(metric, rows, centre):
    """The value from sums around a constant, null where undefined: as a run's states hold them."""
    view = sums_around(metric, rows, centre)
    undefined = any(condition for _, condition in metric.undefined(view))
    return None if undefined else metric.finalise(view)


def sums_around(metric, rows, centre):
    roles = Rows(pl.col("y"), pl.col("p"), pl.lit(value=False), {"label": centre})
    sums = [atom.aggregate(roles, None).alias(name) for name, atom in metric.atoms().items()]
    found = rows.lazy().group_by(pl.lit(1)).agg(*sums, weight=pl.len().cast(pl.Float64)).collect()
    return View({name: float(found[name].item()) for name in found.columns[1:]} | {"n": float(rows.height)})


@pytest.mark.parametrize("label", [0.1, -1 / 3, 123456.789, 5e-9, 1e12])
@pytest.mark.parametrize("centre", ["equal", 0.0, 77.7])
@pytest.mark.parametrize("rows", [1, 3, 100_000])
def test_equal_labels_leave_r2_undefined_whatever_the_centre(label, centre, rows):
    frame = pl.DataFrame({"y": [label], "p": [label + 1.0]}).select(pl.all().repeat_by(rows).explode())
    metric = create("regression", "r2", {})
    assert around(metric, frame, label if centre == "equal" else centre) is None
    assert frame.select(metric.expr("y", "p")).item() is None


@pytest.mark.parametrize("spread", [1e-4, 1.0])
def test_small_variation_far_from_the_centre_is_still_variation(spread):
    label = 1000.0 + spread * np.arange(100)
    frame = pl.DataFrame({"y": label, "p": label + spread})
    expected = sk.r2_score(label, label + spread)
    assert around(create("regression", "r2", {}), frame, 0.0) == pytest.approx(expected, rel=1e-3)


def test_zero_labels_are_counted_not_weighed():
    metric = create("regression", "mape", {})
    rows = pl.DataFrame({"y": [0.0, 0.0, 0.0, 2.0], "p": [1.0] * 4, "w": [2.5, 0.5, 0.0, 1.0]})
    roles = Rows(pl.col("y"), pl.col("p"), pl.lit(value=False))
    zero_labels = metric.atoms()["zero_labels"]
    assert rows.select(zero_labels.aggregate(roles, pl.col("w"))).item() == 2
    assert rows.select(zero_labels.aggregate(roles, None)).item() == 3
    words, count = metric.note(View({"zero_labels": 2}))
    assert (words, count) == ("labels of 0", 2)


@pytest.mark.parametrize(
    ("parameters", "label", "expected"),
    [
        ({}, [0.0, 1.0], "zero_label"),
        ({"zeros": "drop"}, [0.0, 1.0], "ok"),
        ({"zeros": "drop"}, [0.0, 0.0], "zero_denominator"),
        ({"zeros": "epsilon", "epsilon": 0.1}, [0.0, 0.0], "ok"),
    ],
)
def test_what_a_zero_label_does_is_a_choice(parameters, label, expected, status):
    metric = create("regression", "mape", parameters)
    assert status(metric, label, [1.0, 1.0]) == expected
    assert (metric.note(View({"zero_labels": 1})) is None) == bool(parameters)


@pytest.mark.parametrize(
    ("name", "parameters", "words"),
    [
        ("mape", {"zeros": "skip"}, "zeros must be error, drop or epsilon"),
        ("mape", {"zeros": "epsilon"}, "zeros=epsilon and epsilon go together"),
        ("mape", {"epsilon": 0.1}, "zeros=epsilon and epsilon go together"),
        ("mape", {"zeros": "epsilon", "epsilon": 0}, "epsilon must be a number above 0"),
        ("mape", {"zeros": "epsilon", "epsilon": "small"}, "epsilon must be a number above 0"),
        ("quantile_loss", {"tau": 0}, "tau must be between 0 and 1"),
        ("quantile_loss", {"tau": 1}, "tau must be between 0 and 1"),
        ("quantile_loss", {}, "parameter 'tau' is missing"),
    ],
)
def test_parameters_are_checked(name, parameters, words):
    with pytest.raises(ParameterError, match=words):
        create("regression", name, parameters)


def test_texts():
    assert (
        create("regression", "mape", {"zeros": "epsilon", "epsilon": 1}).text
        == "mape(zeros=epsilon, epsilon=1)"
    )
    assert create("regression", "quantile_loss", {"tau": 0.5}).text == "quantile_loss(tau=0.5)"


VALUES = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=20)


@settings(max_examples=25, deadline=None)
@given(rows=VALUES, shift=st.integers(-1000, 1000))
def test_errors_do_not_move_with_both_sides(rows, shift):
    label, prediction = (np.array(side, dtype=float) for side in zip(*rows, strict=True))
    plain = pl.DataFrame({"y": label, "p": prediction})
    moved = plain + shift
    expressions = [
        create("regression", name, {}).expr("y", "p") for name in ("mae", "mse", "mean_error", "r2")
    ]
    for before, after in zip(plain.select(expressions).row(0), moved.select(expressions).row(0), strict=True):
        assert after == (None if before is None else pytest.approx(before, rel=1e-9, abs=1e-9))


@settings(max_examples=25, deadline=None)
@given(rows=VALUES)
def test_mean_squared_error_is_bias_squared_and_variance(rows):
    label, prediction = (np.array(side, dtype=float) for side in zip(*rows, strict=True))
    frame = pl.DataFrame({"y": label, "p": prediction})
    mse, bias = (
        frame.select(create("regression", name, {}).expr("y", "p")).item() for name in ("mse", "mean_error")
    )
    assert mse == pytest.approx(bias**2 + np.var(prediction - label), rel=1e-9, abs=1e-9)
