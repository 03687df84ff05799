"""Slice columns of every type: each slice is the rows that hold its value, whatever cubes and codes are made of it."""

import datetime as dt
from decimal import Decimal
from itertools import product

import numpy as np
import polars as pl
import pytest
from references.samples import VALUES, assert_same

import plmetrics as plm
from plmetrics.core.errors import ConfigError, DataError

ROWS = 120
METRICS = ["tp", "n", "accuracy", "roc_auc", "ece"]


def table(**columns):
    rng = np.random.default_rng(2)
    positive = rng.random(ROWS) < 0.4
    rows = {"y": positive, "p": np.round(rng.random(ROWS), 1), "q": rng.random(ROWS)}
    return pl.DataFrame({**rows, **columns})


def column(values, dtype=None):
    picks = np.random.default_rng(8).integers(0, len(values), ROWS)
    return pl.Series([values[pick] for pick in picks], dtype=dtype, strict=False)


def evaluate(frame, **arguments):
    return plm.evaluate(
        frame, **{"label": "y", "models": {"m": "p"}, "metrics": METRICS, **arguments}
    ).metrics


def assert_slices_are_rows(frame, columns, **arguments):
    """Evaluated by row number of the group, which is an integer column of few values, and group by group."""
    found = evaluate(frame, slices={"s": columns}, **arguments).filter(slice_set="s")
    categories = pl.col(pl.Categorical, pl.Enum).cast(pl.String)
    frame = frame.with_columns(categories)
    groups = frame.select(columns).unique().sort(columns, nulls_last=True)
    assert found.height == len(METRICS) * groups.height
    texts = found["slice"].unique(maintain_order=True)
    assert len(texts) == groups.height
    for text, group in zip(texts, groups.iter_slices(1), strict=True):
        own = frame.join(group, on=columns, nulls_equal=True)
        alone = evaluate(own, **arguments)
        assert_same(
            found.filter(slice=text), alone, [name for name in VALUES if not name.startswith("slice")]
        )
    return texts.to_list()


