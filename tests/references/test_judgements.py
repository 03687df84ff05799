"""Rankings with rows that were not judged, and readers that stop: trec_eval's own code, and the definitions by hand."""

from itertools import pairwise, permutations
from math import factorial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest
import pytrec_eval

import plmetrics as plm

NAMES = {
    "bpref(ties=document)": "bpref",
    "num_ret": "num_ret",
    "num_rel": "num_rel",
    "num_rel_ret": "num_rel_ret",
    "num_q": "num_q",
    "r_precision(ties=document)": "Rprec",
}


def files(folder: Path, seed: int) -> dict[str, str]:
    """A run with ties over documents of which half were judged, some of them below 0, and judged ones that it lacks."""
    rng = np.random.default_rng(seed)
    qrels, run = [], []
    for query in range(25):
        for document in range(rng.integers(4, 30)):
            relevance = rng.choice([-2, -1, 0, 1, 2], p=[0.1, 0.1, 0.4, 0.25, 0.15]) if document else 1
            if rng.random() < 0.5 or document == 0:
                qrels.append(f"q{query} 0 d{document:02} {relevance}")
            if rng.random() < 0.8 or document == 1:
                run.append(f"q{query} Q0 d{document:02} 0 {float(rng.integers(0, 9) / 2)!r} x")
    for name, lines in {"qrels": qrels, "run": run}.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    return {name: str(folder / name) for name in ("qrels", "run")}


@pytest.mark.parametrize("seed", [1, 2])
def test_incomplete_judgements_count_as_in_trec_eval(tmp_path: Path, seed: int) -> None:
    paths = files(tmp_path, seed)
    with Path(paths["qrels"]).open() as judged, Path(paths["run"]).open() as run:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(judged), set(NAMES.values()))
        expected = evaluator.evaluate(pytrec_eval.parse_run(run))
    found = plm.evaluate({"trec": paths}, task="ranking", metrics=list(NAMES), slices=["query"]).metrics
    for text, measure in NAMES.items():
        by_query = found.filter(slice_set="query", metric=text)
        values = dict(zip(by_query["slice"], by_query["value"], strict=True))
        for query, measured in expected.items():
            assert values[f"query={query}"] == pytest.approx(measured[measure], abs=1e-9), (text, query)
        whole = found.filter(slice_set="overall", metric=text)["value"].item()
        combine = sum if measure.startswith("num") else fmean
        assert whole == pytest.approx(combine(measured[measure] for measured in expected.values()), abs=1e-9)


def test_suites_set_ties_for_all_metrics(tmp_path: Path) -> None:
    asked = ["bpref", "rbp", "err", "judged_at_k(k=5)"]
    one = plm.evaluate({"trec": files(tmp_path, 3)}, task="ranking", metrics=asked, ties="document").metrics
    named = [
        "bpref(ties=document)",
        "rbp(ties=document)",
        "err(ties=document)",
        "judged_at_k(k=5, ties=document)",
    ]
    other = plm.evaluate({"trec": files(tmp_path, 3)}, task="ranking", metrics=named).metrics
    assert one.equals(other)


def bpref(rows: list[dict[str, Any]], every: list[dict[str, Any]]) -> float:
    relevant = sum(row["y"] >= 1 for row in every)
    irrelevant = sum(row["judged"] and row["y"] < 1 for row in every)
    total, above = 0.0, 0
    for row in rows:
        if row["y"] >= 1:
            least = min(relevant, irrelevant)
            total += 1 - (min(above, least) / least if least else 0)
        elif row["judged"]:
            above += 1
    return total / relevant


def rbp(rows: list[dict[str, Any]], _: Any) -> float:
    return sum(0.3 * 0.7**place for place, row in enumerate(rows) if row["y"] >= 2)


def err(rows: list[dict[str, Any]], _: Any) -> float:
    total, onward = 0.0, 1.0
    for rank, row in enumerate(rows[:4], 1):
        stop = (2 ** row["y"] - 1) / 2**3
        total += onward * stop / rank
        onward *= 1 - stop
    return total


