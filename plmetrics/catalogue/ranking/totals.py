"""Numbers of queries and of their rows: the totals of trec_eval, and means per query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from plmetrics.catalogue.metric import Direction
from plmetrics.catalogue.ranking.base import QueryMetric, relevant_at_parameter
from plmetrics.catalogue.registry import register
from plmetrics.core.ops import Array
from plmetrics.states.queries import EVERY_RANK, RankedRows

_TREC = "trec_eval (NIST), https://github.com/usnistgov/trec_eval"
_TFMA = "TensorFlow Model Analysis, QueryStatistics, https://github.com/tensorflow/model-analysis"


class _Total(QueryMetric):
    """Base of the sums over queries of a number of rows."""

    range = (0.0, float("inf"))
    mean = None  # type: ignore[assignment]
    additive = True
    interval_form = None  # type: ignore[assignment]
    nonzero = ()
    empty_counts: ClassVar[str] = "zero"

    def finalise(self, state: Any) -> Any:
        return state.value_sum

    def remark(self, state: Any) -> Any:  # noqa: ARG002
        """Nothing is left out of a sum."""
        return None


@register
class RetrievalCount(_Total):
    """Number of retrieved rows over all queries; all rows for a table without null scores.

    Weighted by query; 0 or more; undefined (`no_rows`) without queries. Source: trec_eval.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 2], "y": [1, 0, 1], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["num_ret"]).metrics["value"].item()
    3.0
    """

    name = "num_ret"
    direction: ClassVar[Direction] = "none"
    formula = "sum over queries of the rows that were retrieved"
    use_when = "You check that a run is as long as it should be."
    beware = "More rows are not better rows."
    reference = _TREC

    def per_query(self, ranked: RankedRows) -> Array:
        return ranked.retrieved_rows


@register
@dataclass(frozen=True)
class RelevantCount(_Total):
    """Number of relevant rows over all queries, retrieved or not.

    Weighted by query; 0 or more; undefined (`no_rows`) without queries. Source: trec_eval.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 2], "y": [1, 0, 1], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["num_rel"]).metrics["value"].item()
    2.0
    """

    name = "num_rel"
    direction: ClassVar[Direction] = "none"
    of_labels: ClassVar[bool] = True
    formula = "sum over queries of the rows with label >= relevant_at"
    use_when = "You want to know what stands behind recall and precision."
    beware = "It is a fact of the judgements, the same for every model."
    reference = _TREC
    relevant_at: float = relevant_at_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        return ranked.judged.relevant(self.relevant_at)


@register
@dataclass(frozen=True)
class RelevantRetrievalCount(_Total):
    """Number of relevant retrieved rows over all queries.

    Weighted by query; 0 or more; undefined (`no_rows`) without queries. Source: trec_eval.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 2], "y": [1, 0, 1], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["num_rel_ret"]).metrics["value"].item()
    2.0
    """

    name = "num_rel_ret"
    formula = "sum over queries of the retrieved rows with label >= relevant_at"
    use_when = "A first stage must lose as little as possible, and rows matter more than queries."
    beware = "Queries with many relevant rows decide it: recall_at_k counts each query once."
    reference = _TREC
    relevant_at: float = relevant_at_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        return ranked.expected_hits(self.relevant_at, EVERY_RANK)


@register
class QueryCount(_Total):
    """Number of queries, by their weights: those in the column `n`.

    Weighted by query; 0 or more; undefined (`no_rows`) without queries. Source: trec_eval.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 2], "y": [1, 0, 1], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["num_q"]).metrics["value"].item()
    2.0
    """

    name = "num_q"
    direction: ClassVar[Direction] = "none"
    of_labels: ClassVar[bool] = True
    formula = "number of queries"
    use_when = "Totals are divided by it, or a gate asks whether the test set is whole."
    beware = "It is a fact of the table, the same for every model."
    reference = _TREC

    def per_query(self, ranked: RankedRows) -> Array:
        return np.ones(len(ranked.retrieved_rows))


@register
@dataclass(frozen=True)
class IrrelevantQueryCount(_Total):
    """Number of queries without a relevant row, where many metrics are undefined.

    Weighted by query; 0 or more; undefined (`no_rows`) without queries. Source: trec_eval, which leaves such queries
    out.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 2], "y": [1, 0, 0], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["num_q_without_relevant"]).metrics["value"].item()
    1.0
    """

    name = "num_q_without_relevant"
    direction: ClassVar[Direction] = "none"
    of_labels: ClassVar[bool] = True
    formula = "number of queries whose labels are all below relevant_at"
    use_when = "You want to know on how many queries map, mrr and recall rest."
    beware = "It is a fact of the judgements, the same for every model."
    reference = _TREC
    relevant_at: float = relevant_at_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        return np.asarray(ranked.judged.relevant(self.relevant_at) == 0, dtype=np.float64)


@register
class DocumentsPerQuery(QueryMetric):
    """Mean number of retrieved rows per query.

    Weighted by query; 0 or more; undefined (`no_rows`) without queries. The smallest and the largest are those over a
    slice set by query: `{over: {slice_set: query, metric: documents_per_query, agg: max}}`. Source: TensorFlow Model
    Analysis.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 2], "y": [1, 0, 1], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["documents_per_query"]).metrics["value"].item()
    1.5
    """

    name = "documents_per_query"
    range = (0.0, float("inf"))
    direction: ClassVar[Direction] = "none"
    empty_counts: ClassVar[str] = "zero"
    formula = "number of rows / number of queries"
    use_when = "You compare tables, or slices, whose lists may be of unlike length."
    beware = "Of a table of candidates it is a fact of the table, not of the model."
    reference = _TFMA

    def per_query(self, ranked: RankedRows) -> Array:
        return ranked.retrieved_rows

    def remark(self, state: Any) -> Any:  # noqa: ARG002
        """No query is left out."""
        return None