UTC = dt.UTC
TYPES = {
    "text": (["b, c", "a=1", "", " ", "A|B", None], pl.String, None),
    "category": (["b", "a", None], pl.Categorical, ["a", "b", "null"]),
    "enum": (["b", "a"], pl.Enum(["b", "a", "unused"]), ["a", "b"]),
    "int8": ([-128, 127, 0, None], pl.Int8, ["-128", "0", "127", "null"]),
    "uint8": ([255, 0], pl.UInt8, ["0", "255"]),
    "wide int64": ([-(2**62), 2**62, 7], pl.Int64, [str(-(2**62)), "7", str(2**62)]),
    "high uint64": ([2**64 - 1, 2**64 - 2], pl.UInt64, [str(2**64 - 2), str(2**64 - 1)]),
    "wide uint64": ([2**64 - 1, 0, None], pl.UInt64, ["0", str(2**64 - 1), "null"]),
    "int128": ([2**100, 2**100 + 1], pl.Int128, [str(2**100), str(2**100 + 1)]),
    "one boolean": ([True], pl.Boolean, ["true"]),
    "other boolean": ([False, None], pl.Boolean, ["false", "null"]),
    "booleans": ([True, False, None], pl.Boolean, ["false", "true", "null"]),
    "float": (
        [0.1, 0.1 + 2e-17, -0.0, 0.0, 1e300, -2.0],
        pl.Float64,
        ["-2", "0", "0.1", "0.10000000000000002", "1e+300"],
    ),
    "infinite": ([float("inf"), float("-inf"), 1.5], pl.Float64, ["-inf", "1.5", "inf"]),
    "float32": ([0.1, 2.0], pl.Float32, ["0.1", "2"]),
    "float16": ([0.1, 2.0, None], pl.Float16, ["0.1", "2", "null"]),
    "decimal": ([Decimal("1.50"), Decimal("-0.25"), None], pl.Decimal(10, 2), ["-0.25", "1.5", "null"]),
    "small decimal": (
        [Decimal("1E-8"), Decimal(0), Decimal(300)],
        pl.Decimal(20, 8),
        ["0", "0.00000001", "300"],
    ),
    "date": (
        [dt.date(1969, 12, 31), dt.date(1970, 1, 2), None],
        pl.Date,
        ["1969-12-31", "1970-01-02", "null"],
    ),
    "far dates": ([dt.date(1, 1, 1), dt.date(9999, 12, 31)], pl.Date, ["0001-01-01", "9999-12-31"]),
    "datetime": (
        [dt.datetime(2020, 1, 1, 5), dt.datetime(2020, 1, 1, 5, 0, 0, 1)],
        pl.Datetime("us"),
        ["2020-01-01T05:00:00", "2020-01-01T05:00:00.000001"],
    ),
    "nanoseconds": (
        [0, 1],
        pl.Datetime("ns"),
        ["1970-01-01T00:00:00.000000000", "1970-01-01T00:00:00.000000001"],
    ),
    "zone": (
        [dt.datetime(2020, 7, 1, tzinfo=UTC)],
        pl.Datetime("us", "Europe/Paris"),
        ["2020-07-01T02:00:00+02:00"],
    ),
    "time": ([dt.time(1, 2, 3), dt.time(1, 2, 3, 4)], pl.Time, ["01:02:03", "01:02:03.000004"]),
    "fine time": ([1, 2], pl.Time, ["00:00:00.000000001", "00:00:00.000000002"]),
    "duration": ([dt.timedelta(days=1), dt.timedelta(seconds=1)], pl.Duration("us"), ["PT1S", "P1D"]),
    "nothing": ([None], pl.String, ["null"]),
    "no type": ([None], pl.Null, ["null"]),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", TYPES)
def test_every_type_of_column_has_slices(name):
    values, dtype, texts = TYPES[name]
    made = (
        column(values).cast(dtype)
        if dtype == pl.Time and isinstance(values[0], int)
        else column(values, dtype)
    )
    found = assert_slices_are_rows(table(g=made), ["g"])
    if texts is not None:
        assert found == [f"g={text}" for text in texts]


def test_the_two_hours_of_the_end_of_summer_time_are_two_slices():
    hours = pl.Series([1603584000 * 10**6, 1603587600 * 10**6] * (ROWS // 2)).cast(pl.Datetime("us", "UTC"))
    found = assert_slices_are_rows(table(g=hours.dt.convert_time_zone("Europe/Paris")), ["g"])
    assert found == ["g=2020-10-25T02:00:00+02:00", "g=2020-10-25T02:00:00+01:00"]


NAN = float("nan")


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32])
@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({"column": "g"}, {1.0: "g=1", 2.0: "g=2", NAN: "g=nan", None: "g=null"}),
        ({"columns": ["h", "g"]}, {1.0: "h=x, g=1", 2.0: "h=x, g=2", NAN: "h=x, g=nan", None: "h=x, g=null"}),
        ({"column": "g", "top": 3, "exclude": [2]}, {1.0: "g=1", NAN: "g=nan", None: "g=null"}),
        ({"column": "g", "top": 2, "exclude": [1]}, {NAN: "g=nan", None: "g=null", 2.0: "g=other"}),
        ({"column": "g", "exclude": [None]}, {1.0: "g=1", 2.0: "g=2", NAN: "g=nan"}),
        ({"column": "g", "exclude": [NAN]}, {1.0: "g=1", 2.0: "g=2", None: "g=null"}),
        (
            {"column": "g", "bins": [1.5]},
            {1.0: "g=(-inf, 1.5)", 2.0: "g=[1.5, inf)", NAN: "g=nan", None: "g=null"},
        ),
        (
            {"column": "g", "quantiles": 3},
            {1.0: "g=(-inf, 2)", 2.0: "g=[2, inf)", NAN: "g=nan", None: "g=null"},
        ),
    ],
)
def test_nan_and_null_are_two_slices(spec, names, dtype):
    values = [1.0, NAN, None, 2.0, NAN, None]
    made = column(values, dtype)
    frame = table(g=made, h=column(["x"]))
    found = evaluate(frame, slices={"s": spec}).filter(slice_set="s")
    assert found["slice"].unique(maintain_order=True).to_list() == list(names.values())
    for value, text in names.items():
        own = pl.col("g").is_nan() if value != value else pl.col("g").eq_missing(pl.lit(value, dtype))
        alone = evaluate(frame.filter(own))
        assert_same(
            found.filter(slice=text), alone, [name for name in VALUES if not name.startswith("slice")]
        )


