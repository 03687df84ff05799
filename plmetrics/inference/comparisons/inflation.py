"""Noise in a norm, such as a calibration error: it makes the value larger, and more so where there are fewer rows.

The difference of two norms over different numbers of rows is then not 0 where the truth is the same, and a test of it
rejects for the sizes. A norm v of estimates with noise s has a mean square of about truth^2 + s^2, and its replicates,
which have the same noise once more, one of v^2 + s^2: so s is known. Where it is small beside v it adds little to v.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.estimate import Estimate

Array = NDArray[np.float64]

UNEQUAL_NOISE = "unequal_noise"
"""The status of an interval that is not made, because noise adds more to one side than to the other."""

NOISE_NOTE = "noise alone makes it larger where there are fewer rows (ece: compare ece(debias=true))"

_FAR = 3.0
MOST = 0.25
"""Noise of so large a part of a value adds 3 % to it, which is little beside the value's standard error."""


def is_inflated(metric: Metric, scale: str) -> bool:
    """Whether noise distorts contrasts of a metric: of a norm that is best at 0, where it may be nothing but noise.

    Without its share of noise (`debias`) a norm has differences, but no ratios: it may be 0.
    """
    norm = metric.kind == "norm" and metric.direction == "lower"
    return norm and (scale != "difference" or not getattr(metric, "debias", False))


def noise(estimate: Estimate) -> Array:
    """The noise in each norm, by its replicates.

    >>> from plmetrics.inference.estimate import Estimate
    >>> drawn = np.array([[0.04, 0.41], [0.05, 0.40]])
    >>> noise(Estimate(np.array([0.03, 0.40]), np.array(["ok"] * 2), np.array([9, 9]), drawn, ())).round(3)
    array([0.034, 0.064])
    """
    assert estimate.replicates is not None
    finite = np.isfinite(estimate.replicates)
    squares = np.sum(estimate.replicates**2, axis=0, where=finite) / np.maximum(finite.sum(axis=0), 1)
    found: Array = np.sqrt(np.maximum(squares - estimate.value**2, 0.0))
    return found


def unequal_noise(model: Estimate, baseline: Estimate) -> NDArray[np.bool_]:
    """Where noise is no small part of one of two norms, and may be what they differ by."""
    one, other = noise(model), noise(baseline)
    large = (one > MOST * model.value) | (other > MOST * baseline.value)
    near: NDArray[np.bool_] = np.abs(model.value - baseline.value) < _FAR * np.maximum(one, other)
    return large & near


def sizes_matter(values: Array, rows: Array, error: Array) -> NDArray[np.bool_]:
    """Where two values `[2, ...]`, were they nothing but noise, would differ for their numbers of rows alone.

    Noise falls with the root of the rows. A fifth of a standard error is borne: it moves a level of 5 % to 5.5 %.
    """
    fewest, most = rows.min(axis=0), rows.max(axis=0)
    larger = np.where(rows[0] >= rows[1], values[0], values[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        matter: NDArray[np.bool_] = larger * (np.sqrt(most / fewest) - 1) > 0.2 * error
    return matter
