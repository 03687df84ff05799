"""Ranking metrics of random tables against the definitions in plain Python, and against scikit-learn."""

from collections.abc import Callable
from math import ceil, exp, log, log2
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import dcg_score, ndcg_score

import plmetrics as plm

ROLES: dict[str, Any] = {"task": "ranking", "label": "grade", "query": "topic", "document": "page"}


def table(seed: int, *, ties: bool = False, queries: int = 30) -> pl.DataFrame:
    """Rows of all queries in one shuffled table; the first queries have nothing relevant."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 12, queries)
    topic = np.repeat(np.arange(queries), sizes)
    rows = len(topic)
    grade = random.choice([0, 0, 0, 1, 2, 3], rows) * (topic > 2)
    scores = [random.random(rows) if not ties else random.integers(0, 4, rows) - 1.0 for _ in range(2)]
    frame = pl.DataFrame(
        {
            "topic": [f"t{number}" for number in topic],
            "page": random.permutation(rows),
            "grade": grade,
            "one": scores[0],
            "two": scores[1],
            "weight": random.choice([0.5, 1.0, 2.0], queries)[topic],
            "market": random.choice(["at", "de"], queries)[topic],
        }
    )
    return frame.sample(fraction=1, shuffle=True, seed=seed)


def relevant(grades: list[float], at: float = 1.0) -> list[int]:
    return [rank for rank, grade in enumerate(grades, 1) if grade >= at]


def dcg(grades: list[float], k: int, *, exponential: bool = False) -> float:
    gains = [2.0**grade - 1 if exponential else grade for grade in grades]
    return sum(gain / log2(rank + 1) for rank, gain in enumerate(gains, 1) if rank <= k)


def ndcg(
    grades: list[float], k: int, empty: float | None = None, *, exponential: bool = False
) -> float | None:
    ideal = dcg(sorted(grades, reverse=True), k, exponential=exponential)
    return dcg(grades, k, exponential=exponential) / ideal if ideal else empty


def average_precision(grades: list[float], k: int, denominator: str) -> float | None:
    ranks = relevant(grades)
    found = [count / rank for count, rank in enumerate(ranks, 1) if rank <= k]
    if not ranks:
        return None
    whole = {"all": len(ranks), "min_k": min(len(ranks), k), "retrieved": len(found)}[denominator]
    return sum(found) / whole if whole else 0.0


def top(grades: list[float], k: int, at: float = 1.0) -> int:
    return len([rank for rank in relevant(grades, at) if rank <= k])


def reciprocal(grades: list[float], k: int) -> float:
    first = min(relevant(grades), default=k + 1)
    return 1 / first if first <= k else 0.0


def if_any(grades: list[float], value: Callable[[int], float], at: float = 1.0) -> float | None:
    count = len(relevant(grades, at))
    return value(count) if count else None


def interpolated(grades: list[float], recall: float, more: float = 0.5) -> float | None:
    """Largest precision at a rank with this share of the relevant rows, their number rounded."""
    least = int(recall * len(relevant(grades)) + more)
    ranks = [rank for rank in range(1, len(grades) + 1) if top(grades, rank) >= least]
    return if_any(grades, lambda _: max(top(grades, rank) / rank for rank in ranks))


MANY = 10**9
DEFINITIONS: dict[str, Callable[[list[float]], float | None]] = {
    "ndcg": lambda g: ndcg(g, MANY),
    "ndcg@3": lambda g: ndcg(g, 3),
    "ndcg(k=4, gain=exponential, empty=one)": lambda g: ndcg(g, 4, 1.0, exponential=True),
    "ndcg(empty=zero)": lambda g: ndcg(g, MANY, 0.0),
    "dcg(k=2)": lambda g: dcg(g, 2),
    "dcg(gain=exponential)": lambda g: dcg(g, MANY, exponential=True),
    "map": lambda g: average_precision(g, MANY, "all"),
    "map@3": lambda g: average_precision(g, 3, "all"),
    "map(k=3, denominator=min_k)": lambda g: average_precision(g, 3, "min_k"),
    "map(k=3, denominator=retrieved)": lambda g: average_precision(g, 3, "retrieved"),
    "mrr": lambda g: reciprocal(g, MANY),
    "mrr@2": lambda g: reciprocal(g, 2),
    "precision@4": lambda g: top(g, 4) / 4,
    "recall_at_k(k=4)": lambda g: if_any(g, lambda count: top(g, 4) / count),
    "recall_at_k(k=4, relevant_at=2)": lambda g: if_any(g, lambda count: top(g, 4, 2) / count, 2),
    "hit@2": lambda g: float(top(g, 2) > 0),
    "f1_at_k(k=4)": lambda g: if_any(g, lambda count: 2 * top(g, 4) / (4 + count)),
    "r_precision": lambda g: if_any(g, lambda count: top(g, count) / count),
    "precision_at_k(k=4, denominator=min_k)": lambda g: (
        top(g, 4) / min(4, len(relevant(g))) if relevant(g) else 0.0
    ),
    "r_precision(multiple=1.5)": lambda g: if_any(
        g, lambda count: top(g, ceil(1.5 * count)) / ceil(1.5 * count)
    ),
    "interpolated_precision(recall=0.3)": lambda g: interpolated(g, 0.3),
    "interpolated_precision(recall=0.3, rounding=up)": lambda g: interpolated(g, 0.3, 0.9),
    "interpolated_ap(points=5)": lambda g: if_any(
        g, lambda _: fmean(interpolated(g, step / 4) or 0.0 for step in range(5))
    ),
    "mean_rank": lambda g: if_any(g, lambda _: fmean(relevant(g))),
}


def by_hand(
    frame: pl.DataFrame, model: str, number: Callable[[list[float]], float | None], ties: str
) -> float:
    """Weighted mean over queries, in plain Python."""
    weights: list[float] = []
    values: list[float] = []
    for _, rows in frame.group_by("topic"):
        keys = {"document": [pl.col("page").cast(pl.String)], "worst": [-pl.col("grade")], "average": []}[
            ties
        ]
        ordered = rows.sort(pl.col(model), *keys, descending=True)
        value = number([float(grade) for grade in ordered["grade"]])
        if value is not None:
            weights.append(rows["weight"][0])
            values.append(value)
    return sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)


@pytest.mark.slow
@pytest.mark.parametrize("ties", ["average", "worst", "document"])
def test_values_are_those_of_the_definitions(ties: str) -> None:
    frame = table(5, ties=ties != "average")
    texts = {name: plm.metric(name, task="ranking").text for name in DEFINITIONS}
    ordered = {
        name: text
        if ties == "average"
        else f"{text[:-1]}, ties={ties})"
        if "(" in text
        else f"{text}(ties={ties})"
        for name, text in texts.items()
    }
    found = plm.evaluate(
        frame,
        **ROLES,
        models=["one", "two"],
        weight="weight",
        metrics=list(ordered.values()),
        slices=["market"],
    ).metrics
    value = {(row["model"], row["slice"], row["metric"]): row["value"] for row in found.iter_rows(named=True)}
    parts = {"all": frame, **{f"market={name}": frame.filter(market=name) for name in ("at", "de")}}
    for model in ("one", "two"):
        for place, part in parts.items():
            for name, number in DEFINITIONS.items():
                expected = by_hand(part, model, number, ties)
                assert value[model, place, ordered[name]] == pytest.approx(expected, rel=1e-12), (place, name)


def test_scikit_learn_has_the_same_expectation_within_ties() -> None:
    frame = table(8, ties=True).filter(pl.len().over("topic") > 1)
    frame = frame.filter(pl.col("grade").sum().over("topic") > 0)
    found = plm.evaluate(
        frame, **ROLES, models="one", metrics=["ndcg", "ndcg@3", "dcg@3", "default_ndcg@3"]
    ).metrics["value"]
    queries = [
        (rows["grade"].to_numpy()[None], rows["one"].to_numpy()[None]) for _, rows in frame.group_by("topic")
    ]
    assert found[0] == pytest.approx(fmean(ndcg_score(*query) for query in queries))
    assert found[1] == pytest.approx(fmean(ndcg_score(*query, k=3) for query in queries))
    assert found[2] == pytest.approx(fmean(dcg_score(*query, k=3) for query in queries))
    blind = [(grades, np.zeros_like(scores)) for grades, scores in queries]
    assert found[3] == pytest.approx(fmean(ndcg_score(*query, k=3) for query in blind))


PUBLISHED = [
    ([10, 9, 8, 7, 6, 5], [3, 2, 3, 0, 1, 2], "ndcg(k=5, gain=exponential)", 0.8755944),
    ([10, 9, 8, 7, 6, 5], [3, 2, 3, 0, 1, 2], "default_ndcg(k=5, gain=exponential)", 0.7070456),
    ([10, 9, 8, 7, 6, 5], [3, 2, 3, 0, 1, 2], "mrr", 1.0),
    ([10, 9, 8, 7, 6, 5], [3, 2, 3, 0, 1, 2], "map(k=5, denominator=retrieved)", 0.95),
    ([10, 9, 8, 7, 6, 5], [3, 2, 3, 0, 1, 2], "map(k=5)", 0.76),
    ([1, 1, 1, 1, 1, 1], [3, 2, 3, 0, 1, 2], "ndcg(k=5, gain=exponential)", 0.7070456),
    ([3, 3, 2, 1, 1, 1, 0], [3, 2, 3, 0, 1, 2, 4], "ndcg(k=5, gain=exponential)", 0.5023706),
]
"""Unit tests of google/yggdrasil-decision-forests; map over all relevant rows follows from the same ranks."""


@pytest.mark.exhaustive
@pytest.mark.parametrize(("scores", "grades", "text", "expected"), PUBLISHED)
def test_published_values(scores: list[int], grades: list[int], text: str, expected: float) -> None:
    frame = pl.DataFrame({"topic": ["q"] * len(scores), "grade": grades, "score": scores})
    found = plm.evaluate(frame, task="ranking", label="grade", query="topic", models="score", metrics=[text])
    assert found.metrics["value"].item() == pytest.approx(expected, abs=6e-8)


def test_whole_lists_and_the_geometric_mean() -> None:
    """Of tables every row is retrieved; a query of weight 2 counts twice in a logarithm, too."""
    frame = table(6)
    asked = ["set_precision", "set_recall", "set_f1", "gmap"]
    found = plm.evaluate(
        frame, **ROLES, models="one", weight="weight", metrics=asked, uncertainty=True
    ).metrics
    sizes = {
        "set_precision": lambda g: len(relevant(g)) / len(g),
        "set_recall": lambda g: if_any(g, lambda _: 1.0),
        "set_f1": lambda g: if_any(g, lambda count: 2 * count / (count + len(g))),
    }
    expected = [by_hand(frame, "one", number, "average") for number in sizes.values()]
    logarithm = lambda g: if_any(g, lambda _: log(average_precision(g, MANY, "all") or 0.0))  # noqa: E731
    expected.append(exp(by_hand(frame, "one", logarithm, "average")))
    assert found["value"].to_list() == pytest.approx(expected, rel=1e-12)
    last = found.row(-1, named=True)
    assert last["lower"] < last["value"] < last["upper"]


def test_tied_rows_have_the_precision_that_is_expected_at_their_ranks() -> None:
    rows = pl.DataFrame({"q": [1] * 5, "y": [1, 0, 0, 1, 0], "p": [2, 2, 2, 1, 1]})
    roles: dict[str, Any] = {"task": "ranking", "label": "y", "query": "q", "models": "p"}
    asked = ["interpolated_precision(recall=0.5)", "interpolated_precision(recall=1)"]
    assert plm.evaluate(rows, **roles, metrics=asked).metrics["value"].to_list() == pytest.approx([0.4, 0.4])


def test_weight_2_is_the_query_twice_and_weight_0_the_query_absent() -> None:
    frame = table(2, ties=True).drop("weight", "page")
    number = pl.col("topic").str.strip_prefix("t").cast(pl.Int64)
    weighted = frame.with_columns((number % 3).cast(pl.Float64).alias("weight"))
    again = [frame.filter(number % 3 >= copy).with_columns(pl.col("topic") + f"-{copy}") for copy in (1, 2)]
    roles: dict[str, Any] = {"task": "ranking", "label": "grade", "query": "topic", "models": "one"}
    metrics = ["ndcg@3", "map", "mrr", "hit@2", "mean_rank"]
    ours = plm.evaluate(weighted, **roles, weight="weight", metrics=metrics).metrics
    twice = plm.evaluate(pl.concat(again), **roles, metrics=metrics).metrics
    np.testing.assert_allclose(ours["value"], twice["value"], rtol=1e-12)
    np.testing.assert_allclose(ours["weight"], twice["weight"])
    assert ours["n"][0] == frame.filter(number % 3 > 0)["topic"].n_unique()


def test_gains_beyond_all_numbers_are_an_overflow() -> None:
    """A query whose best gain overflows had 0 of it, whatever its order."""
    rows = pl.DataFrame({"q": [1, 1, 2, 2], "y": [1.6e308, 0.8e308, 0.0, 1.0], "p": [2, 1, 1, 2]})
    found = plm.evaluate(
        rows, task="ranking", label="y", query="q", models="p", metrics=["ndcg", "default_ndcg"]
    )
    assert found.metrics.select("value", "status").rows() == [(None, "overflow")] * 2


@pytest.mark.parametrize("others", [[], ["map"]])
def test_hits_of_other_orders_are_no_equal_models(others: list[str]) -> None:
    """Equal hits of 40 queries leave open what 40 can, whatever else the suite asks; one order is one model."""
    random = np.random.default_rng(6)
    query = np.repeat(np.arange(40), 6)
    head = np.tile([9.0, 0, 0, 0, 0, 0], 40)
    scores = {"a": head + random.random(240), "b": head + random.random(240)}
    rows = pl.DataFrame(
        {"q": query, "y": np.tile([1, 0, 0, 1, 0, 0], 40), **scores, "c": 2 * scores["a"] + 1}
    )
    found = plm.evaluate(
        rows,
        task="ranking",
        label="y",
        query="q",
        models={name: name for name in "abc"},
        metrics=["hit_at_k(k=1)", *others],
        uncertainty={"replicates": 50},
        compare="a",
    ).comparisons.filter(metric="hit_at_k(k=1)")
    reach = 1.959963984540054**2 / (40 + 1.959963984540054**2)
    assert found["upper"].to_list() == pytest.approx([reach, 0.0])
    assert found["reading"].to_list() == ["unclear", "equal"]
