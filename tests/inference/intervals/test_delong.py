from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from plmetrics.core.placements import placement_area
from plmetrics.inference.intervals.delong import delong, delong_error, delong_logit


def scores(seed: int, positives: int, negatives: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores with ties of either class."""
    random = np.random.default_rng(seed)
    return random.normal(1, 1, positives).round(1), random.normal(0, 1.3, negatives).round(1)


def covariances(inside: np.ndarray, outside: np.ndarray) -> tuple[float, float, float]:
    """Area and the two parts of its variance as DeLong writes them: a loop over all pairs."""
    psi = np.array([[float(x > y) + 0.5 * (x == y) for y in outside] for x in inside])
    area = psi.mean()
    by_row = sum((v - area) ** 2 for v in psi.mean(axis=1)) / (len(inside) - 1)
    by_column = sum((v - area) ** 2 for v in psi.mean(axis=0)) / (len(outside) - 1)
    return area, by_row / len(inside), by_column / len(outside)


@pytest.mark.parametrize(("positives", "negatives"), [(3, 5), (30, 50), (7, 200)])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_against_loops(positives: int, negatives: int, level: float) -> None:
    inside, outside = scores(positives, positives, negatives)
    area, first, second = covariances(inside, outside)
    distinct = np.unique(np.concatenate([inside, outside]))
    counts = [np.array([[(part == x).sum() for x in distinct]], float) for part in (inside, outside)]
    found = placement_area(*counts)
    variances = found.positive_variance, found.negative_variance
    assert found.area[0] == pytest.approx(area)
    assert delong_error(variances)[0] == pytest.approx((first + second) ** 0.5)
    lower, upper = delong(found.area, variances, level)
    half = stats.norm.ppf((1 + level) / 2) * (first + second) ** 0.5
    assert (lower[0], upper[0]) == pytest.approx((max(area - half, 0), min(area + half, 1)))
    freedom = (first + second) ** 2 / (first**2 / (positives - 1) + second**2 / (negatives - 1))
    half = stats.t.ppf((1 + level) / 2, freedom) * (first + second) ** 0.5 / (area * (1 - area))
    sizes = np.array([float(positives)]), np.array([float(negatives)])
    lower, upper = delong_logit(found.area, variances, sizes, level)
    centre = np.log(area / (1 - area))
    expected = [1 / (1 + np.exp(-centre + half)), 1 / (1 + np.exp(-centre - half))]
    assert [lower[0], upper[0]] == pytest.approx(expected)


def test_the_error_is_that_of_the_mann_whitney_statistic_under_equal_distributions() -> None:
    """Without ties and skill the variance of the area is (P + N + 1) / (12 P N)."""
    random = np.random.default_rng(1)
    parts = []
    for _ in range(400):
        positive = np.zeros(90)
        positive[random.choice(90, 40, replace=False)] = 1
        made = placement_area(positive, 1 - positive)
        parts.append(made.positive_variance + made.negative_variance)
    assert np.mean(parts) == pytest.approx(91 / (12 * 40 * 50), rel=0.02)
