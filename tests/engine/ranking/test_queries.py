"""Rankings from end to end: what belongs to a query, bad input, and all that other tasks have."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm

QUERIES, SIZE = 40, 6
ROOT = Path(__file__).parents[3]
TREC = ("configs/data/trec/qrels.test", "configs/data/trec/results.test", "tests/data/trec/results.trunc")


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    random = np.random.default_rng(11)
    rows = QUERIES * SIZE

    def of_queries(values: Any) -> Any:
        return np.repeat(values, SIZE)

    return pl.DataFrame(
        {
            "q": [f"q{row // SIZE}" for row in range(rows)],
            "d": np.arange(rows),
            "y": random.choice([0, 0, 1, 2], rows) * (np.arange(rows) >= 2 * SIZE),
            "a": random.random(rows),
            "b": random.random(rows),
            "w": of_queries(random.choice([1.0, 2.0], QUERIES)),
            "market": of_queries(random.choice(["at", "de"], QUERIES)),
            "length": of_queries(random.integers(1, 9, QUERIES)),
            "user": of_queries(np.arange(QUERIES) // 2),
        }
    ).with_columns(c=pl.col("a") * 2)


def evaluate(frame: pl.DataFrame, **more: Any) -> plm.Result:
    arguments = {"models": {"a": "a", "b": "b", "c": "c"}, "metrics": ["ndcg", "map", "hit@2"], **more}
    return plm.evaluate(frame, **{"task": "ranking", "label": "y", "query": "q", **arguments})


def test_intervals_comparisons_and_gates_come_as_for_other_tasks(frame: pl.DataFrame) -> None:
    result = evaluate(
        frame,
        slices={"market": "market", "long": {"column": "length", "bins": [5]}},
        uncertainty={"replicates": 200},
        compare="a",
        gates=[{"metric": "ndcg", "model": "a", "at_least": 0.1, "using": "interval"}],
    )
    overall = result.metrics.filter(slice_set="overall")
    assert overall["n"].unique().to_list() == [QUERIES]
    assert overall["interval_status"].unique().to_list() == ["ok"]
    assert (overall["lower"] < overall["value"]).all()
    assert result.metrics.height == 3 * 3 * 5
    same = result.comparisons.filter(model="c")
    assert same["difference"].unique().to_list() == [0.0]
    assert same["p_value"].unique().to_list() == [1.0]
    assert result.verdict == "pass"


def test_the_interval_s_width_is_that_of_a_mean_over_queries(frame: pl.DataFrame) -> None:
    found = evaluate(frame, models="a", metrics=["precision@3"], uncertainty={"replicates": 2000}).metrics
    ranked = frame.sort("q", "a", descending=[False, True])
    hits = ranked.group_by("q").agg((pl.col("y").head(3) >= 1).sum() / 3)["y"].to_numpy()
    assert found["value"].item() == pytest.approx(hits.mean())
    assert found["std_error"].item() == pytest.approx(hits.std(ddof=1) / QUERIES**0.5, rel=0.1)
    assert found["blocks"].item() == QUERIES


def test_units_may_hold_several_queries(frame: pl.DataFrame) -> None:
    found = evaluate(frame, models="a", metrics=["dcg"], unit="user", uncertainty=True).metrics
    assert (found["n"].item(), found["blocks"].item()) == (QUERIES, QUERIES // 2)


def test_order_of_rows_changes_nothing(frame: pl.DataFrame) -> None:
    settings: dict[str, Any] = {"slices": ["market"], "uncertainty": {"replicates": 50}, "weight": "w"}
    one = evaluate(frame, **settings).metrics
    other = evaluate(frame.sample(fraction=1, shuffle=True, seed=3), **settings).metrics
    for column in ("value", "lower", "upper", "std_error", "weight"):
        np.testing.assert_allclose(other[column], one[column], rtol=1e-12)


@pytest.mark.parametrize(
    "spec",
    [
        {"column": "length", "quantiles": 3},
        {"column": "length", "bins": [3, 6]},
        {"column": "length", "top": 2},
        {"where": "length > 4"},
        ["market", "length"],
    ],
)
def test_every_kind_of_slice_is_one_of_queries(frame: pl.DataFrame, spec: Any) -> None:
    found = evaluate(frame, models="a", metrics=["dcg"], slices={"own": spec}).metrics
    parts = found.filter(slice_set="own")
    whole = QUERIES if not isinstance(spec, dict) or "where" not in spec else None
    expected = whole or frame.filter(pl.col("length") > 4)["q"].n_unique()
    assert parts["n"].sum() == expected


@pytest.mark.parametrize(
    ("metric", "note"),
    [
        ("ndcg", "2 queries without a relevant row are left out"),
        ("ndcg(empty=zero)", "2 queries without a relevant row are counted as 0"),
        ("ndcg(empty=one)", "2 queries without a relevant row are counted as 1"),
        ("map", "2 queries without a relevant row are left out"),
        ("mrr", "2 queries without a relevant row are counted as 0"),
    ],
)
def test_queries_without_relevance_are_counted_in_the_note(
    frame: pl.DataFrame, metric: str, note: str
) -> None:
    assert evaluate(frame, models="a", metrics=[metric]).metrics["note"].item() == note


def test_without_any_relevance_there_is_no_value(frame: pl.DataFrame) -> None:
    found = evaluate(frame.with_columns(y=0), models="a", metrics=["ndcg", "map", "mrr"]).metrics
    assert found["status"].to_list() == ["no_relevant", "no_relevant", "ok"]
    assert found["value"].to_list() == [None, None, 0.0]


def test_ranks_behind_an_at(frame: pl.DataFrame) -> None:
    found = evaluate(frame, models="a", metrics=["ndcg@[2, 4]", {"metric": "map@[1]", "slices": "overall"}])
    assert found.metrics["metric"].to_list() == ["ndcg(k=2)", "ndcg(k=4)", "map(k=1)"]


def test_sections_and_metrics_name_a_metric_as_the_list_does(frame: pl.DataFrame) -> None:
    frame = frame.with_columns(kind=pl.col("q").cast(pl.String).str.slice(-1))
    found = evaluate(
        frame,
        models=["a", "b"],
        metrics=["nDCG@2", "disparity(by=kind, metric=ndcg_cut_2)", "disparity(P@2, by=kind)"],
        slices={"kind": "kind"},
        curves=[{"curve": "query_differences", "metric": "ndcg@2"}],
        compare={"baseline": "a", "decompose": {"kind": ["ndcg_cut_2"]}},
    )
    assert found.suite.compare is not None
    assert found.suite.compare.decompose == {"kind": ("ndcg(k=2)",)}
    assert [curve.metric for curve in found.suite.curves] == ["ndcg(k=2)"]
    assert found.metrics["metric"].unique(maintain_order=True).to_list()[:3] == [
        "ndcg(k=2)",
        "disparity(ndcg(k=2), by=kind)",
        "disparity(precision_at_k(k=2), by=kind)",
    ]


def test_metrics_of_rankings_in_formulas(frame: pl.DataFrame) -> None:
    formula = {"name": "mixed", "formula": "0.5 * map + ndcg@2 - mrr(k=3)"}
    found = evaluate(frame, models="a", metrics=[formula, "map", "ndcg@2", "mrr@3"]).metrics["value"]
    assert found[0] == pytest.approx(0.5 * found[1] + found[2] - found[3])


def test_defaults(frame: pl.DataFrame) -> None:
    found = evaluate(frame, models="a", metrics=None).metrics
    assert found["metric"].to_list() == ["ndcg", "map", "mrr", "r_precision"]


@pytest.mark.parametrize("missing", ["drop", "drop_per_model"])
def test_rows_that_are_dropped(frame: pl.DataFrame, missing: str) -> None:
    gone = frame.with_columns(a=pl.when(pl.col("q") != "q5").then("a"))
    result = evaluate(gone, metrics=["dcg"], missing=missing, models=["a", "b"])
    without = evaluate(frame.filter(pl.col("q") != "q5"), metrics=["dcg"], models=["a", "b"]).metrics
    assert result.metrics["n"].to_list() == [39, 39 if missing == "drop" else 40]
    assert result.metrics["value"][0] == pytest.approx(without["value"][0])
    assert result.record["rows"]["pairs_read"] == QUERIES * SIZE
    (words,) = (text for text in result.warnings if "left out" in text)
    assert words.startswith(f"{SIZE} of {QUERIES * SIZE} rows are left out")


@pytest.mark.parametrize("missing", ["drop", "drop_per_model"])
def test_rows_that_are_left_out_of_their_queries_are_counted(frame: pl.DataFrame, missing: str) -> None:
    """Ranks of the others change, and the number of queries does not. Rows of weight 0 are another matter."""
    weightless = frame.with_columns(w=pl.when(pl.col("q") == "q3").then(0.0).otherwise("w"))
    asked: dict[str, Any] = {"metrics": ["ndcg"], "missing": missing, "models": ["a", "b"], "weight": "w"}
    assert not [text for text in evaluate(weightless, **asked).warnings if "left out" in text]
    gaps = weightless.with_columns(
        a=pl.when(pl.col("d") != 30).then("a"), b=pl.when(pl.col("d") != 31).then("b"), y=null_at("y")
    )
    (words,) = (text for text in evaluate(gaps, **asked).warnings if "left out" in text)
    assert words.startswith(f"3 of {QUERIES * SIZE} rows are left out")


EXPONENTIAL = {"metrics": ["ndcg(gain=exponential)"]}
REPEATED = {"cross_validation": {"repeat": "d"}, "fold": "y"}


def null_at(column: str) -> pl.Expr:
    return pl.when(pl.col("d") != 7).then(pl.col(column)).alias(column)


@pytest.mark.parametrize(
    ("change", "settings", "words"),
    [
        (
            pl.int_range(pl.len()).cast(pl.Float64).alias("w"),
            {"weight": "w"},
            ["'w' (weight) varies within 40 of 40 queries; query 'q0' has more than one weight, such as 0.0"],
        ),
        (
            pl.when(pl.col("d") == 7).then(0.0).otherwise(1.0).alias("w"),
            {"weight": "w"},
            ["'w' (weight) varies within a query", "'q1'"],
        ),
        (pl.col("y"), {"slices": ["y"]}, ["'y' of slice set 'y' varies within", "queries"]),
        (pl.col("y"), {"slices": {"high": {"where": "a > 0.5"}}}, ["slice set 'high' varies within"]),
        (pl.col("y"), REPEATED, ["'d' (cross_validation) varies within 40"]),
        (pl.col("y"), {"unit": "d", "uncertainty": True}, ["'d' (unit) varies within 40 of 40 queries"]),
        (
            pl.when(pl.col("d") == 1).then(0).otherwise("d").alias("d"),
            {"document": "d"},
            ["'d' (document): 1 document stands in a query more than once", "0, 2 times in query 'q0'"],
        ),
        (null_at("q"), {}, ["'q' (query): 1 of 240 values is null, the first in row 7"]),
        (null_at("a"), {}, ["'a' (score of model 'a'): 1 of 240 values is null, the first in row 7"]),
        ((pl.col("y") - 1).alias("y"), {}, ["'y' (label)", "are negative", "the first is -1 in row 0"]),
        (pl.lit(2000).alias("y"), EXPONENTIAL, ["above 1000, too large for exponential gains"]),
        (pl.lit(0.5).alias("q"), {"uncertainty": True}, ["'q' (query) is of type Float64"]),
        (pl.col("y"), {"where": "y > 9"}, ["no row satisfies where: y > 9"]),
        (pl.col("a").cast(pl.Float64) * float("nan"), {"missing": "drop"}, ["no rows are left of 240"]),
    ],
)
def test_bad_data_is_named(
    frame: pl.DataFrame, change: pl.Expr, settings: dict[str, Any], words: list[str]
) -> None:
    changed = frame.with_columns(change)
    if "0.0" in words[0]:
        changed = changed.with_columns(pl.col("w") + 1)
        words = [words[0].replace("0.0", "1.0 and 2.0")]
    with pytest.raises(plm.DataError) as caught:
        evaluate(changed, **settings)
    for word in words:
        assert word in str(caught.value)


def test_labels_below_0_are_no_gain_but_may_be_irrelevant(frame: pl.DataFrame) -> None:
    moved = frame.with_columns(pl.col("y") - 1)
    ours = evaluate(moved, models="a", metrics=["map(relevant_at=0)"]).metrics["value"].item()
    assert ours == evaluate(frame, models="a", metrics=["map"]).metrics["value"].item()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"query": None}, ["needs query", "name its column: query=..."]),
        ({"metrics": ["map(ties=document)"]}, ["map(ties=document) orders ties by document"]),
        ({"metrics": ["ndcg@0"]}, ["k must be all, or a whole number of at least 1, not 0"]),
        ({"metrics": ["ndcg@2(k=3)"]}, ["'k' is given twice"]),
        ({"metrics": ["disparity(ndcg@2(k=3), by=q)"]}, ["'k' is given twice"]),
        ({"metrics": ["precision_at_k"]}, ["parameter 'k' is missing"]),
        ({"metrics": [{"name": "own", "mean": "score"}]}, ["own is made from rows"]),
        ({"gates": [{"metric": "ndcg@[1, 2]", "at_least": 1}]}, ["stands for 2 metrics, and one is needed"]),
        ({"curves": ["roc"]}, ["belongs to task 'binary'"]),
    ],
)
def test_bad_suites_are_refused(frame: pl.DataFrame, settings: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(plm.ConfigError) as caught:
        evaluate(frame, **settings)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "dtype",
    [pl.Categorical, pl.Int64, pl.Date, pl.UInt64, pl.Enum([str(number) for number in range(QUERIES)])],
)
def test_queries_of_every_type_in_any_order(frame: pl.DataFrame, dtype: Any) -> None:
    number = pl.col("q").str.strip_prefix("q")
    text = dtype == pl.Categorical or isinstance(dtype, pl.Enum)
    typed = frame.with_columns(q=number.cast(dtype) if text else number.cast(pl.Int32).cast(dtype))
    mixed = typed.sample(fraction=1, shuffle=True, seed=1)
    expected = evaluate(frame, models="a").metrics["value"]
    np.testing.assert_allclose(evaluate(mixed, models="a").metrics["value"], expected, rtol=1e-12)


def test_a_metric_of_one_s_own(frame: pl.DataFrame) -> None:
    from plmetrics.catalogue.ranking.base import QueryMetric

    class FoundTwice(QueryMetric):
        name = "found_twice"

        def per_query(self, ranked: Any) -> Any:
            return (ranked.expected_hits(1.0, 3) >= 2).astype(float)

    found = evaluate(frame, models="a", metrics=[FoundTwice()]).metrics["value"].item()
    top = frame.sort("a", descending=True).group_by("q", maintain_order=True).head(3)
    assert found == pytest.approx(((top.group_by("q").agg((pl.col("y") >= 1).sum()))["y"] >= 2).mean())


def test_a_suite_on_trec_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNS", "results")
    for name in TREC:
        (tmp_path / Path(name).name).write_bytes((ROOT / name).read_bytes())
    suite = tmp_path / "trec.yaml"
    suite.write_text(
        "task: ranking\ndata: {trec: {qrels: qrels.test, run: {long: '${RUNS}.test', short: '${RUNS}.trunc'}}}\n"
        "metrics: [map(ties=document), hit@5]\ncompare: {baseline: long}\n"
    )
    result = plm.run(suite)
    values = result.metrics.select("model", "metric", "value").rows()
    assert values[0] == ("long", "map(ties=document)", pytest.approx(0.1785, abs=5e-5))
    assert result.metrics.filter(model="short")["note"][0] == "1 query without results is left out"
    assert result.record["files"][0]["path"] == "qrels.test"
    suite.write_text(suite.read_text().replace("}}}", "}, complete: true}}"))
    complete = plm.run(suite).metrics.filter(model="short", metric="map(ties=document)")
    assert complete["value"].item() == pytest.approx(values[2][2] * 2 / 3)
    assert complete["note"].item() is None


def test_explain_says_what_is_sorted() -> None:
    from plmetrics.api.inspection import bound_suite
    from plmetrics.features.explain.explanation import explain

    with bound_suite(ROOT / "configs" / "ranking.yaml") as request:
        found = explain(request)
    assert (found.rows, found.units) == (1010, 101)
    assert found.source.columns == ("group", "label", "score")
    assert [(part.stage, part.does) for part in found.passes][1] == ("rank", "1 sort in memory, 1 a model")


def test_the_rows_of_a_ranking_are_read_in_one_streaming_plan(
    frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    from plmetrics.features.explain.passes import fallbacks

    stuck: list[str] = []
    collect_all = pl.collect_all

    def watched(plans: Any, **keywords: Any) -> Any:
        stuck.extend(label for plan in plans for label in fallbacks(plan))
        return collect_all(plans, **keywords)

    monkeypatch.setattr(pl, "collect_all", watched)
    evaluate(frame, weight="w", document="d", slices=["market"], where="length > 1", uncertainty=True)
    assert stuck == []


def test_a_model_without_any_score_has_no_queries() -> None:
    rows = pl.DataFrame({"y": [1, 0, 0, 1], "p": [0.1, 0.2, 0.3, 0.4], "g": [0, 0, 1, 1]})
    rows = rows.with_columns(q=pl.lit(None, dtype=pl.Float64))
    asked: dict[str, Any] = {"label": "y", "query": "g", "models": ["p", "q"], "missing": "drop_per_model"}
    found = plm.evaluate(rows, task="ranking", metrics=["ndcg", "num_q"], **asked).metrics
    assert found.filter(model="q")["status"].unique().to_list() == ["no_rows"]
    assert found.filter(model="p", metric="num_q")["value"].item() == 2
