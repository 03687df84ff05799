"""Scores of the probabilities of all classes: means over rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from plmetrics.catalogue.bases import RowMean
from plmetrics.catalogue.binary.probability import GNEITING, clip_parameter, log_loss_atom
from plmetrics.catalogue.metric import Undefined
from plmetrics.catalogue.multiclass.base import INFINITY, Multiclass, actual
from plmetrics.catalogue.needs import Sums
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops
from plmetrics.states.sums import Atom, Rows


class _MeanScore(RowMean, Multiclass):
    """Base of the means over rows of a function of the class and its probability."""

    probability = True
    reads_parts = True


def probabilities(rows: Rows) -> list[pl.Expr]:
    """The probabilities of the classes, in order."""
    return [rows.part(f"proba|{name}") for name in rows.classes]


def label_probability(rows: Rows) -> pl.Expr:
    """Probability of the row's class."""
    return ops.case_value(
        [(rows.label == float(number), probability) for number, probability in enumerate(probabilities(rows))]
    )


def _squares(rows: Rows) -> pl.Expr:
    return ops.row_sum(
        [
            (probability - (rows.label == float(number)).cast(pl.Float64)) ** 2
            for number, probability in enumerate(probabilities(rows))
        ]
    )


_SQUARES = Atom("squared_distance", _squares, most=2.0)


@register
@dataclass(frozen=True)
class LogLoss(_MeanScore):
    """Mean of -ln(probability of the true class).

    The probability is clipped to [clip, 1 - clip]. Probabilities of a row must sum to 1 within 1e-6, unless the model
    says `normalise: true`. Weighted by row; 0 or more; undefined (`no_rows`) without rows. Sources: Good (1952),
    Gneiting and Raftery (2007).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b"], "pa": [0.5, 0.25], "pb": [0.5, 0.75]})
    >>> models = {"m": {"proba": {"a": "pa", "b": "pb"}}}
    >>> found = plm.evaluate(rows, task="multiclass", label="y", models=models, metrics=["log_loss"]).metrics
    >>> round(found["value"].item(), 6)
    0.490415
    """

    name = "log_loss"
    range = (0.0, INFINITY)
    direction = "lower"
    proper = "strictly"
    interpretable = False
    formula = "sum of w * -ln(p of the row's class) / W, p clipped to [clip, 1 - clip]"
    use_when = (
        "The probabilities themselves are used, and a confident mistake should cost more than a doubtful one."
    )
    beware = "A few rows with a probability near 0 can decide it, and then so does `clip`."
    reference = GNEITING

    clip: float = clip_parameter("probabilities")

    def _atom(self) -> Atom:
        return log_loss_atom(self.clip, label_probability)


@register
class DefaultLogLoss(Multiclass):
    """Log loss of giving every row the shares of the classes in its slice: their entropy.

    - sum over classes of s_c ln s_c. Weighted by row; 0 or more; undefined (`no_rows`) without rows. Source: Shannon
    (1948).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b"], "p": ["a", "a"]})
    >>> found = plm.evaluate(rows, task="multiclass", label="y", models="p", metrics=["default_log_loss"]).metrics
    >>> round(found["value"].item(), 6)
    0.693147
    """

    name = "default_log_loss"
    needs = Sums()
    range = (0.0, INFINITY)
    direction = "none"
    interpretable = False
    formula = "- sum over classes of s_c ln s_c"
    use_when = "You want to know what a log loss is worth."
    beware = "It belongs to the data, not to the model."
    reference = "Shannon (1948), A mathematical theory of communication, Bell System Technical Journal 27(3)"

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """Rows of each class."""
        return {"actual": tuple(actual(number) for number in range(len(self.classes)))}

    def finalise(self, state: Any) -> Any:
        """The entropy of the shares."""
        return entropy(state)


def entropy(state: Any) -> Any:
    """The entropy of the shares of the classes."""
    share = ops.ratio(state.actual, np.asarray(state.weight)[..., None], otherwise=0.0)
    return -ops.total(share * ops.log(np.where(share > 0, share, 1.0)))


