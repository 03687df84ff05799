"""Metrics of the order of the scores, at no threshold. Rows with equal scores are one point.

The state has the weight of each class per distinct score, ascending; a point may be empty. On bins that hold
several distinct scores each metric gives the value as if a bin were one score, and `bound` how wrong that can
be: a bin that is `tied`, of one score, leaves nothing open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from plmetrics.catalogue.bases import BothClasses, Norm, Positives
from plmetrics.catalogue.metric import Undefined
from plmetrics.catalogue.needs import Kind, Points
from plmetrics.catalogue.parameters import ParameterError, parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops

_NEGLIGIBLE = 1e-300
"""Relative size below which a number cannot be divided by without overflow."""


class RocArea(BothClasses):
    """Base of the functions of the area under the ROC curve."""

    task = "binary"
    needs = Points("area")
    direction = "higher"
    kind = "roc_area"
    needs_score = True

    def undefined(self, state: Any) -> Undefined:
        """Also where the weight of pairs is larger than any number."""
        pairs = state.positives * state.negatives
        return [*super().undefined(state), ("overflow", pairs == float("inf"))]

    @staticmethod
    def _area(state: Any) -> Any:
        below = ops.cumulative(state.negative)
        won = ops.dot(state.positive, below - state.negative / 2.0)
        return ops.ratio(won, ops.dot(state.positive, ops.broadcast(ops.final(below), below)))

    @staticmethod
    def _area_bound(state: Any) -> Any:
        open_pairs = ops.total(ops.where(state.tied, 0.0, state.positive * state.negative))
        return ops.ratio(open_pairs / 2.0, state.positives * state.negatives)


@register
@dataclass(frozen=True)
class RocAuc(RocArea):
    """Area under the ROC curve: chance of a positive to score above a negative, ties counting half.

    Sum over pairs of w_i w_j [s_i > s_j] + w_i w_j [s_i = s_j] / 2, divided by P N. In [0, 1]; undefined
    (`no_positives`, `no_negatives`) where a class is absent. Source: Hanley and McNeil (1982).

    With `max_fpr` x it is the area A over false positive rates from 0 to x, on the scale of the whole area:
    (1 + (A - x^2/2) / (x - x^2/2)) / 2, so that 0.5 is no skill and 1 is perfect. With `min_recall` 1 - x it is the
    area of specificities over recalls from 1 - x to 1, on the same scale. Sources: McClish (1989); Jiang, Metz and
    Nishikawa (1996), Radiology 201(3).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.4, 0.1]})
    >>> rows.select(RocAuc().expr("y", "p")).item()
    0.875
    """

    name = "roc_auc"
    chance = 0.5
    range = (0.0, 1.0)
    formula = "P(s+ > s-) + P(s+ = s-) / 2"
    use_when = "You compare how well models rank, before a threshold is chosen and whatever the prevalence."
    beware = "With rare positives a high value can go with a poor precision at every usable threshold."
    reference = (
        "Hanley and McNeil (1982), The meaning and use of the area under a ROC curve, Radiology 143(1)"
    )

    max_fpr: float | None = parameter(
        None,
        doc="largest false positive rate to look at",
        check=lambda value: value is None or 0 < value <= 1,
        domain="above 0 and at most 1",
    )
    min_recall: float | None = parameter(
        None,
        doc="smallest recall to look at",
        check=lambda value: value is None or 0 <= value < 1,
        domain="at least 0 and below 1",
    )

    def __post_init__(self) -> None:
        """One part of the area at a time."""
        super().__post_init__()
        if self.max_fpr is not None and self.min_recall is not None:
            msg = "roc_auc: min_recall and max_fpr are two parts of the area, leave one of them out"
            raise ParameterError(msg, "min_recall")

    @property
    def _whole(self) -> bool:
        return self.max_fpr is None and self.min_recall is None

    @property
    def kind(self) -> Kind:  # type: ignore[override]
        """A part of the area is no share of pairs: it has no interval of Hanley and McNeil."""
        return "roc_area" if self._whole else "pr_area"

    @property
    def needs(self) -> Points:  # type: ignore[override]
        """A part of the area is read from the curve."""
        return Points("area" if self._whole else "curve")

    @property
    def paired_test(self) -> Literal["delong"] | None:  # type: ignore[override]
        """The test of DeLong and others, of the whole area."""
        return "delong" if self._whole else None

    @property
    def expressible(self) -> bool:  # type: ignore[override]
        """The whole area is."""
        return self._whole

    def finalise(self, state: Any) -> Any:
        """Won pairs over all pairs, or the part of the area on the scale of the whole."""
        if self._whole:
            return self._area(state)
        size, first, last = self._strips(state)
        chance = self._size**2 / 2.0
        area = ops.total(size * (first + last) / 2.0)
        return (1.0 + (area - chance) / (self._size - chance)) / 2.0

    def bound(self, state: Any) -> Any:
        """Half of the pairs with a common bin: all of them may be won, or lost."""
        if self._whole:
            return self._area_bound(state)
        size, first, last = self._strips(state)
        low, high = self._ends(state)
        middle = (first + last) / 2.0
        area = ops.total(ops.where(state.tied, 0.0, size * ops.larger(high - middle, middle - low)))
        return area / (self._size - self._size**2 / 2.0) / 2.0

    @property
    def _size(self) -> float:
        """Length of the part of the axis under the area."""
        return float(self.max_fpr) if self.min_recall is None else 1.0 - self.min_recall  # type: ignore[arg-type]

    @staticmethod
    def _rates(state: Any) -> tuple[Any, Any]:
        """True and false positive rate at each point."""
        hits = ops.cumulative(state.positive, descending=True)
        alarms = ops.cumulative(state.negative, descending=True)
        all_hits, all_alarms = (ops.final(running, descending=True) for running in (hits, alarms))
        tpr = ops.ratio(hits, ops.broadcast(all_hits, hits), otherwise=0.0)
        return tpr, ops.ratio(alarms, ops.broadcast(all_alarms, alarms), otherwise=0.0)

    def _strips(self, state: Any) -> tuple[Any, Any, Any]:
        """Size of each point's strip along the cut axis, and the other rate at its start and end.

        The rates are recalls over false positive rates, or specificities over recalls.
        """
        tpr, fpr = self._rates(state)
        start, low = ops.above(fpr, 0.0), ops.above(tpr, 0.0)
        if self.min_recall is None:
            width = ops.larger(ops.smaller(fpr, self.max_fpr) - start, 0.0)
            return width, low, low + (tpr - low) * ops.ratio(width, fpr - start, otherwise=0.0)
        height = ops.larger(tpr - ops.larger(low, self.min_recall), 0.0)
        begin = fpr - (fpr - start) * ops.ratio(height, tpr - low, otherwise=0.0)
        return height, 1.0 - begin, 1.0 - fpr

    def _ends(self, state: Any) -> tuple[Any, Any]:
        """Smallest and largest possible value of the other rate within a point's strip."""
        tpr, fpr = self._rates(state)
        if self.min_recall is None:
            return ops.above(tpr, 0.0), tpr
        return 1.0 - fpr, 1.0 - ops.above(fpr, 0.0)


