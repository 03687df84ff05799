"""Scores read as probabilities: proper scores and the expected calibration error. A score lies in [0, 1]."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.catalogue.binary.counts import INFINITY
from plmetrics.catalogue.metric import Metric, Norm, ParameterError, one_of, parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops
from plmetrics.core.names import number_text
from plmetrics.states.scores import Binning
from plmetrics.states.sums import Atom

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.states.sums import Rows

_FLOAT_EPSILON = 2.220446049250313e-16
_GNEITING = (
    "Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102(477)"
)


class MeanScore(Metric):
    """Base of the scores that are a mean over rows of something that depends on label and probability."""

    task = "binary"
    family = "sums"
    direction = "lower"
    probability = True
    needs_score = True
    proper = "strictly"

    def atoms(self) -> Mapping[str, Atom]:
        """The sum of the score over rows."""
        return {"score_sum": self._atom()}

    def finalise(self, state: Any) -> Any:
        """Mean over rows."""
        return ops.ratio(state.score_sum, state.weight)

    def _atom(self) -> Atom:
        raise NotImplementedError


@register
@dataclass(frozen=True)
class LogLoss(MeanScore):
    """Mean of -ln(the probability given to what happened): -[y ln p + (1 - y) ln(1 - p)].

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
    reference = _GNEITING

    clip: float = parameter(
        _FLOAT_EPSILON,
        doc="distance from 0 and 1 that scores are held to",
        check=lambda value: 0 < value < 0.5,
        domain="above 0 and below 0.5",
    )

    def _atom(self) -> Atom:
        clip = self.clip

        def row(rows: Rows) -> pl.Expr:
            given = pl.when(rows.positive).then(rows.score).otherwise(1.0 - rows.score)
            return -given.clip(clip, 1.0 - clip).log()

        return Atom(f"log_loss(clip={number_text(clip)})", row)


@register
class Brier(MeanScore):
    """Mean squared distance of the probability from what happened: (p - y)^2.

    Weighted by row; in [0, 1]; undefined (`no_rows`) without rows. Source: Brier (1950), here for the
    positive class only, that is half his sum over both.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0], "p": [0.5, 0.5]})
    >>> rows.select(Brier().expr("y", "p")).item()
    0.25
    """

    name = "brier"
    range = (0.0, 1.0)
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

    def _atom(self) -> Atom:
        def row(rows: Rows) -> pl.Expr:
            return pl.when(rows.positive).then(rows.score - 1.0).otherwise(rows.score) ** 2

        return Atom("brier", row)


@register
@dataclass(frozen=True)
class ExpectedCalibrationError(Norm):
    """How far the mean score lies from the observed rate, over bins of the score.

    With w_b a bin's share of the weight and d_b its mean score minus its rate of positives: l1 is the sum of
    w_b abs(d_b), l2 the root of the sum of w_b d_b^2, max the largest abs(d_b) (also named `mce`). Bins are
    [0, 1/bins], (1/bins, 2/bins], ... or quantiles of the slice's weighted scores; empty bins are skipped.
    In [0, 1]; undefined (`no_rows`) without rows.

    `debias` takes off what sampling noise alone adds, and stops at 0. For l2: rate (1 - rate)/(n_b - 1) from
    each squared gap. For l1: E abs(d_b + s_b Z) - abs(d_b) with s_b^2 = rate (1 - rate)/n_b and Z normal, in
    the closed form of the folded normal distribution. n_b is the bin's weight; a bin of weight 1 or less says
    nothing about its noise and keeps its plain gap. There is no such form for max.

    Sources: Naeini, Cooper and Hauskrecht (2015); for `debias` Kumar, Liang and Ma (2019), who draw the
    normal numbers that the closed form integrates.

    >>> ExpectedCalibrationError(bins=10, norm="l2").text
    'ece(bins=10, norm=l2)'
    """

    name = "ece"
    presets = MappingProxyType({"mce": {"norm": "max"}})
    task = "binary"
    family = "scores"
    range = (0.0, 1.0)
    direction = "lower"
    probability = True
    needs_score = True
    formula = "sum over bins of w_b abs(mean score_b - rate of positives_b) / W (l1)"
    use_when = "You ask whether 0.8 means 80 %, apart from whether the model separates the classes."
    beware = (
        "Noise alone gives a calibrated model about 0.32 sqrt(bins / n): compare it only at equal n and bins."
    )
    reference = (
        "Naeini, Cooper and Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian "
        "binning, AAAI"
    )

    bins: int = parameter(
        15, doc="number of bins", check=lambda value: value >= 1, domain="a whole number of at least 1"
    )
    strategy: str = parameter(
        "uniform",
        doc="bins of equal width, or of equal weight in each slice",
        check=one_of("uniform", "quantile"),
        domain="uniform or quantile",
    )
    norm: str = parameter(
        "l1", doc="how the gaps are put together", check=one_of("l1", "l2", "max"), domain="l1, l2 or max"
    )
    debias: bool = parameter(
        default=False, doc="take off what sampling noise alone adds", domain="true or false"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.debias and self.norm == "max":
            msg = "ece: debias has no form for norm=max; use norm=l1 or norm=l2, or leave debias out"
            raise ParameterError(msg)

    def binning(self) -> Binning:
        """Bins of equal width or equal weight."""
        return Binning(self.bins, "quantile" if self.strategy == "quantile" else "uniform")

    def gaps(self, state: Any) -> Any:
        """Mean score minus rate of positives by bin, above 0 where it promises too much; 0 in empty bins."""
        return ops.ratio(state.bin_score - state.bin_positive, state.bin_weight, otherwise=0.0)

    def size(self, state: Any, gaps: Any) -> Any:
        """The norm of gaps under the state's bin weights; bins that are empty there play no part."""
        if self.norm == "max":
            return ops.largest(ops.where(state.bin_weight == 0, 0.0, ops.absolute(gaps)))
        if self.norm == "l2":
            return ops.sqrt(self._mean(state, gaps**2))
        return self._mean(state, ops.absolute(gaps))

    def finalise(self, state: Any) -> Any:
        """The norm of the state's own gaps, without the share of noise if asked."""
        gaps = self.gaps(state)
        if not self.debias:
            return self.size(state, gaps)
        rate = ops.ratio(state.bin_positive, state.bin_weight, otherwise=0.0)
        enough = state.bin_weight > 1
        variance = ops.where(enough, rate * (1.0 - rate), 0.0)
        if self.norm == "l2":
            noise = variance / ops.where(enough, state.bin_weight - 1.0, 1.0)
            return ops.sqrt(ops.larger(self._mean(state, gaps**2 - noise), 0.0))
        spread = ops.sqrt(variance / ops.where(enough, state.bin_weight, 1.0))
        plain = ops.absolute(gaps)
        return ops.larger(self._mean(state, 2.0 * plain - ops.folded_normal_mean(gaps, spread)), 0.0)

    def _mean(self, state: Any, values: Any) -> Any:
        return ops.ratio(ops.total(state.bin_weight * values), ops.total(state.bin_weight))
