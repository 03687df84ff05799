"""Ranking metrics against trec_eval's own code, on random tables with ties."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
import pytrec_eval

import plmetrics as plm

WANTED = {"map", "map_cut.5", "recip_rank", "ndcg", "ndcg_cut.10", "P.5", "recall.5", "success.5", "Rprec"}
WANTED |= {"iprec_at_recall", "11pt_avg"}
"""Measures of trec_eval."""

MEASURES = {
    "map": "map",
    "map(k=5)": "map_cut_5",
    "mrr": "recip_rank",
    "ndcg": "ndcg",
    "ndcg(k=10)": "ndcg_cut_10",
    "precision_at_k(k=5)": "P_5",
    "recall_at_k(k=5)": "recall_5",
    "hit_at_k(k=5)": "success_5",
    "r_precision": "Rprec",
    **{
        f"interpolated_precision(recall={step / 10}, rounding=up)": f"iprec_at_recall_{step / 10:.2f}"
        for step in range(11)
    },
    "interpolated_ap(rounding=up)": "11pt_avg",
}
"""That of trec_eval 9, which rounds other than the published numbers of version 10 (`test_trec_eval`)."""


def table(seed: int) -> pl.DataFrame:
    """Queries of one to thirty documents, each with a relevant one; scores tie."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 31, 40)
    rows = int(sizes.sum())
    relevance = rng.choice(4, rows, p=[0.6, 0.2, 0.15, 0.05])
    relevance[np.cumsum(sizes) - 1] = 2
    return pl.DataFrame(
        {
            "query": np.repeat([f"q{number}" for number in range(40)], sizes),
            "document": [f"d{number:03d}" for number in rng.permutation(rows)],
            "relevance": relevance,
            "score": np.round(rng.normal(0.4 * relevance, 1.0), 1),
        }
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_values_of_every_query_are_those_of_trec_eval(seed: int) -> None:
    rows = table(seed)
    judged: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for query, document, relevance, score in rows.iter_rows():
        judged.setdefault(query, {})[document] = relevance
        run.setdefault(query, {})[document] = score
    expected = pytrec_eval.RelevanceEvaluator(judged, WANTED).evaluate(run)
    names = {
        name: name[:-1] + ", ties=document)" if "(" in name else f"{name}(ties=document)" for name in MEASURES
    }
    found = plm.evaluate(
        rows,
        task="ranking",
        label="relevance",
        query="query",
        document="document",
        models="score",
        metrics=list(names.values()),
        slices=["query"],
    ).metrics
    by_query = found.filter(slice_set="query")
    for name, measure in MEASURES.items():
        own = by_query.filter(metric=plm.metric(names[name], task="ranking").text)
        values = dict(zip(own["slice"], own["value"], strict=True))
        for query, measured in expected.items():
            assert values[f"query={query}"] == pytest.approx(measured[measure], abs=1e-9), (name, query)
        mean = np.mean([measured[measure] for measured in expected.values()])
        whole = found.filter(slice_set="overall", metric=own["metric"][0])["value"].item()
        assert whole == pytest.approx(mean, abs=1e-9), name


def trec_files(folder: Path, rows: pl.DataFrame) -> dict[str, str]:
    """Judgements of the even queries, and a run over all."""
    even = rows.filter(pl.col("query").str.slice(1).cast(pl.Int64) % 2 == 0)
    lines = {
        "qrels": [f"{query} 0 {document} {label}" for query, document, label, _ in even.iter_rows()],
        "run": [f"{query} Q0 {document} 0 {score!r} x" for query, document, _, score in rows.iter_rows()],
    }
    for name, text in lines.items():
        (folder / name).write_text("\n".join(text) + "\n")
    return {name: str(folder / name) for name in lines}


def test_unjudged_topics_and_scores_of_32_bits_are_as_in_trec_eval(tmp_path: Path) -> None:
    rows = table(4).with_columns(score=pl.col("score") + 1e-9 * pl.int_range(pl.len()))
    files = trec_files(tmp_path, rows)
    with (tmp_path / "qrels").open() as judged, (tmp_path / "run").open() as run:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), WANTED)
        expected = evaluator.evaluate(pytrec_eval.parse_run(run))
    assert len(expected) == 20
    texts = {text: plm.metric(text, task="ranking").text for text in MEASURES}
    named = {
        f"{text[:-1]}, ties=document)" if text.endswith(")") else f"{text}(ties=document)": text
        for text in texts
    }
    with pytest.warns(plm.PlmetricsWarning, match="^20 queries of the runs without judgements are left out$"):
        found = plm.evaluate({"trec": files}, task="ranking", metrics=list(named), uncertainty=True).metrics
    for text, (value, n) in zip(named.values(), found.select("value", "n").iter_rows(), strict=True):
        mean = np.mean([of_query[MEASURES[text]] for of_query in expected.values()])
        assert value == pytest.approx(mean, rel=1e-12), text
        assert n == 20


def test_without_trec_files_label_and_models_must_be_said() -> None:
    with pytest.raises(plm.ConfigError, match=r"'label' is missing(.|\n)*models"):
        plm.evaluate(table(1), task="ranking", query="query")
