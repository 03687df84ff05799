"""Calibrated models: what they are fitted on, what they give, and what is refused."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import expit, logit
from sklearn.calibration import CalibratedClassifierCV, _SigmoidCalibration
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss
from sklearn.svm import LinearSVC

import plmetrics as plm
from plmetrics.engine.binding.bind import bind
from plmetrics.features.explain.explanation import explain
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

VALID = "split = 'valid'"
PLATT = {"method": "platt", "fit_on": VALID}


@pytest.fixture(scope="module")
def frame():
    random = np.random.default_rng(8)
    rows = 900
    odds = random.normal(0, 2, rows)
    return pl.DataFrame(
        {
            "y": (random.random(rows) < expit(0.5 * odds - 0.5)).astype(int),
            "p": expit(odds),
            "q": expit(odds + random.normal(0, 1, rows)),
            "w": random.gamma(1.0, 1.0, rows) + 0.01,
            "split": random.choice(["valid", "test"], rows),
            "fold": random.choice(["one", "two", "three"], rows),
            "site": random.choice(["north", "south"], rows),
        }
    )


def evaluated(rows, calibrate=PLATT, metrics=("brier",), models=None, **keywords):
    models = {"a": "p"} if models is None else models
    return plm.evaluate(rows, label="y", models=models, calibrate=calibrate, metrics=metrics, **keywords)


def values(result, metric="brier", **where):
    found = result.metrics.filter(metric=metric, **{"slice_set": "overall", **where})
    return dict(zip(found["model"], found["value"], strict=True))


def platt_of(train, score, weight=None):
    curve = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky")
    curve.fit(logit(train[score].to_numpy())[:, None], train["y"], sample_weight=weight)
    return lambda rows: curve.predict_proba(logit(rows[score].to_numpy())[:, None])[:, 1]


@pytest.mark.parametrize("weighted", [False, True])
def test_calibrated_on_some_rows_and_judged_on_the_others(frame, weighted):
    train, test = frame.filter(split="valid"), frame.filter(split="test")
    models = {"a": "p", "b": "q"}
    found = evaluated(
        frame, models=models, weight="w" if weighted else None, metrics=["log_loss", "brier"], slices=["site"]
    )
    weight = (train["w"], test["w"]) if weighted else (None, None)
    for model, column in models.items():
        chance = platt_of(train, column, weight[0])(test)
        for metric, loss in (("brier", brier_score_loss), ("log_loss", log_loss)):
            expected = loss(test["y"], chance, sample_weight=weight[1])
            assert values(found, metric)[f"{model}_platt"] == pytest.approx(expected, rel=1e-6)
            assert values(found, metric)[model] == pytest.approx(
                loss(test["y"], test[column], sample_weight=weight[1])
            )
    assert list(values(found)) == ["a", "b", "a_platt", "b_platt"]
    assert found.metrics.filter(slice_set="overall")["n"].unique().to_list() == [test.height]
    assert found.record["rows"]["fitted"] == train.height
    assert found.record["rows"]["read"] == test.height
    assert list(found.suite.models) == ["a", "b"]


def test_memory_may_have_room_for_more_rows_than_polars_counts(frame):
    assert values(evaluated(frame, memory="10TB")) == values(evaluated(frame))


def test_parameters_stand_in_the_record(frame):
    found = evaluated(frame)
    curve = found.record["constants"]["calibrators"]["a_platt"]
    train = frame.filter(split="valid")
    assert (curve["method"], curve["fit_on"], curve["rows"]) == ("platt", VALID, train.height)
    chance = platt_of(train, "p")(frame)
    np.testing.assert_allclose(
        expit(curve["slope"] * logit(frame["p"]) + curve["intercept"]), chance, rtol=1e-6
    )


def test_by_fold_each_row_gets_the_curve_of_the_others(frame):
    calibrate = [{"method": "isotonic", "fit_on": "fold"}, {"method": "platt", "fit_on": "fold"}]
    found = evaluated(frame, calibrate, fold="fold")
    isotonic, platt = np.zeros(frame.height), np.zeros(frame.height)
    for fold in ("one", "two", "three"):
        inside = (frame["fold"] == fold).to_numpy()
        others, own = frame.filter(~inside), frame.filter(inside)
        curve = IsotonicRegression(out_of_bounds="clip").fit(others["p"], others["y"])
        isotonic[inside], platt[inside] = curve.predict(own["p"]), platt_of(others, "p")(own)
    assert values(found)["a_isotonic"] == pytest.approx(brier_score_loss(frame["y"], isotonic), rel=1e-9)
    assert values(found)["a_platt"] == pytest.approx(brier_score_loss(frame["y"], platt), rel=1e-6)
    assert found.record["rows"]["used"]["a_platt"] == frame.height
    assert found.record["rows"]["fitted"] == 0
    folds = found.record["constants"]["calibrators"]["a_platt"]["folds"]
    assert [part["fold"] for part in folds] == ["one", "three", "two"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", [pl.Categorical, pl.Int8, pl.Boolean])
def test_folds_of_any_type(frame, dtype):
    number = pl.col("fold") == "one"
    rows = frame.with_columns(
        fold=number.cast(pl.Int8).cast(pl.String).cast(dtype)
        if dtype == pl.Categorical
        else number.cast(dtype)
    )
    as_text = frame.with_columns(fold=pl.when(number).then(pl.lit("x")).otherwise(pl.lit("y")))
    by = {"method": "platt", "fit_on": "fold"}
    assert values(evaluated(rows, by, fold="fold")) == pytest.approx(
        values(evaluated(as_text, by, fold="fold")), rel=1e-12
    )


def test_rows_to_fit_on_may_lie_outside_where(frame):
    found = evaluated(frame, where="split = 'test' AND site = 'north'")
    test = frame.filter(split="test", site="north")
    chance = platt_of(frame.filter(split="valid"), "p")(test)
    assert values(found)["a_platt"] == pytest.approx(brier_score_loss(test["y"], chance), rel=1e-6)
    assert found.record["rows"]["fitted"] == 0


def test_bad_rows_to_fit_on_are_named(frame):
    rows = frame.with_columns(p=pl.when(pl.int_range(pl.len()) == 5).then(None).otherwise("p")).with_columns(
        split=pl.when(pl.int_range(pl.len()) == 5).then(pl.lit("valid")).otherwise("split")
    )
    with pytest.raises(plm.DataError, match=r"column 'p' \(score of model 'a'\): 1 of .* is null.*row 5"):
        evaluated(rows)


@pytest.mark.exhaustive
@pytest.mark.parametrize("missing", ["drop", "drop_per_model"])
@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_bad_rows_take_no_part_in_a_fit(frame, missing, method):
    bad = pl.int_range(pl.len()) % 7 == 0
    spoilt = frame.with_columns(p=pl.when(bad).then(float("nan")).otherwise("p"))
    calibrate = {"method": method, "fit_on": VALID}
    found = evaluated(spoilt, calibrate, missing=missing)
    assert values(found) == pytest.approx(values(evaluated(frame.filter(~bad), calibrate)), rel=1e-9)
    assert found.record["rows"]["dropped"]["a_" + method] > 0


def test_dropped_per_model_each_is_fitted_on_its_own_rows(frame):
    bad = pl.int_range(pl.len()) % 7 == 0
    spoilt = frame.with_columns(q=pl.when(bad).then(None).otherwise("q"))
    found = evaluated(spoilt, models={"a": "p", "b": "q"}, missing="drop_per_model")
    assert values(found)["a_platt"] == pytest.approx(values(evaluated(frame))["a_platt"], rel=1e-12)
    alone = evaluated(frame.filter(~bad), models={"b": "q"})
    assert values(found)["b_platt"] == pytest.approx(values(alone)["b_platt"], rel=1e-12)


@pytest.mark.parametrize("exact", [True, False])
def test_calibrated_models_take_part_in_everything(frame, exact):
    found = evaluated(
        frame,
        metrics=["roc_auc", "f1(threshold=max(f1))", "ece", "log_loss"],
        slices={"site": "site", "score": {"column": "p", "quantiles": 2}},
        uncertainty={"replicates": 30},
        compare="a",
        curves=["roc"],
        gates=[{"metric": "log_loss", "model": "a_platt", "against": "a", "at_most": 0}],
        exact=exact,
    )
    assert found.verdict == "pass"
    assert set(found.comparisons["model"]) == {"a_platt"}
    assert set(found.curves["model"]) == {"a", "a_platt"}
    auc = values(found, "roc_auc")
    assert auc["a_platt"] == pytest.approx(auc["a"], abs=1e-12 if exact else 1e-2)
    assert set(found.metrics["interval_status"]) == {"ok"}


def test_few_rows_advise_platt_over_isotonic(frame):
    (said,) = evaluated(frame, {"method": "isotonic", "fit_on": VALID}).record["warnings"]
    assert "stands on" in said
    assert "platt" in said
    assert evaluated(frame).record["warnings"] == []


@pytest.mark.parametrize(
    ("change", "keywords", "words"),
    [
        ({"fit_on": "split = 'none'"}, {}, "there are no rows to fit calibrators on"),
        ({"fit_on": "p <= 1"}, {}, "fit_on holds for all 900 rows: none is left to evaluate"),
        ({"fit_on": "y = 1"}, {}, "cannot fit platt to the scores of model 'a': none of the .* is negative"),
        ({"fit_on": "p < 0.3 AND y = 0 OR p > 0.7 AND y = 1"}, {}, "do not overlap"),
        ({"fit_on": "fold"}, {"fold": "w"}, "column 'w' .fold. has 900 values"),
        ({"fit_on": "fold"}, {"fold": "constant"}, "has 1 values"),
        ({"fit_on": "fold"}, {"fold": "y"}, "outside fold 0: none of the .* is negative"),
        ({"fit_on": "fold"}, {"fold": "partly"}, "column 'partly' .fold.: .* are null"),
    ],
)
def test_what_the_data_do_not_allow(frame, change, keywords, words):
    rows = frame.with_columns(
        constant=pl.lit(1), partly=pl.when(split="valid").then(pl.lit(1)).otherwise(None)
    )
    with pytest.raises(plm.DataError, match=words):
        evaluated(rows, {**PLATT, **change}, **keywords)


def test_scores_must_be_probabilities_except_for_isotonic(frame):
    margins = frame.with_columns(p=pl.col("p") * 10)
    with pytest.raises(plm.DataError, match=r"outside \[0, 1\]"):
        evaluated(margins, metrics=["roc_auc"])
    auc = values(evaluated(margins, {"method": "isotonic", "fit_on": VALID}, metrics=["roc_auc"]), "roc_auc")
    assert 0.5 < auc["a_isotonic"] <= 1


@pytest.mark.parametrize(
    ("condition", "words"),
    [("spilt = 'valid'", "column 'spilt' .in fit_on. is not in the data"), ("p + 1", "is not a condition")],
)
def test_a_condition_is_checked_before_anything_is_read(frame, condition, words):
    with pytest.raises(plm.PlmetricsError, match=words):
        evaluated(frame, {"method": "platt", "fit_on": condition})


def test_rows_to_fit_on_must_fit_into_memory(frame):
    with pytest.raises(plm.ConfigError, match="too many for the memory budget"):
        evaluated(frame, memory=10_000)


@pytest.mark.parametrize("method", ["platt", "isotonic", "temperature", "beta"])
def test_plans_of_calibrated_scores_stream(frame, method):
    suite = suite_from_arguments(
        label="y",
        models={"a": "p"},
        calibrate={"method": method, "fit_on": "fold"},
        fold="fold",
        metrics=["brier", "roc_auc"],
        baseline=True,
    )
    found = explain(bind(suite, open_source(frame)))
    assert found.streams
    assert found.models == 3
    assert set(found.source.columns) == {"y", "p", "fold"}


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("missing", ["error", "drop", "drop_per_model"])
@pytest.mark.parametrize(
    ("slices", "metric"),
    [
        ({"half": {"column": "p", "quantiles": 2}}, "brier"),
        ({"most": {"column": "site", "top": 1}}, "brier"),
        ({}, "f1(threshold=max(f1))"),
    ],
)
def test_folds_go_with_other_constants_of_the_data(frame, missing, slices, metric):
    by = {"method": "platt", "fit_on": "fold"}
    found = evaluated(frame, by, [metric], fold="fold", slices=slices, missing=missing)
    plain = evaluated(frame, by, [metric], fold="fold")
    assert values(found, metric) == pytest.approx(values(plain, metric))
    assert found.metrics["status"].unique().to_list() == ["ok"]


MARGINS = {"svm": {"margin": "m"}}
SMOOTH = {"method": "platt", "fit_on": VALID, "smoothing": True}


@pytest.fixture(scope="module")
def margins(frame):
    rows = frame.with_columns(x1=pl.col("p").log() - (1 - pl.col("p")).log(), x2=pl.col("q"))
    machine = LinearSVC(random_state=0).fit(rows["x1", "x2"].to_numpy(), rows["y"])
    return rows.with_columns(
        m=pl.Series(machine.decision_function(rows["x1", "x2"].to_numpy()) * 20)
    ), machine


def losses_of(rows, probability):
    return {"log_loss": log_loss(rows["y"], probability), "brier": brier_score_loss(rows["y"], probability)}


@pytest.mark.parametrize("weight", [None, "w"])
def test_margins_get_the_curve_that_platt_fits(margins, weight):
    rows, _ = margins
    train, test = rows.filter(split="valid"), rows.filter(split="test")
    found = evaluated(rows, SMOOTH, ["log_loss", "brier"], MARGINS, weight=weight)
    assert list(values(found)) == ["svm_platt"]
    curve = _SigmoidCalibration().fit(
        train["m"].to_numpy(), train["y"], None if weight is None else train["w"].to_numpy()
    )
    weights = None if weight is None else test["w"]
    probability = curve.predict(test["m"].to_numpy())
    loss = log_loss(test["y"], probability, sample_weight=weights)
    assert values(found, "log_loss")["svm_platt"] == pytest.approx(loss, abs=1e-6)
    constants = found.record["constants"]["calibrators"]["svm_platt"]
    assert [constants["slope"], constants["intercept"]] == pytest.approx([-curve.a_, -curve.b_], abs=1e-4)


@pytest.mark.parametrize(
    ("method", "name"), [(SMOOTH, "sigmoid"), (PLATT | {"method": "isotonic"}, "isotonic")]
)
def test_a_machine_is_calibrated_as_scikit_learn_does_it(margins, method, name):
    rows, machine = margins
    train, test = (
        part.with_columns(m=pl.Series(machine.decision_function(part["x1", "x2"].to_numpy())))
        for part in (rows.filter(split="valid"), rows.filter(split="test"))
    )
    fitted = CalibratedClassifierCV(FrozenEstimator(machine), method=name, ensemble=False)
    fitted.fit(train["x1", "x2"].to_numpy(), train["y"])
    probability = fitted.predict_proba(test["x1", "x2"].to_numpy())[:, 1]
    found = evaluated(pl.concat([train, test]), method, ["log_loss", "brier"], MARGINS)
    for metric, value in losses_of(test, probability).items():
        assert values(found, metric)[f"svm_{method['method']}"] == pytest.approx(value, abs=1e-6)


@pytest.mark.exhaustive
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
def test_margins_of_any_size_have_the_same_fit(margins, scale):
    rows, _ = margins
    train, test = rows.filter(split="valid"), rows.filter(split="test")
    heat = {"method": "temperature", "fit_on": VALID}
    found = evaluated(rows.with_columns(pl.col("m") * scale), [PLATT, heat], ["log_loss"], MARGINS)
    curve = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky")
    curve.fit(train["m"].to_numpy()[:, None], train["y"])
    probability = curve.predict_proba(test["m"].to_numpy()[:, None])[:, 1]
    best = minimize_scalar(
        lambda factor: log_loss(train["y"], expit(factor * train["m"].to_numpy())), (0.01, 0.1), tol=1e-12
    )
    heated = expit(best.x * test["m"].to_numpy())
    assert values(found, "log_loss") == pytest.approx(
        {"svm_platt": log_loss(test["y"], probability), "svm_temperature": log_loss(test["y"], heated)},
        abs=1e-7,
    )


def test_margins_are_calibrated_by_fold_and_are_no_model(margins):
    rows, _ = margins
    by_fold = {"method": "platt", "fit_on": "fold"}
    found = evaluated(
        rows.with_columns(m=pl.when(pl.int_range(900) == 4).then(np.inf).otherwise("m")),
        by_fold,
        ["brier", "roc_auc", "recall"],
        {**MARGINS, "b": {"score": "q", "threshold": 0.3}},
        fold="fold",
        missing="drop_per_model",
        baseline=True,
        compare={"baseline": "b"},
        find_slices={"columns": ["site"], "metric": "brier"},
        gates=[{"metric": "brier", "at_most": 0.5}],
    )
    assert set(found.gates["model"]) == {"b", "svm_platt", "b_platt"}
    assert list(values(found)) == ["b", "svm_platt", "b_platt", "baseline"]
    dropped = found.metrics.filter(metric="brier", slice_set="overall")
    assert dict(zip(dropped["model"], dropped["n"], strict=True)) == {
        "b": 900,
        "svm_platt": 899,
        "b_platt": 900,
        "baseline": 900,
    }
    thresholds = found.metrics.filter(metric="recall", slice_set="overall")
    assert thresholds["threshold"].to_list() == [0.3, 0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    ("models", "keywords", "words"),
    [
        (MARGINS, {"calibrate": None}, "model 'svm' gives margins, and nothing makes scores of them"),
        (
            MARGINS,
            {"calibrate": PLATT | {"method": "beta"}},
            "beta calibrates probabilities, and model 'svm'",
        ),
        (MARGINS, {"compare": "svm"}, "baseline 'svm' is not one of the models"),
        ({"svm": {"margin": "m", "score": "p"}}, {}, "a model has exactly one of"),
        ({"svm": {"margin": "m", "threshold": 0.0}}, {}, "threshold belongs to a score"),
    ],
)
def test_what_margins_are_not_for(margins, models, keywords, words):
    with pytest.raises(plm.ConfigError, match=words):
        evaluated(margins[0], **{"models": models, **keywords})
