"""Quantile bins, tops, tags, named predicates and exclusion: each slice is the rows that a filter by hand keeps."""

import numpy as np
import polars as pl
import pytest
from references.samples import VALUES, assert_same

import plmetrics as plm
from plmetrics.core.errors import ConfigError, DataError

ROWS = 240
METRICS = ["tp", "n", "accuracy", "roc_auc", "brier", "ece"]
TAGS = [["vip", "new"], ["new"], [], None, ["old", "vip", "old"], ["old", None], [None]]
SAME = [name for name in VALUES if not name.startswith("slice")]


def table(**columns):
    rng = np.random.default_rng(4)
    return pl.DataFrame(
        {
            "y": rng.random(ROWS) < 0.4,
            "p": np.round(rng.random(ROWS), 2),
            "w": rng.integers(1, 4, ROWS).astype(float),
            "age": [None if age == 20 else age for age in rng.integers(20, 70, ROWS).tolist()],
            "income": np.round(rng.normal(0, 1, ROWS), 1),
            "region": rng.choice(["north", "north", "north", "south", "south", "west", "east"], ROWS),
            "level": rng.choice([1, 2, 3, 100], ROWS),
            "device": pl.Series([None, "web", "app", "app"] * (ROWS // 4)),
            "segments": pl.Series([TAGS[i % len(TAGS)] for i in range(ROWS)], dtype=pl.List(pl.String)),
            "unit": rng.integers(0, 60, ROWS),
            **columns,
        }
    )


def evaluate(frame, **arguments):
    defaults = {"label": "y", "models": {"m": "p"}, "metrics": METRICS}
    return plm.evaluate(frame, **{**defaults, **arguments})


def assert_slices(spec, expected, frame=None, **arguments):
    """The slices of the set `s` are these, in this order, and each equals its rows evaluated alone."""
    frame = table() if frame is None else frame
    found = evaluate(frame, slices={"s": spec}, **arguments).metrics.filter(slice_set="s")
    assert found["slice"].unique(maintain_order=True).to_list() == list(expected)
    for text, keep in expected.items():
        alone = evaluate(frame.filter(keep.fill_null(value=False)), **arguments).metrics
        assert_same(found.filter(slice=text), alone, SAME)


WAYS = {
    "exact": {},
    "binned": {"exact": False},
    "weighted": {"weight": "w"},
    "weighted bins": {"weight": "w", "exact": False},
}
AGE, REGION, LEVEL, DEVICE = pl.col("age"), pl.col("region"), pl.col("level"), pl.col("device")


def has(tag):
    return pl.col("segments").list.drop_nulls().list.contains(tag)


CASES = {
    "top": (
        {"column": "region", "top": 2},
        {
            "region=north": REGION == "north",
            "region=south": REGION == "south",
            "region=other": REGION.is_in(["west", "east"]),
        },
    ),
    "top of all": ({"column": "level", "top": 9}, {f"level={n}": n == LEVEL for n in (1, 2, 3, 100)}),
    "top without the excluded": (
        {"column": "region", "top": 1, "exclude": ["north"]},
        {"region=south": REGION == "south", "region=other": REGION.is_in(["west", "east"])},
    ),
    "top with null": (
        {"column": "device", "top": 1},
        {"device=app": DEVICE == "app", "device=other": DEVICE.is_null() | (DEVICE == "web")},
    ),
    "tags": ("segments", {f"segments={tag}": has(tag) for tag in ("new", "old", "vip")}),
    "tags but one": (
        {"column": "segments", "exclude": ["old"]},
        {f"segments={tag}": has(tag) for tag in ("new", "vip")},
    ),
    "predicates": (
        {"where": {"young": "age < 40", "rich": "income > 0"}},
        {"s=young": AGE < 40, "s=rich": pl.col("income") > 0},
    ),
    "one excluded": (
        {"column": "region", "exclude": ["west"]},
        {f"region={r}": r == REGION for r in ("east", "north", "south")},
    ),
    "excluded beside null": (
        {"column": "device", "exclude": ["web"]},
        {"device=app": DEVICE == "app", "device=null": DEVICE.is_null()},
    ),
    "null excluded": (
        {"column": "device", "exclude": [None]},
        {"device=app": DEVICE == "app", "device=web": DEVICE == "web"},
    ),
    "far number excluded": (
        {"column": "level", "exclude": [100]},
        {f"level={n}": n == LEVEL for n in (1, 2, 3)},
    ),
    "first number excluded": (
        {"column": "level", "exclude": [1.0, "level=3"]},
        {f"level={n}": n == LEVEL for n in (2, 100)},
    ),
    "bin excluded": (
        {"column": "age", "bins": [30, 40], "exclude": ["[30, 40)"]},
        {"age=(-inf, 30)": AGE < 30, "age=[40, inf)": AGE >= 40, "age=null": AGE.is_null()},
    ),
    "cells excluded": (
        {
            "columns": ["level", "device"],
            "exclude": [{"level": 100}, {"level": 1, "device": None}, {"device": "web"}],
        },
        {
            f"level={n}, device={d}": (n == LEVEL) & DEVICE.eq_missing(None if d == "null" else d)
            for n in (1, 2, 3)
            for d in ("app", "null")
            if (n, d) != (1, "null")
        },
    ),
}


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("case", CASES)
def test_slices_are_their_rows(case, way):
    spec, expected = CASES[case]
    if case == "top with null":
        expected = {"device=app": expected["device=app"], "device=other": expected["device=other"]}
    assert_slices(spec, expected, **WAYS[way])


@pytest.mark.exhaustive
@pytest.mark.parametrize("way", ["exact", "binned"])
@pytest.mark.parametrize("others", [["level", "device"], ["region"]])
def test_excluded_values_do_not_leak_into_other_sets_of_a_cube(others, way):
    """A code that a value has not must not be another's: neither in its own set nor in those it is crossed with."""
    sets = {"all": others, "kept": {"column": "level", "exclude": [100]}, "cells": ["region", "level"]}
    sets = {f"set_{name}": spec for name, spec in sets.items()}
    both = evaluate(table(), slices=sets, **WAYS[way]).metrics
    for name, spec in sets.items():
        own = evaluate(table(), slices={name: spec}, **WAYS[way]).metrics.filter(slice_set=name)
        assert_same(both.filter(slice_set=name), own, VALUES)
    for level in (1, 2, 3):
        alone = evaluate(table().filter(level == LEVEL), **WAYS[way]).metrics
        assert_same(both.filter(slice_set="set_kept", slice=f"level={level}"), alone, SAME)


def inverted(values, weights, share):
    """Averaged inverse of the distribution function, value by value."""
    total, running, edges = sum(weights) * share, 0.0, []
    for value, weight in sorted(zip(values, weights, strict=True)):
        before, running = running, running + weight
        if before <= total <= running and (before < total or (before == total and edges)):
            edges.append(value)
    return (edges[0] + edges[-1]) / 2


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize(("column", "number"), [("age", 4), ("income", 3), ("level", 10)])
def test_quantile_bins(column, number, weight):
    frame = table()
    known = frame.filter(pl.col(column).is_not_null())
    weights = known[weight].to_list() if weight else [1.0] * known.height
    values = known[column].to_list()
    edges = sorted({inverted(values, weights, i / number) for i in range(1, number)} - {min(values)})
    result = evaluate(frame, slices={"s": {"column": column, "quantiles": number}}, weight=weight)
    bins = evaluate(frame, slices={"s": {"column": column, "bins": edges}}, weight=weight)
    assert_same(result.metrics, bins.metrics, VALUES)


@pytest.mark.parametrize(
    ("first", "dtype"), [(2**64 - 240, pl.UInt64), (2**53, pl.Int64), (-(2**63), pl.Int64)]
)
def test_whole_numbers_that_floats_do_not_tell_apart_are_cut_into_equal_bins(first, dtype):
    frame = table(key=pl.Series([first + k for k in range(ROWS)], dtype=dtype))
    found = evaluate(frame, slices={"s": {"column": "key", "quantiles": 4}}, metrics=["n"]).metrics
    edges = [first + k for k in (60, 120, 180)]
    assert found.filter(slice_set="s")["slice"].to_list() == [
        f"key=(-inf, {edges[0]})",
        f"key=[{edges[0]}, {edges[1]})",
        f"key=[{edges[1]}, {edges[2]})",
        f"key=[{edges[2]}, inf)",
    ]
    assert found.filter(slice_set="s")["value"].to_list() == [60] * 4


@pytest.mark.parametrize("dtype", [pl.Float32, pl.Float16])
def test_edges_of_narrow_floats_are_their_shortest_decimals(dtype):
    """The same rows and names as of 64 bits: 2.3, not 2.299999952316284."""
    wide = table(key=[k % 100 / 10 for k in range(ROWS)])
    asked = {"slices": {"s": {"column": "key", "quantiles": 4}}, "metrics": ["n"]}
    expected, found = (evaluate(frame, **asked).metrics for frame in (wide, wide.cast({"key": dtype})))
    assert found.select("slice", "value").rows() == expected.select("slice", "value").rows()


@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", [pl.Int128, pl.UInt64, pl.Decimal(12, 2)])
@pytest.mark.parametrize("weight", [None, "w"])
def test_quantile_bins_of_numbers_of_any_type(dtype, weight):
    asked = {"slices": {"s": {"column": "age", "quantiles": 4}}, "weight": weight}
    expected = evaluate(table(), **asked).metrics
    assert_same(evaluate(table().cast({"age": dtype}), **asked).metrics, expected, VALUES)


@pytest.mark.parametrize("spec", [{"column": "nothing", "quantiles": 3}, {"column": "one", "quantiles": 3}])
def test_a_column_without_quantiles_is_one_bin(spec):
    frame = table(nothing=pl.Series([None] * ROWS, dtype=pl.Float64), one=pl.Series([5] * ROWS))
    found = evaluate(frame, slices={"s": spec}).metrics.filter(slice_set="s")
    assert found["slice"].unique().to_list() == [
        "nothing=null" if spec["column"] == "nothing" else "one=(-inf, inf)"
    ]


def test_ties_of_a_top_go_to_the_smaller_value():
    frame = table(even=pl.Series(["b", "a", "c", "d"] * (ROWS // 4)))
    found = evaluate(frame, slices={"s": {"column": "even", "top": 2}}).metrics.filter(slice_set="s")
    assert found["slice"].unique(maintain_order=True).to_list() == ["even=a", "even=b", "even=other"]


@pytest.mark.parametrize("top", [1, 2])
def test_a_value_called_other_is_refused_where_the_rest_is_called_that(top):
    frame = table(name=pl.Series(["other", "a", "other"] * (ROWS // 3)))
    spec = {"column": "name", "top": top}
    if top == 1:
        with pytest.raises(DataError, match="has a value 'other' among its top"):
            evaluate(frame, slices={"s": spec})
    else:
        found = evaluate(frame, slices={"s": spec}).metrics.filter(slice_set="s", metric="n")
        assert dict(zip(found["slice"], found["value"], strict=True)) == {"name=a": 80, 'name="other"': 160}


def test_named_predicates_are_listed_without_rows():
    found = evaluate(table(), slices={"s": {"where": {"none": "age > 1000", "some": "age > 30"}}}).metrics
    status = found.filter(slice="s=none")["status"].unique().to_list()
    assert "no_rows" in status
    assert found.filter(slice="s=none", metric="n")["n"].to_list() == [0]


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("exact", [None, False])
@pytest.mark.parametrize(
    "spec", ["segments", {"where": {"a": "age < 40", "b": "level = 2"}}, {"column": "region", "top": 2}]
)
def test_intervals_comparisons_gates_and_curves(spec, exact):
    frame = table(q=np.round(np.random.default_rng(9).random(ROWS), 2))
    result = evaluate(
        frame,
        models={"m": "p", "o": "q"},
        slices={"s": spec},
        exact=exact,
        unit="unit",
        uncertainty={"replicates": 60},
        compare={"baseline": "m"},
        gates=[{"metric": "roc_auc", "slices": "s", "at_least": 0.0}],
        curves=[{"curve": "roc", "slices": ["s"]}],
    )
    texts = result.metrics.filter(slice_set="s")["slice"].unique(maintain_order=True).to_list()
    for part in (result.comparisons, result.gates, result.curves):
        assert set(part.filter(slice_set="s")["slice"]) == set(texts)
    held = result.metrics.filter(slice_set="s", interval_status="ok")
    assert set(held["slice"]) == set(texts)
    assert held.select(
        ((pl.col("lower") <= pl.col("value")) & (pl.col("value") <= pl.col("upper"))).all()
    ).item()


def test_an_excluded_value_that_does_not_occur_is_a_warning():
    result = evaluate(table(), slices={"s": {"column": "region", "exclude": ["nort"]}})
    assert any("'nort'" in words for words in result.record["warnings"])


def test_excluded_slices_do_not_count():
    frame = table(code=pl.Series(range(ROWS)))
    spec = {"column": "code", "exclude": list(range(3, ROWS))}
    found = evaluate(frame, slices={"s": spec}, max_slices=3).metrics.filter(slice_set="s")
    assert found["slice"].n_unique() == 3
    with pytest.raises(ConfigError, match="max_slices"):
        evaluate(frame, slices={"s": spec}, max_slices=2)


def test_exclusion_from_a_crossing_too_wide_for_one_number():
    """Cells are listed there: an excluded one still counts in the narrower sets of its cube."""
    rng = np.random.default_rng(3)
    wide = {f"c{number}": rng.choice([0, 60_000, -7], ROWS) for number in range(5)}
    frame = table(**wide)
    crossed = {"columns": list(wide), "exclude": [{"c0": -7}, {"c1": 0, "c2": 60_000}]}
    metrics = evaluate(frame, slices={"s": crossed, "own": "c0"}).metrics
    for value in (-7, 0, 60_000):
        alone = evaluate(frame.filter(pl.col("c0") == value)).metrics
        assert_same(metrics.filter(slice_set="own", slice=f"c0={value}"), alone, SAME)
    left = frame.filter((pl.col("c0") != -7) & ~((pl.col("c1") == 0) & (pl.col("c2") == 60_000)))
    found = metrics.filter(slice_set="s", metric="n")
    assert found.height == left.select(list(wide)).n_unique()
    assert found["value"].sum() == left.height


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "dtype", [pl.Float32, pl.Int16, pl.Decimal(8, 2), pl.String, pl.Date, pl.Datetime("ns")]
)
def test_tops_of_every_type(dtype):
    numbers = pl.Series([3, 3, 3, 1, 1, None, None, 2] * (ROWS // 8))
    frame = table(number=numbers, g=numbers.cast(dtype))
    found = evaluate(frame, slices={"s": {"column": "g", "top": 2, "exclude": [None]}}).metrics
    whole = evaluate(frame, slices={"g": "g"}).metrics
    names = dict(
        zip((1, 2, 3), whole.filter(slice_set="g")["slice"].unique(maintain_order=True), strict=False)
    )
    for number in (1, 3):
        alone = evaluate(frame.filter(pl.col("number") == number)).metrics
        assert_same(found.filter(slice=names[number]), alone, SAME)
    rest = evaluate(frame.filter(pl.col("number") == 2)).metrics
    assert_same(found.filter(slice="g=other"), rest, SAME)
    assert found.filter(slice_set="s")["slice"].n_unique() == 3


def test_the_value_null_and_the_text_null_are_excluded_apart():
    frame = table(g=pl.Series(["null", None, "a"] * (ROWS // 3)))
    for item, kept in ((None, "null"), ("null", None)):
        found = evaluate(frame, slices={"s": {"column": "g", "exclude": [item]}}).metrics.filter(
            slice_set="s"
        )
        text = "g=null" if kept is None else 'g="null"'
        assert set(found["slice"]) == {"g=a", text}
        assert [pair["value"] for pair in found.filter(slice=text)["slice_values"][0]] == [kept]
        alone = evaluate(frame.filter(pl.col("g").eq_missing(kept))).metrics
        assert_same(found.filter(slice=text), alone, SAME)


EMPTY_SETS = [
    *[("binary", name) for name in ("roc_auc", "ks", "ece", "disparity(roc_auc, by=left)")],
    *[("regression", name) for name in ("median_ae", "spearman", "kendall_tau", "r2")],
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("task", "metric"), EMPTY_SETS)
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("uncertainty", [None, {"replicates": 20}])
def test_a_set_that_excludes_all_slices_has_no_rows_of_results(task, metric, exact, uncertainty):
    rows = pl.DataFrame({"y": [0, 1, 0, 1], "p": [0.1, 0.4, 0.5, 0.7], "region": ["north"] * 4})
    slices = {"left": {"column": "region", "exclude": ["north"]}}
    with pytest.warns(plm.PlmetricsWarning, match="'left' has no slices: it excludes all that occur"):
        result = plm.evaluate(
            rows,
            task=task,
            label="y",
            models="p",
            metrics=[metric, "n" if task == "binary" else "mae"],
            slices=slices,
            exact=exact,
            uncertainty=uncertainty,
        )
    assert set(result.metrics["slice_set"]) == {"overall"}
