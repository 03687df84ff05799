"""Calibration errors: mean scores against rates of positives, in bins or under a kernel."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from plmetrics.catalogue.bases import Norm, Positives
from plmetrics.catalogue.binary.counts import INFINITY
from plmetrics.catalogue.metric import Metric, Noise
from plmetrics.catalogue.needs import Bins, Points, Sums
from plmetrics.catalogue.parameters import ParameterError, bins_parameter, parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops
from plmetrics.states.scores.sliced_scores import Binning
from plmetrics.states.sums import Atom

_NARROWEST = 0.002
"""exp(distance of two scores / bandwidth) stays in the range of floats."""
_MIDDLE = 0.5


def strategy_parameter() -> Any:
    """The parameter `strategy`."""
    return parameter(
        "uniform",
        doc="bins of equal width, or of equal weight in each slice",
        options=("uniform", "quantile"),
    )


def norm_parameter() -> Any:
    """The parameter `norm`."""
    return parameter("l1", doc="how the gaps are put together", options=("l1", "l2", "max"))


def check_debias(name: str, norm: str, *, debias: bool) -> None:
    """Refuse to take off the noise of the largest gap."""
    if debias and norm == "max":
        msg = f"{name}: debias has no form for norm=max; use norm=l1 or norm=l2, or leave debias out"
        raise ParameterError(msg)


def debias_parameter() -> Any:
    """The parameter `debias`."""
    return parameter(default=False, doc="take off what sampling noise alone adds", domain="true or false")


@dataclass(frozen=True)
class BinnedMetric(Metric):
    """Base of the metrics on binned scores."""

    task = "binary"
    family = "scores"
    probability = True
    needs_score = True

    bins: int = bins_parameter(15, "number of bins")
    strategy: str = strategy_parameter()

    @property
    def needs(self) -> Bins:
        """Bins of equal width or equal weight."""
        return Bins(
            Binning(self.bins, "quantile" if self.strategy == "quantile" else "uniform"), optional=True
        )


def bin_rates(state: Any) -> Any:
    """Rate of positives by bin; 0 in empty bins."""
    return ops.ratio(state.bin_positive, state.bin_weight, otherwise=0.0)


def calibration_gaps(state: Any) -> Any:
    """Mean score minus rate of positives by bin; 0 in empty bins."""
    return ops.ratio(state.bin_score - state.bin_positive, state.bin_weight, otherwise=0.0)


def mean_over_bins(state: Any, values: Any) -> Any:
    """Mean of a number of each bin, weighed as the bins are."""
    return ops.ratio(ops.total(state.bin_weight * values), ops.total(state.bin_weight))


@register
@dataclass(frozen=True)
class ExpectedCalibrationError(BinnedMetric, Norm):
    """Distance of the mean score from the rate of positives, over bins of the score.

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
    criterion = "calibration"
    presets = MappingProxyType({"mce": {"norm": "max"}})
    range = (0.0, 1.0)
    direction = "lower"
    formula = "sum over bins of w_b abs(mean score_b - rate of positives_b) / W (l1)"
    use_when = "You ask whether 0.8 means 80 %, apart from whether the model separates the classes."
    beware = (
        "Noise alone gives a calibrated model about 0.32 sqrt(bins / n): compare it only at equal n and bins."
    )
    reference = (
        "Naeini, Cooper and Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian "
        "binning, AAAI"
    )

    norm: str = norm_parameter()
    debias: bool = debias_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        check_debias(self.name, self.norm, debias=self.debias)

    @property
    def noise(self) -> Noise:  # type: ignore[override]
        """Noise left in the norm: `debias` reduces it, the largest gap hides it."""
        return "largest" if self.norm == "max" else "reduced" if self.debias else "full"

    def gaps(self, state: Any) -> Any:
        """Mean score minus rate of positives by bin, above 0 where it promises too much; 0 in empty bins."""
        return calibration_gaps(state)

    def size(self, state: Any, gaps: Any) -> Any:
        """Norm of gaps under the state's bin weights; empty bins play no part."""
        if self.norm == "max":
            return ops.largest(ops.where(state.bin_weight == 0, 0.0, ops.absolute(gaps)))
        if self.norm == "l2":
            return ops.sqrt(mean_over_bins(state, gaps**2))
        return mean_over_bins(state, ops.absolute(gaps))

    def finalise(self, state: Any) -> Any:
        """The norm of the state's own gaps, without the share of noise if asked."""
        gaps = self.gaps(state)
        if not self.debias:
            return self.size(state, gaps)
        rate = bin_rates(state)
        enough = state.bin_weight > 1
        variance = ops.where(enough, rate * (1.0 - rate), 0.0)
        if self.norm == "l2":
            noise = variance / ops.where(enough, state.bin_weight - 1.0, 1.0)
            return ops.sqrt(ops.larger(mean_over_bins(state, gaps**2 - noise), 0.0))
        spread = ops.sqrt(variance / ops.where(enough, state.bin_weight, 1.0))
        plain = ops.absolute(gaps)
        return ops.larger(mean_over_bins(state, 2.0 * plain - ops.folded_normal_mean(gaps, spread)), 0.0)


