import numpy as np
import pytest
from scipy.stats import foldnorm

from plmetrics.catalogue.parameters import ParameterError
from plmetrics.catalogue.registry import create
from plmetrics.core import ops
from plmetrics.core.errors import ConfigError
from plmetrics.core.segments import Segments
from plmetrics.states.sums import View

NAMES = ("bin_weight", "bin_positive", "bin_score")


def ratio(y, p, w):
    """Mean score over mean label."""
    return np.average(p, weights=w) / np.average(y, weights=w) if y.any() else np.nan


def test_calibration_ratio_equals_the_ratio_of_means(weight, check_expr):
    check_expr(create("binary", "calibration_ratio", {}), weight, ratio)


def test_calibration_ratio_needs_positives(status):
    metric = create("binary", "calibration_ratio", {})
    assert status(metric, [], []) == "no_rows"
    assert status(metric, [0, 0], [0.1, 0.2]) == "no_positives"
    assert status(metric, [1, 0], [0.1, 0.2], [0.0, 1.0]) == "no_positives"
    assert status(metric, [1, 1], [0.0, 0.0]) == "ok"
    assert metric.probability


def rows_of(seed, rows=400, digits=3):
    rng = np.random.default_rng(seed)
    score = rng.beta(1.0, 2.0, rows).round(digits)
    label = (rng.random(rows) < score**1.3).astype(float)
    return label, score, rng.gamma(2.0, 2.0, rows)


def by_bin(label, score, weight, bins):
    """Index of the first bin with score <= edge, by search through the edges."""
    edges = np.arange(1, bins + 1) / bins
    return np.array([int(np.argmax(s <= edges)) for s in score])


def bin_state(label, score, weight, bins):
    index = by_bin(label, score, weight, bins)
    sums = [
        np.array([part[index == b].sum() for b in range(bins)])
        for part in (weight, weight * label, weight * score)
    ]
    total = sums[0].sum()
    return View({**dict(zip(NAMES, sums, strict=True)), "weight": total, "n": total})


def plain_ece(label, score, weight, bins, norm):
    index = by_bin(label, score, weight, bins)
    gaps, shares = [], []
    for b in set(index):
        held = index == b
        gaps.append(
            abs(np.average(score[held], weights=weight[held]) - np.average(label[held], weights=weight[held]))
        )
        shares.append(weight[held].sum() / weight.sum())
    gaps, shares = np.array(gaps), np.array(shares)
    return {"l1": shares @ gaps, "l2": np.sqrt(shares @ gaps**2), "max": gaps.max()}[norm]


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
@pytest.mark.parametrize("bins", [1, 5, 15, 200])
@pytest.mark.parametrize("weighted", [False, True])
def test_ece_equals_a_loop_over_bins(norm, bins, weighted):
    label, score, weight = rows_of(1)
    weight = weight if weighted else np.ones_like(weight)
    metric = create("binary", "ece", {"bins": bins, "norm": norm})
    found = metric.finalise(bin_state(label, score, weight, bins))
    assert found == pytest.approx(plain_ece(label, score, weight, bins, norm), rel=1e-12)


def test_ece_of_many_replicates_equals_each():
    states = [bin_state(*rows_of(seed, rows=60), 15) for seed in range(6)]
    names = (*NAMES, "weight", "n")
    stacked = View(
        {
            name: np.array([getattr(s, name) for s in states]).reshape(
                2, 3, *np.shape(getattr(states[0], name))
            )
            for name in names
        }
    )
    for parameters in ({}, {"norm": "l2"}, {"norm": "max"}, {"debias": True}, {"norm": "l2", "debias": True}):
        metric = create("binary", "ece", parameters)
        expected = [metric.finalise(s) for s in states]
        np.testing.assert_allclose(metric.finalise(stacked).ravel(), expected, rtol=1e-13)


