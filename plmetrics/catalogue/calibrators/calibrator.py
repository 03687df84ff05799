"""Base of calibrators: parameters that are fitted to rows, and the expression that applies them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from plmetrics.catalogue.binary.probability import FLOAT_EPSILON

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]


class NoFit(ValueError):  # noqa: N818
    """The rows have no best parameters; the message says why, and what to do."""


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

    def applied(self, score: pl.Expr) -> pl.Expr:
        """The calibrated score of a raw column: null where the score is bad."""
        value = score.cast(pl.Float64)
        return pl.when(self.sound(value)).then(self.expression(value))

    def sound(self, score: pl.Expr) -> pl.Expr:
        """Whether a score is one that it takes."""
        return score.is_between(0, 1) if self.reads_probability else score.is_finite()


class LogOddsCalibrator(Calibrator):
    """A calibrator that reads the log odds of probabilities, or margins in their place: any finite numbers."""

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


def held_expression(score: pl.Expr) -> pl.Expr:
    """Like `clip_scores`, of an expression."""
    return score.clip(FLOAT_EPSILON, 1.0 - FLOAT_EPSILON)


def log_odds_expression(score: pl.Expr) -> pl.Expr:
    """Like `log_odds`, of an expression."""
    inner = held_expression(score)
    return inner.log() - (-inner).log1p()


def probability_expression(log_odds: pl.Expr) -> pl.Expr:
    """The probability of log odds."""
    return 1.0 / (1.0 + (-log_odds).exp())


def separates(value: Numbers, label: Numbers) -> bool:
    """Whether no value of a positive lies below one of a negative: a rising curve can then be ever steeper."""
    return bool(value[label == 1].min() >= value[label == 0].max())