@register
class CalibrationRatio(Positives):
    """Positives expected over positives observed: sum of w p / sum of w y.

    Above 1 the scores promise too many positives, below 1 too few. Weighted by row; 0 or more, best at 1;
    undefined (`no_positives`) without positives, `no_rows` without rows. Source: Steyerberg and others (2010).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 0, 0], "p": [0.5, 0.25, 0.25, 0.25]})
    >>> rows.select(CalibrationRatio().expr("y", "p")).item()
    1.25
    """

    name = "calibration_ratio"
    kind = "per_event"
    mean = "mass"
    criterion = "calibration"
    task = "binary"
    needs = Sums(classes=True)
    range = (0.0, INFINITY)
    direction = "none"
    probability = True
    needs_score = True
    formula = "sum of w p / sum of w y"
    use_when = "Sums of scores are used, as in budgets and reserves: it says how far the total is off."
    beware = "Scores too high here and too low there cancel: 1 does not mean calibrated, look at ece."
    reference = (
        "Steyerberg and others (2010), Assessing the performance of prediction models, Epidemiology 21(1)"
    )

    def atoms(self) -> Mapping[str, Atom]:
        return {"score_sum": _SCORE}

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.score_sum, state.positives)


_SCORE = Atom("score", lambda rows: rows.score, most=1.0)


@register
@dataclass(frozen=True)
class KernelCalibrationError(Norm):
    """Length of the sum of all gaps p - y under the kernel exp(-abs(p_i - p_j) / bandwidth).

    The root of sum over i and j of w_i w_j (p_i - y_i)(p_j - y_j) exp(-abs(p_i - p_j) / bandwidth) / W^2, i = j
    included: gaps of one sign at close scores add up, those of both signs cancel, and there are no bins to choose.
    Weighted by row; in [0, 1], 0 for a perfect forecast; undefined (`no_rows`) without rows. It takes one pass over
    the sorted scores. Noise alone makes it larger than 0, so its interval is centred. Source: Kumar, Sarawagi and
    Jain (2018), whose trainable measure for the confidence of the predicted class this is, for the score of the
    positive class.

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0], "p": [0.75, 0.75]})
    >>> plm.evaluate(rows, label="y", models="p", metrics=["kernel_ce"]).metrics["value"].item()
    0.25
    """

    name = "kernel_ce"
    task = "binary"
    needs = Points("scores")
    range = (0.0, 1.0)
    direction = "lower"
    probability = True
    needs_score = True
    expressible = False
    interpretable = False
    formula = "sqrt(sum over i, j of w_i w_j (p_i - y_i)(p_j - y_j) exp(-abs(p_i - p_j) / bandwidth)) / W"
    use_when = "You ask what ece asks, and its answer should not hang on where the edges of bins fall."
    beware = (
        "It is no mean gap: noise alone gives about the root of brier / n, and wider kernels smaller values."
    )
    reference = (
        "Kumar, Sarawagi and Jain (2018), Trainable calibration measures for neural networks from kernel mean "
        "embeddings, ICML"
    )

    bandwidth: float = parameter(
        0.4,
        doc="distance of scores over which the kernel falls to 1/e",
        check=lambda value: _NARROWEST <= value < math.inf,
        domain=f"a finite number of at least {_NARROWEST}",
    )

    def gaps(self, state: Any) -> Any:
        """Share of the weight times mean gap, at each score: sum of w (p - y) there, over W."""
        mass = state.positive + state.negative
        return ops.ratio(mass * state.score - state.positive, ops.broadcast(state.weight, mass))

    def size(self, state: Any, gaps: Any) -> Any:
        """The length of the gaps: twice the pairs with a lower score, once the gaps with themselves.

        exp(-(p_i - p_j) / bandwidth) is a product of a growing and a falling exponential, so that all lower scores
        are one running total.
        """
        growing = np.exp((state.score - _MIDDLE) / self.bandwidth)
        lower = ops.cumulative(gaps * growing) / growing
        return ops.sqrt(ops.larger(ops.total(gaps * (2.0 * lower - gaps)), 0.0))
