"""Laws that hold whatever the metric: transformed input, and the change in output that must follow."""

import contextlib
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from conftest import THOROUGH
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from references.samples import BINARY, FAST, INTERVALS, KEYS, REGRESSION, VALUES, assert_same, samples

import plmetrics as plm
from plmetrics.core.errors import DataError

# Tables are small anyway: a failing law is shown at once, not shrunk for minutes.
quick = settings(phases=(Phase.explicit, Phase.generate))
few = settings(quick, max_examples=3)
fewer = settings(quick, max_examples=3 if THOROUGH else 2)
"""Of laws that evaluate all metrics with intervals: the first table has 60 rows with ties, the second is drawn."""
SOME = BINARY if THOROUGH else BINARY[::3]
"""Metrics of laws of what all metrics read."""
SLICES = {
    "g": "g",
    "cross": ["h", "g"],
    "binned": {"column": "h", "bins": [-1, 2]},
    "high": {"where": "h > 0"},
}


KNOBS = {
    "cubes": {"engine.prepare.preparation.MAX_CELLS": 1},
    "lists": {"engine.prepare.preparation.MAX_CELLS": 1, "table.slices._WIDEST_NUMBER": 4},
    "spans": {"table.slices._WIDEST_SPAN": 1},
    "lookups": {"table.slices.LOOKUP_CELLS": 0},
    "aggregates": {"engine.streaming.AGGREGATES_PER_NODE": 3},
    "slices": {
        "states.scores.coarse._SLICES_AT_ONCE": 1,
        "states.scores.exact.point_rows.SIZE": 2,
        "inference.ordered.metrics.SLICES_AT_ONCE": 1,
        "inference.ordered.replicates.SLICES_AT_ONCE": 1,
    },
    "dense": {
        "states.scores.exact.sorted_rows.DENSE_LIMIT": 1,
        "states.scores.exact.row_counts.DENSE_LIMIT": 1,
    },
    "coarse": {"states.scores.coarse.EXACT_REPLICATES": 0, "states.scores.coarse._OF_A_SLICE": 0},
    "replicates": {
        "states.scores.exact.class_rows._ROOM": 1,
        "states.scores.exact.point_rows._ROOM": 1,
        "states.scores.exact.point_rows._LEAST_REPLICATES": 1,
        "states.scores.exact.point_rows._REPLICATES": 3,
    },
}


@contextlib.contextmanager
def turned(names):
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            for place, value in KNOBS[name].items():
                patch.setattr(f"plmetrics.{place}", value)
        yield


many_rows = pytest.mark.parametrize("knobs", [(), ("coarse",)], ids=["few_rows", "many_rows"])


def evaluate(data, **arguments):
    arguments = {"label": "y", "models": {"m": "p", "b": "q"}, "metrics": BINARY, **arguments}
    return plm.evaluate(data, **arguments)


def with_units(data, **arguments):
    everything = {"unit": "u", "weight": "w", "slices": SLICES, "uncertainty": FAST, "compare": "b"}
    return evaluate(data, **{**everything, **arguments})


def regression(data, **arguments):
    return evaluate(data, task="regression", label="target", metrics=REGRESSION, weight="w", **arguments)


def assert_same_results(found, wanted):
    assert_same(found.metrics, wanted.metrics)
    assert_same(found.comparisons, wanted.comparisons, wanted.comparisons.columns)


def rows_of(result, **where):
    return result.metrics.filter(**where)


@pytest.mark.slow
@many_rows
@fewer
@given(table=samples, random=st.randoms(use_true_random=False))
def test_row_order_changes_nothing_when_units_are_named(knobs, table, random):
    order = list(range(table.height))
    random.shuffle(order)
    with turned(knobs):
        assert_same_results(with_units(table[order]), with_units(table))
    if not knobs:  # these are of scores
        kept = {"unit": "u", "slices": SLICES, "uncertainty": FAST}
        assert_same_results(regression(table[order], **kept), regression(table, **kept))


@pytest.mark.slow
@fewer
@given(table=samples, files=st.sampled_from([1, 2, 5]), backwards=st.booleans())
def test_file_partition_changes_nothing_when_units_are_named(tmp_path_factory, table, files, backwards):
    folder = tmp_path_factory.mktemp("parts")
    cuts = np.linspace(0, table.height, min(files, table.height) + 1).astype(int)
    for number, (low, high) in enumerate(pairwise(cuts)):
        table[int(low) : int(high)].write_parquet(folder / f"{-number if backwards else number:+d}.parquet")
    assert_same_results(with_units(str(folder)), with_units(table))


