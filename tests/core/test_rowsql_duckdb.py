"""Row expressions on odd columns against DuckDB, value by value."""

import datetime as dt
import math
from decimal import Decimal
from itertools import product
from typing import Any

import polars as pl
import pytest

from plmetrics.core.rowsql import RowExpressionError, compile_row

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("pyarrow")

MOMENTS = [
    dt.datetime(2024, 1, 31),
    dt.datetime(2024, 2, 29, 12),
    dt.datetime(2020, 12, 31, 23, 59, 59, 999_999),
    dt.datetime(1969, 12, 31, 23, 59, 59, 500_000),
    None,
    dt.datetime(2024, 3, 31, 1, 30),
]
_micros = pl.Series(MOMENTS, dtype=pl.Datetime("us"))
_number = [-7, 0, 7, None, 1]
_texts = [
    "",
    " ",
    "a",
    "É",
    "日本語",
    "a%b",
    None,
    "10",
    "-7",
    "1.5",
    "yes",
    "2024-01-31",
    "1e2",
    " 2.5 ",
    "0.285",
]
COLUMNS: dict[str, pl.Series] = {
    "i8": pl.Series([-128, 127, *_number], dtype=pl.Int8),
    "i32": pl.Series([-(2**31), 2**31 - 1, *_number], dtype=pl.Int32),
    "i64": pl.Series([-(2**63), 2**63 - 1, *_number, 2**53 + 1], dtype=pl.Int64),
    "u8": pl.Series([255, 0, 7, None], dtype=pl.UInt8),
    "u64": pl.Series([2**64 - 1, 2**63 + 1, 0, 7, None, 2**53 + 1], dtype=pl.UInt64),
    "d": pl.Series(
        [Decimal("1.25"), Decimal("-1.25"), Decimal("99.99"), None, Decimal("7.00")], dtype=pl.Decimal(10, 2)
    ),
    "f32": pl.Series([math.nan, math.inf, 0.1, 1.5, 2.5, -2.5, None, 7.0], dtype=pl.Float32),
    "f64": pl.Series([math.nan, -math.inf, -0.0, 0.1, 1.5, 2.5, -2.5, None, 9.3e18, 0.285], dtype=pl.Float64),
    "b": pl.Series([True, False, None]),
    "s": pl.Series(_texts),
    "c": pl.Series(["a", "B", None, "é", "10"], dtype=pl.Categorical),
    "e": pl.Series(["lo", "hi", None, "mid"], dtype=pl.Enum(["lo", "mid", "hi"])),
    "day": pl.Series([dt.date(2024, 1, 31), dt.date(2021, 1, 1), dt.date(1969, 12, 31), None]),
    "us": _micros,
    "ms": _micros.cast(pl.Datetime("ms")),
    "ns": _micros.cast(pl.Datetime("ns")),
    "zone": _micros.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin"),
    "clock": pl.Series([dt.time(0), dt.time(23, 59, 59, 999_999), None, dt.time(12, 30)]),
}
NUMBERS = ("i8", "i32", "i64", "u8", "u64", "d", "f32", "f64")


def table(names: tuple[str, ...]) -> pl.DataFrame:
    """All combinations of the values of columns."""
    frame = COLUMNS[names[0]].alias(names[0]).to_frame()
    for name in names[1:]:
        frame = frame.join(COLUMNS[name].alias(name).to_frame(), how="cross")
    return frame


@pytest.fixture(scope="module")
def database() -> Any:
    with duckdb.connect() as connection:
        try:
            connection.execute("SET TimeZone = 'Europe/Berlin'")
        except duckdb.Error:
            pytest.skip("DuckDB has no time zones here")
        yield connection


def of_duckdb(database: Any, frame: pl.DataFrame, text: str) -> list[Any]:
    """Values of DuckDB, for which categories without an order are texts."""
    texts = frame.with_columns(pl.col(pl.Categorical).cast(pl.String)).with_row_index("place")
    database.register("rows_of_arrow", texts.to_arrow())
    rows = database.execute(f"SELECT {text} FROM rows_of_arrow ORDER BY place").fetchall()
    return [value for (value,) in rows]


def ours(frame: pl.DataFrame, text: str) -> list[Any]:
    return frame.lazy().select(compile_row(text).expr.alias("value")).collect()["value"].to_list()


