"""P values of Kolmogorov and Smirnov's test of two samples, of many pairs at once.

Sources: Smirnov (1939), On the estimation of the discrepancy between empirical curves of distribution for two
independent samples, Bulletin of Moscow University 2(2); Hodges (1958), The significance probability of the Smirnov
two-sample test, Arkiv for Matematik 3(5); Vrbik (2018), Small-sample corrections to Kolmogorov-Smirnov test statistic.
"""

from __future__ import annotations

import numpy as np

from plmetrics.core.ops import Array

_NEAR_ROWS, _NEAR = 1000, 1.4
"""With more rows, and rows x distance^1.5 below that, the p value is near 1 and SciPy's exact one takes long."""

_FAR_ROWS, _FAR = 20_000, 2.2
"""Likewise with more rows, and rows x distance^2 above that."""

_FEW = 2500
"""Up to so many pairs of rows the limit distribution is not near enough: 5 + 50 rows are at 0.01 where 0.016 is due."""


def p_value(distance: Array, rows_reference: Array, rows_current: Array) -> Array:
    """Two-sided p value: exact for few rows, as if no values were equal, and asymptotic for others."""
    pairs = rows_reference * rows_current
    few = (pairs > 0) & (pairs <= _FEW)
    result = np.empty(len(distance))
    for some, p_values, apart in ((few, exact, np.rint(distance * pairs)), (~few, asymptotic, distance)):
        result[some] = p_values(apart[some], rows_reference[some], rows_current[some])
    return result


def exact(apart: Array, rows_reference: Array, rows_current: Array) -> Array:
    """P(a random order of both samples lies `apart` / (n m) or more apart at some step), n and m being their rows.

    The chance to stand at each (i, j) is carried along diagonals i + j, so that it does not overflow. What reaches the
    distance is added up: 1 less what remains would be rounding where p is small.
    """
    rows = rows_reference + rows_current
    order = np.argsort(-rows, kind="stable")
    first, second = (
        side(rows_reference, rows_current)[order, None].astype(np.float64)
        for side in (np.minimum, np.maximum)
    )
    limit, total = apart[order, None], rows[order]
    steps = np.arange(first.max(initial=0) + 1)
    chance = np.zeros((len(order), len(steps)))
    chance[:, 0] = 1.0
    reached = np.zeros(len(order))
    for position in range(int(total.max(initial=0))):
        on = slice(np.searchsorted(-total, -position))
        of_first = chance[on] * (first[on] - steps)
        moved = chance[on] * np.maximum(second[on] - (position - steps), 0)
        moved[:, 1:] += of_first[:, :-1]
        moved /= total[on, None] - position
        near = np.abs(steps * second[on] - (position + 1 - steps) * first[on]) < limit[on]
        reached[on] += moved.sum(axis=1, where=~near)
        chance[on] = np.where(near, moved, 0.0)
    result = np.empty(len(order))
    result[order] = np.where(limit[:, 0] > 0, np.minimum(reached, 1.0), 1.0)
    return result


def asymptotic(distance: Array, rows_reference: Array, rows_current: Array) -> Array:
    """Two-sided asymptotic p value: that of one sample of n m / (n + m) rows, rounded.

    Of many rows it is Kolmogorov's limit with Vrbik's correction where that is within 1e-7, near 1; and twice Smirnov's
    one-sided limit where p is below 0.03, within a thousandth of p down to 1e-7.
    """
    from scipy.special import kolmogorov
    from scipy.stats import kstwo

    rows = np.rint(rows_reference * rows_current / np.maximum(rows_reference + rows_current, 1.0))
    rows = np.maximum(rows, 1.0)
    near = (rows > _NEAR_ROWS) & (rows * distance**1.5 <= _NEAR)
    far = (rows > _FAR_ROWS) & (rows * distance**2 >= _FAR)
    result: Array = 2 * np.exp(-((6 * rows * distance + 1) ** 2) / (18 * rows))
    between = ~near & ~far
    result[between] = kstwo.sf(distance[between], rows[between])
    root, near_distance = np.sqrt(rows[near]), distance[near]
    result[near] = kolmogorov(
        root * near_distance + 1 / (6 * root) + (root * near_distance - 1) / (4 * rows[near])
    )
    clipped: Array = np.clip(result, 0.0, 1.0)
    return clipped