@pytest.mark.parametrize("norm", ["l1", "l2", "max"])
def test_deviation_is_the_norm_of_the_moved_gaps(norm):
    metric = create("binary", "ece", {"bins": 4, "norm": norm})
    replicate = View(
        {
            "bin_weight": np.array([4.0, 0.0, 2.0, 2.0]),
            "bin_positive": np.array([1.0, 0.0, 2.0, 0.0]),
            "bin_score": np.array([1.0, 0.0, 1.2, 1.8]),
        }
    )
    point = View(
        {
            "bin_weight": np.array([4.0, 2.0, 4.0, 0.0]),
            "bin_positive": np.array([2.0, 2.0, 1.0, 0.0]),
            "bin_score": np.array([1.0, 0.1, 2.4, 0.0]),
        }
    )
    moved = np.array([0.0 - (-0.25), 0.0, -0.4 - 0.35, 0.9 - 0.0])
    shares = np.array([0.5, 0.0, 0.25, 0.25])
    expected = {"l1": shares @ abs(moved), "l2": np.sqrt(shares @ moved**2), "max": 0.9}[norm]
    assert metric.deviation(replicate, point) == pytest.approx(expected, rel=1e-12)
    assert metric.deviation(point, point) == 0.0


def calibrated_mean(parameters, bins=10, rows=300, runs=400):
    """Mean value over data sets in which every score is the true probability."""
    rng = np.random.default_rng(11)
    metric = create("binary", "ece", {"bins": bins, **parameters})
    score = (np.arange(bins) + 0.5) / bins
    counts = np.full((runs, bins), rows / bins)
    hits = rng.binomial(rows // bins, score, size=(runs, bins)).astype(float)
    state = View({"bin_weight": counts, "bin_positive": hits, "bin_score": counts * score})
    return metric.finalise(state)


def test_debiasing_removes_most_of_the_noise_of_a_calibrated_model():
    plain, debiased = calibrated_mean({}), calibrated_mean({"debias": True})
    # Of a gap that is pure noise, the excess is estimated at sqrt(2) - 1 of the plain value.
    assert debiased.mean() == pytest.approx((2 - 2**0.5) * plain.mean(), rel=0.1)
    squared, debiased_squared = (
        calibrated_mean({"norm": "l2"}) ** 2,
        calibrated_mean({"norm": "l2", "debias": True}) ** 2,
    )
    assert debiased_squared.mean() < 0.5 * squared.mean()
    assert (debiased <= plain).all()


def test_squared_debiasing_is_unbiased_before_the_floor():
    label, score, weight = np.array([1.0, 0, 1, 0, 0]), np.array([0.1, 0.1, 0.1, 0.9, 0.9]), np.ones(5)
    found = create("binary", "ece", {"bins": 2, "norm": "l2", "debias": True}).finalise(
        bin_state(label, score, weight, 2)
    )
    low = (0.1 - 2 / 3) ** 2 - (2 / 9) / 2
    high = 0.9**2
    assert found == pytest.approx(np.sqrt(0.6 * low + 0.4 * high), rel=1e-12)


def test_absolute_debiasing_takes_off_the_folded_normal_excess():
    label, score, weight = np.array([1.0, 0, 1, 0, 0]), np.array([0.1, 0.1, 0.1, 0.9, 0.9]), np.ones(5)
    found = create("binary", "ece", {"bins": 2, "debias": True}).finalise(bin_state(label, score, weight, 2))
    gap, spread = 2 / 3 - 0.1, np.sqrt(2 / 9 / 3)
    excess = foldnorm(gap / spread, scale=spread).mean() - gap
    assert found == pytest.approx(0.6 * (gap - excess) + 0.4 * 0.9, rel=1e-12)


def test_a_bin_of_one_row_keeps_its_gap():
    state = bin_state(np.array([1.0]), np.array([0.3]), np.ones(1), 15)
    for norm in ("l1", "l2"):
        assert create("binary", "ece", {"norm": norm, "debias": True}).finalise(state) == pytest.approx(0.7)


@pytest.mark.parametrize("mean", [0.0, 0.3, -2.0])
@pytest.mark.parametrize("deviation", [0.1, 1.0, 5.0])
def test_folded_normal_mean_equals_scipy(mean, deviation):
    expected = foldnorm(abs(mean) / deviation, scale=deviation).mean()
    assert ops.folded_normal_mean(np.array(mean), np.array(deviation)) == pytest.approx(expected, rel=1e-12)


def test_mce_is_ece_with_the_largest_gap():
    assert create("binary", "mce", {"bins": 10}) == create("binary", "ece", {"bins": 10, "norm": "max"})
    assert create("binary", "mce", {}).text == "ece(norm=max)"
    assert create("binary", "mce", {"norm": "max"}).text == "ece(norm=max)"
    with pytest.raises(ParameterError, match="mce: stands for ece with norm=max"):
        create("binary", "mce", {"norm": "l1"})


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"bins": 0}, "bins must be a whole number from 1 to 10,000"),
        ({"bins": 2.5}, "bins must be a whole number from 1 to 10,000"),
        ({"bins": True}, "bins must be a whole number from 1 to 10,000"),
        ({"strategy": "equal"}, "strategy must be uniform or quantile"),
        ({"norm": "l3"}, "norm must be l1, l2 or max"),
        ({"debias": 1}, "debias must be true or false"),
        ({"debias": True, "norm": "max"}, "debias has no form for norm=max"),
    ],
)
def test_ece_refuses(parameters, words):
    with pytest.raises(ParameterError, match=words):
        create("binary", "ece", parameters)


