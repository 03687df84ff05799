"""Metrics of the k rows with the highest scores.

k is a number of rows (of units of weight), or a share of all. Rows of one score at the cut count with the fraction
that is needed: the expected value under a random order of ties.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from plmetrics.catalogue.binary.areas import OnCurve, running_totals
from plmetrics.catalogue.metric import Undefined
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops

_RETRIEVAL = "Manning, Raghavan and Schuetze (2008), Introduction to Information Retrieval, chapter 8"
_INFINITY = float("inf")


def top_parameter() -> Any:
    """The parameter `k`: so many rows, or a share of them."""
    return parameter(
        doc="how many rows, or a share of them",
        check=lambda value: value >= 1 if isinstance(value, int) else 0 < value < 1,
        domain="a whole number of at least 1, or a share between 0 and 1",
    )


@dataclass(frozen=True)
class AtTop(OnCurve):
    """Base of the metrics of the top k."""

    kind = "mean"
    smooth = False
    threshold_free = False
    reference = _RETRIEVAL

    k: int | float = top_parameter()

    @property
    def size_free(self) -> bool:  # type: ignore[override]
        """A share of the rows is of any number of them."""
        return self.k < 1

    def undefined(self, state: Any) -> Undefined:
        """Fewer rows than k."""
        return [*super().undefined(state), ("too_few_rows", self._size(state) > state.weight * (1 + 1e-12))]

    def cut(self, state: Any) -> Any:
        """Last score of the top."""
        points = running_totals(state)
        reached = points.calls >= ops.broadcast(self._size(state) * (1 - 1e-12), points.calls)
        return ops.largest(ops.where(reached, state.score, -_INFINITY))

    def bound(self, state: Any) -> Any:
        """Distance to the hits if the positives of the last bin come first, or last."""
        points = running_totals(state)
        needed = self._weight_in_top(state, points)
        hits = self._hits_within(state, needed)
        more = ops.smaller(needed, state.positive) - hits
        less = hits - ops.larger(needed - state.negative, 0.0)
        off = (ops.total(ops.where(state.tied, 0.0, gap)) for gap in (more, less))
        return self._of_hits(state, ops.larger(*off))

    def finalise(self, state: Any) -> Any:
        """From the expected number of positives in the top."""
        return self._of_hits(state, self._hits(state))

    def _of_hits(self, state: Any, hits: Any) -> Any:
        raise NotImplementedError

    def _size(self, state: Any) -> Any:
        return state.weight * self.k if self.k < 1 else state.weight * 0.0 + self.k

    def _weight_in_top(self, state: Any, points: Any) -> Any:
        """Weight of each point within the top."""
        mass = state.positive + state.negative
        remaining = ops.broadcast(self._size(state), mass) - points.calls_above
        return ops.smaller(ops.larger(remaining, 0.0), mass)

    def _hits(self, state: Any) -> Any:
        return ops.total(self._hits_within(state, self._weight_in_top(state, running_totals(state))))

    @staticmethod
    def _hits_within(state: Any, needed: Any) -> Any:
        """Expected number of positives of each point among its rows within the top."""
        return state.positive * ops.ratio(needed, state.positive + state.negative, otherwise=0.0)


class OfPositives(AtTop):
    """Base of the metrics of the top relative to all positives."""

    masses = ("positives",)

    def undefined(self, state: Any) -> Undefined:
        return [*super().undefined(state), ("no_positives", state.positives == 0)]


@register
class PrecisionAtK(AtTop):
    """Share of positives among the k rows with the highest scores.

    Weighted by row, k in units of weight; in [0, 1]; undefined (`too_few_rows`) with fewer than k rows. Source:
    Manning, Raghavan and Schuetze (2008); for ties McSherry and Najork (2008).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.6, 0.1]})
    >>> plm.evaluate(rows, label="y", models="p", metrics=["precision_at_k(k=2)"]).metrics["value"].item()
    0.75
    """

    name = "precision_at_k"
    formula = "positives in the top k / k"
    use_when = "A list of k cases is worked through, whatever their scores."
    beware = "Its best value is below 1 where there are fewer than k positives."

    def _of_hits(self, state: Any, hits: Any) -> Any:
        return ops.ratio(hits, self._size(state))

    def behind_cut(self, state: Any) -> Any:
        return ops.ratio(self._size(state), state.weight)


@register
class RecallAtK(OfPositives):
    """Share of all positives among the k rows with the highest scores: the gain of a gains chart.

    Weighted by row, k in units of weight; in [0, 1]; undefined (`too_few_rows`) with fewer than k rows,
    `no_positives` without positives. Source: Manning, Raghavan and Schuetze (2008).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.6, 0.1]})
    >>> plm.evaluate(rows, label="y", models="p", metrics=["recall_at_k(k=0.5)"]).metrics["value"].item()
    0.75
    """

    name = "recall_at_k"
    aliases = ("gain",)
    formula = "positives in the top k / all positives"
    use_when = "You plan a campaign, and ask how many of the responders the best tenth holds."
    beware = "It cannot be above k / positives; compare models at the same k only."

    def _of_hits(self, state: Any, hits: Any) -> Any:
        return ops.ratio(hits, ops.total(state.positive))


@register
class LiftAtK(OfPositives):
    """Share of positives in the top k over the share in all rows; 1 for an uninformative score.

    Weighted by row, k in units of weight; 0 or more; undefined (`too_few_rows`) with fewer than k rows,
    `no_positives` without positives. Source: Ling and Li (1998).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.6, 0.6, 0.1]})
    >>> plm.evaluate(rows, label="y", models="p", metrics=["lift_at_k(k=2)"]).metrics["value"].item()
    1.5
    """

    name = "lift_at_k"
    range = (0.0, _INFINITY)
    formula = "precision in the top k / prevalence"
    use_when = "You say how many times better than chance the top of the list is."
    beware = "Its largest value is 1 / prevalence: slices of unlike prevalence cannot be compared."
    reference = "Ling and Li (1998), Data mining for direct marketing: problems and solutions, KDD"

    def _of_hits(self, state: Any, hits: Any) -> Any:
        return ops.ratio(ops.ratio(hits, self._size(state)) * state.weight, state.positives)
