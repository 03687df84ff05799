"""P values of Kolmogorov and Smirnov's test, of many pairs at once, against SciPy."""

import numpy as np
import pytest
from scipy import stats

from plmetrics.inference.comparisons.tests import smirnov


def test_asymptotic_p_values():
    """As SciPy's at any distance: exact, but for more than 20,000 rows far apart. Of 1,001 or more rows near each other
    SciPy's matrix takes longer, and the expansion is within 1e-7."""
    sizes = [
        (1, 2600),
        (3, 4000),
        (60, 65),
        (150, 300),
        (282, 282),
        (1500, 4000),
        (2100, 1900),
        (30_000, 30_000),
    ]
    pairs = [
        (pair, root) for pair in sizes for root in (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.4, 2.0, 4, 9)
    ]
    rows = np.array([pair for pair, _ in pairs], np.float64).T
    effective = np.rint(rows[0] * rows[1] / rows.sum(axis=0))
    distance = np.minimum(np.array([root for _, root in pairs]) / effective**0.5, 1.0)
    found = smirnov.asymptotic(distance, *rows)
    np.testing.assert_allclose(found, stats.kstwo.sf(distance, effective), rtol=1e-7)
    exact = (effective <= 1000) | (effective * distance**1.5 > 1.4)
    expected = stats.kstwo.sf(distance[exact], effective[exact])
    np.testing.assert_allclose(found[exact], expected, rtol=1e-10)
    assert np.isnan(smirnov.asymptotic(np.array([np.nan]), np.full(1, 90.0), np.full(1, 90.0))[0])


@pytest.mark.parametrize("root", [0.2, 0.5, 1.0, 2.0, 4.0])
def test_asymptotic_p_values_of_many_rows(root: float) -> None:
    distance = np.array([root / 73_469**0.5])
    found = smirnov.asymptotic(distance, np.array([400_000.0]), np.array([90_000.0]))
    assert found[0] == pytest.approx(
        float(stats.kstwo.sf(distance[0], 73_469)), rel=1e-10 if root <= 1 else 1e-3
    )


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
