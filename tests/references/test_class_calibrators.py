"""Calibrators of several classes against minima that SciPy finds, and curves of scikit-learn."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

import plmetrics as plm
from plmetrics.catalogue.calibrators.several import CLASS_CALIBRATORS
from plmetrics.core.exact_sums import exact_products
from plmetrics.table.prediction_columns import ColumnSteps, PredictionColumns, part_column, with_part_columns

CLASSES = list("abc")
EPSILON = np.finfo(float).eps
ROLES: dict[str, Any] = {"task": "multiclass", "label": "y", "models": {"m": {"proba": "p_"}}}


def table(rows: int = 1500) -> pl.DataFrame:
    """Probabilities that are too bold, on rows to fit on and others."""
    rng = np.random.default_rng(7)
    label = rng.integers(0, 3, rows)
    proba = softmax(2.0 * (rng.normal(size=(rows, 3)) + 1.2 * np.eye(3)[label]) + [0.0, 0.3, -0.4], axis=1)
    frame = {
        "y": np.array(CLASSES)[label],
        "s": rng.choice(["valid", "test"], rows),
        "f": rng.integers(0, 3, rows),
        "w": rng.integers(1, 3, rows),
    }
    return pl.DataFrame(frame).with_columns(
        pl.Series(f"p_{name}", proba[:, k]) for k, name in enumerate(CLASSES)
    )


def arrays(rows: pl.DataFrame) -> tuple[Any, Any]:
    proba = rows.select(f"p_{name}" for name in CLASSES).to_numpy()
    return proba, np.array([CLASSES.index(name) for name in rows["y"]])


def by_temperature(fit: pl.DataFrame, new: pl.DataFrame, weight: Any) -> Any:
    (proba, label), (other, _) = arrays(fit), arrays(new)

    def loss(factor: float) -> float:
        each = log_softmax(factor * np.log(proba), axis=1)[np.arange(len(label)), label]
        return -float(np.average(each, weights=weight))

    best = minimize_scalar(loss, bounds=(0.01, 10.0), method="bounded", options={"xatol": 1e-12}).x
    return softmax(best * np.log(other), axis=1)


def by_vector(fit: pl.DataFrame, new: pl.DataFrame, weight: Any) -> Any:
    (proba, label), (other, _) = arrays(fit), arrays(new)

    def loss(x: Any) -> float:
        each = log_softmax(np.log(proba) * x[:3] + np.append(x[3:], 0.0), axis=1)[
            np.arange(len(label)), label
        ]
        return -float(np.average(each, weights=weight))

    x = minimize(loss, [1.0, 1.0, 1.0, 0.0, 0.0], method="BFGS", options={"gtol": 1e-9}).x
    return softmax(np.log(other) * x[:3] + np.append(x[3:], 0.0), axis=1)


def by_isotonic(fit: pl.DataFrame, new: pl.DataFrame, weight: Any) -> Any:
    (proba, label), (other, _) = arrays(fit), arrays(new)
    each = [
        IsotonicRegression(out_of_bounds="clip").fit(proba[:, k], label == k, weight).predict(other[:, k])
        for k in range(3)
    ]
    return np.stack(each, axis=1) / np.sum(each, axis=0)[:, None]


def by_dirichlet(fit: pl.DataFrame, new: pl.DataFrame, weight: Any) -> Any:
    (proba, label), (other, _) = arrays(fit), arrays(new)
    regression = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-10, max_iter=1000)
    return regression.fit(np.log(proba), label, weight).predict_proba(np.log(other))


REFERENCES: dict[str, Any] = {
    "temperature": by_temperature,
    "vector": by_vector,
    "dirichlet": by_dirichlet,
    "isotonic": by_isotonic,
}


def log_loss(proba: Any, label: Any, weight: Any) -> float:
    own = np.clip(proba[np.arange(len(label)), label], EPSILON, 1 - EPSILON)
    return -float(np.average(np.log(own), weights=weight))


@pytest.mark.exhaustive
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("method", REFERENCES)
def test_fits_are_those_of_other_libraries(method: str, weighted: bool) -> None:
    rows = table()
    fit, new = rows.filter(s="valid"), rows.filter(s="test")
    of_fit, of_new = ((part["w"].to_numpy() if weighted else None) for part in (fit, new))
    proba = REFERENCES[method](fit, new, of_fit)
    _, label = arrays(new)
    calibrate: Any = {"method": method, "fit_on": "s = 'valid'"}
    asked: dict[str, Any] = {"metrics": ["log_loss", "brier"], "weight": "w" if weighted else None}
    found = plm.evaluate(rows, **ROLES, calibrate=calibrate, **asked).metrics.filter(model=f"m_{method}")
    brier = np.average(((proba - np.eye(3)[label]) ** 2).sum(axis=1), weights=of_new)
    assert found["n"].to_list() == [new.height] * 2
    assert found["value"].to_list() == pytest.approx([log_loss(proba, label, of_new), brier], rel=1e-6)


def test_by_fold_each_row_has_the_fit_of_the_other_folds() -> None:
    rows = table(600)
    calibrate: Any = {"method": "temperature", "fit_on": "fold"}
    found = plm.evaluate(rows, **ROLES, fold="f", calibrate=calibrate, metrics=["log_loss"])
    losses = []
    for fold in range(3):
        here = rows.filter(f=fold)
        proba, (_, label) = by_temperature(rows.filter(pl.col("f") != fold), here, None), arrays(here)
        losses += list(-np.log(proba[np.arange(len(label)), label]))
    overall = found.metrics.filter(slice_set="overall", model="m_temperature")["value"].item()
    assert overall == pytest.approx(np.mean(losses), rel=1e-6)


def test_temperature_leaves_the_called_class() -> None:
    calibrate: Any = [{"method": "temperature", "fit_on": "s = 'valid'"}]
    found = plm.evaluate(table(), **ROLES, calibrate=calibrate, metrics=["accuracy"]).metrics["value"]
    assert found[0] == found[1]


def test_probabilities_may_be_normalised_first() -> None:
    rows = table().with_columns(pl.col("^p_.*$") * 0.5)
    calibrate: Any = {"method": "isotonic", "fit_on": "s = 'valid'"}
    models: Any = {"m": {"proba": "p_", "normalise": True}}
    halved = plm.evaluate(rows, **{**ROLES, "models": models}, calibrate=calibrate, metrics=["brier"]).metrics
    whole = plm.evaluate(table(), **ROLES, calibrate=calibrate, metrics=["brier"]).metrics
    assert halved["value"].to_list() == pytest.approx(whole["value"].to_list(), rel=1e-9)


CERTAIN = pl.DataFrame({"y": ["a", "b"] * 9, "s": ["valid"] * 9 + ["test"] * 9}).with_columns(
    p_a=pl.when(pl.col("y") == "a").then(0.9).otherwise(0.1),
    p_b=pl.when(pl.col("y") == "b").then(0.9).otherwise(0.1),
)


@pytest.mark.parametrize(
    ("rows", "method", "fit_on", "kind", "words"),
    [
        (table(50), "platt", "fold", plm.ConfigError, ["'platt'", "'multiclass'", "vector"]),
        (CERTAIN, "temperature", "s = 'valid'", plm.DataError, ["largest probability already"]),
        (CERTAIN, "vector", "s = 'valid'", plm.DataError, ["no finite slopes"]),
        (CERTAIN, "dirichlet", "s = 'valid'", plm.DataError, ["no finite coefficients"]),
        (table(50), "vector", "s = 'none'", plm.DataError, ["no rows to fit"]),
    ],
)
def test_what_cannot_be_fitted_is_said(
    rows: pl.DataFrame, method: Any, fit_on: str, kind: type[Exception], words: list[str]
) -> None:
    calibrate: Any = {"method": method, "fit_on": fit_on}
    with pytest.raises(kind) as error:
        plm.evaluate(rows, **ROLES, calibrate=calibrate, metrics=["accuracy"])
    for word in words:
        assert word in str(error.value)


def made(classes: int, method: str) -> pl.LazyFrame:
    """A plan of normalised or calibrated probabilities of many classes, with curves that are the numbers themselves."""
    columns = {f"proba|{number}": f"p{number}" for number in range(classes)}
    raw = pl.LazyFrame({name: [1.0 + number, 2.0] for number, name in enumerate(columns.values())})
    if method == "normalise":
        return with_part_columns(raw, {"m": PredictionColumns(columns, normalise=True)})
    raw, steps = raw.select(pl.all() / sum(range(1, classes + 1))), ColumnSteps("m")
    same = {"scores": [0.0, 1.0], "rates": [0.0, 1.0], "knots": 2}
    constants = {
        "temperature": {"temperature": 0.5},
        "vector": {"slopes": [2.0] * classes, "intercepts": [0.0] * classes},
        "isotonic": {"curves": [same] * classes},
    }
    calibrator = CLASS_CALIBRATORS[method].read(constants[method])
    parts = calibrator.calibrate([pl.col(name) for name in columns.values()], steps)
    derived = dict(zip(columns, parts, strict=True))
    return with_part_columns(raw, {"m": PredictionColumns(columns, derived, steps=steps.steps)})


@pytest.mark.parametrize("method", ["normalise", "temperature", "vector", "isotonic"])
def test_plans_of_many_classes_grow_as_their_number(method: str) -> None:
    """Each class divides by what is made of all: said anew for each, a plan of 100 classes takes gigabytes."""
    few, many = made(20, method), made(80, method)
    assert len(many.explain(optimized=False)) < 5 * len(few.explain(optimized=False))
    found = few.select(part_column("m", f"proba|{number}") for number in range(20)).collect().row(0)
    number = np.arange(1.0, 21.0) ** (2 if method in {"temperature", "vector"} else 1)
    np.testing.assert_allclose(found, number / number.sum(), rtol=1e-12)


@pytest.mark.parametrize("method", ["vector", "dirichlet"])
def test_many_parameters_are_fitted_as_few_are(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products by a library, and Cholesky's factors; not where runs are reproducible."""
    draw = np.random.default_rng(6)
    label = draw.integers(0, 4, 800)
    score = draw.normal(size=(800, 4)) + np.eye(4)[label]
    probabilities = np.exp(score) / np.exp(score).sum(axis=1, keepdims=True)
    fit = CLASS_CALIBRATORS[method].fit
    plain = fit(probabilities, label)
    monkeypatch.setattr("plmetrics.catalogue.calibrators.several._SMALL_PRODUCT", 0)
    monkeypatch.setattr("plmetrics.catalogue.calibrators.calibrator._MANY", 0)
    fast = fit(probabilities, label)
    np.testing.assert_allclose(fast.constants()["intercepts"], plain.constants()["intercepts"], rtol=1e-9)
    with exact_products(enabled=True):
        exact = fit(probabilities, label)
    np.testing.assert_allclose(exact.constants()["intercepts"], plain.constants()["intercepts"], rtol=1e-9)


def test_a_fit_by_parts_of_the_rows_is_that_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    proba, label = arrays(table(700))
    several = "plmetrics.catalogue.calibrators.several"
    plain = CLASS_CALIBRATORS["dirichlet"].fit(proba, label).constants()
    monkeypatch.setattr(f"{several}._NUMBERS_AT_ONCE", 800)
    monkeypatch.setattr(f"{several}._SMALL_PRODUCT", 16 * 20)
    parts = CLASS_CALIBRATORS["dirichlet"].fit(proba, label).constants()
    np.testing.assert_allclose(parts["coefficients"], plain["coefficients"], rtol=1e-9)


def test_more_coefficients_than_there_is_memory_for_are_refused() -> None:
    names = [f"p_{number:03d}" for number in range(120)]
    rows = pl.DataFrame({"y": ["000", "001"], "s": [True, False], **{name: [1 / 120] * 2 for name in names}})
    calibrate: Any = {"method": "dirichlet", "fit_on": "s"}
    with pytest.raises(plm.ConfigError, match="120 classes fits 14,399 coefficients, which takes 5GB"):
        plm.evaluate(rows, **ROLES, calibrate=calibrate, metrics=["accuracy"], memory="2GB")
