import numpy as np
import polars as pl
import pytest
from scipy import stats

from plmetrics.engine.ranking.rank_order import QueryRows, codes_of, same_order
from plmetrics.states.queries import QueryValue

FIRST = QueryValue("first", lambda ranked: ranked.reciprocal(1.0, 10**6), "average")


@pytest.mark.parametrize(
    "values", [["b", "b", "a"], ["b", "a", "b", "c", "a"], [3, 1, 3, 2], [None, 1, None]]
)
def test_codes_tell_queries_apart(values: list[object]) -> None:
    codes, first = codes_of(pl.Series("q", values).fill_null(0) if None in values else pl.Series("q", values))
    assert [values[row] for row in first[codes]] == values
    assert [values.index(values[row]) for row in first] == first.tolist()
    assert sorted(set(codes.tolist())) == list(range(len(set(values))))


@pytest.mark.parametrize("step", [2.0**-52, 2.0**-40, 0.25])
@pytest.mark.parametrize("start", [1.0, -2.0, 0.0])
def test_scores_that_differ_in_their_last_bits_are_no_ties(step: float, start: float) -> None:
    random = np.random.default_rng(4)
    queries, size = 50, 20
    rank = np.argsort(random.random((queries, size)), axis=1)
    score = start - rank * step * max(abs(start), 1.0)
    label = (rank == random.integers(0, size, (queries, 1))).astype(float)
    shuffled = random.permutation(queries * size)
    codes = np.repeat(np.arange(queries), size)[shuffled]
    rows = QueryRows(codes, queries, pl.Series(label.ravel()[shuffled]))
    found = rows.values(pl.Series(score.ravel()[shuffled]), [FIRST])["first"]
    np.testing.assert_allclose(found, 1 / ((rank * label).sum(axis=1) + 1), rtol=1e-12)


def test_the_two_zeros_are_a_tie() -> None:
    rows = QueryRows(np.array([0, 0]), 1, pl.Series([0.0, 1.0]), pl.Series([2, 1]))
    for ties, expected in (("average", 0.75), ("document", 0.5), ("worst", 0.5)):
        value = QueryValue("first", FIRST.build, ties)
        assert rows.values(pl.Series([-0.0, 0.0]), [value])["first"].tolist() == [expected]


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 1, 3, 0]])
def test_the_worst_order_leaves_rows_of_one_label_in_random_order(order: list[int]) -> None:
    labels, flags = pl.Series([0.0, 0.0, 1.0, 0.0])[order], pl.Series([True, False, True, False])[order]
    rows = QueryRows(np.zeros(4, dtype=np.int64), 1, labels, flags={"judged": flags})
    judged = QueryValue("judged", lambda ranked: ranked.flagged_rows("judged", 2), "worst")
    hits = QueryValue("hits", lambda ranked: ranked.expected_hits(1.0, 3), "worst")
    found = rows.values(pl.Series([1.0] * 4), [judged, hits])
    assert [float(values[0]) for values in found.values()] == pytest.approx([2 / 3, 0.0])


@pytest.mark.parametrize("dtype", [pl.String, pl.Int64, pl.Categorical, pl.Enum(["9", "10"])])
def test_documents_are_in_the_order_of_their_texts(dtype: pl.DataType) -> None:
    """As trec_eval has them: 9 is after 10, and so before it among ties."""
    rows = QueryRows(np.array([0, 0]), 1, pl.Series([0.0, 1.0]), pl.Series(["9", "10"]).cast(dtype))
    value = QueryValue("first", FIRST.build, "document")
    assert rows.values(pl.Series([0.5, 0.5]), [value])["first"].tolist() == [0.5]


@pytest.mark.parametrize(
    "labels", [[0.0, 3.0, 1.0, 2.0], [0.5, 0.25, 1e300, 0.75], [-1.0, 4.0, -3.0, 0.0], [0.0, 9.0, 9.0, 300.0]]
)
def test_labels_are_put_in_descending_order(labels: list[float]) -> None:
    judged = QueryRows(np.array([1, 0, 1, 0]), 2, pl.Series(labels)).query_labels
    assert judged.offsets.tolist() == [0, 2, 4]
    assert judged.best.tolist() == [*sorted(labels[1::2], reverse=True), *sorted(labels[::2], reverse=True)]


def test_a_query_without_rows_has_no_labels() -> None:
    judged = QueryRows(np.array([2, 0, 2]), 4, pl.Series([0.0, 1.0, 2.0])).query_labels
    assert (judged.offsets.tolist(), judged.best.tolist()) == ([0, 1, 1, 3, 3], [1.0, 2.0, 0.0])


@pytest.mark.parametrize("place", [0, 1500, 2999])
def test_a_row_out_of_order_is_put_in_its_place(place: int) -> None:
    score = np.linspace(1.0, 0.5, 3000)
    score[place] = 2.0
    label = np.zeros(3000)
    label[place] = 1.0
    rows = QueryRows(np.zeros(3000, dtype=np.int64), 1, pl.Series(label))
    assert rows.values(pl.Series(score), [FIRST])["first"].tolist() == [1.0]


def test_models_of_one_order_are_told_from_others() -> None:
    """Against the ranks of each query by SciPy."""
    random = np.random.default_rng(5)
    for _ in range(200):
        codes = random.integers(0, 4, 12)
        first = random.integers(0, 3, 12) + 0.0
        second = np.where(random.random(12) < 0.1, random.integers(0, 3, 12), first**3 + codes)
        second[random.random(12) < 0.02] = np.nan
        expected = []
        for query in range(4):
            one, other = (scores[codes == query] for scores in (first, second))
            alike = not np.isnan(other).any() and np.array_equal(stats.rankdata(one), stats.rankdata(other))
            expected.append(query != 2 and alike)
        assert same_order(codes, first, second, np.arange(4) != 2).tolist() == expected
