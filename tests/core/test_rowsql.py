import datetime as dt
import logging
import math
import sqlite3
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plmetrics as plm
from plmetrics.core.rowsql import MAX_LENGTH, RowExpressionError, compile_row, compiler

FRAME = pl.DataFrame(
    {
        "i": [1, -7, None, 0, 5],
        "j": [2, 3, 1, None, -5],
        "x": [1.5, -2.5, None, 0.0, 4.0],
        "s": ["north", "So%th", None, " x ", ""],
        "flag": [True, False, None, True, False],
        "day": [dt.date(2024, 1, 31), dt.date(2024, 2, 1), None, dt.date(2023, 12, 31), dt.date(2024, 2, 29)],
        "Case": [1, 2, 3, 4, 5],
        "a.b": [1, 2, 3, 4, 5],
    }
)


def run(text: str, frame: pl.DataFrame = FRAME) -> list[Any]:
    return frame.lazy().with_columns(compile_row(text).expr.alias("result")).collect()["result"].to_list()


def sqlite(texts: list[str]) -> list[list[Any]]:
    connection = sqlite3.connect(":memory:")
    connection.execute("PRAGMA case_sensitive_like = ON")
    connection.execute("CREATE TABLE t (i INTEGER, j INTEGER, x REAL, s TEXT, flag INTEGER)")
    rows = FRAME.select("i", "j", "x", "s", "flag").rows()
    connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?)", rows)
    columns = [[value for (value,) in connection.execute(f"SELECT {text} FROM t")] for text in texts]
    connection.close()
    return columns


def same(ours: list[Any], theirs: list[Any]) -> None:
    """SQLite has no Boolean type: its 0 and 1 compare equal to Python's False and True."""
    assert [None if value is None else pytest.approx(value) for value in theirs] == ours


# fmt: off
SAME_AS_SQLITE = [
    "i > 1", "i >= 1", "i < 1", "i <= 1", "i = 1", "i == 1", "i <> 1", "i != 1", "i = j", "x > i",
    "i > 0 AND j > 0", "i > 0 OR j > 0", "NOT i > 0", "NOT (i > 0 AND j > 0) OR x < 0", "i > 0 OR NULL",
    "i > 0 AND NULL", "i IN (1, 5)", "i NOT IN (1, 5)", "i IN (1, NULL)", "i NOT IN (1, NULL)",
    "i IN (1.0, 2.5)", "x IN (4, 7)", "i IN (j, 1, i + 1)", "s IN ('north', 'x')", "s NOT IN ('north')",
    "s IN ('north', NULL)", "i BETWEEN -7 AND 0", "i NOT BETWEEN 0 AND 1", "i BETWEEN j AND 5",
    "s BETWEEN 'a' AND 'o'", "i IS NULL", "i IS NOT NULL", "flag IS TRUE", "flag IS NOT TRUE",
    "flag IS FALSE", "s LIKE 'n%'", "s NOT LIKE 'n%'", "s LIKE '_o%'", "s LIKE '%#%%' ESCAPE '#'",
    "s LIKE ''", "s LIKE 'n.rth'", "CASE WHEN i > 0 THEN 1 WHEN i < 0 THEN -1 ELSE 0 END",
    "CASE WHEN i > 0 THEN 'up' END", "CASE i WHEN 1 THEN 'one' WHEN 5 THEN 'five' ELSE 'other' END",
    "COALESCE(i, j, 9)", "COALESCE(s, 'none')", "ABS(i)", "ABS(x - 3)", "-i", "- -i", "+i", "-5",
    "i + j", "i - j", "i * j", "i + 2 * j", "(i + 2) * j", "i % 3", "i % j", "x / 2", "1.0 * i / j",
    "x / 0", "ROUND(x)", "ROUND(x / 3, 2)", "LENGTH(s)", "LOWER(s)", "UPPER(s)", "TRIM(s)", "LTRIM(s)",
    "RTRIM(s)", "SUBSTRING(s, 2)", "SUBSTR(s, 1, 2)", "CAST(s AS TEXT)", "CAST(i AS DOUBLE)", "1 > 0",
    "1e-3 + .5", "'it''s'", "i\n>\t0",
    "REPLACE(s, 'o', '0')", "REPLACE(s, '', 'x')", "REPLACE(s, 'n.', '$1')", "REPLACE('1.234,5', '.', '')",
    "CAST(REPLACE('0,5', ',', '.') AS DOUBLE)",
    "s || '-' || UPPER(s)", "s || s = 'northnorth'", "'x' || CAST(i AS TEXT) || NULL", "'<' || TRIM(s) || '>'",
]
# fmt: on


@pytest.mark.parametrize("text", SAME_AS_SQLITE)
def test_equals_sqlite(text: str) -> None:
    same(run(text), sqlite([text])[0])


_numbers = st.sampled_from(["i", "j", "x", "1", "2", "-3", "0.5", "NULL + 1"])