def test_ece_asks_for_its_bins_and_has_no_expression():
    metric = create("binary", "ece", {"bins": 20, "strategy": "quantile", "debias": True})
    assert metric.text == "ece(bins=20, strategy=quantile, debias=true)"
    assert (metric.needs.binning.bins, metric.needs.binning.strategy) == (20, "quantile")
    with pytest.raises(ConfigError, match="evaluate"):
        metric.expr("y", "p")


def test_ece_of_nothing_is_undefined():
    zero = np.zeros(15)
    state = View({"bin_weight": zero, "bin_positive": zero, "bin_score": zero, "weight": 0.0, "n": 0.0})
    for parameters in ({}, {"norm": "l2"}, {"norm": "max"}, {"debias": True}):
        metric = create("binary", "ece", parameters)
        assert metric.undefined(state) == [("no_rows", True)]
        metric.finalise(state)


@pytest.mark.parametrize("replicates", [1, 3])
def test_slopes_of_slices_that_settle_in_few_and_in_many_steps(replicates):
    """Residuals add up to 0, also times the log odds, which defines the fit; where classes part there is none."""
    rng = np.random.default_rng(3)
    spread = [0.2, 1.0, 3.0, 9.0, 30.0] * 4
    sizes = rng.integers(20, 60, len(spread))
    offsets = np.append(0, np.cumsum(sizes))
    odds = rng.normal(0, np.repeat(spread, sizes)).clip(-36, 36)
    score = 1 / (1 + np.exp(-odds))
    mass = rng.integers(0, 4, (replicates, len(odds)))
    positive = rng.binomial(mass, score)
    points = {"score": score, "positive": positive, "negative": mass - positive}
    state = View({name: Segments(values.astype(float), offsets) for name, values in points.items()})
    level = create("binary", "calibration_intercept", {"slope": "free"}).finalise(state)
    slope = create("binary", "calibration_slope", {}).finalise(state)
    fitted = np.isfinite(slope)
    assert 0.6 < fitted.mean() < 1
    expected = mass / (1 + np.exp(-np.repeat(level, sizes, 1) - np.repeat(slope, sizes, 1) * odds))
    for moment in (positive - expected, (positive - expected) * odds):
        np.testing.assert_allclose(np.add.reduceat(moment, offsets[:-1], axis=1)[fitted], 0, atol=1e-6)
