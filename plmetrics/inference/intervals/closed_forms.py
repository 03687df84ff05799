"""Intervals in closed form, from an estimate and its size alone, or from the variance of an ROC area's placements.

No replicate moves a share or a ROC area at an end of its range. A standard error of 0 is true of the replicates alone:
after ten hits of ten, shares from 0.72 on are plausible. Where such an estimate is held against one of other rows, the
length of its interval stands in for its spread.
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

import numpy as np

from plmetrics.core.hashing import mix, strides
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.core.special import betaincinv, chdtri, expit, ndtri, stdtrit
from plmetrics.core.special import logit as log_odds

if TYPE_CHECKING:
    from plmetrics.catalogue.needs import Bounds, ValueKind


Parts = tuple[Array, Array]
Ends = tuple[Array, Array]
_HALVINGS = 60
_TOLERANCE = 1e-12


def normal(value: Array, std_error: Array, level: float) -> tuple[Array, Array]:
    """Value -+ z SE; ends may leave the metric's range, whoever asks clips them.

    >>> lower, upper = normal(np.array([0.5]), np.array([0.1]), 0.95)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (0.304, 0.696)
    """
    half = ndtri((1 + level) / 2) * std_error
    return value - half, value + half


def share_error(value: Array, n: Array) -> Array:
    """Standard error of a proportion of n independent rows: sqrt(p (1 - p) / n); NaN where n is 0.

    >>> share_error(np.array([0.5]), np.array([25.0]))
    array([0.1])
    """
    size = np.where(n > 0, n, np.nan)
    return np.sqrt(np.maximum(value * (1 - value), 0.0) / size)


def wilson(value: Array, n: Array, level: float) -> tuple[Array, Array]:
    """All shares p with abs(value - p) <= z sqrt(p (1 - p) / n); NaN where n is 0.

    `value` and `n` are of any shapes that broadcast; `n` counts independent rows. Source: Wilson (1927), Probable
    inference, the law of succession, and statistical inference, JASA 22(158).

    >>> lower, upper = wilson(np.array([0.75]), np.array([200.0]), 0.95)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (0.686, 0.805)
    """
    share, size = np.broadcast_arrays(np.asarray(value, dtype=np.float64), np.asarray(n, dtype=np.float64))
    size = np.where(size > 0, size, np.nan)
    z = ndtri((1 + level) / 2)
    shrink = 1 + z * z / size
    centre = (share + z * z / (2 * size)) / shrink
    half = z * np.sqrt(share * (1 - share) / size + (z / (2 * size)) ** 2) / shrink
    defined = np.isfinite(half)
    lower = np.where(defined & (share == 0), 0.0, np.maximum(centre - half, 0.0))
    upper = np.where(defined & (share == 1), 1.0, np.minimum(centre + half, 1.0))
    return lower, upper


def clopper_pearson(value: Array, n: Array, level: float) -> tuple[Array, Array]:
    """All shares with neither so few nor so many of n as a surprise; NaN where n is 0.

    The ends are quantiles of beta distributions: from 0 where none of n are counted, up to 1 where all are. `n` counts
    independent rows. Source: Clopper and Pearson (1934), The use of confidence or fiducial limits illustrated in the
    case of the binomial, Biometrika 26(4).

    >>> lower, upper = clopper_pearson(np.array([0.75]), np.array([200.0]), 0.95)
    >>> round(float(lower[0]), 4), round(float(upper[0]), 4)
    (0.684, 0.8084)
    """
    share, size = np.broadcast_arrays(np.asarray(value, dtype=np.float64), np.asarray(n, dtype=np.float64))
    defined = (size > 0) & np.isfinite(share)
    size = np.where(defined, size, 1.0)
    counted = np.clip(np.where(defined, share, 0.5) * size, 0.0, size)
    failures = size - counted
    tail = (1 - level) / 2
    inside = np.maximum(counted, np.finfo(np.float64).tiny), np.maximum(failures, np.finfo(np.float64).tiny)
    lower = np.where(counted > 0, betaincinv(inside[0], failures + 1, tail), 0.0)
    upper = np.where(failures > 0, betaincinv(counted + 1, inside[1], 1 - tail), 1.0)
    return np.where(defined, lower, np.nan), np.where(defined, upper, np.nan)


def garwood(ratio: Array, events: Array, level: float) -> tuple[Array, Array]:
    """Ratio of a number to that of independent events: times the events, over the ends of their expected number.

    These are half the quantiles of chi squared with 2 n degrees of freedom, and with 2 n + 2, of n Poisson events.
    Source: Garwood (1936), Fiducial limits for the Poisson distribution, Biometrika 28.

    >>> lower, upper = garwood(np.array([1.5]), np.array([2.0]), 0.95)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (0.415, 12.386)
    """
    tail = (1 - level) / 2
    fewest, most = chdtri(2 * events, 1 - tail) / 2, chdtri(2 * events + 2, tail) / 2
    return ratio * events / most, ratio * events / fewest


def logit(area: Array, positives: Array, level: float) -> tuple[Array, Array]:
    """The area's log odds -+ z / sqrt(P a (1 - a)), transformed back, of P independent positives.

    Areas are strictly between 0 and 1.

    Source: Boyd, Eng and Page (2013), Area under the precision-recall curve: point estimates and confidence intervals,
    ECML PKDD.

    >>> lower, upper = logit(np.array([0.830708]), np.array([2357.0]), 0.95)
    >>> round(float(lower[0]), 6), round(float(upper[0]), 6)
    (0.815025, 0.845313)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        half = ndtri((1 + level) / 2) / np.sqrt(positives * area * (1 - area))
        centre = log_odds(area)
        return expit(centre - half), expit(centre + half)


