import numpy as np
import polars as pl
import pytest
from sklearn import metrics as sk

import plmetrics as plm
from plmetrics.catalogue.parameters import ParameterError
from plmetrics.catalogue.registry import create
from plmetrics.states.sums import Rows, View


def varied(score):
    """A reference that is undefined where all labels are equal."""
    return lambda y, p, w: score(y, p, w) if np.ptp(y) > 0 else np.nan


def adjusted(predictors):
    def reference(y, p, w):
        n = w.sum()
        if n <= predictors + 1:
            return np.nan
        return 1 - (1 - sk.r2_score(y, p, sample_weight=w)) * (n - 1) / (n - predictors - 1)

    return varied(reference)


def default_rmse(y, p, w):
    return sk.root_mean_squared_error(y, np.full(len(y), np.average(y, weights=w)), sample_weight=w)


CASES = [
    ("r2", {}, varied(lambda y, p, w: sk.r2_score(y, p, sample_weight=w))),
    ("adjusted_r2", {"predictors": 0}, varied(lambda y, p, w: sk.r2_score(y, p, sample_weight=w))),
    ("adjusted_r2", {"predictors": 2}, adjusted(2)),
    ("explained_variance", {}, varied(lambda y, p, w: sk.explained_variance_score(y, p, sample_weight=w))),
    ("default_rmse", {}, default_rmse),
    (
        "rmse_skill",
        {},
        varied(lambda y, p, w: 1 - sk.root_mean_squared_error(y, p, sample_weight=w) / default_rmse(y, p, w)),
    ),
]
SKILLS = [create("regression", name, parameters) for name, parameters, _ in CASES if name != "default_rmse"]


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize(("name", "parameters", "reference"), CASES)
def test_expression_equals_the_independent_formula(name, parameters, reference, weight, check_expr):
    check_expr(create("regression", name, parameters), weight, reference)


@pytest.mark.exhaustive
@pytest.mark.parametrize("metric", SKILLS, ids=str)
def test_equal_labels_leave_the_denominator_zero(metric, status):
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [0.1] * 9, [1.0] * 9) == "zero_denominator"
    assert status(metric, [2.0], [1.0]) == "zero_denominator"
    assert status(metric, [1.0, 2.0, 2.0, 4.0], [1.0] * 4) == "ok"


@pytest.mark.parametrize(
    ("weight", "expected"), [(1.0, "zero_denominator"), (0.75, "zero_denominator"), (1.001, "ok")]
)
def test_adjusted_r2_needs_more_weight_than_predictors(weight, expected, status):
    metric = create("regression", "adjusted_r2", {"predictors": 3})
    assert status(metric, [1.0, 2.0, 3.0, 5.0], [1.0] * 4, weight) == expected


@pytest.mark.parametrize("predictors", [-1, 1.5, True, "2"])
def test_the_number_of_predictors_is_a_whole_number(predictors):
    with pytest.raises(ParameterError, match="predictors must be a whole number of at least 0"):
        create("regression", "adjusted_r2", {"predictors": predictors})


def around(metric, rows, centre):
    """The value from sums around constants, null where undefined: as a run's states hold them."""
    roles = Rows(pl.col("y"), pl.col("p"), pl.lit(value=False), {"label": centre, "error": 0.5})
    sums = [atom.aggregate(roles, None).alias(name) for name, atom in metric.atoms().items()]
    found = rows.lazy().group_by(pl.lit(1)).agg(*sums, weight=pl.len().cast(pl.Float64)).collect()
    view = View({name: float(found[name].item()) for name in found.columns[1:]} | {"n": float(rows.height)})
    undefined = any(condition for _, condition in metric.undefined(view))
    return None if undefined else metric.finalise(view)


@pytest.mark.parametrize("name", ["r2", "explained_variance", "default_rmse", "rmse_skill"])
def test_a_large_offset_costs_no_digits(name):
    rng = np.random.default_rng(0)
    label = rng.normal(size=1000)
    rows = pl.DataFrame({"y": label + 1e9, "p": label + rng.normal(0.1, 0.3, 1000) + 1e9})
    near = [side.to_numpy() - 1e9 for side in rows.get_columns()]
    reference = next(reference for found, _, reference in CASES if found == name)
    exact = reference(*near, np.ones(1000))
    metric = create("regression", name, {})
    assert rows.select(metric.expr("y", "p")).item() == pytest.approx(exact, rel=1e-9)
    assert around(metric, rows, centre=1e9 + 0.7) == pytest.approx(exact, rel=1e-9)
    assert "label" in [value.key for value in metric.centres()]


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("label", [0.1, -1 / 3, 123456.789, 5e-9, 1e12])
@pytest.mark.parametrize("centre", ["equal", 0.0, 77.7])
@pytest.mark.parametrize("rows", [1, 3, 100_000])
def test_equal_labels_do_not_vary_whatever_the_centre(label, centre, rows):
    frame = pl.DataFrame({"y": [label], "p": [label + 1.0]}).select(pl.all().repeat_by(rows).explode())
    r2, default = (create("regression", name, {}) for name in ("r2", "default_rmse"))
    centre = label if centre == "equal" else centre
    assert (around(r2, frame, centre), around(default, frame, centre)) == (None, 0.0)
    assert frame.select(r2.expr("y", "p"), default.expr("y", "p")).row(0) == (None, 0.0)


@pytest.mark.parametrize("spread", [1e-4, 1.0])
def test_small_variation_far_from_the_centre_is_still_variation(spread):
    label = 1000.0 + spread * np.arange(100)
    frame = pl.DataFrame({"y": label, "p": label + spread})
    expected = sk.r2_score(label, label + spread)
    assert around(create("regression", "r2", {}), frame, 0.0) == pytest.approx(expected, rel=1e-3)


def test_a_bias_parts_r2_from_explained_variance():
    rows = pl.DataFrame({"y": [1.0, 2.0, 4.0], "p": [6.0, 7.0, 9.0]})
    found = {
        metric.name: rows.select(metric.expr("y", "p")).item()
        for metric in SKILLS
        if metric.text == metric.name
    }
    assert found["explained_variance"] == pytest.approx(1.0)
    assert found["r2"] < 0
    assert (1 - found["rmse_skill"]) ** 2 == pytest.approx(1 - found["r2"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("heavy_tails", [False, True])
def test_constant_predictions_explain_exactly_nothing(
    heavy_tails: bool, weight: str | None, reproducible: bool
) -> None:
    """Replicates without an outlier are far from the centre of their slice."""
    rng = np.random.default_rng(1)
    labels = rng.lognormal(sigma=2.5, size=800) if heavy_tails else rng.normal(size=800)
    rows = pl.DataFrame(
        {"y": labels.round(3), "w": rng.random(800), "slice": np.arange(800) // 20}
    ).with_columns(a=pl.lit(0.1), b=pl.lit(0.7))
    found = plm.evaluate(
        rows,
        task="regression",
        label="y",
        models=["a", "b"],
        weight=weight,
        metrics=["explained_variance"],
        slices=["slice"],
        uncertainty={"replicates": 50},
        compare="a",
        reproducible=reproducible,
    )
    assert found.metrics["value"].unique().to_list() == [0.0]
    assert found.metrics["interval_status"].unique().to_list() == ["degenerate"]
    assert found.comparisons["p_value"].null_count() == found.comparisons.height
