"""P values of Kolmogorov and Smirnov's test, of many pairs at once, against SciPy."""

import numpy as np
import pytest
from scipy import stats

from plmetrics.inference.comparisons.tests import smirnov


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("rows", [(2, 2), (7, 300), (1500, 4000), (30_000, 30_000), (400_000, 90_000)])
@pytest.mark.parametrize("root", [0.0, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 4.0])
def test_asymptotic_p_values(rows: tuple[int, int], root: float) -> None:
    effective = round(rows[0] * rows[1] / sum(rows))
    distance = min(root / effective**0.5, 1.0)
    found = smirnov.asymptotic(np.array([distance]), *(np.array([float(count)]) for count in rows))
    expected = float(stats.kstwo.sf(distance, effective))
    assert found[0] == pytest.approx(expected, rel=1e-6 if root <= 1 or effective < 20_000 else 1e-3)


def test_p_values_of_few_rows_are_exact():
    """Together, of other sizes each: the asymptotic one of 2 + 2 rows was 0 where 1/3 is due."""
    draw = np.random.default_rng(0)
    sizes = draw.integers(1, 50, (150, 2))
    pairs = [(draw.normal(size=n), draw.normal(draw.choice([0, 2]), size=m)) for n, m in sizes]
    expected = [stats.ks_2samp(*pair, method="exact") for pair in pairs]
    found = smirnov.p_value(np.array([each.statistic for each in expected]), *sizes.T.astype(float))
    np.testing.assert_allclose(found, [each.pvalue for each in expected], rtol=1e-12)
    none = smirnov.p_value(np.array([0.0, 1.0, 0.0]), np.array([0.0, 2.0, 5.0]), np.array([0.0, 2.0, 0.0]))
    assert none[1] == pytest.approx(1 / 3)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [(3, 3), (5, 50), (7, 13), (20, 125)])
def test_small_samples_differ_by_chance_no_more_often_than_p_says(rows):
    draw = np.random.default_rng(1)
    tables = 20_000
    samples = draw.random((tables, sum(rows)))
    is_first = np.argsort(samples, axis=1) < rows[0]
    distance = np.abs(np.cumsum(np.where(is_first, 1 / rows[0], -1 / rows[1]), axis=1)).max(axis=1)
    found = smirnov.p_value(distance, *(np.full(tables, float(size)) for size in rows))
    for level in (0.05, 0.01, 0.001):
        assert (found <= level).mean() <= level + 3.7 * (level / tables) ** 0.5
