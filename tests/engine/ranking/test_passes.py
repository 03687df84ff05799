"""Rankings whose rows come in passes: the same tables, and the same errors, whatever the budget."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.engine.inquiry import answer
from plmetrics.engine.memory.budget import passes_to_hold


def table(rows=3000, queries=300):
    rng = np.random.default_rng(4)
    query = rng.integers(0, queries, rows)
    frame = pl.DataFrame({"q": query, "rel": rng.integers(0, 4, rows), "a": rng.normal(size=rows)})
    return frame.with_columns(b=pl.col("a").round(1), name=pl.format("query {}", "q"), g=pl.col("q") % 3)


def ranked(monkeypatch, frame, passes, **options):
    def few(*_):
        yield from ()
        return passes

    monkeypatch.setattr("plmetrics.engine.ranking.queries.passes_to_hold", few)
    settings = {"query": "q", "metrics": ["ndcg", "map(relevant_at=2)"], "uncertainty": {"replicates": 40}}
    settings |= {"slices": ["g"], "compare": "a", "reproducible": True, **options}
    return plm.evaluate(frame, task="ranking", label="rel", models=["a", "b"], **settings)


@pytest.mark.parametrize("options", [{}, {"query": "name"}, {"uncertainty": None, "slices": None}], ids=str)
def test_passes_give_the_tables_of_one(monkeypatch, options):
    one, seven = (ranked(monkeypatch, table(), passes, **options) for passes in (1, 7))
    assert one.metrics.equals(seven.metrics)
    assert one.comparisons.equals(seven.comparisons)
    assert one.record["rows"] == seven.record["rows"]


def test_passes_without_queries_are_left_out(monkeypatch):
    frame = table(40, queries=2)
    assert ranked(monkeypatch, frame, 9).metrics.equals(ranked(monkeypatch, frame, 1).metrics)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"a": pl.when(pl.int_range(pl.len()) == 2999).then(float("nan")).otherwise("a")}, "1 of 3,000 rows"),
        ({"q": pl.when(pl.int_range(pl.len()) > 4).then("q")}, "5 of 3,000 rows"),
    ],
    ids=["a score", "queries"],
)
def test_errors_are_those_of_the_whole_table(monkeypatch, bad, words):
    errors = []
    for passes in (1, 7):
        with pytest.raises(plm.DataError) as told:
            ranked(monkeypatch, table().with_columns(**bad), passes)
        errors.append(str(told.value))
    assert errors[0] == errors[1]
    assert words.split(" of ")[0] in errors[0]


@pytest.mark.parametrize(
    ("memory", "passes"), [(16_000_000, 1), (15_999_000, 3), (8_000_000, 4), (2_000_000, 16)]
)
def test_so_many_passes_that_half_of_the_room_is_enough(memory, passes):
    """100,000 rows of 10 numbers are 8 MB; of budgets that are smaller than the libraries half is room."""
    request = SimpleNamespace(suite=SimpleNamespace(memory=memory), source=SimpleNamespace(rows=None))
    rows = pl.LazyFrame({"x": range(100_000)})
    assert answer(passes_to_hold(request, rows, 10, "ranking", "task")) == passes


def test_more_passes_than_are_made_are_refused_with_a_budget_that_is_enough():
    def request(memory):
        return SimpleNamespace(suite=SimpleNamespace(memory=memory), source=SimpleNamespace(rows=None))

    rows = pl.LazyFrame({"x": range(100_000)})
    with pytest.raises(plm.ConfigError, match="raise memory to 300MB"):
        answer(passes_to_hold(request(400_000), rows, 10, "ranking", "task"))
    assert answer(passes_to_hold(request(300_000_000), rows, 10, "ranking", "task")) == 1