def _arithmetic(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pair = st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(lambda p: f"({p[0]} {p[1]} {p[2]})")
    called = inner.map(lambda value: f"ABS({value})") | inner.map(lambda value: f"COALESCE({value}, 7)")
    return pair | called


_values = st.recursive(_numbers, _arithmetic, max_leaves=4)
_tests = st.one_of(
    st.tuples(_values, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), _values).map(" ".join),
    st.tuples(_values, _values, _values).map(lambda v: f"{v[0]} BETWEEN {v[1]} AND {v[2]}"),
    st.tuples(_values, _values).map(lambda v: f"{v[0]} IN ({v[1]}, 1, NULL)"),
    _values.map(lambda value: f"{value} IS NULL"),
    st.just("flag"),
)
_conditions = st.recursive(
    _tests,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=5).map(lambda parts: "(" + " AND ".join(parts) + ")"),
        st.lists(inner, min_size=2, max_size=5).map(lambda parts: "(" + " OR ".join(parts) + ")"),
        inner.map(lambda part: f"(NOT {part})"),
    ),
    max_leaves=8,
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(_conditions)
def test_conditions_equal_sqlite(text: str) -> None:
    same(run(text), sqlite([text])[0])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("day >= DATE '2024-01-31'", [True, True, None, False, True]),
        ("day >= '2024-01-31'", [True, True, None, False, True]),
        ("day IN ('2024-01-31', '2023-12-31')", [True, False, None, True, False]),
        ("day BETWEEN '2024-01-01' AND '2024-01-31'", [True, False, None, False, False]),
        ("day < TIMESTAMP '2024-01-31 12:00:00'", [True, False, None, True, False]),
        ("EXTRACT(YEAR FROM day)", [2024, 2024, None, 2023, 2024]),
        ("EXTRACT(DOW FROM day)", [3, 4, None, 0, 4]),
        ("YEAR(day) * 100 + MONTH(day)", [202401, 202402, None, 202312, 202402]),
        ("CAST(day AS VARCHAR)", ["2024-01-31", "2024-02-01", None, "2023-12-31", "2024-02-29"]),
        ("CAST(x AS BIGINT)", [2, -2, None, 0, 4]),
        ("TRY_CAST(s AS DOUBLE)", [None] * 5),
        ("CAST(flag AS VARCHAR)", ["true", "false", None, "true", "false"]),
        ("CAST(i AS BOOLEAN)", [True, True, None, False, True]),
        ("LN(i)", [0.0, None, None, None, pytest.approx(1.6094379124341003)]),
        ("SQRT(x)", [pytest.approx(1.5**0.5), None, None, 0.0, 2.0]),
        ("POWER(x, 2)", [2.25, 6.25, None, 0.0, 16.0]),
        ("POWER(x, -0.5)", [pytest.approx(1.5**-0.5), None, None, None, 0.5]),
        ("EXP(0 * i)", [1.0, 1.0, None, 1.0, 1.0]),
        ("i / j", [0.5, pytest.approx(-7 / 3), None, None, -1.0]),
        ("1 / i", [1.0, pytest.approx(-1 / 7), None, None, 0.2]),
        ("i % 0", [None] * 5),
        ("FLOOR(x) + CEIL(x)", [3.0, -5.0, None, 0.0, 8.0]),
        ("GREATEST(i, j, 0)", [2, 3, 1, 0, 5]),
        ("LEAST(i, 1)", [1, -7, 1, 0, 1]),
        ("CASE day WHEN '2024-01-31' THEN 1 WHEN DATE '2024-02-01' THEN 2 END", [1, 2, None, None, None]),
        ("CASE flag WHEN TRUE THEN i ELSE j END", [1, 3, 1, 0, -5]),
        ("s ILIKE 'NO%'", [True, False, None, False, False]),
        ("flag = TRUE", [True, False, None, True, False]),
        ('"Case" > 3 AND "a.b" < 5', [False, False, False, True, False]),
        ("TRIM(LEADING 'n' FROM s)", ["orth", "So%th", None, " x ", ""]),
    ],
)
def test_values(text: str, expected: list[Any]) -> None:
    assert run(text) == expected


def test_a_filter_keeps_only_what_is_true() -> None:
    kept = FRAME.lazy().filter(compile_row("i > 0 OR s = 'none'").expr).select("i").collect()
    assert kept["i"].to_list() == [1, 5]


def test_columns_are_case_sensitive_and_in_order() -> None:
    row = compile_row("b > A AND a = \"a b\" AND a < LENGTH('A')")
    assert row.columns == ("b", "A", "a", "a b")
    assert row.kind == "condition"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("a > 1", "condition"),
        ("a + 1", "number"),
        ("LOWER(a)", "text"),
        ("DATE '2024-01-31'", "date"),
        ("a", "unknown"),
    ],
)
def test_kind_of_value(text: str, kind: str) -> None:
    assert compile_row(text).kind == kind


def test_small_integers_do_not_wrap() -> None:
    small = pl.DataFrame({"a": pl.Series([100, -128], dtype=pl.Int8), "u": pl.Series([0, 1], dtype=pl.UInt8)})
    assert run("a + a", small) == [200, -256]
    assert run("a * a", small) == [10000, 16384]
    assert run("ABS(a)", small) == [100, 128]
    assert run("u - 1", small) == [-1, 0]
    assert run("-u", small) == [0, -1]
    assert run("u IN (256, 0)", small) == [True, False]


WHOLE = pl.DataFrame(
    {
        "a": [-(2**63), 2**63 - 1, 5_000_000_000, None],
        "b": [1_700_000_000_123_456_789, -(2**63), -7, 3],
        "u": pl.Series([2**64 - 1, 0, 9_000_000_000, 12], dtype=pl.UInt64),
        "k": pl.Series([-128, 127, 3, 5], dtype=pl.Int8),
    }
)
Bounded = tuple[str, list[int | None], list[int]]  # text, values, and how large its terms are in total


def _leaf(name: str) -> Bounded:
    values = WHOLE[name].to_list() if name in WHOLE.columns else [int(name)] * WHOLE.height
    return name, values, [abs(value or 0) for value in values]


def _joined(pair: tuple[Bounded, str, Bounded]) -> Bounded:
    (left, first, most), sign, (right, second, other) = pair
    act = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__}[sign]
    values = [None if x is None or y is None else act(x, y) for x, y in zip(first, second, strict=True)]
    sizes = [x * y if sign == "*" else x + y for x, y in zip(most, other, strict=True)]
    return f"({left} {sign} {right})", values, sizes