def judged(rows: list[dict[str, Any]], _: Any) -> float:
    return sum(row["judged"] for row in rows[:3]) / 3


def judged_of_retrieved(rows: list[dict[str, Any]], _: Any) -> float:
    return fmean(row["judged"] for row in rows[:6])


DEFINITIONS = {
    "bpref": bpref,
    "rbp(persistence=0.7, relevant_at=2)": rbp,
    "err(k=4, max_label=3)": err,
    "judged_at_k(k=3)": judged,
    "judged_at_k(k=6, denominator=retrieved)": judged_of_retrieved,
}


def test_values_within_ties_are_means_over_all_orders() -> None:
    rng = np.random.default_rng(7)
    queries = []
    for query in range(12):
        size = int(rng.integers(2, 8))
        label = rng.integers(0, 4, size)
        label[0] = 3
        queries.append(
            pl.DataFrame(
                {
                    "q": [query] * size,
                    "y": label,
                    "p": rng.integers(0, 3, size),
                    "judged": (label > 0) | (rng.random(size) < 0.5),
                    "w": [float(1 + query % 3)] * size,
                }
            )
        )
    frame = pl.concat(queries).sample(fraction=1, shuffle=True, seed=1)
    found = plm.evaluate(
        frame, task="ranking", label="y", query="q", models="p", weight="w", metrics=list(DEFINITIONS)
    ).metrics
    assert found["metric"].to_list() == list(DEFINITIONS)
    for text, definition in DEFINITIONS.items():
        expected, mass = 0.0, 0.0
        for rows in queries:
            every = rows.to_dicts()
            orders = [
                order for order in permutations(every) if all(a["p"] >= b["p"] for a, b in pairwise(order))
            ]
            assert len(orders) == np.prod([factorial(n) for n in rows["p"].value_counts()["count"]])
            expected += every[0]["w"] * fmean(definition(list(order), every) for order in orders)
            mass += every[0]["w"]
        assert found.filter(metric=text)["value"].item() == pytest.approx(expected / mass, rel=1e-12), text


def test_nobody_reads_on_after_a_row_that_stops_for_certain() -> None:
    """2^60 - 1 of 2^60 is 1 in double precision."""
    rows = pl.DataFrame({"q": [1, 1, 2, 2, 3], "y": [60, 60, 0, 60, 59], "p": [2, 1, 2, 1, 1]})
    asked = {"task": "ranking", "label": "y", "query": "q", "models": "p", "metrics": ["err(max_label=60)"]}
    assert plm.evaluate(rows, **asked).metrics["value"].item() == pytest.approx((1 + 1 / 2 + 1 / 2) / 3)


def test_rbp_and_err_of_known_lists() -> None:
    """The sum of the definition; and a perfect row of grade 4 first, which stops 15 of 16 readers."""
    gains = [1, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1]
    frame = pl.DataFrame({"q": [1] * 16, "y": gains, "p": range(16, 0, -1)})
    roles: dict[str, Any] = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    texts = ["rbp(persistence=0.5)", "rbp", "rbp(persistence=0.95)"]
    values = plm.evaluate(frame, **roles, metrics=texts).metrics["value"]
    expected = [sum((1 - p) * p**i * g for i, g in enumerate(gains)) for p in (0.5, 0.8, 0.95)]
    assert values.to_list() == pytest.approx(expected)
    graded = pl.DataFrame({"q": [1, 1], "y": [4, 4], "p": [2, 1]})
    (value,) = plm.evaluate(graded, **roles, metrics=["err"]).metrics["value"]
    assert value == pytest.approx(15 / 16 + 1 / 16 * 15 / 16 / 2)


