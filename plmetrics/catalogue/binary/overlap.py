"""F scores and other overlaps of the positives with the calls at a threshold; true negatives play no part.

Every cell of the confusion table is a sum of weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from plmetrics.catalogue.bases import OfRates, Positives, Quotient
from plmetrics.catalogue.binary.counts import AtThreshold, OfCells, threshold_parameter
from plmetrics.catalogue.metric import Undefined
from plmetrics.catalogue.parameters import ThresholdRule, parameter, squarable
from plmetrics.catalogue.registry import register
from plmetrics.core import ops
from plmetrics.states.sums import View

_RETRIEVAL = "van Rijsbergen (1979), Information Retrieval, 2nd edition, chapter 7"
_F_CELLS = ("tp", "fp", "fn")


class OfHits(OfRates):
    """Base of the functions of recall and precision."""

    def rates(self, state: Any) -> tuple[Any, Any]:
        """Recall and precision."""
        wholes = (state.tp + state.fn, state.tp + state.fp)
        return np.stack((state.tp, state.tp), axis=-1), np.stack(wholes, axis=-1)

    def changes(self, state: Any, rates: Any, moved: Any) -> Any:  # noqa: ARG002
        """With other recall the alarms stay, with other precision the hits."""
        recall, precision = np.moveaxis(moved, -1, 0)
        hits = recall * (state.tp + state.fn)
        cells = (
            {"tp": hits, "fn": state.tp + state.fn - hits, "fp": state.fp},
            {"tp": state.tp, "fn": state.fn, "fp": state.tp / precision - state.tp},
        )
        return np.stack([self.finalise(View(each)) - self.finalise(state) for each in cells], axis=-1)


class _FScore(OfHits, Quotient, OfCells):
    """Base of the F scores: from counts, so that they are 0 and not undefined where precision is undefined."""

    mean = "mass"
    cells = _F_CELLS
    interval_form = "delta"
    interpretable = False
    reference = _RETRIEVAL
    beta: float

    def terms(self, state: Any) -> tuple[Any, Any]:
        hits = (1.0 + self.beta**2) * state.tp
        return hits, hits + self.beta**2 * state.fn + state.fp


@register
class F1(_FScore, AtThreshold):
    """Harmonic mean of precision and recall: 2 TP / (2 TP + FP + FN).

    Weighted by row; in [0, 1]; 0, not undefined, where there are positives or calls but no hit; undefined
    (`zero_denominator`) where there are neither. Source: van Rijsbergen (1979).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(F1().expr("y", "p")).item()
    0.5
    """

    name = "f1"
    beta = 1.0
    formula = "2 TP / (2 TP + FP + FN)"
    use_when = "Precision and recall matter alike and true negatives are of no interest, as in retrieval."
    beware = "It ignores true negatives and moves with the prevalence; 0.5 is rarely its best threshold."


@register
@dataclass(frozen=True)
class FBeta(_FScore):
    """Weighted harmonic mean of precision and recall: (1 + b^2) TP / ((1 + b^2) TP + b^2 FN + FP).

    Weighted by row; in [0, 1]; 0, not undefined, where there are positives or calls but no hit; undefined
    (`zero_denominator`) where there are neither. Source: van Rijsbergen (1979).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.2, 0.1]})
    >>> round(rows.select(FBeta(beta=2).expr("y", "p")).item(), 4)
    0.5556
    """

    name = "fbeta"
    formula = "(1 + beta^2) TP / ((1 + beta^2) TP + beta^2 FN + FP)"
    use_when = "Recall matters beta times as much as precision, and true negatives are of no interest."
    beware = (
        "It moves with the prevalence, and beta is a choice that should follow from costs, not from habit."
    )

    beta: float = parameter(
        doc="how many times recall matters as much as precision",
        check=squarable,
        domain="above 0 and at most 1e100",
    )
    threshold: float | ThresholdRule = threshold_parameter()


@register
class Jaccard(Quotient, AtThreshold):
    """Hits over the union of positives and predicted positives: TP / (TP + FP + FN).

    Weighted by row; in [0, 1]; undefined (`zero_denominator`) with neither positives nor calls. Equals
    F1 / (2 - F1). Source: Jaccard (1912).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.2, 0.1]})
    >>> rows.select(Jaccard().expr("y", "p")).item()
    0.5
    """

    name = "jaccard"
    cells = _F_CELLS
    mean = "mass"
    kind = "proportion"
    formula = "TP / (TP + FP + FN)"
    use_when = (
        "The called and the true positives are two sets and you want their overlap, as in segmentation."
    )
    beware = "It ranks models exactly as F1 does, on a harsher scale; do not report both as evidence."
    reference = "Jaccard (1912), The distribution of the flora in the alpine zone, New Phytologist 11(2)"

    def terms(self, state: Any) -> tuple[Any, Any]:
        """Intersection and union."""
        return state.tp, state.tp + state.fp + state.fn


@register
class FowlkesMallows(OfHits, Positives, AtThreshold):
    """Geometric mean of precision and recall: sqrt(TP / (TP + FP) TP / (TP + FN)).

    Weighted by row; in [0, 1]; undefined (`no_positives`) without positives and (`zero_denominator`) when
    nothing is called positive. Source: Fowlkes and Mallows (1983).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(FowlkesMallows().expr("y", "p")).item()
    0.5
    """

    name = "fowlkes_mallows"
    cells = _F_CELLS
    interpretable = False
    formula = "sqrt(TP / (TP + FP) * TP / (TP + FN))"
    use_when = "You want a mean of precision and recall that punishes imbalance between them less than F1."
    beware = "It ignores true negatives and moves with the prevalence, as F1 does, and is less widely known."
    reference = (
        "Fowlkes and Mallows (1983), A method for comparing two hierarchical clusterings, JASA 78(383)"
    )

    def finalise(self, state: Any) -> Any:
        return ops.sqrt(ops.ratio(state.tp, state.tp + state.fp) * ops.ratio(state.tp, state.tp + state.fn))

    def undefined(self, state: Any) -> Undefined:
        return [*super().undefined(state), ("zero_denominator", state.tp + state.fp == 0)]

    def denominators(self, state: Any) -> tuple[Any, ...]:
        return (state.tp + state.fp, state.tp + state.fn)