@register
class Gini(RocArea):
    """Won less lost pairs of a positive with a negative, over all such pairs: 2 AUC - 1, or Somers' D.

    Weighted by pair; in [-1, 1]; undefined (`no_positives`, `no_negatives`) where a class is absent. Source:
    Somers (1962).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.4, 0.1]})
    >>> rows.select(Gini().expr("y", "p")).item()
    0.75
    """

    name = "gini"
    chance = 0.0
    range = (-1.0, 1.0)
    formula = "2 AUC - 1"
    use_when = "Your field reports it, as credit scoring does; it says what the AUC says with 0 for no skill."
    beware = "It is neither the Gini impurity of trees nor the Gini coefficient of incomes."
    reference = (
        "Somers (1962), A new asymmetric measure of association for ordinal variables, Am. Sociol. Rev. 27(6)"
    )

    def finalise(self, state: Any) -> Any:
        return 2.0 * self._area(state) - 1.0

    def bound(self, state: Any) -> Any:
        return 2.0 * self._area_bound(state)


@register
class AveragePrecision(Positives):
    """Precision averaged over the positives, each at its own score as threshold: sum of (R_k - R_{k-1}) P_k.

    k runs over the distinct scores from high to low; no interpolation. Weighted by row; in (0, 1], about the
    prevalence without skill; undefined (`no_positives`) without positives. Source: Boyd, Eng and Page (2013).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.4, 0.1]})
    >>> round(rows.select(AveragePrecision().expr("y", "p")).item(), 6)
    0.833333
    """

    name = "average_precision"
    rises_with_prevalence = True
    task = "binary"
    needs = Points("curve")
    range = (0.0, 1.0)
    direction = "higher"
    kind = "pr_area"
    interval_form = "delta"
    needs_score = True
    interpretable = False
    formula = "sum over distinct scores, descending, of (recall_k - recall_{k-1}) precision_k"
    use_when = "Positives are rare and only the top of the ranking will be acted on."
    beware = "Its value without skill is the prevalence: do not compare slices or samples that differ in it."
    reference = "Boyd, Eng and Page (2013), Area under the precision-recall curve, ECML PKDD"

    def finalise(self, state: Any) -> Any:
        """Mean precision at the positives."""
        hits = ops.cumulative(state.positive, descending=True)
        calls = hits + ops.cumulative(state.negative, descending=True)
        precision = ops.ratio(hits, calls, otherwise=0.0)
        return ops.ratio(ops.dot(state.positive, precision), state.positives)

    def bound(self, state: Any) -> Any:
        """Distance to the better of the best and the worst order within every bin.

        T and F are the hits and false alarms above a bin. Best: its positives come first, at one score, each
        with the precision (T + p) / (T + p + F). Worst: its negatives come first, then its positives in parts
        as small as can be: the integral of (T + x) / (T + x + F + n) over x from 0 to p.
        """
        p, n = state.positive, state.negative
        hits = ops.cumulative(p, descending=True)
        alarms = ops.cumulative(n, descending=True)
        best = p * ops.ratio(hits, hits + alarms - n, otherwise=0.0)
        above = hits - p + alarms
        above = ops.where(above > _NEGLIGIBLE * p, above, p)  # F is smaller still: the product is 0
        worst = p - alarms * ops.log1p(ops.ratio(p, above, otherwise=0.0))
        value = p * ops.ratio(hits, hits + alarms, otherwise=0.0)
        gained, lost = (ops.total(ops.where(state.tied, 0.0, gap)) for gap in (best - value, value - worst))
        return ops.ratio(ops.larger(gained, lost), ops.total(p))


