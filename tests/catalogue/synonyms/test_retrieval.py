"""Names of trec_eval give its numbers; those of ir-measures are spellings of the same."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import pytrec_eval

import plmetrics as plm
from plmetrics.catalogue.synonyms.retrieval import IR_MEASURES, TREC_EVAL

NAMES = [name.replace("_K", "_5") for name in TREC_EVAL.equivalents["ranking"]]
TIES = {"document": "{}(ties=document)", "none": "{}"}


def rows(ties: str) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    sizes = rng.integers(2, 25, 40)
    total = int(sizes.sum())
    relevance = rng.choice(4, total, p=[0.6, 0.2, 0.15, 0.05])
    relevance[np.cumsum(sizes) - 1] = 2
    score = rng.permutation(total).astype(float) if ties == "none" else rng.normal(relevance, 1.0).round()
    return pl.DataFrame(
        {
            "query": np.repeat([f"q{number}" for number in range(40)], sizes),
            "document": [f"d{number:04d}" for number in rng.permutation(total)],
            "relevance": relevance,
            "score": score,
        }
    )


@pytest.mark.parametrize("ties", TIES)
def test_names_of_trec_eval_give_its_values(ties: str) -> None:
    frame = rows(ties)
    judged: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for query, document, relevance, score in frame.iter_rows():
        judged.setdefault(query, {})[document] = relevance
        run.setdefault(query, {})[document] = score
    measures = {name.replace("_5", ".5") for name in NAMES}
    by_query = pytrec_eval.RelevanceEvaluator(judged, measures).evaluate(run)
    roles = {"label": "relevance", "query": "query", "document": "document", "models": "score"}
    texts = [name if name.startswith("set") else TIES[ties].format(name) for name in NAMES]
    values = plm.evaluate(frame, task="ranking", **roles, metrics=texts).metrics["value"].to_list()
    expected = [np.mean([measured[name] for measured in by_query.values()]) for name in NAMES]
    geometric = NAMES.index("gm_map")
    expected[geometric] = np.exp(expected[geometric])  # of a query it is the logarithm
    assert values == pytest.approx(expected)


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("nDCG@10", "ndcg_cut_10"),
        ("AP", "map"),
        ("AP@100", "map_cut_100"),
        ("RR", "recip_rank"),
        ("P@5", "P_5"),
        ("R@100", "recall_100"),
        ("Rprec", "Rprec"),
        ("Success@1", "success_1"),
    ],
)
def test_names_of_ir_measures_are_measures_of_trec_eval(name: str, measure: str) -> None:
    """As ir-measures says what trec_eval calls its measures."""
    assert plm.metric(name, "ranking") == plm.metric(measure, "ranking")
    assert name.partition("@")[0] in IR_MEASURES.equivalents["ranking"]