@pytest.mark.parametrize("dtype", [pl.Binary, pl.Struct({"a": pl.Int64})])
def test_values_without_a_text_have_no_slices(dtype):
    with pytest.raises(DataError, match="which has no slices"):
        evaluate(table(g=pl.Series([None] * ROWS, dtype=dtype)), slices={"s": "g"})


@pytest.mark.slow
@pytest.mark.parametrize("columns", [2, 4, 5, 9])
def test_crossings_too_wide_for_one_number(columns):
    """Four spans of 60,000 numbers just fit into 63 bits; five do not."""
    spans = {f"c{number}": column([0, 60_000, -7, None]) for number in range(columns)}
    frame = table(**{name: values.shuffle(seed) for seed, (name, values) in enumerate(spans.items())})
    names = list(spans)
    assert_slices_are_rows(frame.head(40), names)
    both = evaluate(frame, slices={"wide": names, "narrow": names[:2], "one": names[0]})
    alone = evaluate(frame, slices={"narrow": names[:2], "one": names[0]})
    assert_same(both.filter(pl.col("slice_set") != "wide"), alone)


def test_a_predicate_may_be_named_as_a_column():
    frame = table(g=column([1, 2, 3]))
    found = evaluate(
        frame, slices={"g": {"where": "g >= 2"}, "values": "g", "y": {"where": "not y"}}, metrics=["n"]
    )
    counts = dict(found.select("slice", "value").iter_rows())
    sizes = dict(frame.group_by("g").len().iter_rows())
    assert counts["g=true"] == sizes[2] + sizes[3]
    assert [counts[f"g={value}"] for value in (1, 2, 3)] == [sizes[1], sizes[2], sizes[3]]
    assert counts["y=true"] == (~frame["y"]).sum()


PARIS = "Europe/Paris"
MOMENTS = [dt.datetime(2020, 1, 1, 23), dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 2, 12), None]


DAYS = [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
DECIMALS, FLOATS = [Decimal("0.1"), Decimal("0.25"), None], [float("nan"), -0.0, float("inf"), 5.0]


def is_second(moment):
    return int(moment.day == 2)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("values", "dtype", "edges", "rule"),
    [
        ([2**64 - 1, 0, 5], pl.UInt64, [-1, 3], lambda v: sum(v >= edge for edge in (-1, 3))),
        ([255, 0, 5], pl.UInt8, [3, 300], lambda v: int(v >= 3)),
        ([2**53 + 1, 2**53], pl.Int64, [2**53 + 1], lambda v: int(v >= 2**53 + 1)),
        ([-1, 0, 1, None], pl.Int8, [0.5, 1], lambda v: 2 * (v == 1)),
        (FLOATS, pl.Float64, [0, 5], lambda v: None if v != v else 1 + (v >= 5)),
        (DECIMALS, pl.Decimal(10, 2), [0.1, 0.2], lambda v: 1 + (v >= Decimal("0.2"))),
        (DAYS, pl.Date, ["2020-01-02"], is_second),
        (DAYS, pl.Date, ["2020-01-01T12:00:00"], is_second),
        (MOMENTS, pl.Datetime("us"), ["2020-01-02"], is_second),
        (MOMENTS, pl.Datetime("ms"), ["2020-01-02T06:00:00"], lambda v: int(v.hour == 12)),
    ],
)
def test_bins_of_every_type(values, dtype, edges, rule):
    made = column(values, dtype)
    by_hand = pl.Series([None if value is None else rule(value) for value in made], dtype=pl.Int64)
    found = evaluate(table(g=made, bin=by_hand), slices={"a": {"column": "g", "bins": edges}, "b": "bin"})
    numbers = [name for name in VALUES if not name.startswith("slice")]
    assert_same(found.filter(slice_set="a"), found.filter(slice_set="b"), numbers)