@register
class KolmogorovSmirnov(BothClasses, Norm):
    """Largest distance between the score distributions of the classes: sup of abs(F1 - F0).

    F1 and F0 are the weighted shares of the positives and of the negatives with a score of at most s. In [0,
    1]; undefined (`no_positives`, `no_negatives`) where a class is absent. Source: Smirnov (1948).

    >>> import polars as pl
    >>> rows = pl.DataFrame({"y": [1, 1, 0, 0], "p": [0.9, 0.4, 0.6, 0.1]})
    >>> rows.select(KolmogorovSmirnov().expr("y", "p")).item()
    0.5
    """

    name = "ks"
    task = "binary"
    needs = Points("curve")
    range = (0.0, 1.0)
    direction = "higher"
    needs_score = True
    formula = "max over s of abs(F1(s) - F0(s))"
    use_when = "One threshold will be used and the score should part the classes as far as possible there."
    beware = (
        "It looks at a single threshold, chosen on the same rows, and does not see which class scores higher."
    )
    reference = (
        "Smirnov (1948), Table for estimating the goodness of fit of empirical distributions, Ann. Math. "
        "Stat. 19(2)"
    )

    def gaps(self, state: Any) -> Any:
        """F1 - F0 at each point."""
        return _cumulative_share(state.positive) - _cumulative_share(state.negative)

    def size(self, state: Any, gaps: Any) -> Any:  # noqa: ARG002
        """The largest gap."""
        return ops.larger(ops.largest(ops.absolute(gaps)), 0.0)

    def bound(self, state: Any) -> Any:
        """Excess of a corner of a bin, one class wholly first, over the largest gap between bins."""
        gaps = self.gaps(state)
        positives = ops.ratio(state.positive, ops.broadcast(state.positives, gaps), 0.0)
        negatives = ops.ratio(state.negative, ops.broadcast(state.negatives, gaps), 0.0)
        corners = ops.larger(ops.absolute(gaps - positives), ops.absolute(gaps + negatives))
        corners = ops.where(state.tied, 0.0, corners)
        size = self.size(state, gaps)
        return ops.larger(ops.largest(corners), size) - size


def _cumulative_share(mass: Any) -> Any:
    running = ops.cumulative(mass)
    return ops.ratio(running, ops.broadcast(ops.final(running), running), otherwise=0.0)
