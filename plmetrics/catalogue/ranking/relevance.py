"""Relevant or not: precision, recall and the ranks of relevant rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plmetrics.catalogue.metric import Direction
from plmetrics.catalogue.needs import Kind
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.ranking.base import (
    MCSHERRY,
    QueryMetric,
    cut_of,
    cut_parameter,
    relevant_at_parameter,
    ties_parameter,
    top_parameter,
)
from plmetrics.catalogue.registry import register
from plmetrics.core import ops
from plmetrics.core.ops import Array
from plmetrics.states.queries import RankedRows

_MANNING = "Manning, Raghavan and Schuetze (2008), Introduction to Information Retrieval, chapter 8"
_VOORHEES = "Voorhees (1999), The TREC-8 question answering track report, TREC-8"
_FINDS = "What a user sees is one page of k rows, and {} is what counts."


@register
@dataclass(frozen=True)
class MeanAveragePrecision(QueryMetric):
    """Mean average precision: the precisions at the ranks of the relevant rows up to k, averaged over queries.

    The sum of a query is divided by its number of relevant rows R (denominator all), by the smaller of R and k
    (min_k), or by how many relevant rows are in the first k (retrieved; 0 where there are none). Weighted by query;
    between 0 and 1; queries without a relevant row take no part and are counted in the note; undefined
    (`no_relevant`) if none is left. Ties: McSherry and Najork (2008). Source: Manning et al. (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1] * 6, "y": [3, 2, 3, 0, 1, 2], "p": [10, 9, 8, 7, 6, 5]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> found = plm.evaluate(rows, **roles, metrics=["map(k=5, denominator=retrieved)", "map(k=5)"])
    >>> [round(value, 6) for value in found.metrics["value"]]
    [0.95, 0.76]
    """

    name = "map"
    formula = "mean over queries of the sum over relevant ranks i <= k of (relevant in the first i) / i, divided by R"
    use_when = "Users want all relevant rows, and the first ones most."
    beware = "Libraries differ in the denominator of map@k; queries with one relevant row swing most."
    reference = f"{_MANNING}; ties: {MCSHERRY}"
    k: int | str = cut_parameter()
    denominator: str = parameter(
        "all",
        doc="what the sum is divided by: all relevant rows, min_k = at most k, or those retrieved in the first k",
        options=("all", "min_k", "retrieved"),
    )
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        relevant = ranked.judged.relevant(self.relevant_at)
        cut = cut_of(self.k)
        if self.denominator == "retrieved":
            return np.where(relevant > 0, ranked.mean_precision_at_hits(self.relevant_at, cut), np.nan)
        denominator = relevant if self.denominator == "all" else np.minimum(relevant, cut)
        return np.asarray(ops.ratio(ranked.precision_sum(self.relevant_at, cut), denominator))


@register
@dataclass(frozen=True)
class MeanReciprocalRank(QueryMetric):
    """Mean reciprocal rank: 1 / rank of the first relevant row, averaged over queries.

    0 where that is beyond rank k, and for queries without a relevant row, which the note counts. Weighted by query;
    between 0 and 1; undefined (`no_rows`) without queries. Within ties the first of r relevant among m rows is the
    j-th with probability C(m - j, r - 1) / C(m, r): McSherry and Najork (2008). Source: Voorhees (1999).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 2, 2], "y": [0, 1, 0, 1], "p": [0.9, 0.1, 0.5, 0.5]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["mrr"]).metrics["value"].item()
    0.625
    """

    name = "mrr"
    empty_counts: ClassVar[str] = "zero"
    formula = "mean over queries of 1 / rank of the first relevant row, 0 beyond rank k"
    use_when = "One right answer is all that users look for."
    beware = "It reads one row a query and falls by half from rank 1 to 2: its noise is large."
    reference = f"{_VOORHEES}; ties: {MCSHERRY}"
    k: int | str = cut_parameter()
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        return ranked.reciprocal(self.relevant_at, cut_of(self.k))


@register
@dataclass(frozen=True)
class PrecisionAtK(QueryMetric):
    """Share of relevant rows in the first k ranks, averaged over queries; a query with fewer rows is divided by k, too.

    With the denominator min_k it is divided by how many could be relevant at most, the smaller of k and R (trec_eval's
    relative precision, capped recall elsewhere). Weighted by query; between 0 and 1; 0 for queries without a relevant
    row, which the note counts; undefined (`no_rows`) without queries. Source: Manning et al. (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 1], "y": [1, 0, 1], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["precision_at_k(k=2)"]).metrics["value"].item()
    0.5
    """

    name = "precision_at_k"
    aliases = ("precision", "p")
    empty_counts: ClassVar[str] = "zero"
    formula = "mean over queries of (relevant in the first k) / k"
    use_when = _FINDS.format("the share of it that is relevant")
    beware = "Its largest value is below 1 for queries with fewer than k relevant rows (not with min_k)."
    reference = _MANNING
    k: int = top_parameter()
    denominator: str = parameter(
        "k",
        doc="what the relevant rows are divided by: k, or the smaller of k and all relevant rows",
        options=("k", "min_k"),
    )
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        """Relevant rows in the first k, divided by k or by their largest possible number."""
        hits = ranked.expected_hits(self.relevant_at, cut_of(self.k))
        if self.denominator == "k":
            return hits / self.k
        return np.asarray(ops.ratio(hits, np.minimum(ranked.judged.relevant(self.relevant_at), self.k), 0.0))


@register
@dataclass(frozen=True)
class RecallAtK(QueryMetric):
    """Share of a query's relevant rows in its first k ranks, averaged over queries.

    Weighted by query; between 0 and 1; queries without a relevant row take no part and are counted in the note;
    undefined (`no_relevant`) if none is left. Source: Manning et al. (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 1], "y": [1, 0, 1], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["recall_at_k(k=2)"]).metrics["value"].item()
    0.5
    """

    name = "recall_at_k"
    aliases = ("recall",)
    formula = "mean over queries of (relevant in the first k) / R"
    use_when = "The first k rows go to a second stage, which cannot find what is not among them."
    beware = "It cannot reach 1 where R is above k."
    reference = _MANNING
    k: int = top_parameter()
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    @property
    def saturation(self) -> int:  # type: ignore[override]
        """The cut."""
        return self.k

    def per_query(self, ranked: RankedRows) -> Array:
        """Relevant rows in the first k, divided by all."""
        total = ranked.judged.relevant(self.relevant_at)
        return np.asarray(ops.ratio(ranked.expected_hits(self.relevant_at, cut_of(self.k)), total))


@register
@dataclass(frozen=True)
class HitAtK(QueryMetric):
    """Share of queries with a relevant row in the first k ranks.

    Within ties that is a probability: 1 - C(m - r, c) / C(m, c) for a group of m rows with r relevant ones, c of which
    have room. Weighted by query; between 0 and 1; 0 for queries without a relevant row, which the note counts;
    undefined (`no_rows`) without queries. Ties: McSherry and Najork (2008). Source: Manning et al. (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 1], "y": [1, 0, 0], "p": [0.5, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["hit_at_k(k=1)", "hit@2"]).metrics["value"].to_list()
    [0.5, 1.0]
    """

    name = "hit_at_k"
    aliases = ("hit", "success_at_k")
    kind: ClassVar[Kind] = "proportion"
    empty_counts: ClassVar[str] = "zero"
    formula = "share of queries with a relevant row in the first k"
    use_when = _FINDS.format("whether anything on it is relevant")
    beware = "It does not say how many relevant rows there are, nor how high they stand."
    reference = f"{_MANNING}; ties: {MCSHERRY}"
    k: int = top_parameter()
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    @property
    def saturation(self) -> int:  # type: ignore[override]
        """The cut."""
        return self.k

    def per_query(self, ranked: RankedRows) -> Array:
        """Probability of a relevant row in the first k."""
        return ranked.hit_probability(self.relevant_at, cut_of(self.k))


@register
@dataclass(frozen=True)
class F1AtK(QueryMetric):
    """Harmonic mean of precision and recall in the first k ranks, averaged over queries.

    With h relevant rows in the first k of R in all it is 2 h / (k + R), so expectations within ties are exact.
    Weighted by query; between 0 and 1; queries without a relevant row take no part and are counted in the note;
    undefined (`no_relevant`) if none is left. Source: Manning et al. (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 1], "y": [1, 0, 1], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["f1_at_k(k=2)"]).metrics["value"].item()
    0.5
    """

    name = "f1_at_k"
    aliases = ("f1",)
    formula = "mean over queries of 2 (relevant in the first k) / (k + R)"
    use_when = "Both what is shown in vain and what is missed cost, and one k serves all queries."
    beware = "Where R is far from k it cannot come near 1."
    reference = _MANNING
    k: int = top_parameter()
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        total = ranked.judged.relevant(self.relevant_at)
        share = 2.0 * ranked.expected_hits(self.relevant_at, cut_of(self.k)) / (self.k + total)
        return np.where(total > 0, share, np.nan)


@register
@dataclass(frozen=True)
class RPrecision(QueryMetric):
    """Precision at rank R, the query's own number of relevant rows, averaged over queries.

    With `multiple` m at the rank m R, rounded up, and divided by that. Weighted by query; between 0 and 1; queries
    without a relevant row take no part and are counted in the note; undefined (`no_relevant`) if none is left. Source:
    Manning et al. (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 1], "y": [1, 0, 1], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["r_precision"]).metrics["value"].item()
    0.5
    """

    name = "r_precision"
    formula = "mean over queries of (relevant in the first R) / R"
    use_when = "Queries differ in how many relevant rows they have, so that no one k suits all."
    beware = "For a query with one relevant row it only says whether that stands first."
    reference = _MANNING
    multiple: float = parameter(
        1.0,
        doc="how many times R the rank is",
        check=lambda multiple: 0 < multiple <= 1000,
        domain="a number above 0, at most 1000",
    )
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        rank = np.ceil(self.multiple * ranked.judged.relevant(self.relevant_at) - 1e-9)
        return np.asarray(ops.ratio(ranked.expected_hits(self.relevant_at, rank.astype(np.int64)), rank))


@register
@dataclass(frozen=True)
class MeanRank(QueryMetric):
    """Mean rank of a query's relevant rows, averaged over queries; tied rows share their midrank.

    From 1; weighted by query; rows that a model did not retrieve share the last ranks; queries without a relevant row
    take no part and are counted in the note; undefined (`no_relevant`) if none is left. Source: Manning et al. (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 1], "y": [1, 0, 1], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["mean_rank"]).metrics["value"].item()
    2.0
    """

    name = "mean_rank"
    range = (1.0, float("inf"))
    direction: ClassVar[Direction] = "lower"
    formula = "mean over queries of the mean midrank of the relevant rows"
    use_when = "Somebody reads the list from the top until all relevant rows are found."
    beware = "One relevant row far down decides it, and longer lists have larger ranks."
    reference = _MANNING
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        return np.asarray(
            ops.ratio(ranked.rank_sum(self.relevant_at), ranked.judged.relevant(self.relevant_at))
        )