def _alone(inner: Bounded) -> st.SearchStrategy[Bounded]:
    text, values, most = inner
    return st.sampled_from(
        [
            (f"(- {text})", [None if value is None else -value for value in values], most),
            (f"ABS({text})", [None if value is None else abs(value) for value in values], most),
            (
                f"GREATEST({text}, u)",
                [max(u, u if v is None else v) for v, u in zip(values, WHOLE["u"], strict=True)],
                [size + u for size, u in zip(most, WHOLE["u"], strict=True)],
            ),
        ]
    )


_whole = st.recursive(
    st.sampled_from(["a", "b", "u", "k", "0", "3", "1000000000", "9223372036854775807"]).map(_leaf),
    lambda inner: (
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(_joined) | inner.flatmap(_alone)
    ),
    max_leaves=6,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(_whole)
def test_whole_numbers_never_wrap(drawn: Bounded) -> None:
    text, values, most = drawn
    for got, value, size in zip(run(text, WHOLE), values, most, strict=True):
        assert (got is None) == (value is None), text
        if isinstance(got, int):
            assert got == value, text
        elif got is not None:
            assert abs(int(got) - value) <= size * 1e-14, text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a - b", [-(2**63) - 1_700_000_000_123_456_789, 2**64 - 1, 5_000_000_007, None]),
        ("a * b % 10", [-2, -6, 0, None]),
        ("b * 1000 + k > b", [True, False, False, True]),
        ("u * u > 0", [True, False, True, True]),
        ("a = 9223372036854775807", [False, True, False, None]),
        ("a IN (9223372036854775806)", [False, False, False, None]),
        ("u % 10", [5, 0, 0, 2]),
        ("CAST(k * k AS VARCHAR)", ["16384", "16129", "9", "25"]),
        ("a = b", [False, False, False, None]),
    ],
)
def test_whole_numbers_of_64_bits_keep_their_digits(text: str, expected: list[Any]) -> None:
    assert run(text, WHOLE) == expected


def test_remainders_of_floats() -> None:
    """By Python's own remainder, which is exact; null where the divisor is 0 or the dividend infinite."""
    dividends = [
        1e18,
        -1e18,
        5.5,
        -5.5,
        2.0**60 + 2.0**12,
        1e300,
        1e18,
        0.5,
        -3.0,
        1e15,
        1e300,
        1e-300,
        2.0**64,
    ]
    divisors = [7.0, 7.0, 2.0, -2.0, 1000.0, 3.0, 2.5, 0.1, 0.1, 0.3, 1e-300, 1e300, 0.1]
    dividends += [5.0, -5.5, 0.0]
    divisors += [math.inf, -math.inf, math.inf]
    frame = pl.DataFrame({"x": dividends, "y": divisors})
    assert run("x % y", frame) == list(map(math.fmod, dividends, divisors))
    undefined = pl.DataFrame(
        {"x": [7.0, math.inf, -math.inf, None, 1.0], "y": [-0.0, 3.0, math.inf, 2.0, None]}
    )
    assert run("x % y", undefined) == [None] * 5
    assert run("x % y", undefined.clear()) == []
    found = run("x % y", pl.DataFrame({"x": [math.nan, 1.0], "y": [2.0, math.nan]}))
    assert [math.isnan(value) for value in found] == [True, True]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.floats(1e-3, 1e6)), min_size=1)
)
def test_remainders_of_any_floats(pairs: list[tuple[float, float]]) -> None:
    frame = pl.DataFrame(pairs, schema={"x": pl.Float64, "y": pl.Float64}, orient="row")
    assert run("x % y", frame) == [math.fmod(*pair) for pair in pairs]


@pytest.mark.parametrize("divisor", ["2.5", "y", "d", "x"])
def test_remainders_of_floats_beside_columns_of_any_type(divisor: str) -> None:
    """By Python's own remainder; in CASE, COALESCE and GREATEST, whose values are columns."""
    rows = {"x": [7.25, -1.5, 9.0], "y": [2.0, 0.5, 4.0], "i": [10, 20, 30]}
    frame = pl.DataFrame(rows).with_columns(d=pl.Series(["0.75", "2.00", "4.50"]).cast(pl.Decimal(6, 2)))
    divisors = [2.5] * 3 if divisor == "2.5" else [float(value) for value in frame[divisor]]
    remainders = list(map(math.fmod, rows["x"], divisors))
    assert run(f"CASE WHEN x % {divisor} >= 1 THEN i ELSE 0 END", frame) == [
        number if remainder >= 1 else 0 for number, remainder in zip(rows["i"], remainders, strict=True)
    ]
    assert run(f"COALESCE(x % {divisor}, i)", frame) == remainders
    assert run(f"GREATEST(x % {divisor}, y)", frame) == list(map(max, remainders, rows["y"]))


def test_remainders_of_decimals() -> None:
    decimals = pl.DataFrame({"d": pl.Series(["1.25", "3.00"]).cast(pl.Decimal(10, 2)), "i": [0, 2]})
    assert run("d % i", decimals) == [None, 1.0]


def test_no_number_is_the_greatest() -> None:
    """NaN is above all numbers in comparisons, so that GREATEST does not hide it; null is passed over."""
    frame = pl.DataFrame({"x": [math.nan, 1.0, None, math.nan], "i": [3, 2, 5, None]})
    for text in ("GREATEST(x, i, 0)", "GREATEST(0, i, x)", "GREATEST(x)"):
        found = run(text, frame)
        assert [value is not None and math.isnan(value) for value in found] == [True, False, False, True]
    assert run("GREATEST(x, i, 0)", frame)[1:3] == [2.0, 5.0]
    assert run("LEAST(x, i, 9)", frame) == [3.0, 1.0, 5.0, 9.0]
    assert run("x > 2", frame)[0] is True
    result = plm.evaluate(
        frame.with_columns(y=pl.Series([0, 1, 1, 0]), p=0.5),
        label="y",
        models="p",
        metrics=[{"name": "m", "mean": "GREATEST(x, 0)"}],
    )
    assert result.metrics.select("status", "note").row(0) == ("not_finite", "values that are not finite: 2")