@pytest.mark.parametrize("edge", ["2020-01-02", "2020-01-02T00:00:00", "2020-01-01T23:00:00+00:00"])
def test_edges_are_moments_in_the_time_zone_of_the_column(edge):
    local = column(MOMENTS[:3], pl.Datetime("us")).dt.replace_time_zone(PARIS)
    found = evaluate(table(g=local), slices={"s": {"column": "g", "bins": [edge]}}, metrics=["n"])
    later = (local.dt.replace_time_zone(None) >= MOMENTS[1]).sum()
    assert found.filter(slice_set="s")["value"].to_list() == [ROWS - later, later]


@pytest.mark.parametrize(
    ("values", "dtype", "edges", "words"),
    [
        ([True], pl.Boolean, [0], "type Boolean, but its bins are numbers"),
        ([dt.time(1)], pl.Time, ["2020-01-02"], "type Time, but its bins are dates"),
        ([1], pl.Duration("us"), ["2020-01-02"], "but its bins are dates"),
        ([1], pl.Int64, ["2020-01-02"], "type Int64, but its bins are dates"),
        (
            MOMENTS,
            pl.Datetime("us"),
            ["2020-01-02T00:00:00+00:00"],
            "but its bins are times with a time zone",
        ),
    ],
)
def test_bins_that_do_not_compare_with_the_column(values, dtype, edges, words):
    with pytest.raises(DataError, match=words):
        evaluate(table(g=column(values).cast(dtype)), slices={"s": {"column": "g", "bins": edges}})


def test_edges_of_two_kinds():
    with pytest.raises(ConfigError, match="bins must be dates, or times"):
        evaluate(table(), slices={"s": {"column": "g", "bins": ["2020-01-02", "2021-01-01T00:00:00"]}})


def test_five_thousand_slices():
    rng = np.random.default_rng(4)
    rows = 20_000
    frame = pl.DataFrame(
        {"y": rng.random(rows) < 0.4, "p": rng.random(rows), "g": rng.integers(-2500, 2500, rows)}
    )
    found = evaluate(frame, slices="g", metrics=["tp", "n", "accuracy"]).filter(slice_set="g")
    wanted = frame.group_by("g").agg(
        tp=(pl.col("y") & (pl.col("p") >= 0.5)).sum().cast(pl.Float64),
        n=pl.len().cast(pl.Float64),
        accuracy=(pl.col("y") == (pl.col("p") >= 0.5)).mean(),
    )
    long = wanted.unpivot(index="g", variable_name="metric").with_columns(slice=pl.format("g={}", "g"))
    joined = found.join(long, on=["slice", "metric"], validate="1:1")
    assert joined.height == found.height == 3 * frame["g"].n_unique()
    assert (joined["value"] - joined["value_right"]).abs().max() < 1e-12
    assert found.filter(metric="n")["slice"].to_list() == [
        f"g={value}" for value in sorted(frame["g"].unique())
    ]


@pytest.mark.slow
def test_many_sets_in_many_cubes():
    """Sets of different columns never fit into one cube with blocks; each is as if it were alone."""
    rng = np.random.default_rng(6)
    columns = {f"c{number}": rng.integers(0, 3 + number, ROWS) for number in range(8)}
    frame = table(**columns, u=np.arange(ROWS) % 30)
    pairs = {f"{a}_{b}": [a, b] for a, b in product(columns, columns) if a < b}
    settings = {"unit": "u", "uncertainty": {"replicates": 10}, "models": {"m": "p", "b": "q"}}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plmetrics.engine.prepare.preparation.MAX_CELLS", 400_000)
        together = evaluate(frame, slices=pairs, **settings)
    for name in ("c0_c1", "c2_c7", "c6_c7"):
        alone = evaluate(frame, slices={name: pairs[name]}, **settings)
        assert_same(together.filter(slice_set=name), alone.filter(slice_set=name))
