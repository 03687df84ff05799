"""Calibrators against scikit-learn and SciPy, which minimise the same losses their own way."""

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from plmetrics.catalogue.calibrators import CALIBRATORS
from plmetrics.catalogue.calibrators.calibrator import NoFit
from plmetrics.catalogue.calibrators.score_curves import MAX_KNOTS, Beta, Isotonic, Platt, Temperature


def drawn(seed, rows=800, slope=0.6, shift=-0.7, ties=False):
    random = np.random.default_rng(seed)
    odds = random.normal(0, 2, rows)
    label = (random.random(rows) < expit(slope * odds + shift)).astype(float)
    score = expit(odds)
    return (np.round(score, 1).clip(0.1, 0.9) if ties else score), label, random.gamma(1.0, 1.0, rows) + 0.01


def weights(weighted, weight):
    return weight if weighted else None


def log_loss(odds, label, weight):
    return np.average(np.logaddexp(0, odds) - label * odds, weights=weight)


def apply(calibrator, score):
    return pl.DataFrame({"p": score}).select(calibrator.calibrate(pl.col("p"))).to_series().to_numpy()


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_platt_is_a_logistic_regression_on_log_odds(weighted, ties):
    score, label, weight = drawn(1, ties=ties)
    weight = weights(weighted, weight)
    found = Platt.fit(score, label, weight)
    reference = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky")
    reference.fit(logit(score)[:, None], label, sample_weight=weight)
    assert (found.slope, found.intercept) == pytest.approx(
        (reference.coef_[0, 0], reference.intercept_[0]), rel=1e-6
    )
    chances = reference.predict_proba(logit(score)[:, None])[:, 1]
    np.testing.assert_allclose(apply(found, score), chances, rtol=1e-6)


def test_platt_smoothing_is_a_fit_to_targets_between_the_classes():
    score, label = np.array([0.1, 0.2, 0.7, 0.8, 0.9]), np.array([0.0, 0.0, 1.0, 1.0, 1.0])
    target = np.where(label == 1, 4 / 5, 1 / 4)
    best = minimize(lambda c: log_loss(c[0] * logit(score) + c[1], target, None), [0.0, 0.0], tol=1e-12)
    found = Platt.fit(score, label, smoothing=True)
    assert (found.slope, found.intercept) == pytest.approx(tuple(best.x), abs=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_temperature_is_the_best_of_all(weighted):
    score, label, weight = drawn(2, shift=0.0)
    weight = weights(weighted, weight)
    best = minimize_scalar(
        lambda inverse: log_loss(inverse * logit(score), label, weight), bracket=(0.1, 2), tol=1e-12
    )
    found = Temperature.fit(score, label, weight)
    assert found.temperature == pytest.approx(1 / best.x, rel=1e-6)
    np.testing.assert_allclose(apply(found, score), expit(logit(score) * best.x), rtol=1e-6)


def asymmetric(seed, low, high):
    """Labels whose log odds bend: coefficient `low` of ln p, `high` of -ln(1 - p)."""
    random = np.random.default_rng(seed)
    score = random.uniform(0.02, 0.98, 2000)
    odds = low * np.log(score) - high * np.log1p(-score)
    return score, (random.random(2000) < expit(odds)).astype(float), random.gamma(1.0, 1.0, 2000) + 0.01


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("low", "high", "at_limit"), [(1.5, 0.4, None), (2.0, -1.0, "b"), (-1.0, 2.0, "a"), (-0.5, -0.5, "ab")]
)
def test_beta_is_the_best_within_its_limits(low, high, at_limit, weighted):
    score, label, weight = asymmetric(3, low, high)
    weight = weights(weighted, weight)

    def loss(c):
        return log_loss(c[0] * np.log(score) - c[1] * np.log1p(-score) + c[2], label, weight)

    limits = [(0, None), (0, None), (None, None)]
    best = minimize(loss, [1.0, 1.0, 0.0], bounds=limits, options={"ftol": 1e-15, "gtol": 1e-9})
    found = Beta.fit(score, label, weight)
    assert (found.a, found.b, found.c) == pytest.approx(tuple(best.x), abs=2e-4)
    assert loss([found.a, found.b, found.c]) <= best.fun + 1e-12
    assert all(getattr(found, name) == 0 for name in at_limit or "")
    odds = best.x[0] * np.log(score) - best.x[1] * np.log1p(-score) + best.x[2]
    np.testing.assert_allclose(apply(found, score), expit(odds), atol=1e-4)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("ties", [False, True])