def test_decimals_are_divided_and_multiplied_as_floating_point() -> None:
    frame = pl.DataFrame({"d": pl.Series(["1.25", "3.00"]).cast(pl.Decimal(38, 2))})
    assert run("d * d", frame) == [1.5625, 9.0]
    assert run("1 / d", frame) == [0.8, pytest.approx(1 / 3, rel=1e-15)]


def test_dates_follow_the_type_of_the_column() -> None:
    moment = dt.datetime(2024, 1, 31, 0, 30)
    frame = pl.DataFrame({"naive": [moment], "text": ["2024-01-31"]}).with_columns(
        zoned=pl.col("naive").dt.replace_time_zone("Europe/Paris")
    )
    for text in (
        "naive >= '2024-01-31'",
        "zoned >= '2024-01-31'",
        "zoned >= DATE '2024-01-31'",
        "zoned < TIMESTAMP '2024-01-31 01:00:00'",
        "text >= '2024-01-31'",
        "CAST(text AS DATE) = DATE '2024-01-31'",
        "CAST(naive AS DATE) = CAST(text AS DATE)",
        "CAST(text AS TIMESTAMP) < naive",
    ):
        assert run(text, frame) == [True], text


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_texts_of_times_do_not_tell_their_unit(unit: Any) -> None:
    """As in DuckDB, but for the time zone."""
    moments = [dt.datetime(2020, 10, 30), dt.datetime(2020, 10, 30, 10, 20, 30, 500_000), None]
    frame = pl.DataFrame({"t": pl.Series(moments, dtype=pl.Datetime(unit))})
    assert run("CAST(t AS VARCHAR)", frame) == ["2020-10-30 00:00:00", "2020-10-30 10:20:30.5", None]
    assert run("t LIKE '%00:00:00'", frame) == [True, False, None]
    zoned = frame.with_columns(pl.col("t").dt.replace_time_zone("Asia/Tokyo"))
    assert run("CAST(t AS VARCHAR)", zoned) == [
        "2020-10-30 00:00:00+09:00",
        "2020-10-30 10:20:30.5+09:00",
        None,
    ]


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "Asia/Tokyo"])
def test_times_with_an_offset_are_instants(zone: str) -> None:
    instant = dt.datetime(2024, 1, 31, 0, 30, tzinfo=dt.UTC)
    frame = pl.DataFrame({"t": [instant], "naive": [instant.replace(tzinfo=None)], "day": [instant.date()]})
    frame = frame.with_columns(pl.col("t").dt.convert_time_zone(zone))
    for text, holds in {
        "t = '2024-01-31T00:30:00Z'": True,
        "t = '2024-01-31 02:30:00+02:00'": True,
        "t = '2024-01-31 00:30:00+02:00'": False,
        "t > '2024-01-31T00:00:00-05:00'": False,
        "t IN ('2024-01-30T19:30:00-05:00')": True,
        "t BETWEEN '2024-01-31T00:29:00Z' AND '2024-01-31T09:31:00+09:00'": True,
    }.items():
        assert run(text, frame) == [holds], text
    for text in ("naive >= '2024-01-31T00:30:00Z'", "day <= '2024-01-31T00:30:00+02:00'"):
        with pytest.raises(pl.exceptions.InvalidOperationError, match="has a time zone, and"):
            run(text, frame)


def test_booleans_are_compared_with_their_words_alone() -> None:
    frame = pl.DataFrame({"b": [True, False, None], "s": ["true", "x", None]})
    for text, expected in {
        "b = 'true'": [True, False, None],
        "'False' <> b": [True, False, None],
        "b IN ('TRUE')": [True, False, None],
        "s = 'true'": [True, False, None],
        "CASE b WHEN 'true' THEN 1 ELSE 0 END = 1": [True, False, False],
    }.items():
        assert run(text, frame) == expected, text
    for text in ("b = 'yes'", "b <> 'x'", "b > 'a'", "b IN ('true', 'x')", "b = s", "s <> b"):
        with pytest.raises(pl.exceptions.InvalidOperationError, match="'b' is of type Boolean, which cannot"):
            run(text, frame)


def test_categories_are_texts() -> None:
    frame = pl.DataFrame({"c": ["a", "b", None]})
    for dtype in (pl.Categorical(), pl.Enum(["a", "b"])):
        typed = frame.with_columns(pl.col("c").cast(dtype))
        assert run("c IN ('a', 'zz') OR c LIKE 'B%'", typed) == [True, False, None]
        assert run("UPPER(c)", typed) == ["A", "B", None]


@pytest.mark.parametrize(
    ("target", "texts", "expected"),
    [
        ("BIGINT", ["7", "-2"], [7, -2, None]),
        ("DOUBLE", ["0.5", "1e3"], [0.5, 1000.0, None]),
        ("DATE", ["2026-01-02", "2026-01-03"], [dt.date(2026, 1, 2), dt.date(2026, 1, 3), None]),
        ("BOOLEAN", ["true", "f"], [True, False, None]),
        ("BOOLEAN", ["Yes", "y", "no", "N"], [True, True, False, False, None]),
    ],
)
def test_categories_are_cast_as_texts_are(target: str, texts: list[str], expected: list[Any]) -> None:
    frame = pl.DataFrame({"c": [*texts, None]})
    for dtype in (pl.String(), pl.Categorical(), pl.Enum(texts)):
        typed = frame.with_columns(pl.col("c").cast(dtype))
        assert run(f"CAST(c AS {target})", typed) == expected
        assert run(f"TRY_CAST(c AS {target})", typed) == expected