@pytest.mark.slow
@many_rows
@fewer
@given(table=samples)
def test_a_model_does_not_feel_the_others(knobs, table):
    columns = {"m": "p", "b": "q", "below": "negative"}
    table = table.with_columns(negative=-pl.col("u") / 8)
    ordered = {"metrics": ["accuracy", "roc_auc", "average_precision", "ks"], "weight": None}
    with turned(knobs):
        together = with_units(table, models=columns, **ordered)
        alone = with_units(table, models={"b": "q"}, compare=None, **ordered)
        backwards = with_units(table, models=dict(reversed(columns.items())), **ordered)
    assert_same(rows_of(together, model="b"), rows_of(alone, model="b"))
    for model in columns:
        assert_same(rows_of(together, model=model), rows_of(backwards, model=model))
        ours, theirs = (result.comparisons.filter(model=model) for result in (together, backwards))
        assert_same(ours, theirs, ours.columns)


@pytest.mark.slow
@many_rows
@fewer
@given(table=samples, unit=st.sampled_from([None, "u"]), weight=st.sampled_from([None, "w"]))
def test_a_new_slice_set_or_metric_changes_no_other_number(knobs, table, unit, weight):
    metrics = ["accuracy", "roc_auc", "ece"]
    roles = {"unit": unit, "weight": weight}
    with turned(knobs):
        small = with_units(table, **roles, slices={"g": "g"}, metrics=metrics).metrics
        large = with_units(table, **roles, metrics=[*metrics, *BINARY]).metrics
    kept = large.filter(pl.col("slice_set").is_in(["overall", "g"]), pl.col("metric").is_in(metrics))
    assert_same(kept, small)


@pytest.mark.slow
@fewer
@given(samples)
def test_weight_2_is_the_row_twice_and_weight_0_is_its_absence(table):
    copies = table.select(pl.all().repeat_by(pl.col("w").cast(pl.Int64))).explode(
        pl.all(), empty_as_null=False
    )
    weighted = evaluate(table, weight="w", slices=SLICES)
    repeated = evaluate(copies, slices=SLICES)
    held = pl.col("metric") != "n"
    columns = [*KEYS, "value", "status"]
    assert_same(weighted.metrics.filter(held), repeated.metrics.filter(held), columns)
    assert_same(regression(table).metrics, regression(copies.with_columns(w=1)).metrics, columns)


@pytest.mark.slow
@few
@given(samples)
def test_n_counts_rows_of_weight_above_0(table):
    found = evaluate(table, weight="w", slices=SLICES, metrics=["n", "roc_auc"])
    absent = evaluate(table.filter(pl.col("w") > 0), slices=SLICES, metrics=["n", "roc_auc"])
    assert_same(found.metrics, absent.metrics, [*KEYS, "n"])
    assert found.metrics.filter(metric="n", status="ok").select((pl.col("n") == pl.col("value")).all()).item()


@pytest.mark.slow
@fewer
@given(samples)
def test_ordered_metrics_see_only_the_order_of_scores(table):
    moved = table.with_columns(pl.col("p", "q") ** 3 * 5 - 7)
    metrics = ["roc_auc", "gini", "average_precision", "ks"]
    assert_same_results(with_units(moved, metrics=metrics), with_units(table, metrics=metrics))


@pytest.mark.slow
@few
@given(samples)
def test_flipped_labels_or_scores_mirror_the_area(table):
    plain = evaluate(table, weight="w", metrics=["roc_auc"], slices=SLICES).metrics
    labels = evaluate(
        table.with_columns(~pl.col("y")), weight="w", metrics=["roc_auc"], slices=SLICES
    ).metrics
    scores = evaluate(
        table.with_columns(-pl.col("p", "q")), weight="w", metrics=["roc_auc"], slices=SLICES
    ).metrics
    mirrored = plain.with_columns((1 - pl.col("value")).alias("value"))
    assert_same(labels, mirrored, [*KEYS, "value"])
    assert_same(scores, mirrored, [*KEYS, "value"])


@few
@given(samples)
def test_slices_partition_the_whole(table):
    counts = ["tp", "fp", "fn", "tn", "n"]
    found = evaluate(table, weight="w", slices=SLICES, metrics=counts).metrics
    for name in ("g", "cross", "binned"):
        added = (
            found.filter(slice_set=name)
            .group_by("model", "metric", maintain_order=True)
            .agg(pl.col("value").sum())
        )
        whole = found.filter(slice_set="overall").select("model", "metric", "value")
        assert_same(added, whole, ["model", "metric", "value"])


@pytest.mark.slow
@fewer
@given(samples)
def test_every_slice_equals_its_rows_alone(table):
    found = evaluate(table, weight="w", slices=SLICES).metrics
    predicates = {"g=a": pl.col("g") == "a", "g=null": pl.col("g").is_null(), "high=true": pl.col("h") > 0}
    for text, predicate in predicates.items():
        own = found.filter(slice=text)
        part = table.filter(predicate, pl.col("w") > 0)
        if part.is_empty():
            assert own["value"].is_null().all()
            continue
        assert_same(
            own, evaluate(part, weight="w").metrics, ["model", "metric", "value", "n", "weight", "status"]
        )


