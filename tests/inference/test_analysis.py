"""Results do not depend on how metrics and replicates are shared out: in threads, or so many at a time."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.inference import analysis
from plmetrics.inference import weights as replication_weights
from plmetrics.inference.ordered import replicates as ordered
from plmetrics.states.scores.exact import row_counts

ROWS = 600


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(11)
    score = rng.random(ROWS).round(2)
    columns = {"label": rng.random(ROWS) < score, "a": score, "b": rng.random(ROWS).round(1)}
    return pl.DataFrame(
        columns
        | {
            "weight": rng.integers(0, 4, ROWS) / 2,
            "customer": rng.integers(0, 90, ROWS),
            "cell": rng.integers(0, 12, ROWS),
        }
    ).with_columns(pl.col("label").cast(pl.Int8))


def evaluated(table, **arguments):
    return plm.evaluate(
        table,
        label="label",
        models={"a": "a", "b": "b"},
        metrics=[
            "roc_auc",
            "ks",
            "f1",
            "log_loss",
            "fpr_parity_difference(by=cell)",
            "recall_at_precision(precision=0.7)",
        ],
        unit="customer",
        uncertainty={"replicates": 40, "seed": 5},
        compare={"baseline": "a"},
        **({"slices": {"cell": "cell"}} | arguments),
    )


@pytest.mark.parametrize("weight", [None, "weight"])
def test_threads_change_nothing(monkeypatch, table, weight):
    for module in (analysis, ordered):
        monkeypatch.setattr(module, "_WORTH_A_THREAD", 1 << 60)
    alone = evaluated(table, weight=weight)
    monkeypatch.setattr(ordered, "processors", lambda: 3)
    for module in (analysis, ordered):
        monkeypatch.setattr(module, "_WORTH_A_THREAD", 0)
    together = evaluated(table, weight=weight)
    assert alone.metrics["interval_status"].is_in(["ok"]).sum() > 100
    for name in ("metrics", "comparisons"):
        assert_frame_equal(getattr(alone, name), getattr(together, name), rel_tol=1e-10, abs_tol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "weight"])
def test_replicates_of_coarse_bins_are_the_same_however_many_are_made_at_once(monkeypatch, table, weight):
    made = []

    def counted(weights, counts, held):
        made.append(len(weights))
        return replication_weights.drawn_counts(weights, counts, held)

    monkeypatch.setattr(ordered, "replicates_rows", lambda *_: False)
    monkeypatch.setattr(ordered, "drawn_counts", counted)
    monkeypatch.setattr(row_counts, "is_sparse", lambda *_: False)
    whole = evaluated(table, weight=weight)
    assert set(made) == {10}
    made.clear()
    monkeypatch.setattr(ordered, "_POINTS_AT_ONCE", 1)
    monkeypatch.setattr(ordered, "_LEAST_AT_ONCE", 7)
    parts = evaluated(table, weight=weight)
    assert set(made) == {7, 5}
    for name in ("metrics", "comparisons"):
        assert_frame_equal(getattr(whole, name), getattr(parts, name), rel_tol=1e-9, abs_tol=1e-12)


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("weight", [None, "weight"])
@pytest.mark.parametrize("exact", [True, False])
def test_reproducible_tables_do_not_tell_the_number_of_processors(monkeypatch, table, weight, exact):
    asked = {"weight": weight, "exact": exact, "reproducible": True}
    asked["slices"] = {"cell": "cell", "half": {"column": "a", "bins": [0.5]}}
    monkeypatch.setattr(ordered, "_WORTH_A_THREAD", 0)
    found = []
    for count in (1, 2, 3):
        for place in ("core.threads", "engine.order.on_grid", "inference.ordered.replicates"):
            monkeypatch.setattr(f"plmetrics.{place}.processors", lambda count=count: count)
        found.append(evaluated(table, **asked))
    for other in found[1:]:
        for name in ("metrics", "comparisons"):
            assert getattr(found[0], name).equals(getattr(other, name), null_equal=True)


@pytest.mark.slow
def test_heavy_slices_beside_light_ones_do_not_tell_the_number_of_processors(monkeypatch, table):
    """A slice whose counts have no room in single precision is counted beside others, and which is by the way."""
    rng = np.random.default_rng(2)
    weight = pl.Series(rng.random(ROWS)) * pl.when(pl.col("cell") == 0).then(1e12).otherwise(1.0)
    heavy = table.with_columns(pl.col("cell") % 6, weight=weight)
    found = []
    for count in (1, 2):
        for place in ("core.threads", "engine.order.on_grid", "inference.ordered.replicates"):
            monkeypatch.setattr(f"plmetrics.{place}.processors", lambda count=count: count)
        found.append(evaluated(heavy, weight="weight", exact=False, reproducible=True).metrics)
    assert found[0].equals(found[1], null_equal=True)


def test_a_metric_across_slices_has_its_bound_however_many_slices_are_made_at_once(
    table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = pl.concat([table] * 20).with_columns(pl.col("a", "b") + pl.int_range(pl.len()) / (1 << 20))
    asks = {"exact": False, "uncertainty": None, "unit": None, "compare": None, "slices": {"cell": "cell"}}
    metrics = ["roc_auc", "disparity(roc_auc, by=cell)"]

    def bounds() -> pl.DataFrame:
        result = plm.evaluate(rows, label="label", models={"a": "a"}, metrics=metrics, **asks)
        return result.metrics.select("metric", "slice", "value", "bound")

    together = bounds()
    monkeypatch.setattr("plmetrics.states.scores.coarse._SLICES_AT_ONCE", 5)
    assert_frame_equal(bounds(), together)
    across = together.filter(pl.col("metric").str.starts_with("disparity"))
    assert (across["bound"] > 0).all(), "bounds of the two slices that are furthest apart"


def test_metrics_across_slices_name_the_threshold_of_the_metric_in_slices() -> None:
    frame = pl.DataFrame({"y": [1, 0, 1, 0] * 5, "p": [0.9, 0.2, 0.4, 0.6] * 5, "g": list("aabb") * 5})
    metrics = [
        "recall",
        "recall(threshold=0.3)",
        "disparity(recall, by=g)",
        "disparity(recall(threshold=0.3), by=g)",
        "shrunken_rate(recall, by=g)",
        "demographic_parity_difference(by=g)",
        "disparity(roc_auc, by=g)",
        {"over": {"slice_set": "g", "metric": "recall", "agg": "worst"}},
    ]
    models = {"p": "p", "own": {"score": "p", "threshold": 0.7}}
    found = plm.evaluate(frame, label="y", models=models, metrics=metrics, slices={"g": "g"}).metrics
    rows = found.group_by("model", "metric", maintain_order=True).agg(pl.col("threshold").unique())
    cuts = {(model, metric): values for model, metric, values in rows.iter_rows()}
    for model, usual in (("p", 0.5), ("own", 0.7)):
        for name in ("disparity(recall, by=g)", "shrunken_rate(recall, by=g)", "worst_recall_over_g"):
            assert cuts[model, name] == cuts[model, "recall"] == [usual]
        assert cuts[model, "demographic_parity_difference(by=g)"] == [usual]
        assert cuts[model, "disparity(recall(threshold=0.3), by=g)"] == [0.3]
        assert cuts[model, "disparity(roc_auc, by=g)"] == [None]


@pytest.mark.parametrize("method", ["analytic", "auto"])
def test_lines_of_metrics_that_nobody_lists_have_their_errors(table, method) -> None:
    twice = {"name": "twice", "formula": "brier * 2"}
    asked = {"label": "label", "models": ["a"], "metrics": [twice], "uncertainty": {"method": method}}
    row = plm.evaluate(table, **asked).metrics.row(0, named=True)
    squares = (table["a"] - table["label"]).to_numpy() ** 2
    assert row["value"] == pytest.approx(2 * squares.mean())
    assert row["std_error"] == pytest.approx(2 * squares.std(ddof=1) / ROWS**0.5)


def two_models_alike_in(group: str) -> pl.DataFrame:
    """Rows of three groups with two models that are equal in one of them."""
    rng = np.random.default_rng(1)
    y, g = rng.integers(0, 2, ROWS), rng.choice(list("abc"), ROWS)
    p, q = (np.clip(rng.normal(0.4 + 0.2 * y, 0.2), 0, 1) for _ in range(2))
    return pl.DataFrame({"y": y, "g": g, "p": p, "q": np.where(g == group, p, q)})


def test_values_of_slices_that_others_shape_are_compared_where_models_are_equal_in_them() -> None:
    frame = two_models_alike_in("a")
    names = ["shrunken_rate(recall, by=g)", "average_odds_difference(by=g, reference=b)"]
    asked = {"label": "y", "models": ["p", "q"], "slices": ["g"], "metrics": names, "compare": "p"}
    found = plm.evaluate(frame, uncertainty={"replicates": 40}, **asked)
    compared = found.comparisons.filter(slice="g=a")
    rates = frame.group_by("g", "y").agg(
        pl.mean("p", "q") * 0, *((pl.col(m) >= 0.5).mean().alias(f"{m}1") for m in "pq")
    )
    rate = {(g, y): (p, q) for g, y, p, q in rates.select("g", "y", "p1", "q1").iter_rows()}
    odds = [sum(rate["a", y][m] - rate["b", y][m] for y in (0, 1)) / 2 for m in (0, 1)]
    assert compared["difference"][1] == pytest.approx(odds[1] - odds[0], abs=1e-12)
    values = found.metrics.filter(slice="g=a", metric=names[0])["value"]
    assert compared["difference"][0] == pytest.approx(values[1] - values[0], abs=1e-12)
    assert (compared["difference"].abs() > 1e-3).all()
    assert (compared["p_value"] < 1).all()
    reference = found.comparisons.filter(slice="g=b", metric=names[1])
    assert reference.select("difference", "lower", "upper").row(0) == (0, 0, 0)


def test_gaps_to_all_rows_are_compared_where_models_differ_in_rows_of_no_slice() -> None:
    frame = two_models_alike_in("a").filter(pl.col("g") != "c")
    slices = {
        "g": {"column": "g", "exclude": ["b"]},
        "low": {"where": {"a": "g = 'a'", "few": "g = 'a' AND p < 0.6"}},
    }
    metrics = ["disparity(recall, by=low, method=to_overall)", "disparity(recall, by=low)"]
    asked = {"label": "y", "models": ["p", "q"], "slices": slices, "metrics": metrics, "compare": "p"}
    found = plm.evaluate(frame, uncertainty={"replicates": 40}, **asked).comparisons
    positives = frame.filter(pl.col("y") == 1)
    recall = [(positives[name] >= 0.5).mean() for name in "pq"]
    of_groups = [
        (positives.filter(part)["p"] >= 0.5).mean()
        for part in (pl.col("g") == "a", (pl.col("g") == "a") & (pl.col("p") < 0.6))
    ]
    gaps = [max(abs(group - overall) for group in of_groups) for overall in recall]
    differences = dict(found.select("metric", "difference").iter_rows())
    assert differences[metrics[0]] == pytest.approx(gaps[1] - gaps[0], abs=1e-12)
    assert abs(gaps[1] - gaps[0]) > 1e-3
    assert found.filter(metric=metrics[1]).select("difference", "lower", "upper").row(0) == (0, 0, 0)


def test_the_least_share_of_groups_is_of_the_rows_that_the_metric_counts() -> None:
    groups = ["a"] * 600 + ["b"] * 390 + ["c"] * 10
    labels = [index % 2 if index % 10 == 0 else None for index in range(1000)]
    scores = [
        0.9 if name == "c" or index % (2 if name == "a" else 3) == 0 else 0.1
        for index, name in enumerate(groups)
    ]
    frame = pl.DataFrame({"y": labels, "p": scores, "g": groups})
    metrics = [
        "demographic_parity_difference(by=g)",
        {"name": "high", "mean": "score > 0.5"},
        "disparity(high, by=g)",
    ]
    found = plm.evaluate(
        frame, label="y", models="p", labels=True, slices=["g"], metrics=metrics, positive=1
    ).metrics.filter(slice_set="g", slice="all")
    shares = frame.group_by("g").agg((pl.col("p") >= 0.5).mean()).filter(pl.col("g") != "c")["p"]
    assert found["value"].to_list() == pytest.approx([shares.max() - shares.min()] * 2, abs=1e-12)
    assert found["note"].to_list() == ["not judged: g=c (below_min_share)"] * 2, (
        "1 % of the rows, 10 % of the labelled"
    )
