"""P values of Kolmogorov and Smirnov's test of two samples, of many pairs at once.

Sources: Smirnov (1939), On the estimation of the discrepancy between empirical curves of distribution for two
independent samples, Bulletin of Moscow University 2(2); Hodges (1958), The significance probability of the Smirnov
two-sample test, Arkiv for Matematik 3(5); Simard and L'Ecuyer (2011), Computing the two-sided Kolmogorov-Smirnov
distribution, Journal of Statistical Software 39(11), whose choice of formulas SciPy's `kstwo` follows, too.
"""

from __future__ import annotations

import math

import numpy as np

from plmetrics.core import special
from plmetrics.core.ops import Array

_SMALL, _SMALL_TAIL, _TAIL = 140, 4.0, 2.2
"""Both sides are not reached at once where rows x distance^2 is above that, with so few rows or with more."""

_NEAR_ROWS, _NEAR = 1000, 1.4
"""Up to so many rows, and rows x distance^1.5 below that, the matrix is small and the expansion is 1e-6 off."""

_FAR_ROWS = 20_000
"""With more rows the exact tail takes long, and its limit is within a thousandth down to 1e-7."""

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
    """Two-sided asymptotic p value: that of one sample of n m / (n + m) rows, rounded."""
    rows = np.rint(rows_reference * rows_current / np.maximum(rows_reference + rows_current, 1.0))
    rows = np.maximum(rows, 1.0)
    far = rows * distance**2 > np.where(rows <= _SMALL, _SMALL_TAIL, _TAIL)
    tail = ~(distance < 0.5) | far
    limit = far & (rows > _FAR_ROWS)
    matrix = ~tail & ((rows <= _SMALL) | ((rows <= _NEAR_ROWS) & (rows * distance**1.5 <= _NEAR)))
    result: Array = 2 * np.exp(-((6 * rows * distance + 1) ** 2) / (18 * rows))
    for some, function in ((tail & ~limit, _tail), (matrix, _matrix), (~tail & ~matrix, _expansion)):
        result[some] = function(rows[some], distance[some])
    return np.clip(result, 0.0, 1.0)


def _tail(rows: Array, distance: Array) -> Array:
    """Twice the chance that the distance is reached on one side."""
    both: Array = 2 * special.smirnov(rows.astype(np.int64), distance)
    return both


def _matrix(rows: Array, distance: Array) -> Array:
    """Exact p values by powers of Durbin's matrix (Marsaglia, Tsang and Wang 2003)."""
    return 1 - np.array(
        [_matrix_element(int(count), apart) for count, apart in zip(rows, distance, strict=True)]
    )


def _matrix_element(rows: int, distance: float) -> float:
    """Chance of less than the distance. Halves keep powers below 1e308, with n! / n^n for as many doubles."""
    half = max(math.ceil(rows * distance), 1)
    rest = half - rows * distance
    steps = np.arange(1, 2 * half)
    factor = 1 / np.cumprod(steps.astype(np.float64))
    border = (1 - rest**steps) * factor
    border[-1] = (1 - 2 * rest ** steps[-1] + max(2 * rest - 1, 0) ** steps[-1]) * factor[-1]
    above = steps[:, None] - steps + 1
    matrix = np.where(above >= 0, np.append(1.0, factor)[np.maximum(above, 0)], 0.0)
    matrix[:, 0], matrix[-1] = border, border[::-1]
    power = np.linalg.matrix_power(matrix / 2, rows)
    return float(power[half - 1, half - 1] * np.prod(2 * np.arange(1, rows + 1) / rows))


def _expansion(rows: Array, distance: Array) -> Array:
    """Kolmogorov's limit with three terms in 1 / sqrt(rows), as theta functions (Pelz and Good 1976)."""
    root, z = np.sqrt(rows), np.maximum(np.sqrt(rows) * distance, 0.05)
    s = z**2
    u, v = ((np.pi * k[:, None]) ** 2 for k in (np.arange(0.5, 8), np.arange(1.0, 9)))
    second = (6 * s + 2) * s**2 + (2 * s - 5) * s * u + (1 - 2 * s) * u**2
    third = (
        -(30 + 90 * s) * s**3 + (135 - 96 * s) * s**2 * u + (212 * s - 60) * s * u**2 + (5 - 30 * s) * u**3
    )
    halves = (
        1 / z + (u - s) / (6 * s**2 * root) + second / (72 * z**7 * rows) + third / (6480 * s**5 * root**3)
    )
    wholes = (3 * s - v) * v / (216 * s**3 * root**3) - v / (36 * z**3 * rows)
    terms = halves * np.exp(-u / (2 * s)) + wholes * np.exp(-v / (2 * s))
    total: Array = 1 - np.sqrt(2 * np.pi) * terms.sum(axis=0)
    return total
