"""Graded relevance: discounted cumulative gain, and its share of the best possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.ranking.base import QueryMetric, cut_of, cut_parameter, ties_parameter
from plmetrics.catalogue.registry import register
from plmetrics.core.ops import Array
from plmetrics.states.queries import RankedRows

_JARVELIN = "Jarvelin and Kekalainen (2002), Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4)"


def _gain_parameter() -> Any:
    return parameter(
        "linear",
        doc="what a row is worth: linear = its label, exponential = 2^label - 1",
        options=("linear", "exponential"),
    )


def _empty_parameter() -> Any:
    return parameter(
        "skip",
        doc="what queries without a relevant row count: skip = they take no part, zero or one",
        options=("skip", "zero", "one"),
    )


class _ShareOfIdeal(QueryMetric):
    """Base of gains divided by that of the best order."""

    def _gain(self, ranked: RankedRows) -> Array:
        raise NotImplementedError

    def per_query(self, ranked: RankedRows) -> Array:
        """Gain over the largest possible one of the query; `empty` decides for a maximum of 0."""
        metric: Any = self
        ideal = ranked.judged.ideal(metric.gain, cut_of(metric.k))
        without = {"skip": np.nan, "zero": 0.0, "one": 1.0}[self._empty]
        gained = self._gain(ranked)
        share = np.divide(
            gained, ideal, out=np.full(len(ideal), without), where=(ideal > 0) & (ideal < np.inf)
        )
        return np.where(np.isinf(ideal), np.inf, np.minimum(share, 1.0))


@register
@dataclass(frozen=True)
class NDCG(_ShareOfIdeal):
    """Normalised discounted cumulative gain: DCG to rank k divided by that of the best order, averaged over queries.

    DCG = sum over ranks i of gain / log2(i + 1); the best order is cut at k, too. Weighted by query; between 0 and 1;
    queries without a label above 0 do as `empty` says, and are counted in the note; undefined (`no_relevant`) if
    none is left. Negative labels are a data error. Source: Jarvelin and Kekalainen (2002).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1] * 6, "y": [3, 2, 3, 0, 1, 2], "p": [10, 9, 8, 7, 6, 5]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> round(plm.evaluate(rows, **roles, metrics=["ndcg(k=5, gain=exponential)"]).metrics["value"].item(), 7)
    0.8755944
    """

    name = "ndcg"
    formula = "mean over queries of DCG@k / ideal DCG@k, DCG@k = sum over i <= k of gain_i / log2(i + 1)"
    use_when = "Labels are grades of relevance, and what stands higher is read more."
    beware = "Libraries differ in gain, cut of the ideal and queries without relevance; a query's own k matters less."
    reference = _JARVELIN
    k: int | str = cut_parameter()
    gain: str = _gain_parameter()
    empty: str = _empty_parameter()
    ties: str = ties_parameter()

    def _gain(self, ranked: RankedRows) -> Array:
        return ranked.discounted_gain(self.gain, cut_of(self.k))


@register
@dataclass(frozen=True)
class DCG(QueryMetric):
    """Discounted cumulative gain to rank k, averaged over queries: sum over ranks i of gain / log2(i + 1).

    Weighted by query; in units of gain; 0 for queries without a label above 0, which the note counts; undefined
    (`no_rows`) without queries. Negative labels are a data error. Source: Jarvelin and Kekalainen (2002).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1], "y": [0, 2], "p": [0.1, 0.9]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["dcg"]).metrics["value"].item()
    2.0
    """

    name = "dcg"
    range = (0.0, float("inf"))
    empty_counts: ClassVar[str] = "zero"
    formula = "mean over queries of the sum over i <= k of gain_i / log2(i + 1)"
    use_when = "Gain has a unit of its own, such as money, and its total matters."
    beware = "Queries with many relevant rows decide it: use ndcg to compare across queries."
    reference = _JARVELIN
    k: int | str = cut_parameter()
    gain: str = _gain_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        """The expected gain of the first ranks."""
        return ranked.discounted_gain(self.gain, cut_of(self.k))


@register
@dataclass(frozen=True)
class DefaultNDCG(_ShareOfIdeal):
    """Expected NDCG of a random order of the rows of each query: that of a constant score.

    The same for every model; weighted by query; between 0 and 1; queries without a label above 0 as in ndcg;
    undefined (`no_relevant`) if none is left. Source: McSherry and Najork (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1] * 6, "y": [3, 2, 3, 0, 1, 2], "p": [10, 9, 8, 7, 6, 5]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> round(plm.evaluate(rows, **roles, metrics=["default_ndcg(k=5, gain=exponential)"]).metrics["value"].item(), 7)
    0.7070456
    """

    name = "default_ndcg"
    direction = "none"
    of_labels: ClassVar[bool] = True
    formula = "mean over queries of mean gain * sum over i <= k of 1 / log2(i + 1) / ideal DCG@k"
    use_when = "You want to know how much of an ndcg random order would reach."
    beware = "It is high where most rows are relevant or lists are short: read ndcg against it."
    reference = (
        "McSherry and Najork (2008), Computing information retrieval performance measures efficiently in the presence "
        "of tied scores, ECIR"
    )
    k: int | str = cut_parameter()
    gain: str = _gain_parameter()
    empty: str = _empty_parameter()

    def _gain(self, ranked: RankedRows) -> Array:
        return ranked.blind(self.gain, cut_of(self.k))
