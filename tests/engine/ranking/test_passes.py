"""Rankings whose rows come in passes: the same tables, and the same errors, whatever the budget."""

import json
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


@pytest.mark.exhaustive
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


def files_of(folder, frame, parts, *, closed):
    """The rows in files that share no query, or any."""
    owner = pl.col("q") % parts if closed else pl.int_range(pl.len()) % parts
    for number in range(parts):
        frame.filter(owner == number).write_parquet(folder / f"{number}.parquet")
    return {
        "task": "ranking",
        "data": {"path": str(folder / "*.parquet"), "where": "rel < 3", "partitioned_by": "query"},
        "columns": {"label": "rel", "query": "name"},
        "models": ["a", "b"],
        "metrics": ["ndcg", "map"],
        "slices": {"g": "g"},
        "uncertainty": {"replicates": 40},
        "reproducible": True,
        "memory": "1MB",
    }


def run(folder, suite):
    (folder / "suite.yaml").write_text(json.dumps(suite))
    return plm.run(folder / "suite.yaml", output=folder / "runs")


@pytest.fixture
def scans(monkeypatch):
    """How many files each pass read, of rows that take ten times the room there is."""
    monkeypatch.setattr("plmetrics.engine.memory.budget.LIBRARIES", 800_000)
    monkeypatch.setattr("plmetrics.engine.ranking.queries._RANKED", 80)
    read = []

    def collected(request, part, whole):
        read.append(len(part.source.files))
        return of_pass(request, part, whole)

    from plmetrics.engine.ranking import queries

    of_pass = queries._queries_of_pass
    monkeypatch.setattr(queries, "_queries_of_pass", collected)
    return read


@pytest.mark.slow
def test_files_that_share_no_query_are_read_once_each(tmp_path, scans):
    suite = files_of(tmp_path, table(), 12, closed=True)
    by_files = run(tmp_path, suite)
    assert sum(scans) == 12
    assert len(scans) > 3
    scans.clear()
    del suite["data"]["partitioned_by"]
    by_hash = run(tmp_path, suite)
    assert scans == [12] * len(scans)
    assert by_files.metrics.equals(by_hash.metrics)
    assert by_files.record["rows"] == by_hash.record["rows"]
    del suite["memory"]
    assert run(tmp_path, suite).metrics.equals(by_files.metrics)


def test_a_file_that_does_not_fit_is_read_in_passes_of_its_own(tmp_path, scans):
    frame = table().with_columns(q=pl.when(pl.col("q") < 250).then(pl.col("q") // 2 * 2).otherwise("q"))
    frame = frame.with_columns(name=pl.format("query {}", "q"), g=pl.col("q") % 3)
    suite = files_of(tmp_path, frame, 2, closed=True)
    found = run(tmp_path, suite)
    assert scans == [1] * len(scans)
    assert len(scans) > 3
    del suite["memory"]
    assert run(tmp_path, suite).metrics.equals(found.metrics)


@pytest.mark.usefixtures("scans")
def test_a_query_in_several_files_is_no_number_but_an_error(tmp_path):
    suite = files_of(tmp_path, table(), 12, closed=False)
    with pytest.raises(
        plm.DataError, match=r"'name' \(query\): .* queries have rows in several files, such as 'query"
    ):
        run(tmp_path, suite)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"task": "binary", "metrics": ["roc_auc"]}, "belongs to task 'ranking'"),
        ({"data": {"trec": {"qrels": "q", "run": "r"}, "partitioned_by": "query"}}, "how rows lie in files"),
        ({"data": {"path": "x.parquet", "partitioned_by": "customer"}}, "partitioned_by"),
    ],
)
def test_only_files_of_rankings_are_partitioned(tmp_path, changes, words):
    with pytest.raises(plm.ConfigError, match=words):
        run(tmp_path, {**files_of(tmp_path, table(40), 2, closed=True), **changes})