def test_queries_without_a_relevant_row_have_a_number_of_judged_rows_as_others() -> None:
    frame = pl.DataFrame(
        {"q": [1, 1, 2, 2], "y": [1, 0, 0, 0], "p": [2, 1, 2, 1], "judged": [True, False, True, True]}
    )
    roles: dict[str, Any] = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    found = plm.evaluate(frame, **roles, metrics=["judged_at_k(k=2)", "mrr"]).metrics
    assert found["value"].to_list() == [0.75, 0.5]
    assert found["note"].to_list() == [None, "1 query without a relevant row is counted as 0"]


@pytest.mark.parametrize(
    ("frame", "metric", "words"),
    [
        ({"y": [1, 0], "p": [1, 2]}, "bpref", "column 'judged' .* is not in the data"),
        ({"y": [1, 0], "p": [1, 2], "judged": [1, 2]}, "bpref", "neither true nor false"),
        ({"y": [1, 0], "p": [1, 2], "judged": [True, None]}, "judged_at_k(k=2)", "neither true nor false"),
        ({"y": [1, 0], "p": [1, 2], "judged": ["yes", "no"]}, "bpref", "String, but must hold numbers"),
        ({"y": [5, 0], "p": [1, 2]}, "err", "a label is 5, above max_label = 4"),
        ({"y": [-1, 0], "p": [1, 2]}, "err", "negative"),
        ({"y": [1, 0], "p": [1, 2]}, "rbp(persistence=1)", "between 0 and 1"),
    ],
)
def test_what_does_not_fit_is_told(frame: dict[str, list[Any]], metric: str, words: str) -> None:
    with pytest.raises(plm.PlmetricsError, match=words):
        plm.evaluate(
            {"q": [1, 1], **frame}, task="ranking", label="y", query="q", models="p", metrics=[metric]
        )


def test_totals_add_over_states() -> None:
    rng = np.random.default_rng(0)
    query = np.repeat(np.arange(30), 5)
    frame = pl.DataFrame({"q": query, "y": rng.integers(0, 3, 150), "p": rng.random(150)})
    asked: dict[str, Any] = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    asked |= {"metrics": ["num_rel", "num_ret", "rbp", "err"]}
    parts = [plm.state(part, **asked) for part in (frame.filter(q=0), frame.filter(pl.col("q") > 0))]
    merged, whole = plm.merge(*parts).metrics, plm.evaluate(frame, **asked).metrics
    assert merged["value"].to_list() == pytest.approx(whole["value"].to_list())
    assert whole["value"].to_list()[:2] == [float((frame["y"] >= 1).sum()), 150.0]


def test_what_queries_are_like() -> None:
    sizes, relevant = [3, 1, 7, 2], [1, 0, 2, 0]
    rows = pl.DataFrame(
        {
            "q": np.repeat(list("abcd"), sizes),
            "y": [int(i < r) for s, r in zip(sizes, relevant, strict=True) for i in range(s)],
            "p": np.arange(13.0),
            "w": np.repeat([1.0, 2.0, 3.0, 4.0], sizes),
        }
    )
    over = {"slice_set": "q", "metric": "documents_per_query"}
    metrics = ["num_q", "num_q_without_relevant", "documents_per_query"]
    ends = [{"name": agg, "over": {**over, "agg": agg}} for agg in ("min", "max")]
    settings: dict[str, Any] = {"task": "ranking", "label": "y", "query": "q", "models": "p", "slices": ["q"]}
    settings |= {"uncertainty": {"replicates": 50}}
    found = plm.evaluate(rows, metrics=[*metrics, *ends], **settings).metrics.filter(slice="all")
    assert found["value"].to_list() == [4.0, 2.0, 13 / 4, 1.0, 7.0]
    assert found.filter(metric="documents_per_query")["interval_status"].item() == "ok"
    weighted = plm.evaluate(rows, metrics=metrics, weight="w", **settings).metrics.filter(slice="all")
    assert weighted["value"].to_list() == [10.0, 6.0, pytest.approx((3 + 2 + 21 + 8) / 10)]
