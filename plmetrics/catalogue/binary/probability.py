"""Proper scores of probabilities: means over rows, best when every row gets its true probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import log
from typing import Any, ClassVar

import polars as pl

from plmetrics.catalogue.bases import RowMean
from plmetrics.catalogue.binary.counts import INFINITY
from plmetrics.catalogue.metric import Direction
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.core.names import number_text
from plmetrics.states.sums import Atom, Rows

FLOAT_EPSILON = 2.220446049250313e-16
GNEITING = (
    "Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102(477)"
)


def clip_parameter(what: str = "scores") -> Any:
    """Parameter `clip`, common to all logarithmic scores."""
    return parameter(
        FLOAT_EPSILON,
        doc=f"distance from 0 and 1 that {what} are held to",
        check=lambda value: 0 < value < 0.5,
        domain="above 0 and below 0.5",
    )


def _label_probability(rows: Rows) -> pl.Expr:
    """The probability of the true class: |1 - y - p| to the last bit, at less cost than a choice of two."""
    return (1.0 - rows.label - rows.score).abs()


def log_loss_atom(clip: float, probability: Callable[[Rows], pl.Expr] = _label_probability) -> Atom:
    """The sum of -ln(the probability of the true class); metrics of equal clips share it."""

    def row(rows: Rows) -> pl.Expr:
        return -probability(rows).clip(clip, 1.0 - clip).log()

    return Atom(f"log_loss(clip={number_text(clip)})", row, most=-log(clip))


def _spherical(rows: Rows) -> pl.Expr:
    return _label_probability(rows) / (rows.score**2 + (1.0 - rows.score) ** 2).sqrt()


BRIER = Atom("brier", lambda rows: rows.error**2, most=1.0)
_SPHERICAL = Atom("spherical", _spherical, most=1.0)


class MeanScore(RowMean):
    """Base of the means over rows of a function of label and probability."""

    task = "binary"
    direction: ClassVar[Direction] = "lower"
    probability = True
    needs_score = True
    proper = "strictly"


@register
@dataclass(frozen=True)
class LogLoss(MeanScore):
    """Mean of -ln(the probability of the true class): -[y ln p + (1 - y) ln(1 - p)].

    p is clipped to [clip, 1 - clip] before the logarithm, so that a certain and wrong score costs -ln(clip)
    and not infinity. Weighted by row; 0 or more; undefined (`no_rows`) without rows. Sources: Good (1952),
    Gneiting and Raftery (2007).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0], "p": [0.5, 0.5]})
    >>> round(rows.select(LogLoss().expr("y", "p")).item(), 6)
    0.693147
    """

    name = "log_loss"
    range = (0.0, INFINITY)
    interpretable = False
    formula = "sum of w * -ln(p if y = 1 else 1 - p) / sum of w, p clipped to [clip, 1 - clip]"
    use_when = (
        "The probabilities themselves are used, and a confident mistake should cost much more than a "
        "doubtful one."
    )
    beware = (
        "A few rows with p near 0 or 1 can decide it, and then so does `clip`; compare it with the "
        "prevalence's entropy."
    )
    reference = GNEITING

    clip: float = clip_parameter()

    def _atom(self) -> Atom:
        return log_loss_atom(self.clip)


@register
class Brier(MeanScore):
    """Mean squared difference of the probability and the label: (p - y)^2.

    Weighted by row; in [0, 1]; undefined (`no_rows`) without rows. Source: Brier (1950), here for the
    positive class only, that is half his sum over both.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0], "p": [0.5, 0.5]})
    >>> rows.select(Brier().expr("y", "p")).item()
    0.25
    """

    name = "brier"
    range = (0.0, 1.0)
    row_atom = BRIER
    formula = "sum of w (p - y)^2 / sum of w"
    use_when = (
        "The probabilities themselves are used, and one bad row should not decide the comparison as in "
        "log_loss."
    )
    beware = "With rare positives all values are small; compare it with prevalence (1 - prevalence)."
    reference = (
        "Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather Review "
        "78(1)"
    )


@register
class SphericalScore(MeanScore):
    """Mean of the probability of the true class, over the length of the vector of both probabilities.

    p_y / sqrt(p^2 + (1 - p)^2) with p_y = p if y = 1 else 1 - p; higher is better. Weighted by row; in [0, 1], and
    sqrt(1/2) for a score of 0.5; undefined (`no_rows`) without rows. Source: Gneiting and Raftery (2007).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0], "p": [0.8, 0.5]})
    >>> round(rows.select(SphericalScore().expr("y", "p")).item(), 6)
    0.838625
    """

    name = "spherical_score"
    range = (0.0, 1.0)
    direction = "higher"
    row_atom = _SPHERICAL
    interpretable = False
    formula = "sum of w p_y / sqrt(p^2 + (1 - p)^2) / sum of w, with p_y = p if y = 1 else 1 - p"
    use_when = "You want a bounded proper score that rises with quality, as a check on brier and log_loss."
    beware = "Few readers know it, and 0.71 is what a coin gets: report brier or log_loss beside it."
    reference = GNEITING
