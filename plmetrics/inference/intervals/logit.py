"""The form `logit`: the interval of an area under a precision-recall curve from its size and the positives alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.special import expit, ndtri
from plmetrics.core.special import logit as log_odds

Array = NDArray[np.float64]


def logit(area: Array, positives: Array, level: float) -> tuple[Array, Array]:
    """The area's log odds -+ z / sqrt(P a (1 - a)), transformed back.

    Args:
        area: `[slice]`, strictly between 0 and 1.
        positives: number of independent positives.
        level: two-sided confidence level, such as 0.95.

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