def test_whole_numbers_of_texts_and_decimals_are_those_of_duckdb() -> None:
    """Texts and decimals round halves away from zero, floats to the even number; texts keep every digit."""
    duckdb = pytest.importorskip("duckdb")
    texts = ["2.5", "-0.5", " 3.49 ", "1e2", "x", "", None, "9007199254740993", "-9223372036854775808", "nan"]
    texts += ["9223372036854775808", "inf"]
    numbers = [2.5, -0.5, 3.49, 100.0, 3.5, -2.5, None, 0.5, 0.0, 1.0, 2.0, 3.0]
    decimals = pl.Series([None if value is None else str(value) for value in numbers]).cast(pl.Decimal(12, 2))
    frame = pl.DataFrame({"s": texts, "m": decimals, "f": numbers})
    with duckdb.connect() as connection:
        connection.register("frame", frame.to_arrow())
        for text in (
            "TRY_CAST(s AS BIGINT)",
            "CAST(m AS BIGINT)",
            "TRY_CAST(m AS BIGINT)",
            "CAST(f AS BIGINT)",
        ):
            theirs = [value for (value,) in connection.execute(f"SELECT {text} FROM frame").fetchall()]
            assert run(text, frame) == theirs, text
    with pytest.raises(pl.exceptions.InvalidOperationError):
        run("CAST(s AS BIGINT)", frame)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "UTC"])
def test_dates_of_times_are_those_of_their_zone(zone: str) -> None:
    """By the standard library: the day that a clock in the zone shows, on days of 23 and 25 hours as well."""
    start = dt.datetime(2026, 3, 7, tzinfo=dt.UTC)
    moments = [start + dt.timedelta(minutes=37 * step) for step in range(1000)]
    moments += [
        dt.datetime(2026, 10, 25, tzinfo=dt.UTC) + dt.timedelta(minutes=30 * step) for step in range(-9, 9)
    ]
    clocks = [moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for moment in moments]
    zoned = pl.Series("z", [moment.replace(tzinfo=None) for moment in moments]).dt.replace_time_zone("UTC")
    frame = pl.DataFrame({"z": zoned.dt.convert_time_zone(zone), "d": [dt.date(2026, 3, 8)] * len(moments)})
    assert (
        run("CAST(z AS DATE)", frame)
        == run("TRY_CAST(z AS DATE)", frame)
        == [clock.date() for clock in clocks]
    )
    assert run("CAST(z AS TIMESTAMP)", frame) == clocks
    assert run("CAST(z AS DATE) = d", frame) == [clock.date() == dt.date(2026, 3, 8) for clock in clocks]
    assert run("z >= d", frame) == [clock >= dt.datetime(2026, 3, 8) for clock in clocks]
    assert run("d > z", frame) == [clock < dt.datetime(2026, 3, 8) for clock in clocks]
    assert run("z < CAST(CAST(d AS VARCHAR) AS DATE)", frame) == run("d > z", frame)
    assert run("d IN (z)", frame) == [clock == dt.datetime(2026, 3, 8) for clock in clocks]


@pytest.mark.parametrize(
    ("text", "clock"),
    [
        ("2026-03-01T10:00:00+02:00", "2026-03-01T08:00:00"),
        ("2026-03-01 00:30:00.25-0330", "2026-03-01T04:00:00.250000"),
        ("2026-03-01T10:00+01", "2026-03-01T09:00:00"),
        ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00"),
        ("2026-03-01 10:00", "2026-03-01T10:00:00"),
        ("2026-03-01", "2026-03-01T00:00:00"),
    ],
)
def test_texts_with_offsets_are_moments(text: str, clock: str) -> None:
    moment = dt.datetime.fromisoformat(clock).replace(tzinfo=dt.UTC)
    frame = pl.DataFrame({"s": [text, None]})
    assert run("CAST(s AS TIMESTAMPTZ)", frame) == [moment, None]
    assert run("TRY_CAST(s AS TIMESTAMPTZ)", pl.DataFrame({"s": ["soon", text]})) == [None, moment]
    for constant in (f"TIMESTAMP '{clock}'", f"'{moment.astimezone(ZoneInfo('Asia/Tokyo')).isoformat()}'"):
        assert run(f"CAST(s AS TIMESTAMPTZ) = {constant}", frame) == [True, None]


def test_times_of_other_zones_are_the_same_moments_in_utc() -> None:
    frame = pl.DataFrame({"n": [dt.datetime(2026, 7, 1, 12)], "d": [dt.date(2026, 7, 1)]})
    frame = frame.with_columns(z=pl.col("n").dt.replace_time_zone("Europe/Berlin"))
    assert run("CAST(z AS TIMESTAMPTZ)", frame) == [dt.datetime(2026, 7, 1, 10, tzinfo=dt.UTC)]
    assert run("CAST(n AS TIMESTAMPTZ)", frame) == [dt.datetime(2026, 7, 1, 12, tzinfo=dt.UTC)]
    assert run("CAST(d AS TIMESTAMPTZ)", frame) == [dt.datetime(2026, 7, 1, tzinfo=dt.UTC)]


def test_times_of_other_units_are_compared_in_every_digit() -> None:
    moment = dt.datetime(2026, 3, 29, 0, 59, 59, 999_999)
    frame = pl.DataFrame({"us": [moment, None]}).with_columns(
        pl.col("us").cast(pl.Datetime("ms")).alias("ms"), pl.col("us").cast(pl.Datetime("ns")).alias("ns")
    )
    for text in ("us > ms", "ns > ms", "ns = us", "ms <> us", "ms BETWEEN ms AND ns"):
        assert run(text, frame) == [True, None], text


