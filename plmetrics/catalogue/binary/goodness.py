"""The test of Hosmer and Lemeshow: positives observed and expected in groups of similar scores."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from plmetrics.catalogue.binary.calibration import calibration_gaps
from plmetrics.catalogue.binary.counts import INFINITY
from plmetrics.catalogue.binary.decomposition import shrinkage
from plmetrics.catalogue.metric import Metric, Undefined
from plmetrics.catalogue.needs import Bins, Kind
from plmetrics.catalogue.parameters import bins_parameter, parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops
from plmetrics.states.scores.sliced_scores import Binning

_HOSMER = (
    "Hosmer and Lemeshow (1980), Goodness of fit tests for the multiple logistic regression model, CSTM 9(10)"
)

_ROUNDING = 1e-13
"""Rounding of sums of weights in a difference that is 0."""


@dataclass(frozen=True)
class Goodness(Metric):
    """Base of the statistic and its p value."""

    task = "binary"
    family = "scores"
    probability = True
    needs_score = True
    expressible = False
    reference = _HOSMER

    groups: int = bins_parameter(10, "number of groups of equal weight", least=2)
    df: str = parameter(
        "groups",
        doc="degrees of freedom of the p value: groups-2 on the rows that the model was fitted to",
        options=("groups", "groups-2"),
    )

    @property
    def needs(self) -> Bins:
        return Bins(Binning(self.groups, "quantile"))

    def undefined(self, state: Any) -> Undefined:
        """Condition of a group of scores 0, or 1, with a wrong one: it expects no spread at all."""
        gap = ops.absolute(calibration_gaps(state)) > _ROUNDING
        wrong = ops.where((_expected_variance(state) == 0) & gap, 1.0, 0.0)
        return [*super().undefined(state), ("zero_denominator", ops.total(wrong) > 0)]

    def statistic(self, state: Any, gaps: Any) -> Any:
        """Sum over groups of their squared gap over the expected variance of their rate by the scores."""
        return ops.total(state.bin_weight * ops.ratio(gaps**2, _expected_variance(state), otherwise=0.0))


@register
class HosmerLemeshow(Goodness):
    """Chi-squared statistic of observed against expected positives, over groups of similar scores.

    Sum over groups of (O_g - E_g)^2 / (n_g m_g (1 - m_g)): n_g is the group's weight, O_g that of its positives, m_g
    its mean score and E_g = n_g m_g. Groups are cut at the quantiles of the slice's weighted scores; equal scores
    are never parted, so groups may fall together. Weights count as rows; 0 or more; undefined (`no_rows`) without
    rows, `zero_denominator` where a group of scores 0 or 1 is wrong. `df` only says what the p value would be
    (`hosmer_lemeshow_p_value`). A calibrated model gets about `groups`, so its interval is centred. Source: Hosmer
    and Lemeshow (1980).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 0, 0, 1, 1], "p": [0.25] * 4 + [0.5] * 2})
    >>> plm.evaluate(rows, label="y", models="p", metrics=["hosmer_lemeshow(groups=2)"]).metrics["value"].item()
    2.0
    """

    name = "hosmer_lemeshow"
    kind: ClassVar[Kind] = "norm"
    range = (0.0, INFINITY)
    direction = "lower"
    interpretable = False
    formula = (
        "sum over groups of (O_g - E_g)^2 / (n_g m_g (1 - m_g)), with E_g = n_g m_g and m_g the mean score"
    )
    use_when = "Readers of your field expect the test, as in clinical risk models; look at ece beside it."
    beware = "It grows with the number of rows: a useful model of a large table fails it, a poor one of a small passes."

    def finalise(self, state: Any) -> Any:
        return self.statistic(state, calibration_gaps(state))

    def deviation(self, replicate: Any, point: Any) -> Any:
        """Drop of the statistic if the vector of gaps is shortened by its distance from the replicate's."""
        shift = self.statistic(replicate, calibration_gaps(replicate) - calibration_gaps(point))
        return shrinkage(self.finalise(point), ops.sqrt(shift))


@register
class HosmerLemeshowPValue(Goodness):
    """Chance of so large a statistic `hosmer_lemeshow` or a larger one, were the scores the true probabilities.

    From the chi-squared distribution with as many degrees of freedom as groups hold rows, or two fewer. That is its
    distribution for independent rows of weight 1. In [0, 1]; undefined (`no_rows`) without rows, `zero_denominator`
    where the statistic is, `too_few_rows` where no degree of freedom is left. It has no interval: a p value is no
    estimate of anything. Source: Hosmer and Lemeshow (1980).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 0, 0, 1, 1], "p": [0.25] * 4 + [0.5] * 2})
    >>> found = plm.evaluate(rows, label="y", models="p", metrics=["hosmer_lemeshow_p_value(groups=2)"])
    >>> round(found.metrics["value"].item(), 6)
    0.367879
    """

    name = "hosmer_lemeshow_p_value"
    kind: ClassVar[Kind] = "extreme"
    range = (0.0, 1.0)
    direction = "none"
    formula = "P(chi-squared with df degrees of freedom >= hosmer_lemeshow)"
    use_when = "A report must state the test's p value; judge models by ece or brier_reliability instead."
    beware = "A large value does not mean calibrated, only that these rows are too few to show the opposite."

    def finalise(self, state: Any) -> Any:
        from scipy.special import gammaincc

        freedom = ops.larger(self._freedom(state), 1.0)
        return gammaincc(freedom / 2.0, self.statistic(state, calibration_gaps(state)) / 2.0)

    def undefined(self, state: Any) -> Undefined:
        """As the statistic, and where no degree of freedom is left."""
        return [*super().undefined(state), ("too_few_rows", self._freedom(state) < 1)]

    def _freedom(self, state: Any) -> Any:
        occupied = ops.total(ops.where(state.bin_weight > 0, 1.0, 0.0))
        return occupied - 2.0 if self.df == "groups-2" else occupied


def _expected_variance(state: Any) -> Any:
    """Variance m (1 - m) of a label in each group, m its mean score; 0 in empty groups, and where m is about 1."""
    mean = ops.ratio(state.bin_score, state.bin_weight, otherwise=0.0)
    return ops.where(mean < 1.0 - _ROUNDING, mean * (1.0 - mean), 0.0)
