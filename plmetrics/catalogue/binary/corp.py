"""The parts of a proper score by isotonic recalibration: score = miscalibration - discrimination + uncertainty.

Recalibrated scores are the rates of positives, pooled where they would fall with the score: no bins to choose.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from plmetrics.catalogue.binary.counts import INFINITY
from plmetrics.catalogue.binary.decomposition import shrinkage
from plmetrics.catalogue.binary.probability import FLOAT_EPSILON
from plmetrics.catalogue.binary.skill import class_shares
from plmetrics.catalogue.metric import Metric
from plmetrics.catalogue.needs import Kind, Points, Sums
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops
from plmetrics.core.segments import Segments

_DIMITRIADIS = (
    "Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic classifiers, PNAS "
    "118(8)"
)
_LEAST = 1e-300
_NOISE_TO_GAIN = 2.0
"""Noise in a gain of recalibration, in units of the gain of replicates.

These are drawn around steps, on which scores do not tell risks apart, and so show a part of it: 1 of 1.7 to 2.0 in
tables of 200 to 4,000 calibrated scores.
"""


@dataclass(frozen=True)
class CorpPart(Metric):
    """Base of the three parts."""

    task = "binary"
    reference = _DIMITRIADIS

    score: str = parameter("brier", doc="the proper score that is taken apart", options=("brier", "log_loss"))

    def divergence(self, rate: Any, forecast: Any) -> Any:
        """Cost of a forecast above the best one where the rate of positives is known."""
        if self.score == "brier":
            return (rate - forecast) ** 2
        return _relative_entropy(rate, forecast) + _relative_entropy(1.0 - rate, 1.0 - forecast)


class RecalibratedPart(CorpPart):
    """Base of the two parts on recalibrated scores."""

    needs = Points("curve")
    kind: ClassVar[Kind] = "norm"
    needs_score = True
    expressible = False

    def deviation(self, replicate: Any, point: Any) -> Any:
        """Drop of the value if its root is shortened by the noise in it: twice what recalibration gains by noise alone.

        Replicates are drawn around recalibrated scores, so that all of the gain of recalibrating them anew is noise.
        Roots of mean divergences obey the triangle inequality, exactly for brier and nearly for log_loss.
        """
        gain = self.recalibration_gain(replicate, _isotonic_rates(replicate), _isotonic_rates(point))
        return shrinkage(self.finalise(point), ops.sqrt(ops.larger(_NOISE_TO_GAIN * gain, 0.0)))

    def recalibration_gain(self, state: Any, rate: Any, forecast: Any) -> Any:
        """Mean over rows of the loss of a forecast less that of the recalibrated rate."""
        if self.score == "brier":
            away = forecast - rate
            more = state.positive * away * (forecast + rate - 2.0) + state.negative * away * (forecast + rate)
        else:
            more = _divergence_term(state.positive, rate, forecast) + _divergence_term(
                state.negative, 1.0 - rate, 1.0 - forecast
            )
        return ops.ratio(ops.total(more), ops.total(state.positive + state.negative))


@register
class CorpMiscalibration(RecalibratedPart):
    """Reduction of the score by recalibration: score of the scores - score of the recalibrated ones.

    Recalibrated scores are the isotonic regression of the labels on the scores, equal scores pooled first. For
    log_loss, scores are held to [2.220446049250313e-16, 1 - 2.220446049250313e-16], recalibrated ones are not:
    where these are 0 or 1 they are right and cost nothing. Weighted by row; 0 or more; undefined (`no_rows`) without
    rows. Noise alone makes it larger than 0, so its interval is centred. Source: Dimitriadis, Gneiting and Jordan
    (2021).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.75, 0.75, 0.25, 0.25]})
    >>> plm.evaluate(rows, label="y", models="p", metrics=["corp_miscalibration"]).metrics["value"].item()
    0.0625
    """

    name = "corp_miscalibration"
    range = (0.0, INFINITY)
    direction = "lower"
    probability = True
    needs = Points("scores")
    formula = "mean S(p, y) - mean S(c, y), with c the isotonic regression of y on p and S the proper score"
    use_when = "You ask what recalibration would gain, in units of the score and without choosing bins."
    beware = "It is judged by the recalibration's own rows: noise alone makes it larger than 0, most with few rows."

    def finalise(self, state: Any) -> Any:
        """Mean over rows of the loss of the score less that of the recalibrated one."""
        score = state.score
        if self.score == "log_loss":
            score = ops.larger(ops.smaller(score, 1.0 - FLOAT_EPSILON), FLOAT_EPSILON)
        return self.recalibration_gain(state, _isotonic_rates(state), score)


@register
class CorpDiscrimination(RecalibratedPart):
    """Reduction of the score of the prevalence by recalibrated scores: separation of rows of different risk.

    Score of the prevalence - score of the recalibrated scores; these as in corp_miscalibration, so that only the
    order of the scores counts. Weighted by row; in [0, 0.25] for brier and [0, ln 2] for log_loss; undefined
    (`no_rows`) without rows. On bins `bound` is what the best order within each of them would add. Noise alone makes
    it larger than 0, so its interval is centred. Source: Dimitriadis, Gneiting and Jordan (2021).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.8, 0.8, 0.1]})
    >>> plm.evaluate(rows, label="y", models="p", metrics=["corp_discrimination"]).metrics["value"].item()
    0.125
    """

    name = "corp_discrimination"
    range = (0.0, math.log(2.0))
    direction = "higher"
    formula = "mean S(q, y) - mean S(c, y), with c the isotonic regression of y on p and q = P / (P + N)"
    use_when = "You ask what a model's ranking is worth, in units of the score, were it recalibrated."
    beware = "It cannot exceed corp_uncertainty: compare it on the same rows only."

    def finalise(self, state: Any) -> Any:
        """Mean divergence of the recalibrated scores from the prevalence."""
        return self._resolution(state.positive, state.negative)

    def bound(self, state: Any) -> Any:
        """Distance to the value with each bin's negatives below its positives; no order gives less than the value."""
        nothing = state.positive * 0.0
        with_positives = ops.where(state.tied, state.negative, nothing)
        best = self._resolution(
            _in_turn(nothing, state.positive), _in_turn(state.negative - with_positives, with_positives)
        )
        return ops.larger(best - self.finalise(state), 0.0)

    def _resolution(self, positive: Any, negative: Any) -> Any:
        mass = positive + negative
        rate = ops.isotonic(positive, mass)
        total = ops.total(mass)
        prevalence = ops.broadcast(ops.ratio(ops.total(positive), total), rate)
        return ops.ratio(ops.total(mass * self.divergence(rate, prevalence)), total)