def plain(value: Any) -> Any:
    """A value that equals that of the other side: instants in UTC, numbers of decimals as floating point."""
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        return ("instant", value.astimezone(dt.UTC))
    if isinstance(value, (float, Decimal)):
        return "nan" if math.isnan(value) else float(value)
    return (type(value).__name__, value) if isinstance(value, (bool, dt.date)) else value


def check(database: Any, text: str, *names: str) -> None:
    frame = table(names)
    found, expected = ours(frame, text), of_duckdb(database, frame, text)
    for row, value, theirs in zip(frame.rows(), found, expected, strict=True):
        assert plain(value) == plain(theirs), (text, row)
    assert ours(frame.clear(), text) == []


UNIONS = (
    "COALESCE({0}, {1})",
    "GREATEST({1}, {0})",
    "LEAST({0}, {1})",
    "CASE WHEN {0} IS NULL THEN {1} ELSE {0} END",
)
ALIKE = [
    *[pair for pair in product(NUMBERS, NUMBERS) if pair[0] < pair[1] and not {"f32", "f64"} & set(pair)],
    *[
        ("s", "c"),
        ("s", "e"),
        ("c", "e"),
        ("e", "e"),
        ("day", "us"),
        ("day", "ms"),
        ("day", "ns"),
        ("day", "zone"),
    ],
    *[("us", "ms"), ("ms", "ns"), ("us", "ns"), ("b", "i64"), ("clock", "clock"), ("zone", "zone")],
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("pair", ALIKE, ids="-".join)
def test_one_of_two_values(database: Any, pair: tuple[str, str]) -> None:
    """Every digit of numbers and times, names of categories, and dates as midnight in the zone of times."""
    for text in UNIONS:
        check(database, text.format(*pair), *dict.fromkeys(pair))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("COALESCE(e, 'none')", "e"),
        ("COALESCE(c, 'none')", "c"),
        ("GREATEST(e, 'b')", "e"),
        ("LEAST(c, 'b', NULL)", "c"),
        ("CASE WHEN e = 'lo' THEN 'low' ELSE e END", "e"),
        ("COALESCE(u64, 0)", "u64"),
        ("COALESCE(u64, -1)", "u64"),
        ("GREATEST(u64, 5)", "u64"),
        ("COALESCE(day, '2024-01-01')", "day"),
        ("GREATEST(us, '2024-01-01')", "us"),
        ("COALESCE(ms, '2024-01-01') = '2024-01-01'", "ms"),
        ("CASE WHEN ns IS NULL THEN '2024-01-01' ELSE ns END", "ns"),
        ("COALESCE(zone, DATE '2024-01-01')", "zone"),
        ("GREATEST(zone, TIMESTAMP '2024-01-01 10:00:00')", "zone"),
        ("LEAST(zone, '2024-01-31 01:00:00')", "zone"),
        ("COALESCE(ms, TIMESTAMP '2024-01-01 00:00:00.000001')", "ms"),
        ("COALESCE(b, 'true')", "b"),
        ("COALESCE(b, 0)", "b"),
        ("COALESCE(day, NULL, DATE '2024-01-01')", "day"),
    ],
)
def test_constants_take_the_type_of_columns(database: Any, text: str, name: str) -> None:
    check(database, text, name)


def test_times_of_nanoseconds_beside_a_date_that_is_none_of_them() -> None:
    far = dt.datetime(9999, 12, 31)
    found = ours(table(("ns",)), "COALESCE(ns, TIMESTAMP '9999-12-31 00:00:00')")
    assert found == [far if moment is None else moment for moment in MOMENTS]


@pytest.mark.parametrize("other", ["s", "day", "us", "clock", "b"])
@pytest.mark.parametrize("name", ["i64", "day", "s"])
def test_values_of_two_types_are_an_error(database: Any, name: str, other: str) -> None:
    """As in DuckDB: Polars would take the stored form of a date for a number, and make texts of numbers."""
    if {name, other} in ({"day"}, {"day", "us"}, {"s"}, {"i64", "b"}):
        return
    for text in UNIONS:
        with pytest.raises(pl.exceptions.InvalidOperationError, match="must be of one type"):
            ours(table((name, other)).clear(), text.format(name, other))
        with pytest.raises(duckdb.Error, match="Cannot"):
            of_duckdb(database, table((name, other)), text.format(name, other))


