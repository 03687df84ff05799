"""Numbers of queries against all orders of tied rows, one by one."""

from collections.abc import Callable
from itertools import permutations, product
from math import log2

import numpy as np
import pytest

from plmetrics.states.queries import EVERY_RANK, QueryLabels, RankedRows, gains

Query = list[tuple[float | None, float]]
"""Score (None: not retrieved) and label of each row."""


def gained(rows: Query, cut: int) -> float:
    return sum(
        label / log2(rank + 1)
        for rank, (score, label) in enumerate(rows, 1)
        if rank <= cut and score is not None
    )


def hits(rows: Query, cut: int) -> list[int]:
    return [
        rank
        for rank, (score, label) in enumerate(rows, 1)
        if rank <= cut and score is not None and label >= 1
    ]


def precisions(rows: Query, cut: int) -> float:
    return sum(count / rank for count, rank in enumerate(hits(rows, cut), 1))


def mean_precision(rows: Query, cut: int) -> float:
    found = hits(rows, cut)
    return precisions(rows, cut) / len(found) if found else 0.0


def ranks(rows: Query, cut: int) -> float:
    return float(sum(rank for rank, (_, label) in enumerate(rows, 1) if label >= 1))


NUMBERS: dict[str, tuple[Callable[[Query, int], float], Callable[[RankedRows, int], np.ndarray]]] = {
    "discounted": (gained, lambda ranked, cut: ranked.discounted_gain("linear", cut)),
    "found": (
        lambda rows, cut: float(len(hits(rows, cut))),
        lambda ranked, cut: ranked.expected_hits(1.0, cut),
    ),
    "hit_probability": (
        lambda rows, cut: float(bool(hits(rows, cut))),
        lambda ranked, cut: ranked.hit_probability(1.0, cut),
    ),
    "reciprocal": (
        lambda rows, cut: 1 / hits(rows, cut)[0] if hits(rows, cut) else 0.0,
        lambda ranked, cut: ranked.reciprocal(1.0, cut),
    ),
    "precision_sum": (precisions, lambda ranked, cut: ranked.precision_sum(1.0, cut)),
    "mean_precision_at_hits": (mean_precision, lambda ranked, cut: ranked.mean_precision_at_hits(1.0, cut)),
    "rank_sum": (ranks, lambda ranked, cut: ranked.rank_sum(1.0)),
}


def expectation(query: Query, number: Callable[[Query, int], float], cut: int) -> float:
    """The mean over all orders of the rows in each tie group."""
    groups: dict[float, Query] = {}
    for row in query:
        groups.setdefault(-np.inf if row[0] is None else row[0], []).append(row)
    orders = product(*(permutations(groups[score]) for score in sorted(groups, reverse=True)))
    values = [number([row for group in order for row in group], cut) for order in orders]
    return sum(values) / len(values)


def random_queries(seed: int, *, retrieves_all: bool) -> list[Query]:
    random = np.random.default_rng(seed)

    def row() -> tuple[float | None, float]:
        score = float(random.integers(0, 3))
        return (score if retrieves_all or random.random() < 0.7 else None), float(random.integers(0, 3))

    return [[row() for _ in range(random.integers(1, 7))] for _ in range(4)]


def ranked(queries: list[Query]) -> RankedRows:
    ordered = [
        sorted(query, key=lambda row: -np.inf if row[0] is None else row[0])[::-1] for query in queries
    ]
    offsets = np.cumsum([0, *map(len, queries)])
    flat = [row for query in ordered for row in query]
    starts = set(offsets.tolist())
    tied = [i not in starts and flat[i][0] == flat[i - 1][0] for i in range(len(flat))]
    best = np.concatenate([sorted((row[1] for row in query), reverse=True) for query in queries])
    return RankedRows(
        QueryLabels(best, offsets),
        np.array([label for _, label in flat]),
        np.array(tied),
        np.array([score is not None for score, _ in flat]),
    )


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("retrieves_all", [True, False])
def test_ties_count_as_the_mean_over_their_orders(name: str, retrieves_all: bool) -> None:
    number, read = NUMBERS[name]
    for seed in range(8):
        queries = random_queries(seed, retrieves_all=retrieves_all)
        for cut in (1, 2, 3, 5, EVERY_RANK):
            wanted = [expectation(query, number, cut) for query in queries]
            np.testing.assert_allclose(read(ranked(queries), cut), wanted, rtol=1e-12, atol=1e-14)


def test_a_cut_may_be_the_query_s_own() -> None:
    queries = random_queries(3, retrieves_all=True)
    cuts = np.array([1, 3, 2, 4])
    wanted = [
        expectation(query, lambda rows, cut: float(len(hits(rows, cut))), int(cut))
        for query, cut in zip(queries, cuts, strict=True)
    ]
    np.testing.assert_allclose(ranked(queries).expected_hits(1.0, cuts), wanted, rtol=1e-12)


def test_rows_that_share_one_score_gain_what_random_order_does() -> None:
    queries: list[Query] = [[(1.0, label) for label in (3.0, 2.0, 3.0, 0.0, 1.0, 2.0)], [(1.0, 0.0)]]
    made = ranked(queries)
    np.testing.assert_allclose(
        made.blind("exponential", 5), made.discounted_gain("exponential", 5), rtol=1e-12
    )
    assert made.blind("exponential", 5)[0] / made.judged.ideal("exponential", 5)[0] == pytest.approx(
        0.7070456, abs=1e-7
    )


def test_large_tie_groups_keep_their_digits() -> None:
    size, relevant = 20_000, 200
    query: Query = [(1.0, float(row < relevant)) for row in range(size)]
    expected = 0.0
    none_yet = 1.0
    for rank in range(1, size - relevant + 2):
        here = none_yet * relevant / (size - rank + 1)
        expected += here / rank
        none_yet -= here
    assert ranked([query]).reciprocal(1.0, EVERY_RANK)[0] == pytest.approx(expected, rel=1e-9)


def test_a_query_without_rows_has_nothing() -> None:
    made = RankedRows(
        QueryLabels(np.array([1.0]), np.array([0, 0, 1, 1])), np.array([1.0]), np.array([False]), None
    )
    assert made.expected_hits(1.0, 1).tolist() == [0.0, 1.0, 0.0]
    assert made.blind("linear", 1).tolist() == [0.0, 1.0, 0.0]
    assert made.reciprocal(1.0, 1).tolist() == [0.0, 1.0, 0.0]


def test_gains() -> None:
    assert gains(np.array([0.0, 2.5]), "linear").tolist() == [0.0, 2.5]
    np.testing.assert_allclose(gains(np.array([2.5]), "exponential"), [2**2.5 - 1])
