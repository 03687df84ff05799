"""Bases of ranking metrics: one number per query, and its weighted mean over queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
import polars as pl

from plmetrics.catalogue.metric import Direction, Metric, Nonzero
from plmetrics.catalogue.needs import Kind, Queries
from plmetrics.catalogue.parameters import parameter
from plmetrics.core import ops
from plmetrics.core.ops import Array
from plmetrics.states.queries import EVERY_RANK, QueryValue, RankedRows, query_column
from plmetrics.states.sums import Atom, Rows

ALL = "all"
TIES = ("average", "worst", "document")
MCSHERRY = (
    "McSherry and Najork (2008), Computing information retrieval performance measures efficiently in the presence of "
    "tied scores, ECIR"
)


def ties_parameter() -> Any:
    """The order of rows of a query with equal scores."""
    return parameter(
        "average",
        doc="order within ties: average = expectation under random order, worst = the least relevant first, "
        "document = by descending document, as trec_eval",
        check=TIES.__contains__,
        domain=" or ".join(TIES),
    )


def relevant_at_parameter() -> Any:
    """Least label of a relevant row."""
    return parameter(
        1.0,
        doc="a row is relevant if its label is at least this",
        domain="a finite number",
        check=np.isfinite,
    )


def cut_parameter() -> Any:
    """Number of ranks to read."""
    return parameter(
        ALL,
        doc="how many ranks are read",
        check=lambda k: k == ALL or (isinstance(k, int) and k >= 1),
        domain="all, or a whole number of at least 1",
    )


def top_parameter() -> Any:
    """Number of ranks to read, without a default."""
    return parameter(
        doc="how many ranks are read", check=lambda k: k >= 1, domain="a whole number of at least 1"
    )


def cut_of(k: int | str) -> int:
    """The number of ranks as a number."""
    return min(k, EVERY_RANK) if isinstance(k, int) else EVERY_RANK


class QueryMetric(Metric):
    """Base of the weighted means over queries of one number per query.

    A subclass writes `per_query`. The number of a query whose weight is w counts w times; a query where it is NaN
    takes no part. Resampled are queries. `empty` says what becomes of queries without a relevant row: "skip" (they
    take no part), "zero", "one", or "own" (they have a number as any other).
    """

    task = "ranking"
    family = "sums"
    range = (0.0, 1.0)
    kind: ClassVar[Kind] = "mean"
    interval_form = "t"
    mean = "mass"
    direction: ClassVar[Direction] = "higher"
    nonzero: ClassVar[Nonzero] = (("no_relevant", "taking"),)
    masses = ("taking",)
    expressible = False
    empty_counts: ClassVar[str] = "skip"
    of_labels: ClassVar[bool] = False

    def per_query(self, ranked: RankedRows) -> Array:
        """Number of each query, NaN for one without a part."""
        raise NotImplementedError

    @property
    def needs(self) -> Queries:
        """Own number of a query, and the number of relevant rows."""
        value = QueryValue(
            self.text, self.per_query, getattr(self, "ties", None), getattr(self, "judged", None)
        )
        return Queries((value, self._relevant, *self._short), getattr(self, "gain", None), self.of_labels)

    @property
    def _short(self) -> tuple[QueryValue, ...]:
        """Indicator of queries with no more rows than the metric reads, if any order is best then."""
        k = self.saturation
        if k is None:
            return ()

        def is_short(ranked: RankedRows) -> Array:
            sizes = ranked.judged.sizes
            return np.asarray((sizes > 0) & (sizes <= k), dtype=np.float64)

        return (QueryValue(short_queries(k), is_short),)

    @property
    def _relevant(self) -> QueryValue:
        if hasattr(self, "gain"):
            return QueryValue("gain", lambda ranked: ranked.judged.ideal("linear", EVERY_RANK))
        at = float(getattr(self, "relevant_at", 1.0))
        return QueryValue(f"relevant|{at!r}", lambda ranked: ranked.judged.relevant(at))

    def atoms(self) -> Mapping[str, Atom]:
        """Sum and number of the queries with a part, and the numbers of those without."""
        key, relevant, *short = (value.key for value in self.needs.values)
        return {
            **{name: _count_atom(name, lambda rows: _of(rows, short[0]) == 1) for name in short},
            "value_sum": Atom(f"sum|{key}", lambda rows: _of(rows, key).fill_null(0.0)),
            "taking": Atom(f"taking|{key}", lambda rows: _of(rows, key).is_not_null(), counts=True),
            "empty_queries": _count_atom(f"empty|{relevant}", lambda rows: _of(rows, relevant) == 0),
            "absent_queries": _count_atom(f"absent|{relevant}", lambda rows: _of(rows, relevant).is_null()),
        }

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.value_sum, state.taking)

    def remark(self, state: Any) -> Any:
        """Note on queries without a relevant row, and their treatment; and those without results."""
        what = {"skip": "left out", "zero": "counted as 0", "one": "counted as 1", "own": ""}[self._empty]
        empty, absent = (
            np.atleast_1d(counts).astype(int) for counts in (state.empty_queries, state.absent_queries)
        )
        notes = [
            [_queries(irrelevant, "a relevant row", what), _queries(two, "results", "left out")]
            for irrelevant, two in np.stack([empty, absent], axis=1).tolist()
        ]
        return np.array(["; ".join(filter(None, note)) or None for note in notes], dtype=object)

    @property
    def _empty(self) -> str:
        return str(getattr(self, "empty", self.empty_counts))


def short_queries(k: int) -> str:
    """The key of the number of queries with at most k rows."""
    return f"short|{k}"


def _of(rows: Rows, key: str) -> pl.Expr:
    return rows.column(query_column(rows.model, key))


def _count_atom(key: str, build: Callable[[Rows], pl.Expr]) -> Atom:
    return Atom(key, build, counts=True, weighted=False)


def _queries(count: int, lacking: str, became: str) -> str:
    if count == 0 or not became:
        return ""
    word, verb = ("query", "is") if count == 1 else ("queries", "are")
    return f"{count:,} {word} without {lacking} {verb} {became}"