@pytest.mark.parametrize("text", ["COALESCE(i64, 'none')", "COALESCE(f64, '0')", "COALESCE(day, 'none')"])
def test_a_constant_of_another_type_is_an_error(text: str) -> None:
    with pytest.raises(pl.exceptions.InvalidOperationError, match="and a constant is a text"):
        ours(table(("i64", "f64", "day")).clear(), text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "n > 1",
            "n = 'a'",
            "n < DATE '2024-01-01'",
            "n IN (1, NULL)",
            "n = day",
            "n + i64",
            "n % 2",
            "ABS(n)",
            "LOWER(n)",
        ),
        *(
            "n LIKE 'a%'",
            "YEAR(n)",
            "EXTRACT(WEEK FROM n)",
            "CAST(n AS DATE)",
            "CAST(n AS DECIMAL(4, 1))",
            "NOT n",
        ),
        *("COALESCE(n, n)", "GREATEST(n, NULL)", "CASE WHEN n THEN 1 END"),
    ],
)
def test_a_column_without_values_fits_everywhere(text: str) -> None:
    frame = table(("i64", "day")).with_columns(n=pl.lit(None))
    assert ours(frame, text) == [None] * frame.height
    assert ours(frame, "COALESCE(n, day)") == frame["day"].to_list()


def test_times_with_and_without_a_zone_have_no_common_type() -> None:
    with pytest.raises(pl.exceptions.InvalidOperationError, match="with a time zone and others without"):
        ours(table(("us", "zone")).clear(), "COALESCE(us, zone)")


CASTS = {
    "TINYINT": (*NUMBERS, "b", "s"),
    "SMALLINT": (*NUMBERS, "s"),
    "INT": (*NUMBERS, "s", "c"),
    "BIGINT": (*NUMBERS, "s", "c"),
    "DECIMAL": NUMBERS,
    "DECIMAL(4, 1)": (*NUMBERS, "s", "c"),
    "DECIMAL(10, 2)": (*NUMBERS, "b", "s"),
    "DECIMAL(3)": (*NUMBERS, "s"),
    "BOOLEAN": ("i64", "f64", "b", "s"),
    "VARCHAR": ("i8", "i64", "u64", "d", "b", "s", "c", "e", "day", "us", "ms", "clock"),
    "DATE": ("day", "us", "ms", "ns", "zone", "s"),
    "TIMESTAMP": ("day", "us", "ms", "ns", "zone", "s"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("target", CASTS)
def test_casts(database: Any, target: str) -> None:
    for name in CASTS[target]:
        check(database, f"TRY_CAST({name} AS {target})", name)


@pytest.mark.parametrize("target", ["TINYINT", "DECIMAL(4, 1)"])
def test_a_cast_out_of_range_is_an_error(database: Any, target: str) -> None:
    assert ours(table(("i8",)), f"CAST(i8 AS {target})") == of_duckdb(
        database, table(("i8",)), f"CAST(i8 AS {target})"
    )
    with pytest.raises(pl.exceptions.InvalidOperationError, match="conversion"):
        ours(table(("i32",)), f"CAST(i32 AS {target})")


@pytest.mark.parametrize(
    ("names", "targets"),
    [
        (("day", "us", "zone", "clock"), ("BIGINT", "DOUBLE", "DECIMAL(10, 2)", "BOOLEAN")),
        ((*NUMBERS, "b", "clock"), ("DATE", "TIMESTAMP")),
    ],
)
def test_what_is_not_cast(database: Any, names: tuple[str, ...], targets: tuple[str, ...]) -> None:
    for name, target in product(names, targets):
        with pytest.raises(duckdb.Error, match="Unimplemented"):
            of_duckdb(database, table((name,)), f"CAST({name} AS {target})")
        with pytest.raises(pl.exceptions.InvalidOperationError, match="is not cast to"):
            ours(table((name,)).clear(), f"TRY_CAST({name} AS {target})")


@pytest.mark.parametrize("size", ["39", "0", "4, 5", "4, -1", "4, 1, 1"])
def test_decimals_that_are_none(size: str) -> None:
    with pytest.raises(RowExpressionError):
        compile_row(f"CAST(x AS DECIMAL({size}))")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        *[(f"e {sign} '{word}'", "e") for sign in ("<", ">=", "=", "<>") for word in ("lo", "mid", "b", "")],
        ("e BETWEEN 'hi' AND 'lo'", "e"),
        ("'lo' > e", "e"),
        ("c < 'a'", "c"),
        ("CASE e WHEN 'mid' THEN 1 ELSE 0 END", "e"),
        ("i64 = 9007199254740992.0", "i64"),
        ("i64 > 9007199254740992.5", "i64"),
        ("u64 IN (9007199254740992.0, 7.0)", "u64"),
        ("i8 = 127.0 OR i8 > 6.5", "i8"),
        *[(f"ms {sign} TIMESTAMP '2020-12-31 23:59:59.9995'", "ms") for sign in ("<", ">=", "=")],
        ("ms < TIMESTAMP '2020-12-31 23:59:59.999001'", "ms"),
        ("us <= TIMESTAMP '2020-12-31 23:59:59.999999'", "us"),
        ("zone > '2021-01-01 00:59:59.999998'", "zone"),
    ],
)
def test_comparisons_with_constants(database: Any, text: str, name: str) -> None:
    check(database, text, name)


