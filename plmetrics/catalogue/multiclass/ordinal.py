"""Metrics of ordered classes, in the order of `classes`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from plmetrics.catalogue.bases import RowMean
from plmetrics.catalogue.multiclass.base import INFINITY, Multiclass
from plmetrics.catalogue.multiclass.probability import probabilities
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.states.sums import Atom, Rows

_NESTED = 32
"""So many cumulative sums at most are written out, each with all before it; arrays of few are slower."""


def _cumulative_squares(rows: Rows) -> pl.Expr:
    """Sum over all classes but the last of the squared distance of the two distributions up to there."""
    chances = probabilities(rows)[:-1]
    if len(chances) > _NESTED:
        gaps = [chance - (rows.label == float(k)).cast(pl.Float64) for k, chance in enumerate(chances)]
        complete = pl.sum_horizontal(gaps, ignore_nulls=False).is_not_null()
        squares = pl.concat_arr(gaps).arr.eval(pl.element().cum_sum() ** 2).arr.sum()
        return pl.when(complete).then(squares)
    total, below = pl.lit(0.0), pl.lit(0.0)
    for number, probability in enumerate(chances):
        below = below + probability
        total = total + (below - (rows.label <= float(number)).cast(pl.Float64)) ** 2
    return total


_SQUARES = Atom("ranked_probability", _cumulative_squares)


@register
@dataclass(frozen=True)
class RankedProbabilityScore(RowMean, Multiclass):
    """Mean over rows of the squared distance between the cumulative probabilities and the true class.

    Sum over k < K of (p_1 + ... + p_k - [class is at most k])^2, in the order of `classes`; divided by K - 1, so that
    it lies in [0, 1], unless `divide` is false. Probability far from the class costs more than beside it. Weighted by
    row; undefined (`no_rows`) without rows. Sources: Epstein (1969), Murphy (1971).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["a", "b"], "pa": [0.5, 0.25], "pb": [0.25, 0.5], "pc": [0.25, 0.25]})
    >>> models = {"m": {"proba": {"a": "pa", "b": "pb", "c": "pc"}}}
    >>> texts = ["ranked_probability_score"]
    >>> plm.evaluate(rows, task="multiclass", label="y", models=models, metrics=texts).metrics["value"].item()
    0.109375
    """

    name = "ranked_probability_score"
    aliases = ("rps",)
    range = (0.0, INFINITY)
    direction = "lower"
    probability = True
    reads_parts = True
    proper = "strictly"
    row_atom = _SQUARES
    formula = "mean over rows of sum over k < K of (F_k - [class <= k])^2 / (K - 1)"
    use_when = "Classes have an order, and a probability beside the class is better than one far from it."
    beware = "It depends on the order of classes: name them in order with classes:."
    reference = (
        "Epstein (1969), A scoring system for probability forecasts of ranked categories, J. Appl. Meteor. 8"
    )

    divide: bool = parameter(
        default=True, doc="divide by the number of classes less 1", domain="true or false"
    )

    def finalise(self, state: Any) -> Any:
        steps = max(len(self.classes) - 1, 1) if self.divide else 1
        return super().finalise(state) / float(steps)


@register
@dataclass(frozen=True)
class AdjacentAccuracy(RowMean, Multiclass):
    """Share of rows predicted as their class or an adjacent one, in the order of `classes`.

    `distance` is how many places off still count; 0 gives the accuracy. Weighted by row; in [0, 1]; undefined
    (`no_rows`) without rows. Source: Gaudette and Japkowicz (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": ["low", "low", "mid", "high"], "p": ["low", "mid", "high", "low"]})
    >>> asked = {"classes": ["low", "mid", "high"], "metrics": ["adjacent_accuracy"]}
    >>> plm.evaluate(rows, task="multiclass", label="y", models="p", **asked).metrics["value"].item()
    0.75
    """

    name = "adjacent_accuracy"
    aliases = ("off_by_one_accuracy",)
    interval_form = None
    range = (0.0, 1.0)
    direction = "higher"
    kind = "proportion"
    mean = "rows"
    handles_imbalance = False
    formula = "rows with abs(place of the called class - place of the class) <= distance / W"
    use_when = "Classes have an order, and a call beside the class does no harm, as with grades."
    beware = "Calling the middle class is never far off: compare with a model that always does."
    reference = "Gaudette and Japkowicz (2009), Evaluation methods for ordinal classification, Canadian AI"

    distance: int = parameter(
        1,
        doc="how many places off still count",
        check=lambda value: value >= 0,
        domain="a whole number of at least 0",
    )

    def _atom(self) -> Atom:
        def near(rows: Rows) -> pl.Expr:
            return (rows.score - rows.label).abs() <= float(self.distance)

        return Atom(f"near|{self.distance}", near, counts=True)