@register
class CorpUncertainty(CorpPart):
    """Score of the prevalence q given to every row: q (1 - q) for brier, the labels' entropy for log_loss.

    It does not depend on scores. Weighted by row; in [0, 0.25] for brier and [0, ln 2] for log_loss; undefined
    (`no_rows`) without rows. Source: Dimitriadis, Gneiting and Jordan (2021).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 0, 0], "p": [0.5, 0.5, 0.5, 0.5]})
    >>> rows.select(CorpUncertainty().expr("y", "p")).item()
    0.1875
    """

    name = "corp_uncertainty"
    needs = Sums()
    range = (0.0, math.log(2.0))
    direction = "none"
    formula = "q (1 - q) for brier, -(q ln q + (1 - q) ln(1 - q)) for log_loss, with q = P / (P + N)"
    use_when = "Beside the other two parts, to see what a model without features gets on the same rows."
    beware = "It describes the data, not the model."

    def finalise(self, state: Any) -> Any:
        positives, negatives = class_shares(state)
        if self.score == "brier":
            return positives * negatives
        first, second = (
            share * ops.log(1.0 / ops.where(share == 0, 1.0, share)) for share in (positives, negatives)
        )
        return first + second


def _isotonic_rates(state: Any) -> Any:
    return ops.isotonic(state.positive, state.positive + state.negative)


def _relative_entropy(share: Any, forecast: Any) -> Any:
    return _divergence_term(share, share, forecast)


def _divergence_term(mass: Any, rate: Any, forecast: Any) -> Any:
    """Weight times ln(rate / forecast), 0 where there is none."""
    gain = ops.where(mass > 0, ops.larger(rate, _LEAST) / ops.larger(forecast, _LEAST), 1.0)
    return mass * ops.log(gain)


def _in_turn(lower: Any, upper: Any) -> Any:
    """Two points in place of each, the first just below the second."""
    if isinstance(lower, Segments):
        return Segments(_in_turn(lower.values, upper.values), 2 * lower.offsets)
    return np.stack([lower, upper], axis=-1).reshape(*lower.shape[:-1], -1)