@pytest.mark.parametrize("dtype", [pl.Float16, pl.Float32, pl.Float64])
def test_fractions_are_rounded_as_the_column_they_are_compared_with(dtype: type[pl.DataType]) -> None:
    """As in DuckDB, whose FLOAT of 0.1 equals 0.1."""
    frame = pl.DataFrame({"x": pl.Series([0.1, 0.7, -0.3, None, math.inf], dtype=dtype)})
    for text, expected in {
        "x = 0.1": [True, False, False, None, False],
        "0.7 = x": [False, True, False, None, False],
        "x > 0.1": [False, True, False, None, True],
        "x >= 0.7": [False, True, False, None, True],
        "x IN (-0.3, 0.7)": [False, True, True, None, False],
        "x BETWEEN -0.3 AND 0.1": [True, False, True, None, False],
        "x <= 1e300": [True, True, True, None, False],
    }.items():
        assert run(text, frame) == expected, text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("COALESCE(x, 0.1) = 0.1", [True, False, True]),
        ("COALESCE(x, y, 0.1) = 0.1", [True, False, True]),
        ("0.7 = COALESCE(x, 0.1)", [False, True, False]),
        ("COALESCE(x, 1) = 0.1", [True, False, False]),
        ("COALESCE(x, 16777217) = 16777217", [False, False, True]),
        ("COALESCE(x, 1e300) > 1e299", [False, False, True]),
        ("GREATEST(x, 0.1) = 0.1", [True, False, True]),
        ("LEAST(x, 0.1) = 0.1", [True, True, True]),
        ("CASE WHEN x IS NULL THEN 0.7 ELSE x END = 0.7", [False, True, True]),
        ("CASE WHEN x IS NULL THEN 0 ELSE x END IN (0, 0.1)", [True, False, True]),
        ("COALESCE(z, x, 0.1) = 0.1", [True, False, True]),
        ("COALESCE(i, 0.1) = 0.1", [False, True, False]),
        ("COALESCE(NULL, 0.1) = 0.1", [True, True, True]),
    ],
)
def test_numbers_beside_a_column_of_32_bits_are_stored_as_it_is(text: str, expected: list[bool]) -> None:
    """As in DuckDB, where such a value is a FLOAT; a whole number that 32 bits do not hold stays itself."""
    numbers = pl.Series([0.1, 0.7, None], dtype=pl.Float32)
    frame = pl.DataFrame({"x": numbers, "y": numbers, "z": [0.1, 0.7, None], "i": [1, None, 3]})
    assert run(text, frame) == expected


@pytest.mark.parametrize(
    "text",
    [
        "NOT i",
        "i AND i",
        "s OR flag",
        "i + s",
        "s + s",
        "s = TRUE",
        "s = 1",
        "day + 1",
        "CASE WHEN i THEN 1 END",
    ],
)
def test_types_that_do_not_fit_are_an_error_not_a_number(text: str) -> None:
    with pytest.raises(pl.exceptions.PolarsError):
        run(text)


ODD_TYPES = pl.Schema(
    {
        "d": pl.Date,
        "t": pl.Datetime("us", "UTC"),
        "w": pl.Duration("us"),
        "tags": pl.List(pl.String),
        "pair": pl.Struct({"a": pl.Int64}),
        "i": pl.Int64,
        "s": pl.String,
    }
)
ODD = pl.DataFrame(
    {"d": [1], "t": [1], "w": [1], "tags": [["a"]], "pair": [{"a": 1}], "i": [1], "s": ["a"]}, ODD_TYPES
)


@pytest.mark.parametrize(
    "text",
    [
        *("d > 1", "1 = t", "w > 1", "d IN (1, 2)", "t BETWEEN 1 AND 2", "d > i", "i < t", "w = i"),
        *("w = 'a'", "w > d", "w LIKE 'a%'", "length(w) > 1", "CAST(w AS VARCHAR) = 'a'"),
        *("tags = 'a'", "tags = 1", "tags IN ('a')", "tags = tags", "s = tags", "upper(tags) = 'A'"),
        *("pair = 'a'", "pair LIKE 'a%'", "CASE WHEN pair = 'a' THEN 1 ELSE 0 END = 1"),
    ],
)
def test_what_a_type_cannot_be_compared_with_is_refused_before_it_runs(text: str) -> None:
    with pytest.raises(pl.exceptions.InvalidOperationError, match="is of type"):
        ODD.lazy().select(compile_row(text).expr).collect_schema()


@pytest.mark.parametrize(
    "text", ["w = w", "t <= d", "t > '1969-12-31'", "d < '2000-01-01'", "s IN ('a', 'b')"]
)
def test_what_a_type_can_be_compared_with(text: str) -> None:
    assert ODD.select(compile_row(text).expr).item() is True


@pytest.mark.parametrize(
    "text", ["i IN (day * day, 1)", "CAST(-day = day AS VARCHAR) = 'x'", "day * day > 1"]
)
def test_what_does_not_fit_twice_is_an_error_not_a_panic(text: str) -> None:
    with pytest.raises(
        pl.exceptions.InvalidOperationError, match=r"a number is needed, and 'day' is of type Date"
    ):
        run(text)


def test_a_row_expression_serialises_the_same_each_time() -> None:
    text = "i + j > 1 AND flag AND day >= '2024-01-01' AND CAST(x AS BIGINT) = 1"
    assert compile_row(text).expr.meta.serialize() == compile_row(text).expr.meta.serialize()
    assert compile_row(text).expr.meta.serialize() != compile_row(text + " OR flag").expr.meta.serialize()


