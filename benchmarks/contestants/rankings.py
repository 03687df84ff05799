"""A hundred documents a query: NDCG, MAP, MRR and precision, by us and by the wrappers of trec_eval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from benchmarks.contestants.contestant import Contestant, Values, as_they_are

if TYPE_CHECKING:
    from pathlib import Path

OURS = {"ndcg(k=10)": "ndcg_cut_10", "map": "map", "mrr": "recip_rank", "precision_at_k(k=10)": "P_10"}
"""What trec_eval calls our metrics."""


def _rows(folder: Path) -> pl.DataFrame:
    frame = pl.read_parquet(folder / "*.parquet")
    return frame.with_columns(pl.col("query").cast(pl.String), pl.col("document").cast(pl.String))


def load_dicts(folder: Path) -> Any:
    """Judgements and scores as a dict of dicts each: what pytrec_eval reads."""
    judged: dict[str, dict[str, int]] = {}
    scored: dict[str, dict[str, float]] = {}
    for query, document, relevance, score in _rows(folder).iter_rows():
        judged.setdefault(query, {})[document] = relevance
        scored.setdefault(query, {})[document] = score
    return judged, scored


def by_pytrec_eval(loaded: Any) -> Values:
    """Every query by trec_eval's code, and means over them."""
    import pytrec_eval

    judged, scored = loaded
    found = pytrec_eval.RelevanceEvaluator(judged, set(OURS.values())).evaluate(scored)
    return {
        ours: (sum(query[theirs] for query in found.values()) / len(found), 0.0)
        for ours, theirs in OURS.items()
    }


def load_pandas(folder: Path) -> Any:
    """Judgements and scores as pandas frames."""
    frame = _rows(folder).rename({"query": "query_id", "document": "doc_id"}).to_pandas()
    return frame[["query_id", "doc_id", "relevance"]], frame[["query_id", "doc_id", "score"]]


def by_ir_measures(loaded: Any) -> Values:
    """One call, which makes dicts and calls pytrec_eval."""
    import ir_measures
    from ir_measures import AP, RR, P, nDCG

    named = {"ndcg(k=10)": nDCG @ 10, "map": AP, "mrr": RR, "precision_at_k(k=10)": P @ 10}
    found = ir_measures.calc_aggregate(list(named.values()), *loaded)
    return {ours: (found[measure], 0.0) for ours, measure in named.items()}


def ours(folder: Path) -> Any:
    """The same numbers from parquet."""
    import plmetrics as plm

    return plm.evaluate(
        str(folder), task="ranking", label="relevance", query="query", models="score", metrics=list(OURS)
    )


def ours_with_intervals(folder: Path) -> Any:
    """The same with intervals from 1000 replicates of the queries."""
    import plmetrics as plm

    return plm.evaluate(
        str(folder),
        task="ranking",
        label="relevance",
        query="query",
        models="score",
        metrics=list(OURS),
        uncertainty=True,
    )


def our_values(result: Any) -> Values:
    """Values by metric."""
    return {metric: (value, 0.0) for metric, value in result.metrics.select("metric", "value").iter_rows()}


CONTESTANTS = (
    Contestant(
        "pytrec_eval",
        "dicts of dicts of judgements and of scores; `RelevanceEvaluator` and means over queries",
        load_dicts,
        by_pytrec_eval,
        as_they_are,
        packages=("pytrec_eval",),
    ),
    Contestant(
        "ir_measures",
        "pandas frames of judgements and of scores; one `calc_aggregate`",
        load_pandas,
        by_ir_measures,
        as_they_are,
        packages=("ir_measures", "pandas"),
    ),
    Contestant("rankings", "parquet; the same numbers", lambda folder: folder, ours, our_values),
    Contestant(
        "rankings_with_intervals",
        "parquet; the same with intervals from 1000 replicates of the queries",
        lambda folder: folder,
        ours_with_intervals,
        our_values,
    ),
)