def test_isotonic_is_scikit_learns(weighted, ties):
    score, label, weight = drawn(4, ties=ties)
    weight = weights(weighted, weight)
    reference = IsotonicRegression(out_of_bounds="clip", y_min=0, y_max=1).fit(
        score, label, sample_weight=weight
    )
    found = Isotonic.fit(score, label, weight)
    new = np.linspace(-0.5, 1.5, 997)
    np.testing.assert_allclose(apply(found, new), reference.predict(new), atol=1e-12)
    assert found.knot_count == len(reference.X_thresholds_)


def test_isotonic_keeps_so_many_knots_at_most():
    rows = 2 * MAX_KNOTS + 1
    score, rate = np.arange(rows) / rows, np.arange(rows) / rows
    found = Isotonic.fit(
        np.repeat(score, 2), np.tile([0.0, 1.0], rows), np.stack([1 - rate, rate], 1).ravel()
    )
    assert (found.knot_count, len(found.scores)) == (rows, MAX_KNOTS)
    np.testing.assert_allclose(apply(found, score), rate, atol=1e-9)


@pytest.mark.parametrize("name", CALIBRATORS)
def test_a_weight_of_two_is_the_row_twice(name):
    score, label, weight = drawn(5, rows=300)
    whole = 1.0 + (weight > 1)
    often = whole.astype(int)
    twice = CALIBRATORS[name].fit(np.repeat(score, often), np.repeat(label, often))
    np.testing.assert_allclose(
        apply(CALIBRATORS[name].fit(score, label, whole), score), apply(twice, score), rtol=1e-7
    )


@pytest.mark.parametrize("name", CALIBRATORS)
def test_scores_at_the_ends_have_a_probability_and_bad_ones_none(name):
    score, label, _ = drawn(6)
    found = CALIBRATORS[name].fit(np.concatenate([score, [0.0, 1.0]]), np.concatenate([label, [1.0, 0.0]]))
    rows = pl.DataFrame({"p": [0.0, 1.0, None, float("nan"), float("inf")]})
    applied = rows.select(found.calibrate(pl.col("p"))).to_series()
    assert applied[:2].is_between(0, 1).all()
    assert applied[2:].is_null().all()


@pytest.mark.parametrize(
    ("name", "label", "word"),
    [
        ("platt", [0, 0, 1, 1], "overlap"),
        ("platt", [1, 1, 0, 0], "overlap"),
        ("beta", [0, 0, 1, 1], "below"),
        ("temperature", [0, 0, 1, 1], "side of 0.5"),
        ("temperature", [1, 1, 0, 0], "rise"),
    ],
)
def test_rows_without_a_best_fit_are_refused(name, label, word):
    with pytest.raises(NoFit, match=word):
        CALIBRATORS[name].fit(np.array([0.1, 0.2, 0.8, 0.9]), np.array(label, dtype=float))


def test_equal_scores_have_no_platt_fit():
    with pytest.raises(NoFit, match="equal"):
        Platt.fit(np.full(4, 0.5), np.array([0.0, 1.0, 0.0, 1.0]))


@pytest.mark.parametrize("misleading", [False, True])
def test_many_rows_have_the_same_fit_wherever_it_begins(misleading):
    score, label, _ = drawn(7, rows=60_000)
    if misleading:
        label[::3] = score[::3] > 0.5
    found = Platt.fit(score, label)
    reference = LogisticRegression(C=np.inf, tol=1e-10, solver="newton-cholesky")
    reference.fit(logit(score)[:, None], label)
    assert (found.slope, found.intercept) == pytest.approx(
        (reference.coef_[0, 0], reference.intercept_[0]), rel=1e-6
    )
    turned = Platt.fit(score[::-1], label[::-1])
    assert (turned.slope, turned.intercept) == pytest.approx((found.slope, found.intercept), rel=1e-11)