def chi2(value: Array, n: Array, level: float) -> tuple[Array, Array]:
    """RMSE times sqrt(n / q), q the quantiles of chi squared with n degrees of freedom.

    It is wrong where errors have heavier tails than a normal distribution has: far too narrow. `n` counts independent
    rows. Source: the distribution of a sum of squares of independent normal errors.

    >>> lower, upper = chi2(np.array([2.0]), np.array([50.0]), 0.95)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (1.673, 2.486)
    """
    size = np.where(n > 0, n, np.nan)
    tail = (1 - level) / 2
    return value * np.sqrt(size / chdtri(size, tail)), value * np.sqrt(size / chdtri(size, 1 - tail))


def delong(area: Array, variances: Parts, level: float) -> Parts:
    """Area -+ z sqrt(v1 + v0), within [0, 1]; v1 and v0 are those of `placement_area`.

    Source: DeLong, DeLong and Clarke-Pearson (1988), Comparing the areas under two or more correlated receiver
    operating characteristic curves, Biometrics 44(3).

    >>> lower, upper = delong(np.array([0.875]), (np.array([0.002]), np.array([0.003])), 0.95)
    >>> round(float(lower[0]), 4), float(upper[0])
    (0.7364, 1.0)
    """
    half = ndtri((1 + level) / 2) * delong_error(variances)
    return np.maximum(area - half, 0.0), np.minimum(area + half, 1.0)


