"""Measures of whole lists: precision at levels of recall, sets of retrieved rows, the geometric mean over queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.ranking.base import MCSHERRY, QueryMetric, relevant_at_parameter, ties_parameter
from plmetrics.catalogue.registry import register
from plmetrics.core import ops
from plmetrics.core.ops import Array
from plmetrics.states.queries import EVERY_RANK, RankedRows

_MANNING = "Manning, Raghavan and Schuetze (2008), Introduction to Information Retrieval, chapter 8"
_ROBERTSON = "Robertson (2006), On GMAP and other transformations, CIKM"
_TREC = "trec_eval (NIST), m_iprec_at_recall: rounded to the nearest since version 10, up before"
_LEAST = 1e-5


def _rounding_parameter() -> Any:
    """Rounding of a recall to a number of relevant rows."""
    return parameter(
        "nearest",
        doc="how recall x R is made a number of rows: nearest = as in trec_eval 10, up = as in trec_eval 9, which adds "
        "0.9 and drops the rest",
        options=("nearest", "up"),
    )


@register
@dataclass(frozen=True)
class InterpolatedPrecision(QueryMetric):
    """Largest precision at any rank with at least this recall, averaged over queries; 0 where no rank has it.

    A rank has it where recall x R relevant rows stand there or above: rounded to the nearest as in trec_eval 10, or up
    as in trec_eval 9 and what is built on it. Weighted by query; between 0 and 1; queries without a relevant row take
    no part and are counted in the note; undefined (`no_relevant`) if none is left. Within ties a rank has as many
    relevant rows as are expected there, which is not the expected value over random order. Source: Manning et al.
    (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1] * 4, "y": [0, 1, 0, 1], "p": [4, 3, 2, 1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["interpolated_precision(recall=0.1)"]).metrics["value"].item()
    0.5
    """

    name = "interpolated_precision"
    formula = "mean over queries of max over ranks i with (relevant in the first i) >= round(recall x R) of their share"
    use_when = "You compare with reports that print precision at recalls of 0, 0.1 to 1, as TREC's do."
    beware = "It reads ranks that differ by query: what a user sees on a page is precision_at_k."
    reference = f"{_MANNING}; {_TREC}; expected rows within ties: {MCSHERRY}"
    recall: float = parameter(
        doc="share of the relevant rows that a rank must reach",
        check=lambda recall: 0 <= recall <= 1,
        domain="a number from 0 to 1",
    )
    rounding: str = _rounding_parameter()
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        return ranked.interpolated_precision(self.relevant_at, (self.recall,), up=self.rounding == "up")


@register
@dataclass(frozen=True)
class InterpolatedAveragePrecision(QueryMetric):
    """Mean of the interpolated precisions at recalls of even steps from 0 to 1, averaged over queries.

    Eleven points are TREC's of old. Weighted by query; between 0 and 1; queries without a relevant row take no part and
    are counted in the note; undefined (`no_relevant`) if none is left. Ties and rounding as in interpolated_precision.
    Source: Manning et al. (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1] * 4, "y": [1, 0, 0, 1], "p": [4, 3, 2, 1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["interpolated_ap(points=3)"]).metrics["value"].item()
    0.8333333333333334
    """

    name = "interpolated_ap"
    formula = (
        "mean over queries of the mean of the interpolated precisions at recalls 0, 1 / (points - 1), ..., 1"
    )
    use_when = "You compare with older reports, which print eleven-point averages."
    beware = "It is above map, which reads each relevant row where it stands."
    reference = f"{_MANNING}; {_TREC}; expected rows within ties: {MCSHERRY}"
    points: int = parameter(
        11,
        doc="number of recalls",
        check=lambda points: 2 <= points <= 1001,
        domain="a whole number, 2 to 1001",
    )
    rounding: str = _rounding_parameter()
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        """Mean of the interpolated precisions."""
        steps = self.points - 1
        recalls = tuple(step / steps for step in range(self.points))
        return ranked.interpolated_precision(self.relevant_at, recalls, up=self.rounding == "up")


@register
@dataclass(frozen=True)
class GeometricMeanAveragePrecision(QueryMetric):
    """Geometric mean over queries of the average precision, no query below 0.00001.

    The exponential of the weighted mean of ln max(AP, 0.00001), the AP that of `map`. Between 0 and 1; queries without
    a relevant row take no part and are counted in the note; undefined (`no_relevant`) if none is left. Within ties the
    AP is the expected one. Source: Robertson (2006), with trec_eval's least value.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 2, 2], "y": [1, 0, 0, 1], "p": [0.9, 0.1, 0.9, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> round(plm.evaluate(rows, **roles, metrics=["gmap"]).metrics["value"].item(), 6)
    0.707107
    """

    name = "gmap"
    kind = "other"
    interval_form = "delta"  # type: ignore[assignment]
    mean = None  # type: ignore[assignment]
    formula = "exp of the mean over queries of ln max(AP, 0.00001)"
    use_when = "A query that fails is worse than another one that is a little better: from 0.01 to 0.02 counts double."
    beware = "Queries with hardly anything retrieved decide it, and the least value that they are given."
    reference = f"{_ROBERTSON}; ties: {MCSHERRY}"
    relevant_at: float = relevant_at_parameter()
    ties: str = ties_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        relevant = ranked.judged.relevant(self.relevant_at)
        average = ops.ratio(ranked.precision_sum(self.relevant_at, EVERY_RANK), relevant)
        return np.asarray(np.log(np.maximum(average, _LEAST)))

    def finalise(self, state: Any) -> Any:
        return np.exp(super().finalise(state))


@register
@dataclass(frozen=True)
class SetPrecision(QueryMetric):
    """Share of relevant rows among all retrieved ones in any order, averaged over queries.

    Weighted by query; between 0 and 1; 0 for queries without a result or a relevant row, of which the note counts the
    latter; undefined (`no_rows`) without queries. Source: Manning et al. (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 2, 2], "y": [1, 0, 1, 1], "p": [0.9, 0.5, 0.9, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["set_precision"]).metrics["value"].item()
    0.75
    """

    name = "set_precision"
    empty_counts: ClassVar[str] = "zero"
    formula = "mean over queries of (relevant and retrieved) / retrieved"
    use_when = "A filter lets rows through, all of which go on to the next stage."
    beware = "It reads no order, and says something only where models retrieve a part of the rows, as in TREC files."
    reference = _MANNING
    relevant_at: float = relevant_at_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        return np.asarray(
            ops.ratio(ranked.expected_hits(self.relevant_at, EVERY_RANK), ranked.retrieved_rows, 0.0)
        )


@register
@dataclass(frozen=True)
class SetRecall(QueryMetric):
    """Share of a query's relevant rows retrieved at any rank, averaged over queries.

    Weighted by query; between 0 and 1; queries without a relevant row take no part and are counted in the note;
    undefined (`no_relevant`) if none is left. Source: Manning et al. (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 2, 2], "y": [1, 0, 1, 1], "p": [0.9, 0.5, 0.9, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["set_recall"]).metrics["value"].item()
    1.0
    """

    name = "set_recall"
    formula = "mean over queries of (relevant and retrieved) / R"
    use_when = "What a first stage does not retrieve is lost, however long its list."
    beware = "It is 1 for a model that retrieves every row: read set_precision beside it."
    reference = _MANNING
    relevant_at: float = relevant_at_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        relevant = ranked.judged.relevant(self.relevant_at)
        return np.asarray(ops.ratio(ranked.expected_hits(self.relevant_at, EVERY_RANK), relevant))


@register
@dataclass(frozen=True)
class SetF1(QueryMetric):
    """Harmonic mean of precision and recall of all retrieved rows, averaged over queries.

    With h relevant rows among n retrieved ones and R relevant ones in all it is 2 h / (n + R). Weighted by query;
    between 0 and 1; queries without a relevant row take no part and are counted in the note; undefined (`no_relevant`)
    if none is left. Source: Manning et al. (2008).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"q": [1, 1, 1], "y": [1, 0, 0], "p": [0.9, 0.5, 0.1]})
    >>> roles = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    >>> plm.evaluate(rows, **roles, metrics=["set_f1"]).metrics["value"].item()
    0.5
    """

    name = "set_f1"
    formula = "mean over queries of 2 (relevant and retrieved) / (retrieved + R)"
    use_when = "The length of the list is the model's own choice, and both kinds of error cost."
    beware = "It reads no order, and says something only where models retrieve a part of the rows, as in TREC files."
    reference = _MANNING
    relevant_at: float = relevant_at_parameter()

    def per_query(self, ranked: RankedRows) -> Array:
        relevant = ranked.judged.relevant(self.relevant_at)
        share = (
            2.0
            * ranked.expected_hits(self.relevant_at, EVERY_RANK)
            / np.maximum(ranked.retrieved_rows + relevant, 1.0)
        )
        return np.where(relevant > 0, share, np.nan)
