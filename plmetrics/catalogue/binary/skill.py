"""Proper scores against those of the prevalence, given to every row: the default predictor."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from plmetrics.catalogue.binary.counts import INFINITY
from plmetrics.catalogue.binary.probability import BRIER, GNEITING, clip_parameter, log_loss_atom
from plmetrics.catalogue.metric import Metric, Undefined
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.registry import register
from plmetrics.core import ops
from plmetrics.states.sums import Atom


def class_shares(state: Any) -> tuple[Any, Any]:
    """Shares of positives and of negatives."""
    weight = state.positives + state.negatives
    return ops.ratio(state.positives, weight), ops.ratio(state.negatives, weight)


def _entropy(state: Any) -> Any:
    first, second = (
        share * ops.log(1.0 / ops.where(share == 0, 1.0, share)) for share in class_shares(state)
    )
    return first + second


@register
class DefaultLogLoss(Metric):
    """log_loss of giving every row the prevalence: the entropy of the labels, -[q ln q + (1 - q) ln(1 - q)].

    0 ln 0 counts 0. Weighted by row; in [0, ln 2], 0 where a class is absent; undefined (`no_rows`) without rows.
    Source: Shannon (1948).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 0, 0], "p": [0.5, 0.5, 0.5, 0.5]})
    >>> round(rows.select(DefaultLogLoss().expr("y", "p")).item(), 6)
    0.562335
    """

    name = "default_log_loss"
    task = "binary"
    needs = Sums()
    range = (0.0, math.log(2.0))
    direction = "none"
    interpretable = False
    formula = "-(q ln q + (1 - q) ln(1 - q)), with q = P / (P + N)"
    use_when = "Beside log_loss, to see what a model without features gets on the same rows."
    beware = "It knows the prevalence of the evaluated rows, which no forecast does: it is a little too good."
    reference = "Shannon (1948), A mathematical theory of communication, Bell System Tech. J. 27(3)"

    def finalise(self, state: Any) -> Any:
        return _entropy(state)


@register
class DefaultAccuracy(Metric):
    """Accuracy of calling every row the larger class: max(prevalence, 1 - prevalence).

    Weighted by row; in [0.5, 1]; undefined (`no_rows`) without rows. Source: Provost, Fawcett and Kohavi (1998).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 0, 0], "p": [0.5, 0.5, 0.5, 0.5]})
    >>> rows.select(DefaultAccuracy().expr("y", "p")).item()
    0.75
    """

    name = "default_accuracy"
    kind = "maximum"
    task = "binary"
    needs = Sums()
    range = (0.0, 1.0)
    smooth = False
    direction = "none"
    handles_imbalance = False
    formula = "max(P, N) / (P + N)"
    use_when = "Always beside accuracy and max_accuracy: it is what a model that has learnt nothing gets."
    beware = "It describes the data, not the model."
    reference = (
        "Provost, Fawcett and Kohavi (1998), The case against accuracy estimation for comparing induction "
        "algorithms, ICML"
    )

    def finalise(self, state: Any) -> Any:
        return ops.ratio(ops.larger(state.positives, state.negatives), state.positives + state.negatives)


class Skill(Metric):
    """Base of the skills: 1 - score / score of the prevalence."""

    task = "binary"
    needs = Sums()
    range = (-INFINITY, 1.0)
    direction = "higher"
    masses = ("positives", "negatives")
    probability = True
    needs_score = True

    def undefined(self, state: Any) -> Undefined:
        """A class is absent: the prevalence is right about every row."""
        return [
            *super().undefined(state),
            ("zero_denominator", (state.positives == 0) | (state.negatives == 0)),
        ]


@register
@dataclass(frozen=True)
class LogLossSkill(Skill):
    """Share of the labels' entropy explained by the scores: 1 - log_loss / default_log_loss.

    p is clipped as in log_loss. Weighted by row; in (-inf, 1], 0 for the prevalence as score; undefined
    (`zero_denominator`) where a class is absent, `no_rows` without rows. It is McFadden's pseudo R2 on the evaluated
    rows. Sources: McFadden (1974), Gneiting and Raftery (2007).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0], "p": [0.75, 0.25]})
    >>> round(rows.select(LogLossSkill().expr("y", "p")).item(), 6)
    0.584963
    """

    name = "log_loss_skill"
    chance = 0.0
    formula = "1 - log_loss / default_log_loss"
    use_when = "You compare log_loss across slices or samples of different prevalence."
    beware = "The default knows the prevalence of each slice: a model good overall can be below 0 in a slice."
    reference = GNEITING

    clip: float = clip_parameter()

    def atoms(self) -> Mapping[str, Atom]:
        return {"loss_sum": log_loss_atom(self.clip)}

    def finalise(self, state: Any) -> Any:
        return 1.0 - ops.ratio(ops.ratio(state.loss_sum, state.weight), _entropy(state))


@register
class BrierSkill(Skill):
    """Share of the labels' variance explained by the scores: 1 - brier / (q (1 - q)), q the prevalence.

    Weighted by row; in (-inf, 1], 0 for the prevalence as score; undefined (`zero_denominator`) where a class is
    absent, `no_rows` without rows. Source: Murphy (1973), as the sample skill score.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0], "p": [0.75, 0.25]})
    >>> rows.select(BrierSkill().expr("y", "p")).item()
    0.75
    """

    name = "brier_skill"
    chance = 0.0
    formula = "1 - brier / (q (1 - q)), with q = P / (P + N)"
    use_when = "You compare brier across slices or samples of different prevalence."
    beware = "With rare positives it is small and noisy even for a good model; look at its interval."
    reference = (
        "Murphy (1973), Hedging and skill scores for probability forecasts, Journal of Applied Meteorology "
        "12(1)"
    )

    def atoms(self) -> Mapping[str, Atom]:
        return {"distance_sum": BRIER}

    def finalise(self, state: Any) -> Any:
        positives, negatives = class_shares(state)
        return 1.0 - ops.ratio(ops.ratio(state.distance_sum, state.weight), positives * negatives)
