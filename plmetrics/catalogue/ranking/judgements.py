"""Measures of incomplete judgements, and of users with a stopping rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from plmetrics.catalogue.metric import Direction
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
from plmetrics.core.errors import DataError, Problem
from plmetrics.core.ops import Array
from plmetrics.states.queries import RankedRows
from plmetrics.table.checks import Requirement

_BUCKLEY = "Buckley and Voorhees (2004), Retrieval evaluation with incomplete information, SIGIR"
_MOFFAT = "Moffat and Zobel (2008), Rank-biased precision for measurement of retrieval effectiveness, ACM TOIS 27(1)"
_CHAPELLE = (
    "Chapelle, Metlzer, Zhang and Grinspan (2009), Expected reciprocal rank for graded relevance, CIKM"
)


def _judged_parameter() -> Any:
    return parameter(
        "judged",
        doc="column that says of each row whether it was judged, as TREC files have it",
        check=bool,
        domain="the name of a column",
    )


class _JudgementMetric(QueryMetric):
    """Base of the metrics of judged rows."""

    judged: str

    def columns(self) -> tuple[str, ...]:
        return (self.judged,)

    def requirements(self) -> tuple[Requirement, ...]:
        def bad(value: pl.Expr) -> pl.Expr:
            number = value.cast(pl.Float64)
            return value.is_null() | ((number != 0) & (number != 1))

        role = f"judged rows of {self.name}"
        return (Requirement(self.judged, "neither true nor false", bad, role, numeric=True),)


@register
@dataclass(frozen=True)
class BinaryPreference(_JudgementMetric):
    """Binary preference: share of judged irrelevant rows below a relevant one, averaged over these and over queries.

    1 / R times the sum over retrieved relevant rows of 1 - min(n, c) / c: n the judged irrelevant rows above, R the
    relevant and N the judged irrelevant rows of the query, c = min(R, N); 1 for each row where N is 0. Rows that were
    not judged are passed over. Weighted by query; between 0 and 1; queries without a relevant row take no part and are
    counted in the note; undefined (`no_relevant`) if none is left. Within ties expected over random order. Source:
    Buckley and Voorhees (2004), as in trec_eval 9.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1] * 4, "y": [0, 1, 0, 1], "p": [4, 3, 2, 1], "judged": [True, True, False, True]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["bpref"]).metrics["value"].item()
    0.0
    """

    name = "bpref"
    formula = (
        "mean over queries of 1/R sum over relevant rows of 1 - min(n, c) / c, n judged irrelevant rows above"
    )
    use_when = "Only some rows were judged, and those that were not may be relevant as well."
    beware = (
        "It ignores rows that were not judged: a run full of them can look as good as one that was pooled."
    )
    reference = f"{_BUCKLEY}; ties: {MCSHERRY}"
    judged: str = _judged_parameter()
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        """Preferences kept, divided by the relevant rows."""
        preferences = ranked.above_irrelevant(self.relevant_at, self.judged)
        return np.asarray(ops.ratio(preferences, ranked.judged.relevant(self.relevant_at)))


@register
@dataclass(frozen=True)
class JudgedAtK(_JudgementMetric):
    """Share of judged rows in the first k ranks, averaged over queries; a query with fewer rows is divided by k, too.

    With the denominator retrieved it is divided by the rows that are there, at most k, as ir-measures does. Weighted
    by query; between 0 and 1; undefined (`no_rows`) without queries. Source: Judged@k of MacAvaney, Macdonald and
    Ounis (2022).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1] * 4, "y": [0, 1, 0, 1], "p": [4, 3, 2, 1], "judged": [True, True, False, True]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["judged_at_k(k=4)"]).metrics["value"].item()
    0.75
    """

    name = "judged_at_k"
    empty_counts: ClassVar[str] = "own"
    direction: ClassVar[Direction] = "none"
    formula = "mean over queries of (judged in the first k) / k"
    use_when = "You compare runs of which not all went into the pool of judgements."
    beware = "It says nothing of quality: it says how far the other numbers can be relied on."
    reference = "MacAvaney, Macdonald and Ounis (2022), Streamlining evaluation with ir-measures, ECIR"
    k: int = top_parameter()
    denominator: str = parameter(
        "k",
        doc="what the judged rows are divided by: k, or the rows retrieved in the first k",
        options=("k", "retrieved"),
    )
    judged: str = _judged_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        judged = ranked.flagged_rows(self.judged, cut_of(self.k))
        if self.denominator == "k":
            return judged / self.k
        return np.asarray(ops.ratio(judged, np.minimum(ranked.retrieved_rows, self.k), 0.0))


@register
@dataclass(frozen=True)
class RankBiasedPrecision(QueryMetric):
    """Rank-biased precision: gain of a reader with a chance p to go on to the next rank.

    (1 - p) times the sum over the ranks i of relevant rows of p^(i - 1), averaged over queries; the lower bound, with
    nothing relevant beyond the rows that are there. Weighted by query; between 0 and 1; 0 for queries without a
    relevant row, which the note counts; undefined (`no_rows`) without queries. Within ties expected over random order.
    Source: Moffat and Zobel (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 1], "y": [1, 0, 1], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["rbp(persistence=0.5)"]).metrics["value"].item()
    0.625
    """

    name = "rbp"
    empty_counts: ClassVar[str] = "zero"
    formula = "mean over queries of (1 - p) sum over relevant ranks i <= k of p^(i - 1)"
    use_when = "Readers give up at a rate you can name: of 10 ranks, p = 0.9 on average."
    beware = (
        "Its largest value depends on how many relevant rows a query has, and p decides how deep it looks."
    )
    reference = f"{_MOFFAT}; ties: {MCSHERRY}"
    persistence: float = parameter(
        0.8,
        doc="probability of going on to the next rank",
        check=lambda p: 0 < p < 1,
        domain="a number between 0 and 1",
    )
    k: int | str = cut_parameter()
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        return ranked.geometric(self.relevant_at, self.persistence, cut_of(self.k))


@register
@dataclass(frozen=True)
class ExpectedReciprocalRank(QueryMetric):
    """Expected reciprocal rank of the row a reader stops at, with a chance to stop by its grade.

    Sum over ranks i of 1/i R_i times the product of 1 - R_j over j < i, R = (2^label - 1) / 2^max_label, averaged over
    queries. Weighted by query; between 0 and 1; 0 for queries without a label above 0, which the note counts;
    undefined (`no_rows`) without queries. Labels below 0 or above max_label are a data error. Within ties expected over
    random order. Source: Chapelle et al. (2009).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1], "y": [2, 1], "p": [0.9, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["err(max_label=2)"]).metrics["value"].item()
    0.78125
    """

    name = "err"
    empty_counts: ClassVar[str] = "zero"
    formula = "mean over queries of sum over i <= k of 1/i R_i prod over j < i of (1 - R_j)"
    use_when = "Relevance is graded, and a reader who has found a perfect row reads on no further."
    beware = (
        "Values of another max_label are on another scale; it all but ignores what follows a perfect row."
    )
    reference = f"{_CHAPELLE}; ties: {MCSHERRY}"
    gain: ClassVar[str] = "exponential"
    k: int | str = cut_parameter()
    max_label: float = parameter(
        4.0, doc="the highest grade", check=lambda top: 0 < top <= 60, domain="a number above 0, at most 60"
    )
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        highest = float(ranked.label.max(initial=0.0))
        if highest > self.max_label:
            msg = f"{self.text}: a label is {highest:g}, above max_label = {self.max_label:g}"
            raise DataError(Problem(msg, ("metrics",), f"write err(max_label={highest:g})"))
        return ranked.cascade((np.exp2(ranked.label) - 1) / 2.0**self.max_label, cut_of(self.k))
