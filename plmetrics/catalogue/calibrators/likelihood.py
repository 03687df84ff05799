"""Logistic regression by Newton's method, over whole arrays.

Sums are made by one thread: products of a library may add in an order that depends on how many there are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plmetrics.core.special import expit

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

_STEPS = 100
_HALVINGS = 40
_LAST_STEPS = 2
_FIRST_ROWS = 20_000
_NEAR = 1e-12
"""Newton's decrement, twice the fall of the mean log loss that is left, below which full steps double the digits."""


def best_coefficients(
    features: Sequence[Numbers], target: Numbers, weight: Numbers | None = None
) -> Numbers | None:
    """The coefficients b that minimise the weighted log loss of 1 / (1 + exp(-sum b f)), without a penalty.

    Args:
        features: an array of a number for each row; an intercept is an array of ones.
        target: the class of each row, or its smoothed probability.
        weight: of each row; 1 if None.

    Returns:
        A coefficient per feature; None if Newton's method does not get near the minimum, as where there is none.

    >>> one = np.ones(4)
    >>> best_coefficients([one], np.array([1.0, 0.0, 0.0, 0.0])).round(6)  # -ln 3
    array([-1.098612])
    """
    design = np.stack(features)
    mass = np.ones(len(target)) if weight is None else weight
    mass = mass / mass.sum()

    def derivatives(coefficients: Numbers) -> tuple[Numbers, Numbers]:
        chance = expit(np.einsum("k,kn->n", coefficients, design))
        slope = np.einsum("kn,n->k", design, mass * (chance - target))
        return slope, np.einsum("kn,jn->kj", design * (mass * chance * (1.0 - chance)), design)

    start = _start(design, target, mass)
    return newton(start, derivatives, lambda tried: mean_log_loss(tried, design, target, mass))


def newton(
    start: Numbers,
    derivatives: Callable[[Numbers], tuple[Numbers, Numbers]],
    loss: Callable[[Numbers], float],
) -> Numbers | None:
    """Where a convex loss is smallest, by Newton's method; None if it does not get near, as where it has no minimum.

    Args:
        start: where to begin.
        derivatives: slope and curvature of the loss.
        loss: the loss itself, by which steps far from the minimum are shortened.
    """
    coefficients, near = start, 0
    for _ in range(_STEPS):
        slope, curvature = derivatives(coefficients)
        step: Numbers = np.asarray(np.linalg.lstsq(curvature, slope, rcond=1e-14)[0], dtype=np.float64)
        near += float(slope @ step) <= _NEAR
        if near == 0:
            step = _falling(coefficients, step, loss)
        coefficients = coefficients - step
        if near == _LAST_STEPS:
            return coefficients
    return None


def _start(design: Numbers, target: Numbers, mass: Numbers) -> Numbers:
    """Where to begin: what is best for a few of many rows, if that is better than nothing."""
    nothing: Numbers = np.zeros(len(design))
    stride = len(target) // _FIRST_ROWS
    if stride < 2:
        return nothing
    coefficients = best_coefficients(list(design[:, ::stride]), target[::stride], mass[::stride])
    if coefficients is None or not mean_log_loss(coefficients, design, target, mass) < mean_log_loss(
        nothing, design, target, mass
    ):
        return nothing
    return coefficients


def _falling(coefficients: Numbers, step: Numbers, loss: Callable[[Numbers], float]) -> Numbers:
    """A step, halved until the loss falls by it."""
    before = loss(coefficients)
    for _ in range(_HALVINGS):
        if loss(coefficients - step) < before:
            break
        step = step / 2.0
    return step


def mean_log_loss(coefficients: Numbers, design: Numbers, target: Numbers, mass: Numbers) -> float:
    """Log loss of some coefficients; masses sum to 1."""
    odds = np.einsum("k,kn->n", coefficients, design)
    return float((mass * (np.logaddexp(0.0, odds) - target * odds)).sum())