@register
@dataclass(frozen=True)
class LogLossSkill(_MeanScore):
    """Improvement of log loss over the classes' shares: 1 - log_loss / default_log_loss.

    1 is perfect, 0 no better than the shares, below 0 worse. Weighted by row; at most 1; undefined
    (`zero_denominator`) where all rows are of one class. Source: Good (1952), as McFadden's pseudo R^2.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b"], "pa": [0.5, 0.25], "pb": [0.5, 0.75]})
    >>> models = {"m": {"proba": {"a": "pa", "b": "pb"}}}
    >>> found = plm.evaluate(rows, task="multiclass", label="y", models=models, metrics=["log_loss_skill"]).metrics
    >>> round(found["value"].item(), 6)
    0.292481
    """

    name = "log_loss_skill"
    chance = 0.0
    range = (-INFINITY, 1.0)
    interval_form = None
    direction = "higher"
    formula = "1 - log_loss / default_log_loss"
    use_when = "You compare log losses of tables whose classes are of different size."
    beware = "The shares are those of the evaluated rows, which no model can know: 0 is a strict yardstick."
    reference = "McFadden (1974), Conditional logit analysis of qualitative choice behavior"

    clip: float = clip_parameter("probabilities")

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """The sum of losses, and rows of each class."""
        classes = tuple(actual(number) for number in range(len(self.classes)))
        return {"row_sum": log_loss_atom(self.clip, label_probability), "actual": classes}

    def finalise(self, state: Any) -> Any:
        """One minus the ratio of the losses."""
        return 1.0 - ops.ratio(ops.ratio(state.row_sum, state.weight), entropy(state))

    def undefined(self, state: Any) -> Undefined:
        """One class."""
        alone = ops.largest(state.actual) >= state.weight
        return [*super().undefined(state), ("zero_denominator", alone)]


@register
@dataclass(frozen=True)
class Brier(_MeanScore):
    """Mean over rows of the squared distances of all probabilities from the true class, 1 for it and 0 for others.

    Sum over classes of (p_c - [class is c])^2, in [0, 2]; `scale_by_half` halves it, so that two classes give the
    binary score. Weighted by row; undefined (`no_rows`) without rows. Source: Brier (1950).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b"], "pa": [0.5, 0.25], "pb": [0.5, 0.75]})
    >>> models = {"m": {"proba": {"a": "pa", "b": "pb"}}}
    >>> plm.evaluate(rows, task="multiclass", label="y", models=models, metrics=["brier"]).metrics["value"].item()
    0.3125
    """

    name = "brier"
    range = (0.0, 2.0)
    direction = "lower"
    row_atom = _SQUARES
    proper = "strictly"
    formula = "sum of w sum over classes of (p_c - [class is c])^2 / W"
    use_when = "The probabilities themselves are used, and one bad row should not decide as in a log loss."
    beware = (
        "Some tools report half of it (scale_by_half=true): a factor of two between papers is nothing else."
    )
    reference = (
        "Brier (1950), Verification of forecasts expressed in terms of probability, Monthly Weather Review 78"
    )

    scale_by_half: bool = parameter(default=False, doc="halve it", domain="true or false")

    def finalise(self, state: Any) -> Any:
        """Mean over rows."""
        return super().finalise(state) * (0.5 if self.scale_by_half else 1.0)


@register
@dataclass(frozen=True)
class TopKAccuracy(_MeanScore):
    """Share of rows with their class among the k most probable.

    Where classes tie at the cut they share the places left: with g classes strictly above the row's own and m tied with
    it, itself included, the row counts (k - g) / m, held to [0, 1]. Weighted by row; in [0, 1]; undefined (`no_rows`)
    without rows. Source: Russakovsky and others (2015).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b"], "pa": [0.5, 0.8], "pb": [0.25, 0.1], "pc": [0.25, 0.1]})
    >>> models = {"m": {"proba": {"a": "pa", "b": "pb", "c": "pc"}}}
    >>> found = plm.evaluate(rows, task="multiclass", label="y", models=models, metrics=["top_k_accuracy(k=2)"]).metrics
    >>> found["value"].item()
    0.75
    """

    name = "top_k_accuracy"
    range = (0.0, 1.0)
    direction = "higher"
    kind = "proportion"
    probability = False
    handles_imbalance = False
    formula = "mean over rows of min(1, max(0, (k - above) / tied))"
    use_when = "A person or a second stage looks at the first k suggestions."
    beware = "It grows with k and falls with the number of classes: chance alone gives k / classes."
    reference = (
        "Russakovsky and others (2015), ImageNet large scale visual recognition challenge, IJCV 115(3)"
    )

    k: int = parameter(doc="how many classes count", check=lambda value: value >= 1, domain="at least 1")

    def _atom(self) -> Atom:
        return Atom(f"top_k|{self.k}", lambda rows: _credit(rows, self.k), most=1.0)


def _credit(rows: Rows, k: int) -> pl.Expr:
    each = [probability.alias(str(number)) for number, probability in enumerate(probabilities(rows))]
    of_label, fields = pl.field("label"), [pl.field(str(number)) for number in range(len(each))]
    above = pl.sum_horizontal((field > of_label).cast(pl.Float64) for field in fields)
    tied = pl.sum_horizontal((field == of_label).cast(pl.Float64) for field in fields)
    credit = ((k - above) / tied).clip(0.0, 1.0).alias("credit")
    # A struct: the probability of the row's class is of as many terms as there are classes, and written once.
    return (
        pl.struct(label_probability(rows).alias("label"), *each).struct.with_fields(credit).struct["credit"]
    )