@few
@given(samples)
def test_where_equals_a_predicate_slice(table):
    found = evaluate(table, slices={"some": {"where": "h > -2 and g is not null"}}).metrics.filter(
        slice_set="some"
    )
    rows = table.filter(pl.col("h") > -2, pl.col("g").is_not_null())
    if rows.is_empty():
        assert (found["status"] == "no_rows").all()
        with pytest.raises(DataError, match="no row satisfies"):
            evaluate(table, where="h > -2 and g is not null")
        return
    named = evaluate(table, where="h > -2 and g is not null").metrics
    assert_same(found, named, ["model", "metric", "value", "n", "status"])
    assert_same(named, evaluate(rows).metrics, VALUES)


@pytest.mark.slow
@fewer
@given(samples)
def test_bins_and_crossings_equal_columns_made_by_hand(table):
    edges = [-1, 2]
    table = table.with_columns(
        bin=pl.when(pl.col("h").is_not_null()).then(
            sum((pl.col("h") >= edge).cast(pl.Int64) for edge in edges)
        ),
        both=pl.concat_str(
            pl.col("h").cast(pl.String).fill_null("~"), pl.col("g").fill_null("~"), separator="|"
        ),
    )
    sets = {"binned": {"column": "h", "bins": edges}, "bin": "bin", "cross": ["h", "g"], "both": "both"}
    found = with_units(table, slices=sets).metrics
    numbers = ["model", "metric", *INTERVALS[4:]]
    assert_same(found.filter(slice_set="binned"), found.filter(slice_set="bin"), numbers)
    key = (
        pl.col("slice_values").list.eval(pl.element().struct.field("value").fill_null("null")).list.join("|")
    )
    named = found.with_columns(key.str.replace_all("null", "~").alias("key")).sort("model", "key", "metric")
    assert_same(named.filter(slice_set="cross"), named.filter(slice_set="both"), ["key", *numbers])


HOLES = [("p", None), ("q", float("nan")), ("y", None), ("w", None), ("w", -1.0), ("u", None), ("p", 2.0)]


def damaged(table, seed):
    """The table with some bad values, and which rows are bad for whom."""
    rng = np.random.default_rng(seed)
    bad = {"all": np.zeros(table.height, dtype=bool), "p": np.zeros(table.height, dtype=bool)}
    bad["q"] = bad["p"].copy()
    for column, value in HOLES:
        here = rng.random(table.height) < 0.08
        own = pl.lit(value, dtype=table.schema[column])
        table = table.with_columns(pl.when(pl.Series(here)).then(own).otherwise(column).alias(column))
        bad[column if column in bad else "all"] |= here & (table["w"].fill_null(1.0) != 0).to_numpy()
    return table, bad


@pytest.mark.slow
@fewer
@given(samples, st.integers(0, 1000))
def test_missing_drop_equals_dropping_by_hand(table, seed):
    table, bad = damaged(table, seed)
    sound = table.filter(~(bad["all"] | bad["p"] | bad["q"]), pl.col("w") > 0)
    if sound.is_empty():
        with pytest.raises(DataError, match="no rows are left"):
            with_units(table, missing="drop")
        return
    found, wanted = with_units(table, missing="drop"), with_units(sound)
    place = ["slice_set", "slice"]
    for name, value in (("metrics", "value"), ("comparisons", "difference")):
        rows, expected = getattr(found, name), getattr(wanted, name)
        occurring = rows.join(expected.select(place).unique(), on=place, maintain_order="left", how="semi")
        assert_same(occurring, expected, expected.columns if name == "comparisons" else VALUES)
        beside = rows.join(expected, on=place, how="anti")
        assert beside[value].is_null().all()
        assert set(beside["status"]) <= {"no_rows"}
    if any(rows.any() for rows in bad.values()):
        with pytest.raises(DataError):
            with_units(table)


@pytest.mark.slow
@fewer
@given(samples, st.integers(0, 1000))
def test_drop_per_model_equals_each_model_alone_on_its_rows(table, seed):
    table, bad = damaged(table, seed)
    settings = {"weight": "w", "slices": SLICES}
    alone = {}
    for model, score in (("m", "p"), ("b", "q")):
        own = table.filter(~(bad["all"] | bad[score]), pl.col("w") > 0)
        if not own.is_empty():
            alone[model] = evaluate(own, models={model: score}, **settings).metrics
    if not alone:
        return
    found = evaluate(table, unit="u", uncertainty=FAST, missing="drop_per_model", **settings).metrics
    listed = (pl.col("n") > 0) | (pl.col("slice") == "high=true")
    for model, wanted in alone.items():
        assert_same(found.filter(listed, model=model), wanted, VALUES)


