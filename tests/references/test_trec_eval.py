"""TREC files against what NIST's trec_eval prints for them in its own tests."""

from pathlib import Path
from typing import Any

import pytest

import plmetrics as plm

DATA = Path(__file__).parents[1] / "data" / "trec"
SHIPPED = Path(__file__).parents[2] / "configs" / "data" / "trec"
CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
MEANS = {
    "map": "map",
    "Rprec": "r_precision",
    "recip_rank": "mrr",
    "ndcg": "ndcg",
    **{f"ndcg_cut_{k}": f"ndcg(k={k})" for k in CUTS},
    **{f"map_cut_{k}": f"map(k={k})" for k in CUTS},
    **{f"P_{k}": f"precision_at_k(k={k})" for k in CUTS},
    **{f"recall_{k}": f"recall_at_k(k={k})" for k in CUTS},
    **{f"success_{k}": f"hit_at_k(k={k})" for k in (1, 5, 10)},
    **{f"relative_P_{k}": f"precision_at_k(k={k}, denominator=min_k)" for k in CUTS},
    **{
        f"iprec_at_recall_{step / 10:.2f}": f"interpolated_precision(recall={step / 10})"
        for step in range(11)
    },
    **{f"Rprec_mult_{step / 5:.2f}": f"r_precision(multiple={step / 5})" for step in range(1, 11)},
    "11pt_avg": "interpolated_ap",
    "set_P": "set_precision",
    "set_recall": "set_recall",
    "set_F": "set_f1",
    "bpref": "bpref",
    "rbp": "rbp(persistence=0.9)",
}
"""What is a mean over queries."""

WHOLE = {name: name for name in ("num_q", "num_ret", "num_rel", "num_rel_ret")} | {"gm_map": "gmap"}
OURS = MEANS | WHOLE
PRINTED = 4 * (len(MEANS) + 3) + 2
"""So many numbers of 387 lines, the mean and three queries: the number of queries and gm_map are of all alone."""


def published(name: str) -> dict[tuple[str, str], float]:
    """Value by measure and query, `all` for their mean."""
    lines = [line.split() for line in (DATA / name).read_text().splitlines()]
    return {(measure, query): float(value) for measure, query, value in lines if measure in OURS}


def text(measure: str, relevant_at: int) -> str:
    """The metric, ties as trec_eval has them; gains know no level from which a document is relevant."""
    level = "" if relevant_at == 1 or measure in {"num_q", "num_ret"} else f"relevant_at={relevant_at}"
    order = "" if measure.startswith(("num", "set")) else "ties=document"
    name, _, given = OURS[measure].rstrip(")").partition("(")
    parameters = [part for part in (given, "" if measure.startswith("ndcg") else level, order) if part]
    return plm.metric(f"{name}({', '.join(parameters)})" if parameters else name, task="ranking").text


def compare(expected: dict[tuple[str, str], float], trec: dict[str, Any], relevant_at: int = 1) -> int:
    texts = {measure: text(measure, relevant_at) for measure, _ in expected}
    result = plm.evaluate(
        {"trec": {"qrels": str(trec.pop("qrels", SHIPPED / "qrels.test")), **trec}},
        task="ranking",
        label="relevance",
        query="query",
        document="document",
        models="score",
        metrics=list(texts.values()),
        slices={"query": "query"},
    ).metrics
    found = {(row["metric"], row["slice"]): row["value"] for row in result.iter_rows(named=True)}
    for (measure, query), value in expected.items():
        place = "all" if query == "all" else f"query={query}"
        assert found[texts[measure], place] == pytest.approx(value, abs=5.1e-5), (measure, query)
    return len(expected)


def test_every_value_by_query_and_in_the_mean() -> None:
    assert compare(published("out.test.aq"), {"run": str(SHIPPED / "results.test")}) == PRINTED


def test_judged_queries_without_results_count_as_0_where_the_table_is_complete() -> None:
    trec = {"run": str(DATA / "results.trunc"), "complete": True}
    assert compare(published("out.test.aqc"), trec) == PRINTED


def test_without_complete_the_mean_is_over_the_queries_of_the_run() -> None:
    expected = {
        key: value
        for key, value in published("out.test.aqc").items()
        if key[1] in {"301", "303"} and key[0] in MEANS
    }
    means = {(measure, "all"): (expected[measure, "301"] + expected[measure, "303"]) / 2 for measure in MEANS}
    assert compare({**expected, **means}, {"run": str(DATA / "results.trunc")}) == 3 * len(MEANS)


def test_shortened_runs(tmp_path: Path) -> None:
    rows = [line.split() for line in (DATA / "results.trunc").read_text().splitlines()]
    kept: list[str] = []
    for query in sorted({row[0] for row in rows}):
        own = sorted((row for row in rows if row[0] == query), key=lambda row: (float(row[4]), row[2]))
        kept += [" ".join(row) for row in own[-100:]]
    run = tmp_path / "run.txt"
    run.write_text("\n".join(kept) + "\n")
    assert compare(published("out.test.aqcM"), {"run": str(run), "complete": True}) == PRINTED


def test_grades_count_as_relevant_from_a_level_on() -> None:
    levels = published("out.test.aql")
    binary = {key: value for key, value in levels.items() if not key[0].startswith(("ndcg", "rbp"))}
    trec = {"qrels": DATA / "qrels.rel_level", "run": str(SHIPPED / "results.test")}
    assert compare(binary, trec, relevant_at=2) == PRINTED - 4 * 11
