"""Logistic regression by Newton's method, over whole arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_STEPS = 100
_HALVINGS = 40
_SETTLED = 1e-18
"""Newton's decrement, twice the fall of the mean log loss that is left, at which the last digits are reached."""


def best_coefficients(
    features: Sequence[Numbers], target: Numbers, weight: Numbers | None = None
) -> Numbers | None:
    """The coefficients b that minimise the weighted log loss of 1 / (1 + exp(-sum b f)), without a penalty.

    Args:
        features: an array of a number for each row; an intercept is an array of ones.
        target: the class of each row, or its smoothed probability.
        weight: of each row; 1 if None.

    Returns:
        A coefficient per feature; None if the loss has no finite minimum, or none that Newton's method reaches.

    >>> one = np.ones(4)
    >>> best_coefficients([one], np.array([1.0, 0.0, 0.0, 0.0])).round(6)  # -ln 3
    array([-1.098612])
    """
    design = np.stack(features)
    mass = np.ones(len(target)) if weight is None else weight
    mass = mass / mass.sum()
    found = np.zeros(len(features))
    loss = mean_log_loss(found, design, target, mass)
    for _ in range(_STEPS):
        chance = 1.0 / (1.0 + np.exp(-np.clip(found @ design, -700.0, 700.0)))
        slope = design @ (mass * (chance - target))
        curvature = (design * (mass * chance * (1.0 - chance))) @ design.T
        step = np.linalg.lstsq(curvature, slope, rcond=1e-14)[0]
        if float(slope @ step) <= _SETTLED:
            return found if np.abs(slope).max() < 1e-6 else None
        for _ in range(_HALVINGS):
            tried = mean_log_loss(found - step, design, target, mass)
            if tried < loss:
                break
            step = step / 2.0
        else:
            return found
        found, loss = found - step, tried
    return None


def mean_log_loss(coefficients: Numbers, design: Numbers, target: Numbers, mass: Numbers) -> float:
    """Log loss of some coefficients; masses sum to 1."""
    odds = coefficients @ design
    return float(mass @ (np.logaddexp(0.0, odds) - target * odds))