@pytest.mark.slow
@settings(quick, max_examples=2)
@given(table=samples)
def test_all_sources_give_the_same(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("sources")
    table.write_parquet(folder / "table.parquet")
    table.with_columns(pl.col("y").cast(pl.Int64)).write_csv(folder / "table.csv", null_value="")
    for key, part in table.partition_by("u", as_dict=True, include_key=False).items():
        (folder / "hive" / f"u={key[0]}").mkdir(parents=True)
        part.write_parquet(folder / "hive" / f"u={key[0]}" / "part.parquet")
    wanted = with_units(table, metrics=SOME)
    lazy = table.lazy().with_row_index("i").filter(pl.col("i") >= 0).drop("i")
    sources = [
        lazy,
        table.to_arrow(),
        table.to_pandas(),
        *map(str, (folder / "table.parquet", folder / "hive")),
    ]
    for source in sources:
        assert_same_results(with_units(source, metrics=SOME), wanted)
    crossed = {"slices": {"cross": ["h", "g"]}, "metrics": SOME}
    assert_same(with_units(folder / "table.csv", **crossed).metrics, with_units(table, **crossed).metrics)


@pytest.mark.slow
@fewer
@given(samples)
def test_equal_models_differ_by_exactly_nothing(table):
    found = with_units(table, models={"m": "p", "b": "p"}).comparisons
    extreme = found.filter(interval_status="not_estimable")
    assert set(extreme["metric"]) <= {"interpolated_ap"}
    assert (extreme["difference"] == 0).all()
    found = found.join(extreme, on=["metric", "slice"], how="anti")
    assert set(found["interval_status"]) <= {"ok", "undefined_value"}
    ok = found.filter(status="ok")
    assert (
        ok.select("difference", "lower", "upper", "std_error").to_numpy().tolist() == [[0.0] * 4] * ok.height
    )
    assert (ok["p_value"] == 1).all()


@pytest.mark.slow
@pytest.mark.parametrize("exact", [True, False])
@settings(quick, max_examples=5 if THOROUGH else 4)
@given(table=samples, names=st.sets(st.sampled_from(sorted({*KNOBS} - {"coarse"})), min_size=1))
def test_how_work_is_cut_up_changes_nothing(exact, table, names):
    metrics = [metric for metric in SOME if exact or "quantile" not in metric]
    whole = with_units(table, exact=exact, metrics=metrics)
    with turned(names):
        assert_same_results(with_units(table, exact=exact, metrics=metrics), whole)


MOMENTS = [
    "r2",
    "rmse_skill",
    "default_rmse",
    "pearson",
    "concordance_ccc",
    "explained_variance",
    "error_variance",
]


@pytest.mark.slow
@few
@given(
    table=samples,
    powers=st.lists(st.integers(0, 40), min_size=4, max_size=4),
    weight=st.sampled_from([None, "w"]),
)
def test_offsets_of_slices_change_no_moment_of_a_slice(table, powers, weight):
    near = table.with_columns((pl.col("target", "p") * 64).round() / 64)
    offset = pl.col("g").replace_strict(
        ["a", "b, c", "x=1"], [2.0**k for k in powers[:3]], default=2.0 ** powers[3]
    )
    far = near.with_columns(pl.col("target", "p") + offset)
    metrics = [*MOMENTS, {"name": "deviation", "std": "target"}]
    arguments = {
        "task": "regression",
        "label": "target",
        "weight": weight,
        "slices": SLICES,
        "metrics": metrics,
    }
    own = pl.col("slice_set").is_in(["g", "cross"])
    one, other = (evaluate(part, models={"m": "p"}, **arguments).metrics.filter(own) for part in (near, far))
    assert_same(one, other)


CONSTANTS = {"1": 1.0, "1 / 4": 0.25, "TRUE": 1.0, "ABS(-3)": 3.0, "COALESCE(NULL, 4)": 4.0, "-2 * 3": -6.0}
CONSTANTS |= {"CASE WHEN 1 = 1 THEN 2 END": 2.0}


@few
@given(
    table=samples,
    text=st.sampled_from(list(CONSTANTS)),
    weight=st.sampled_from([None, "w"]),
    exact=st.booleans(),
)
def test_a_sum_of_a_constant_is_that_times_the_weight(table, text, weight, exact):
    metrics = [{"name": "sum", "sum": text, "where": "TRUE"}, {"name": "mean", "mean": text}]
    found = evaluate(
        table, weight=weight, slices=SLICES, metrics=metrics, where="1 = 1", reproducible=exact
    ).metrics
    held = found.filter(pl.col("n") > 0)
    wanted = pl.when(metric="sum").then(pl.col("weight") * CONSTANTS[text]).otherwise(CONSTANTS[text])
    assert held["value"].to_list() == pytest.approx(held.select(wanted).to_series().to_list(), rel=1e-12)