def delong_logit(area: Array, variances: Parts, sizes: Parts, level: float) -> Parts:
    """DeLong's interval on the logit scale, with Student's quantiles: inside (0, 1) for any area.

    The degrees of freedom are (v1 + v0)^2 / (v1^2 / (P - 1) + v0^2 / (N - 1)), as of a difference of two means.

    The `variances` are v1 of the positives and v0 of the negatives, the `sizes` P and N, 2 or more each.

    Source: DeLong and others (1988), as above; Welch (1947), The generalization of Student's problem when several
    different population variances are involved, Biometrika 34, for the degrees of freedom.

    >>> parts = np.array([0.002]), np.array([0.003])
    >>> lower, upper = delong_logit(np.array([0.875]), parts, (np.array([20.0]), np.array([30.0])), 0.95)
    >>> round(float(lower[0]), 4), round(float(upper[0]), 4)
    (0.6561, 0.9625)
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        total = variances[0] + variances[1]
        each = sum(part**2 / (size - 1) for part, size in zip(variances, sizes, strict=True))
        freedom = total**2 / each
        half = stdtrit(freedom, (1 + level) / 2) * np.sqrt(total) / (area * (1 - area))
        centre = log_odds(area)
        lower, upper = expit(centre - half), expit(centre + half)
    return lower, upper


def delong_error(variances: Parts) -> Array:
    """Standard error of an ROC area: sqrt(v1 + v0).

    >>> delong_error((np.array([0.0009]), np.array([0.0016]))).round(3)
    array([0.05])
    """
    return np.sqrt(variances[0] + variances[1])


def area_error(area: Array, positives: Array, negatives: Array) -> Array:
    """Standard error of an ROC area between exponential scores; 0 at 0 and at 1.

    Source: Hanley and McNeil (1982), The meaning and use of the area under a receiver operating characteristic
    (ROC) curve, Radiology 143(1).

    >>> round(float(area_error(np.array([0.75]), np.array([100.0]), np.array([100.0]))[0]), 4)
    0.0344
    """
    by_positives = area / (2 - area) - area**2
    by_negatives = 2 * area**2 / (1 + area) - area**2
    pairs = area * (1 - area)
    pairs = pairs + np.maximum(positives - 1, 0) * by_positives + np.maximum(negatives - 1, 0) * by_negatives
    return np.sqrt(np.maximum(pairs, 0.0) / (positives * negatives))


def hanley_mcneil(area: Array, positives: Array, negatives: Array, level: float) -> tuple[Array, Array]:
    """Area -+ z times its standard error, within [0, 1]; of no width at its ends.

    >>> lower, upper = hanley_mcneil(np.array([0.75]), np.array([100.0]), np.array([100.0]), 0.95)
    >>> round(float(lower[0]), 3), round(float(upper[0]), 3)
    (0.683, 0.817)
    """
    half = ndtri((1 + level) / 2) * area_error(area, positives, negatives)
    return np.maximum(area - half, 0.0), np.minimum(area + half, 1.0)


def hanley_mcneil_score(area: Array, positives: Array, negatives: Array, level: float) -> tuple[Array, Array]:
    """All areas t with abs(area - t) <= z times the standard error at t: one interval around the area.

    `positives` and `negatives` are numbers of independent rows of each class; NaN where one of them is 0.

    >>> lower, upper = hanley_mcneil_score(np.array([1.0]), np.array([50.0]), np.array([50.0]), 0.95)
    >>> round(float(lower[0]), 3), float(upper[0])
    (0.96, 1.0)
    """
    arrays = (np.asarray(part, dtype=np.float64) for part in (area, positives, negatives))
    middle, positive, negative = np.broadcast_arrays(*arrays)
    defined = (positive > 0) & (negative > 0) & np.isfinite(middle)
    middle = np.where(defined, middle, 0.5)
    sizes = np.where(defined, positive, 1.0), np.where(defined, negative, 1.0)
    z = ndtri((1 + level) / 2)
    lower = _edge(middle, np.zeros_like(middle), sizes, z)
    upper = _edge(middle, np.ones_like(middle), sizes, z)
    return np.where(defined, lower, np.nan), np.where(defined, upper, np.nan)


def _edge(inside: Array, outside: Array, sizes: tuple[Array, Array], z: float) -> Array:
    """The last area of the interval on the way from the estimate to an end of the range, by bisection."""
    area = inside
    for _ in range(_HALVINGS):
        trial = (inside + outside) / 2
        holds = np.abs(area - trial) <= z * area_error(trial, *sizes)
        inside, outside = np.where(holds, trial, inside), np.where(holds, outside, trial)
    return inside


def at_end(value: Array, kind: ValueKind) -> Flags:
    """Whether a value is an end of its range, up to rounding.

    Near 0 there is no rounding to forgive, except for shares and areas, where nothing real is that small.
    """
    low, high = (end if np.isfinite(end) else 0.0 for end in kind.bounds)
    share = kind.is_share or kind.is_area
    slack = [_TOLERANCE * (1.0 if share else abs(end)) for end in (low, high)]
    return (value <= kind.bounds[0] + slack[0]) | (value >= kind.bounds[1] - slack[1])


def in_range(shares: Ends, bounds: Bounds) -> Ends:
    """Values at positions in a range, from 0 to 1: the inverse of `share_of`."""
    low, width = bounds[0], bounds[1] - bounds[0]
    return low + width * shares[0], low + width * shares[1]


def share_of(value: Array, bounds: Bounds) -> Array:
    """Position of a value in its range, from 0 to 1, exactly 0 or 1 for an end up to rounding."""
    share = (value - bounds[0]) / (bounds[1] - bounds[0])
    return np.where(share <= _TOLERANCE, 0.0, np.where(share >= 1 - _TOLERANCE, 1.0, share))


def end_interval(value: Array, sizes: tuple[Array, ...], kind: ValueKind, level: float) -> Ends:
    """Wilson's interval of a share or mean, or that of Hanley and McNeil of an area; `sizes` are the estimate's."""
    if kind.end_form == "wilson":
        return wilson(share_of(value, (0.0, 1.0)), reduce(np.minimum, sizes), level)
    shares = hanley_mcneil_score(share_of(value, kind.bounds), sizes[0], sizes[-1], level)
    return in_range(shares, kind.bounds)


def tie_of_shares(size: Array, level: float) -> Array:
    """How far shares of the same rows may differ that no row tells apart: z^2 / (n + z^2)."""
    return wilson(np.zeros(size.shape), size, level)[1]


def plausible_end(value: Array, sizes: tuple[Array, ...], kind: ValueKind, level: float) -> Array | None:
    """The other end of the interval of values at an end of their range, and the value itself elsewhere.

    None for metrics without such an interval.

    >>> from plmetrics.catalogue.needs import ValueKind
    >>> hits = np.array([1.0, 0.5, 0.0]), (np.full(3, 10.0),)
    >>> plausible_end(*hits, ValueKind("proportion", (0.0, 1.0)), 0.95).round(3).tolist()
    [0.722, 0.5, 0.278]
    """
    if kind.end_form is None or not sizes:
        return None
    ends = value.copy()
    index = np.flatnonzero(at_end(value, kind))
    if len(index):
        lower, upper = end_interval(value[index], tuple(size[index] for size in sizes), kind, level)
        high = value[index] >= np.mean(kind.bounds)
        ends[index] = np.where(high, lower, upper)
    return ends


def reach_of_rates(slopes: Array, sizes: Array, level: float) -> Array:
    """How far a value may move, had rates of 0 or 1 among its parts met some rows of the other kind.

    They may be z^2 in all, as in Wilson's interval: z^2 of n + z^2 where one rate alone has them. They lie where they
    move the value most: in proportion to the roots of slope and size, beyond what each rate has (water filling). Rates
    are filled by ascending size over root; the level is the least that so many of them, whichever number, would have.

    The `slopes` `[slice, rate]` are the change of the value by that of the rate, 0 for rates that vary, and `sizes` the
    numbers of independent rows.

    >>> one, six = np.array([[0.5, 0.0]]), np.full((1, 6), 1 / 6)
    >>> reach_of_rates(one, np.array([[8.0, 200.0]]), 0.95).round(3).tolist()
    [0.162]
    >>> reach_of_rates(six, np.full((1, 6), 4.0), 0.95).round(3).tolist(), wilson(np.ones(1), 24.0, 0.95)[0].round(3)
    ([0.138], array([0.862]))
    """
    budget, usable = ndtri((1 + level) / 2) ** 2, (slopes > 0) & (sizes > 0)
    size = np.where(usable, sizes, 1.0)
    root = np.sqrt(np.where(usable, slopes, 0.0) * size)
    with np.errstate(divide="ignore"):
        order = np.argsort(size / root, axis=-1)
        first_sizes, first_roots = (
            np.cumsum(np.take_along_axis(part, order, -1), axis=-1) for part in (size, root)
        )
        water = np.min((budget + first_sizes) / first_roots, axis=-1, initial=np.inf)
    water = np.where(np.isfinite(water), water, 0.0)
    rows = np.maximum(root * water[..., None] - size, 0.0)
    reach: Array = (np.where(usable, slopes, 0.0) * rows / (size + rows)).sum(axis=-1)
    return reach


def hidden_error(reaches: tuple[Array | None, ...], blocks: Codes, level: float) -> Array:
    """Standard error that replicates of several estimates hide, each with its `reach` to the end of its interval.

    Student's quantile of `blocks` - 1 degrees of freedom makes the reach of it again, put together as those of
    independent samples are: root of the sum of squares.

    >>> hidden_error((np.array([0.3, 0.0]), None), np.array([10, 10]), 0.95).round(3).tolist()
    [0.133, 0.0]
    """
    squares = sum((reach**2 for reach in reaches if reach is not None), start=np.zeros(blocks.shape))
    quantile = stdtrit(np.maximum(blocks, 2) - 1.0, (1 + level) / 2)
    error: Array = np.sqrt(squares) / quantile
    return error


def plausible_replicates(replicates: Array, value: Array, ends: Array | None, level: float) -> Array:
    """Replicates `[replicate, slice]`, moved from the value to its plausible end where these differ.

    Distances from the value are exponential, as those of a share without a miss nearly are, and at most 1. They exceed
    the length of the interval with the probability of one of its tails. The draws depend on the numbers of replicate
    and slice alone.

    >>> hits = np.full((999, 2), 1.0), np.ones(2), np.array([0.7, 1.0])
    >>> drawn = plausible_replicates(*hits, 0.95)
    >>> np.quantile(drawn[:, 0], [0.025, 0.5]).round(1).tolist(), float(drawn[:, 1].min())
    ([0.7, 0.9], 1.0)
    """
    index = np.flatnonzero(ends != value) if ends is not None else np.zeros(0, dtype=np.int64)
    index = index[np.isfinite(value[index])]
    if ends is None or not len(index):
        return replicates
    rows = mix(strides(np.arange(1, len(replicates) + 1, dtype=np.uint64)))
    words = mix(rows[:, None] + strides(index.astype(np.uint64) + np.uint64(1)))
    uniform = ((words >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    drawn = replicates.copy()
    reach = (ends - value)[index]
    distance = np.minimum(np.log(uniform) / np.log((1 - level) / 2) * np.abs(reach), 1.0)
    drawn[:, index] += np.sign(reach) * distance
    return drawn