def test_constants_are_compared_with_nanoseconds_in_every_digit() -> None:
    moments = pl.Series("ns", [1_709_208_000_000_000_000, 1_709_208_000_000_000_500, None]).cast(
        pl.Datetime("ns")
    )
    for frame in (moments.to_frame(), moments.dt.replace_time_zone("UTC").to_frame()):
        assert ours(frame, "ns <= '2024-02-29 12:00:00'") == [True, False, None]
        assert ours(frame, "ns = TIMESTAMP '2024-02-29 12:00:00'") == [True, False, None]
        assert ours(frame, "ns IN ('2024-02-29 12:00:00')") == [True, False, None]
        assert ours(frame, "ns < '9999-12-31 00:00:00' AND ns > '0001-01-01'") == [True, True, None]
        days = frame.with_columns(
            day=pl.Series([dt.date(2024, 2, 29), dt.date(9999, 12, 31), dt.date(1, 1, 1)])
        )
        assert ours(days, "ns < day") == [False, True, None]
        assert ours(days, "day <= ns") == [True, False, None]


@pytest.mark.parametrize("pair", [("e", "c"), ("e", "s"), ("c", "s"), ("e", "e")], ids="-".join)
def test_comparisons_of_categories(database: Any, pair: tuple[str, str]) -> None:
    """By their names; those of one ordered type in its order."""
    for sign in ("<", ">=", "=", "<>"):
        check(database, f"{pair[0]} {sign} {pair[1]}", *dict.fromkeys(pair))


@pytest.mark.parametrize(
    "text",
    [
        *("i64 = DATE '1970-01-02'", "f64 > DATE '1970-01-02'", "i64 > TIMESTAMP '1970-01-02 00:00:00'"),
        *(
            "d IN (DATE '1970-01-02')",
            "DATE '1970-01-02' < i8",
            "i64 BETWEEN DATE '1970-01-01' AND DATE '1971-01-01'",
        ),
        *("d = '7'", "d = 'true'", "d IN ('7', '8')", "d = s", "d < s", "i64 = '7'", "s = 1", "c > 1"),
        *("clock = '12:30:00'", "clock < s"),
    ],
)
def test_what_has_nothing_to_compare_is_an_error(text: str) -> None:
    """Polars compares a number with the days or microseconds of a date, and a decimal with a text by its digits."""
    with pytest.raises(pl.exceptions.InvalidOperationError, match="which cannot be compared with"):
        ours(pl.DataFrame(schema={name: values.dtype for name, values in COLUMNS.items()}), text)


@pytest.mark.parametrize("mark", ["", "Z"])
def test_times_in_texts_may_lack_seconds(mark: str) -> None:
    """By DuckDB; Z says that the clock is that of UTC."""
    texts = ["2024-01-31 10:05", "2024-01-31T10:05", "2024-01-31T10:05:07.25", "2024-01-31 23:59:59", "x"]
    frame = pl.DataFrame({"t": [text + mark for text in texts]})
    with duckdb.connect() as connection:
        connection.register("frame", frame.to_arrow())
        theirs = connection.execute("SELECT TRY_CAST(t AS TIMESTAMP) FROM frame").fetchall()
    assert ours(frame, "TRY_CAST(t AS TIMESTAMP)") == [value for (value,) in theirs]
    assert ours(frame.head(4), "CAST(t AS TIMESTAMP)") == [value for (value,) in theirs[:4]]
