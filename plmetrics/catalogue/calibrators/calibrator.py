"""Base of calibrators: parameters fitted to rows, and the expression with them.

Logistic regressions go by Newton's method, over whole arrays. Their slopes are sums made by one thread: products of a
library may add in an order that depends on how many there are. So are curvatures in reproducible runs (`are_exact`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.catalogue.binary.probability import FLOAT_EPSILON
from plmetrics.core.exact_sums import are_exact
from plmetrics.core.special import expit

Numbers = NDArray[np.float64]

_STEPS = 100
_HALVINGS = 40
_LAST_STEPS = 2
_FIRST_ROWS = 20_000
_MANY = 200
_NEAR = 1e-12
"""Newton's decrement, twice the fall of the mean log loss that is left, below which full steps double the digits."""


class NoFit(ValueError):  # noqa: N818
    """Error of rows without best parameters; the message gives the reason and the remedy."""


class Calibrator(ABC):
    """A map from scores to probabilities of the positive class, fitted by maximum likelihood or least squares."""

    name: ClassVar[str]
    reads_probability: ClassVar[bool] = True
    """Whether scores must lie in [0, 1]."""

    __slots__ = ()

    @classmethod
    @abstractmethod
    def fit(cls, score: Numbers, label: Numbers, weight: Numbers | None = None) -> Self:
        """The calibrator of some rows: finite scores, labels 0 and 1 (both occur), positive weights (1 if None).

        Raises:
            NoFit: no finite parameters are best.
        """

    @abstractmethod
    def expression(self, score: pl.Expr) -> pl.Expr:
        """The calibrated score, in [0, 1]."""

    @abstractmethod
    def constants(self) -> dict[str, Any]:
        """The parameters, as JSON-able values."""

    @classmethod
    def read(cls, constants: Mapping[str, Any]) -> Self:
        """The calibrator of some parameters, as `constants` gives them."""
        return cls(**constants)

    def calibrate(self, score: pl.Expr) -> pl.Expr:
        """The calibrated score of a raw column: null where the score is bad."""
        value = score.cast(pl.Float64)
        return pl.when(self.sound(value)).then(self.expression(value))

    def sound(self, score: pl.Expr) -> pl.Expr:
        """Whether a score is in its domain."""
        return score.is_between(0, 1) if self.reads_probability else score.is_finite()


class LogOddsCalibrator(Calibrator):
    """Calibrator of log odds: of probabilities, or of margins in their place, any finite numbers."""

    margin: bool

    __slots__ = ()

    def sound(self, score: pl.Expr) -> pl.Expr:
        """A margin is sound where it is finite."""
        return score.is_finite() if self.margin else super().sound(score)

    def odds(self, score: pl.Expr) -> pl.Expr:
        """The log odds of a score, or the margin."""
        return score if self.margin else log_odds_expression(score)


def clip_scores(score: Numbers) -> Numbers:
    """Scores held to [2.220446049250313e-16, 1 - 2.220446049250313e-16], as log_loss holds them."""
    return np.clip(score, FLOAT_EPSILON, 1.0 - FLOAT_EPSILON)


def log_odds(score: Numbers) -> Numbers:
    """ln(p / (1 - p)) of scores held off 0 and 1."""
    inner = clip_scores(score)
    return np.log(inner) - np.log1p(-inner)


def clip_expression(score: pl.Expr) -> pl.Expr:
    """Like `clip_scores`, of an expression."""
    return score.clip(FLOAT_EPSILON, 1.0 - FLOAT_EPSILON)


def log_odds_expression(score: pl.Expr) -> pl.Expr:
    """Like `log_odds`, of an expression."""
    inner = clip_expression(score)
    return inner.log() - (-inner).log1p()


def probability_expression(log_odds: pl.Expr) -> pl.Expr:
    """The probability of log odds."""
    return 1.0 / (1.0 + (-log_odds).exp())


def separates(value: Numbers, label: Numbers) -> bool:
    """Whether values separate the classes, up to a tie at the cut: the likelihood then has no maximum."""
    return bool(value[label == 1].min() >= value[label == 0].max())


def best_coefficients(
    features: Sequence[Numbers], target: Numbers, weight: Numbers | None = None
) -> Numbers | None:
    """Coefficients b with the least weighted log loss of 1 / (1 + exp(-sum b f)), without a penalty.

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
    """Minimum of a convex loss by Newton's method; None without convergence, as for a loss without minimum.

    `derivatives` gives slope and curvature; by the loss itself steps far from the minimum are shortened.
    """
    coefficients, near = start, 0
    for _ in range(_STEPS):
        slope, curvature = derivatives(coefficients)
        step = _newton_step(curvature, slope)
        near += float(slope @ step) <= _NEAR
        if near == 0:
            step = _falling(coefficients, step, loss)
        coefficients = coefficients - step
        if near == _LAST_STEPS:
            return coefficients
    return None


def _newton_step(curvature: Numbers, slope: Numbers) -> Numbers:
    """Solution of least squares; of many parameters by Cholesky's factors, as their singular values take seconds."""
    if len(slope) > _MANY and not are_exact():
        from scipy.linalg import LinAlgError, cho_factor, cho_solve

        with suppress(LinAlgError):
            return np.asarray(cho_solve(cho_factor(curvature), slope), dtype=np.float64)
    return np.asarray(np.linalg.lstsq(curvature, slope, rcond=1e-14)[0], dtype=np.float64)


def _start(design: Numbers, target: Numbers, mass: Numbers) -> Numbers:
    """Start of the iteration: the optimum on a sample of many rows if better than zero, else zero."""
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