@pytest.mark.parametrize(
    ("text", "words", "position", "hint"),
    [
        ("", "is empty", None, "balance > 1000"),
        ("a > 1 b", "'b' was not expected", 7, ""),
        ("a b > 1", "'b' was not expected", 3, "double quotes"),
        ("case > 1", "something is missing", 8, 'double quotes: "case"'),
        ("if = 1", "a statement is not allowed", None, ""),
        ("a > 1 AND\n b b", "'b' was not expected", 14, ""),
        ("a =", "something is missing", 3, ""),
        ("a = 'x", "a quote or a comment is not closed", None, "quote texts"),
        ("(a > 1", "parenthesis", None, ""),
        ("abs(a, b)", "too many arguments", 9, ""),
        ("a > 1; b > 1", "only one expression", 6, ""),
        ("a > 1;", "only one expression", 6, ""),
        ("a > 1 -- b", "comments are not allowed", 5, "- -1"),
        ("/* x */ a", "comments are not allowed", 9, ""),
        ("a /*+ x */", "comments are not allowed", 1, ""),
        ("SELECT a", "a query is not allowed", 1, ""),
        ("(SELECT 1)", "a subquery is not allowed", None, ""),
        ("a IN (SELECT b FROM c)", "a subquery is not allowed", None, ""),
        ("EXISTS (SELECT 1)", "a subquery is not allowed", None, ""),
        ("a = ANY (SELECT 1)", "a subquery is not allowed", None, ""),
        ("read_csv('x')", "function READ_CSV", 1, "known: abs"),
        ("1 + LNN(a)", "function LNN", 5, "did you mean 'ln'?"),
        ("getenv('HOME')", "function GETENV", 1, ""),
        ("CURRENT_DATE", "function CURRENT_DATE", None, "DATE '2024-01-31'"),
        ("a < RANDOM()", "function RANDOM is not allowed: a row must have the same value", 5, "a column"),
        ("now() > a", "function NOW is not allowed: a row must have the same value", 1, "a constant"),
        ("uuid()", "whenever it is read", 1, ""),
        ("SUM(a)", "aggregate SUM", 1, "one row at a time"),
        ("COUNT(*)", "aggregate COUNT", 1, ""),
        ("LOWER(a) FILTER (WHERE b)", "FILTER", 1, ""),
        ("SUM(a) OVER ()", "window function", 1, ""),
        ("ROW_NUMBER() OVER (ORDER BY a)", "window function", 1, ""),
        ("a = ?", "parameters", 5, ""),
        ("a = $1", "parameters", 5, ""),
        ("a = :x", "parameters", 5, ""),
        ("a = @x", "parameters", 5, ""),
        ("a[1]", "'[' is not allowed", 2, "x IN (1, 2)"),
        ("{'a': 1}", "'{' is not allowed", 1, ""),
        ("*", "* is not allowed", 1, ""),
        ("COLUMNS(*)", "COLUMNS", 1, ""),
        ('"*" > 1', "cannot be used as a column's name", 1, ""),
        ('"^.*$" > 1', "cannot be used as a column's name", 1, ""),
        ("t.a > 1", "names a table", 1, "double quotes"),
        ("a || 1", "a text is needed here, and this is a number", 6, "AS VARCHAR"),
        ("STRPTIME(a, '%d.%m.%Y')", "function STRPTIME is not allowed", 1, "SUBSTRING(a, 7, 4) || '-'"),
        ("REPLACE(a, b, 'x')", "REPLACE takes two texts", 1, "REPLACE(amount, ',', '.')"),
        ("a > hour(b)", "function HOUR is not allowed", 5, "EXTRACT(HOUR FROM a)"),
        ("IF(a > 1, 1, 2)", "function IF is not allowed", 4, "CASE WHEN"),
        ("a & b", "& (write AND)", 1, ""),
        ("a // b", "FLOOR(a / b)", 1, ""),
        ("a IS DISTINCT FROM b", "IS DISTINCT FROM", 1, ""),
        ("a SIMILAR TO 'x'", "SIMILAR TO", 1, ""),
        ("INTERVAL '1 day'", "INTERVAL", None, ""),
        ("a LIKE b", "LIKE needs a pattern in single quotes", 1, "LIKE 'A%'"),
        ("a LIKE '" + "x" * 501 + "'", "may have 500 characters", 8, ""),
        ("a LIKE 'x#' ESCAPE '#'", "ends in the escape character", 8, ""),
        ("a = NULL", "a comparison with NULL is never true", 1, "IS NULL"),
        ("a IS 1", "IS compares with NULL", 1, "="),
        ("0 < a < 1", "a condition cannot be compared with a number", 1, "0 < x AND x < 1"),
        ("'x' > 1", "a text cannot be compared with a number", 1, ""),
        ("a > 1 AND 5", "a condition is needed here, and this is a number", 11, ""),
        ("(a > 1) * 2", "a number is needed here, and this is a condition", 2, "CASE WHEN"),
        ("LOWER(a + 1)", "a text is needed here, and this is a number", 7, ""),
        ("CASE WHEN a > 1 THEN 1 ELSE 'x' END", "must be of one type", None, ""),
        ("SUBSTRING(a, 0)", "a whole number from 1", 14, ""),
        ("ROUND(a, -1)", "a whole number from 0 to 15", 11, ""),
        ("CEIL(a, 1)", "CEIL with 'decimals'", None, ""),
        ("EXTRACT(EPOCH FROM a)", "does not know 'EPOCH'", None, "YEAR"),
        ("CAST(a AS BLOB)", "a cast to", 6, "BIGINT"),
        ("DATE '2024-02-30'", "'2024-02-30' is not a date", 6, "DATE '2024-01-31'"),
        ("TIMESTAMP '2024-01-31T10:00:00Z'", "has a time zone", 11, ""),
        ("x = TIMESTAMPTZ '2024-01-31T10:00:00Z'", "no constant is a TIMESTAMPTZ", 17, ""),
        ("1e400", "too large", 1, ""),
        ("99999999999999999999", "too large", 1, ""),
        (". 2.5", "is not a number", None, ""),
        ("a = " + "1" * MAX_LENGTH, f"may have {MAX_LENGTH} characters", None, ""),
    ],
)
def test_refuses(text: str, words: str, position: int | None, hint: str) -> None:
    with pytest.raises(RowExpressionError) as caught:
        compile_row(text)
    assert words in str(caught.value)
    assert hint in (caught.value.hint or "")
    if position is not None:
        assert caught.value.position == position
        assert f"(at character {position})" in str(caught.value)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "text",
    [
        "(" * 4000 + "a" + ")" * 4000,
        "NOT " * 2400 + "a",
        "- " * 4000 + "a",
        "abs(" * 1500 + "a" + ")" * 1500,
        "CASE WHEN " * 500 + "a",
        "a" + " IS NULL" * 1000,
        "a" + "::int" * 1500,
        "a" + " + a" * 2000,
        "a" + " = a" * 2000,
        "a" + " / a" * 20,
        "1 / (" * 15 + "a" + ")" * 15,
        "interval " * 1000 + "'1'",
        "a IN (" + "1, " * 3000 + "2)",
    ],
)
def test_nesting_and_growth_are_bounded(text: str) -> None:
    with pytest.raises(RowExpressionError, match=r"nested deeper|too large"):
        compile_row(text)


