"""The parts of the Brier score: brier = reliability - resolution + uncertainty + within_bin."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from plmetrics.catalogue.bases import Norm
from plmetrics.catalogue.binary.calibration import BinnedMetric, bin_rates, calibration_gaps, mean_over_bins
from plmetrics.catalogue.binary.skill import class_shares
from plmetrics.catalogue.needs import Bins, Sums
from plmetrics.catalogue.registry import register
from plmetrics.core import ops

_MURPHY = (
    "Murphy (1973), A new vector partition of the probability score, Journal of Applied Meteorology 12(4)"
)
_STEPHENSON = (
    "Stephenson, Coelho and Jolliffe (2008), Two extra components in the Brier score decomposition, Weather "
    "and Forecasting 23(4)"
)

_ROUNDING = 1e-12


def shrinkage(value: Any, length: Any) -> Any:
    """Drop of a squared length if the vector is shortened by some length: v - max(0, sqrt(v) - length)^2.

    Lengths of vectors obey the triangle inequality, their squares do not.
    """
    return value - ops.larger(ops.sqrt(value) - length, 0.0) ** 2


class MeanSquaredGap(BinnedMetric, Norm):
    """Base of the means over bins of a squared gap between two estimates."""

    def size(self, state: Any, gaps: Any) -> Any:
        return mean_over_bins(state, gaps**2)

    def deviation(self, replicate: Any, point: Any) -> Any:
        """Drop of the value if the vector of gaps is shortened by its distance from the replicate's."""
        length = ops.sqrt(self.size(replicate, self.gaps(replicate) - self.gaps(point)))
        return shrinkage(self.finalise(point), length)


@register
class BrierReliability(MeanSquaredGap):
    """Mean over bins of (mean score - rate of positives)^2: the part of brier from miscalibration.

    Sum of w_b d_b^2 / W, the square of ece(norm=l2); bins as in ece, empty ones skipped. Noise alone makes it
    larger than 0, so its interval is centred. In [0, 1]; undefined (`no_rows`) without rows. Source: Murphy (1973),
    with the bin's mean score where he has its common score.

    >>> BrierReliability(bins=10).text
    'brier_reliability(bins=10)'
    """

    name = "brier_reliability"
    range = (0.0, 1.0)
    direction = "lower"
    formula = "sum over bins of w_b (mean score_b - rate of positives_b)^2 / W"
    use_when = "You ask which part of brier calibration could take away."
    beware = (
        "A calibrated model gets about q (1 - q) bins / n from noise alone: compare it at equal n and bins."
    )
    reference = _MURPHY

    def gaps(self, state: Any) -> Any:
        return calibration_gaps(state)


@register
class BrierResolution(MeanSquaredGap):
    """Mean over bins of (rate of positives - prevalence)^2: the reduction of brier by telling rows apart.

    Sum of w_b (rate_b - prevalence)^2 / W; bins as in ece, empty ones skipped. Noise alone makes it larger than 0,
    so its interval is centred. In [0, 0.25]; undefined (`no_rows`) without rows. Source: Murphy (1973).

    >>> BrierResolution(strategy="quantile").text
    'brier_resolution(strategy=quantile)'
    """

    name = "brier_resolution"
    range = (0.0, 0.25)
    direction = "higher"
    formula = "sum over bins of w_b (rate of positives_b - prevalence)^2 / W"
    use_when = "You ask how well the scores part rows of different risk, whatever values they give them."
    beware = "It cannot exceed prevalence (1 - prevalence): compare it on the same rows only."
    reference = _MURPHY

    def gaps(self, state: Any) -> Any:
        rates = bin_rates(state)
        return rates - ops.broadcast(ops.ratio(state.positives, state.weight), rates)


@register
class BrierUncertainty(BinnedMetric):
    """Variance of the labels: q (1 - q), q the prevalence; brier of giving every row the prevalence.

    It depends on neither scores nor bins, whose parameters it has so that the four parts are written alike.
    Weighted by row; in [0, 0.25]; undefined (`no_rows`) without rows. Source: Murphy (1973).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 0, 0], "p": [0.5, 0.5, 0.5, 0.5]})
    >>> rows.select(BrierUncertainty().expr("y", "p")).item()
    0.1875
    """

    name = "brier_uncertainty"
    needs = Sums()  # type: ignore[assignment]
    probability = False
    needs_score = False
    range = (0.0, 0.25)
    direction = "none"
    formula = "q (1 - q), with q = P / (P + N)"
    use_when = "Beside brier, to see what a model without features gets on the same rows."
    beware = "It describes the data, not the model."
    reference = _MURPHY

    def finalise(self, state: Any) -> Any:
        positives, negatives = class_shares(state)
        return positives * negatives


@register
class BrierWithinBin(BinnedMetric):
    """Part of brier from inside the bins: brier - (reliability - resolution + uncertainty).

    The mean over bins of the variance of the scores minus twice their covariance with the labels; 0 where each
    bin holds a single score. Weighted by row; in [-0.25, 0.75], below 0 where scores still tell rows of a bin
    apart; undefined (`no_rows`) without rows. Source: Stephenson, Coelho and Jolliffe (2008), their two extra
    components together.

    >>> BrierWithinBin().text
    'brier_within_bin'
    """

    name = "brier_within_bin"
    range = (-0.25, 0.75)
    direction = "none"
    interpretable = False
    formula = "brier - (brier_reliability - brier_resolution + brier_uncertainty)"
    use_when = "You check that the bins are fine enough for the other parts to explain brier."
    beware = "It belongs to the bins as much as to the model: judge models by the other parts."
    reference = _STEPHENSON

    @property
    def needs(self) -> Bins:
        """Bins with the squared distances of scores from labels."""
        plain = super().needs
        return replace(plain, binning=replace(plain.binning, distances=True))

    def finalise(self, state: Any) -> Any:
        """Value bin by bin, against cancellation; exactly 0 where it is within rounding of the distances."""
        rates = bin_rates(state)
        between = state.bin_weight * (calibration_gaps(state) ** 2 + rates * (1.0 - rates))
        within = ops.total(state.bin_distance - between)
        clear = ops.absolute(within) > _ROUNDING * ops.total(state.bin_distance)
        return ops.ratio(ops.where(clear, within, 0.0), state.weight)