def test_a_deep_stack_is_an_error_like_any_other() -> None:
    def below(depth: int) -> None:
        if depth:
            return below(depth - 1)
        with pytest.raises(RowExpressionError, match="nested deeper"):
            compile_row("abs(" * 19 + "a" + ")" * 19)
        return None

    import sys

    frame, used = sys._getframe(), 0
    while frame is not None:
        frame, used = frame.f_back, used + 1
    below(sys.getrecursionlimit() - used - 150)


def test_long_chains_are_no_nesting() -> None:
    long = " OR ".join(f"i = {number}" for number in range(500))
    assert run(long) == [True, False, None, True, True]
    assert run(f"i IN ({', '.join(map(str, range(1000)))})") == [True, False, None, True, True]


def test_a_subquery_reads_no_file(tmp_path: Any) -> None:
    # A named pipe without a writer: whoever opens it hangs, so the test would not end.
    import os

    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    for text in (
        f"a IN (SELECT c FROM read_csv('{pipe}'))",
        f"a IN (SELECT c FROM '{pipe}')",
        f"read_csv('{pipe}')",
        f"(FROM read_csv('{pipe}'))",
        f"EXISTS (FROM '{pipe}')",
    ):
        with pytest.raises(RowExpressionError):
            compile_row(text)


_TOKENS = """
    a b 1 2.5 'x' ( ) , . + - * / % = <> < AND OR NOT IN BETWEEN IS NULL LIKE ESCAPE CASE WHEN THEN ELSE
    END ABS(
    SUBSTRING( TRIM( CAST( AS INT DATE EXTRACT( FROM TRUE :: || & ~ ! @ $ ? : ; [ ] { } -- /* */ SELECT OVER
    FILTER INTERVAL EXISTS ARRAY -> # \\ ` E'x' x'ab' $$ {{ %} COLLATE é \0
"""
_tokens = st.sampled_from([*_TOKENS.split(), "\n"])


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(st.lists(_tokens, max_size=12).map(" ".join) | st.text(max_size=30))
def test_any_text_compiles_or_is_a_row_expression_error(text: str) -> None:
    try:
        assert isinstance(compile_row(text).columns, tuple)
    except RowExpressionError as error:
        assert str(error)  # noqa: PT017


def test_the_parser_says_nothing_on_its_own(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for text in ("a[0]", "a > 1 -- x", "ATTACH 'x'", "DROP TABLE x", "a::whatever", "a -> 'b'"):
            with pytest.raises(RowExpressionError):
                compile_row(text)
    assert caplog.records == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1.0),
        ("1 / 4", 0.25),
        ("TRUE", 1.0),
        ("ABS(-3)", 3.0),
        ("COALESCE(NULL, 4)", 4.0),
        ("CASE WHEN 1 = 1 THEN 2 END", 2.0),
        ("YEAR(DATE '2024-01-31')", 2024.0),
        ("role", 7.0),
        ("NULL", 0.0),
    ],
)
def test_a_constant_is_as_long_as_the_table(text: str, value: float) -> None:
    held = compile_row(text, {"role": pl.lit(7.0)}).measure
    assert FRAME.lazy().select(held.sum()).collect().item() == value * FRAME.height
    sums = FRAME.lazy().group_by("flag").agg(held.sum().alias("sum"), pl.len()).collect()
    assert sums["sum"].to_list() == [value * rows for rows in sums["len"]]


def test_a_text_is_parsed_once_however_often_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    texts: list[str] = []
    parse = compiler.parse
    monkeypatch.setattr(compiler, "parse", lambda text: texts.append(text) or parse(text))
    compiler._tree.cache_clear()
    rows = pl.DataFrame({"a": [1.0, 2.0], "b": [10.0, 20.0]})
    for shift in range(3):
        compiled = compile_row("a + b > 12", {"a": pl.lit(float(shift))}, lambda name: pl.col(name) + 1)
        assert rows.select(compiled.expr).to_series().to_list() == [shift + 11 > 12, True]
    assert texts == ["a + b > 12"]
    for _ in range(2):
        with pytest.raises(RowExpressionError, match="is missing at"):
            compile_row("a +")
