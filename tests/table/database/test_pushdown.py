"""Conditions that a database decides: rows are counted as they come, and none is lost for which the condition holds."""

import json
import sqlite3
import tempfile
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from table.database.test_query import MARIADB, POSTGRES, connect_mariadb

import plmetrics as plm
from plmetrics.core.errors import DataError
from plmetrics.core.rowsql import compile_row
from plmetrics.table.opening import open_source

TABLE = "plmetrics_test_pushdown"
DAY = date(2026, 1, 1)
COLUMNS = {
    "n": "bigint",
    "p": "double precision",
    "q": "numeric(20, 6)",
    "r": "real",
    "g": "text",
    "c": "char(5)",
    "d": "date",
    "t": "timestamp",
    "z": "timestamptz",
    "b": "boolean",
}
OF_MARIADB = COLUMNS | {"r": "float", "t": "datetime(6)", "z": "timestamp(6) NULL"}
GROUPS = ["a", "B", "ab ", "it's", "ä", None]


def values(row: int) -> tuple[Any, ...]:
    if row % 11 == 0:
        return (None,) * len(COLUMNS)
    share = float("nan") if row % 13 == 0 else row / 8
    moment = datetime(2026, 1, 1) + timedelta(hours=7 * row)
    group = GROUPS[row % len(GROUPS)]
    day = DAY + timedelta(days=row % 5)
    return (
        row - 20,
        share,
        row / 8,
        row / 10,
        group,
        group,
        day,
        moment,
        moment.replace(tzinfo=UTC),
        row % 2 > 0,
    )


ROWS = [values(row) for row in range(60)]


@pytest.fixture(scope="module")
def databases() -> Iterator[dict[str, str]]:
    pytest.importorskip("adbc_driver_postgresql", reason="needs the extra 'database'")
    psycopg, duckdb = pytest.importorskip("psycopg"), pytest.importorskip("duckdb")
    marks = ", ".join(["%s"] * len(COLUMNS))
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    with tempfile.TemporaryDirectory() as folder:
        with sqlite3.connect(f"{folder}/x.db") as connection:
            connection.execute(f"CREATE TABLE {TABLE} (n bigint, p real, g text COLLATE NOCASE)")
            rows = [(row[0], row[1], row[4]) for row in ROWS]
            connection.executemany(f"INSERT INTO {TABLE} VALUES (?, ?, ?)", rows)
        connection.close()
        with duckdb.connect(f"{folder}/x.duckdb") as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute(f"CREATE TABLE {TABLE} ({columns})")
            connection.executemany(f"INSERT INTO {TABLE} VALUES ({marks.replace('%s', '?')})", ROWS)
        opened = {"sqlite": f"sqlite:///{folder}/x.db", "duckdb": f"duckdb:///{folder}/x.duckdb"}
        try:
            psycopg.connect(POSTGRES, connect_timeout=3).close()
        except psycopg.OperationalError:
            yield opened
            return
        with psycopg.connect(POSTGRES) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
            cursor.execute(f"CREATE TABLE {TABLE} ({columns})")
            cursor.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", ROWS)
        yield opened | {"postgresql": POSTGRES}
        with psycopg.connect(POSTGRES) as connection:
            connection.execute(f"DROP TABLE IF EXISTS {TABLE}")


@pytest.fixture(scope="module")
def every_database(databases: dict[str, str]) -> Iterator[dict[str, str]]:
    """With MariaDB, which has no NaN, times without a zone and 0 and 1 for false and true."""
    columns = ", ".join(f"{name} {kind}" for name, kind in OF_MARIADB.items())
    rows = [tuple(None if value != value else value for value in row) for row in ROWS]
    with connect_mariadb() as connection, connection.cursor() as cursor:
        cursor.execute("SET time_zone = '+00:00'")
        cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
        cursor.execute(f"CREATE TABLE {TABLE} ({columns})")
        cursor.executemany(f"INSERT INTO {TABLE} VALUES ({', '.join(['%s'] * len(COLUMNS))})", rows)
        yield databases | {"mariadb": MARIADB}
        cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")


def source_of(
    databases: dict[str, str], kind: str, where: str | None, query: str = f"SELECT * FROM {TABLE}"
) -> Any:
    if kind not in databases:
        pytest.skip(f"there is no server of {kind}")
    return open_source({"database": databases[kind], "query": query}, Path("/"), where)


def check_rows_that_come(databases: dict[str, str], kind: str, where: str) -> int:
    """Some rows come, those for which the condition holds and no other; how many."""
    decided = source_of(databases, kind, where)
    assert 0 < decided.rows < len(ROWS)
    assert decided.rows == decided.frame.filter(compile_row(where).expr).collect().height
    return decided.rows


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "where",
    [
        "n > 30",
        "n BETWEEN -3 AND 3 AND p IS NOT NULL",
        "p <= 1.5",
        "g IN ('B', 'it''s')",
        "n = 3 OR g = 'ä'",
        "n IS NULL",
        "-5 < n AND n <> 7 AND n <= 10",
    ],
)
@pytest.mark.parametrize("kind", ["postgresql", "mariadb", "sqlite", "duckdb"])
def test_rows_that_come(request, kind, where):
    """Those for which the condition holds, and no other; MariaDB is asked nothing of texts."""
    databases = request.getfixturevalue("every_database" if kind == "mariadb" else "databases")
    if kind == "mariadb" and "g" in where:
        assert source_of(databases, kind, where).rows == len(ROWS)
        return
    rows = check_rows_that_come(databases, kind, where)
    assert source_of(databases, kind, f"{where} AND length(g) < 99").rows == rows


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "where",
    [
        "d >= DATE '2026-01-04'",
        "t >= TIMESTAMP '2026-01-10' AND t < TIMESTAMP '2026-01-12'",
        "CAST(z AS TIMESTAMP) >= TIMESTAMP '2026-01-10' AND CAST(z AS TIMESTAMP) < TIMESTAMP '2026-01-12'",
        "z >= '2026-01-10T00:00:00+00:00' AND z < '2026-01-12T05:30:00+05:30'",
        "b AND q < 2",
        "NOT b",
    ],
)
def test_types_of_postgresql(databases, where):
    check_rows_that_come(databases, "postgresql", where)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "where",
    [
        "d >= DATE '2026-01-04'",
        "t >= TIMESTAMP '2026-01-10 01:00:00.25' AND t < TIMESTAMP '2026-01-12'",
        "z >= TIMESTAMP '2026-01-10'",
        "q < 2",
        "b = 1",
    ],
)
def test_types_of_mariadb(every_database, where):
    check_rows_that_come(every_database, "mariadb", where)


@pytest.mark.slow
def test_years_of_mariadb_are_not_compared_by_it(every_database):
    """For MariaDB the year 24 is 2024: rows of 1999 would be lost."""
    with connect_mariadb() as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE TABLE {TABLE}_years (y year)")
        cursor.execute(f"INSERT INTO {TABLE}_years VALUES (1999), (2024), (NULL)")
    try:
        for where in ("y > 24", "y >= 1", "y <> 7"):
            source = source_of(every_database, "mariadb", where, f"SELECT * FROM {TABLE}_years")
            assert source.frame.filter(compile_row(where).expr).collect()["y"].to_list() == [1999, 2024]
    finally:
        with connect_mariadb() as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE {TABLE}_years")


@pytest.mark.exhaustive
@pytest.mark.parametrize("moment", ["infinity", "-infinity"])
@pytest.mark.parametrize("kind", ["date", "timestamp", "timestamptz"])
def test_an_infinite_time_of_postgresql_is_an_error(databases, kind, moment):
    """Its driver has it as a time before all others; the condition rules it out, or it is refused."""
    query = f"SELECT * FROM (VALUES ('{moment}'::{kind}), ('2026-01-01'), ('0044-03-15 BC'), (NULL)) AS t (z)"
    with pytest.raises(DataError, match="column 'z' has a date or time that cannot be read") as caught:
        source_of(databases, "postgresql", None, query)
    assert "isfinite(z)" in str(caught.value)
    finite = query.replace("SELECT *", "SELECT CASE WHEN isfinite(z) THEN z END AS z")
    source = source_of(databases, "postgresql", None, finite)
    assert source.frame.collect()["z"].null_count() == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("where", ["r > 0.1", "g > 'a'", "NOT n > 3", "c <> 'a'", "n > 2.5 OR length(g) > 1"])
@pytest.mark.parametrize("kind", ["postgresql", "mariadb", "duckdb"])
def test_what_databases_mean_otherwise_they_are_not_asked(request, kind, where):
    databases = request.getfixturevalue("every_database" if kind == "mariadb" else "databases")
    assert source_of(databases, kind, where).rows == len(ROWS)


def comparisons(column: str, constants: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    return st.one_of(
        st.tuples(signs, constants).map(lambda pair: f"{column} {pair[0]} {pair[1]}"),
        st.tuples(signs, constants).map(lambda pair: f"{pair[1]} {pair[0]} {column}"),
        st.tuples(constants, constants).map(lambda pair: f"{column} BETWEEN {pair[0]} AND {pair[1]}"),
        st.lists(constants, min_size=1, max_size=3).map(
            lambda several: f"{column} IN ({', '.join(several)})"
        ),
        st.sampled_from([f"{column} IS NULL", f"{column} IS NOT NULL"]),
    )


NUMBERS = st.one_of(st.integers(-25, 45).map(str), st.integers(-20, 60).map(lambda eighths: str(eighths / 8)))
TEXTS = st.sampled_from(
    [f"'{text}'".replace("it's", "it''s") for text in GROUPS if text] + ["'b'", "'ab'", "''"]
)
BASIC = st.one_of(comparisons("n", NUMBERS), comparisons("p", NUMBERS), comparisons("g", TEXTS))
DAYS = st.dates(DAY, DAY + timedelta(days=6)).map(lambda day: f"DATE '{day}'")
MOMENTS = st.datetimes(datetime(2026, 1, 1), datetime(2026, 1, 20)).map(
    lambda moment: f"TIMESTAMP '{moment}'"
)
INSTANTS = st.datetimes(
    datetime(2026, 1, 1), datetime(2026, 1, 20), timezones=st.timezones(no_cache=True)
).map(lambda moment: f"'{moment.isoformat()}'")
TYPED = st.one_of(
    BASIC,
    comparisons("q", NUMBERS),
    comparisons("r", NUMBERS),
    comparisons("c", TEXTS),
    comparisons("d", DAYS),
    comparisons("t", MOMENTS),
    comparisons("CAST(z AS TIMESTAMP)", MOMENTS),
    comparisons("z", INSTANTS),
    st.sampled_from(["b", "NOT b"]),
)


OF_SURE_TYPES = st.one_of(
    BASIC,
    comparisons("q", NUMBERS),
    comparisons("r", NUMBERS),
    comparisons("d", DAYS),
    comparisons("t", MOMENTS),
    comparisons("z", MOMENTS),
)


def conditions(leaves: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def combined(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = st.tuples(parts, st.sampled_from(["AND", "OR"]), parts)
        return st.one_of(
            pairs.map(lambda three: f"({three[0]}) {three[1]} ({three[2]})"),
            parts.map(lambda part: f"NOT ({part})"),
        )

    return st.recursive(leaves, combined, max_leaves=4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "leaves"),
    [("postgresql", TYPED), ("mariadb", OF_SURE_TYPES), ("sqlite", BASIC), ("duckdb", BASIC)],
    ids=lambda part: str(part)[:10],
)
def test_no_row_is_lost(request, kind, leaves):
    """Whatever the condition: the rows for which it holds are those for which it holds among all."""
    databases = request.getfixturevalue("every_database" if kind == "mariadb" else "databases")
    table = source_of(databases, kind, None)
    everything = table.frame.collect()

    @given(where=conditions(leaves))
    @settings(max_examples=12, deadline=None)
    def holds(where: str) -> None:
        condition = compile_row(where).expr
        fewer = source_of(databases, kind, where)
        rows = fewer.frame.filter(condition).collect()
        assert_frame_equal(rows, everything.filter(condition), check_row_order=False)

    holds()


def test_texts_beside_numbers_in_a_column_of_sqlite(databases, tmp_path):
    with sqlite3.connect(tmp_path / "mixed.db") as connection:
        connection.execute("CREATE TABLE t (v)")
        connection.executemany("INSERT INTO t VALUES (?)", [("5",), (5,), (None,), ("x",)])
    connection.close()
    data = {"database": f"sqlite:///{tmp_path}/mixed.db", "query": "SELECT v FROM t"}
    source = open_source(data, Path("/"), "v = '5'")
    assert source.frame.collect()["v"].to_list().count("5") == 2


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["postgresql", "sqlite", "duckdb"])
def test_a_run_with_a_condition(databases, kind):
    query = (
        f"SELECT CASE WHEN n % 2 = 0 THEN 1 ELSE 0 END AS y, p / 8 AS s, n FROM {TABLE} WHERE p < 8 -- all"
    )
    asked: dict[str, Any] = {"label": "y", "models": "s", "metrics": ["roc_auc", "brier"], "where": "n > 0"}
    result = (
        plm.evaluate({"database": databases[kind], "query": query}, **asked) if kind in databases else None
    )
    if result is None:
        pytest.skip("there is no PostgreSQL at PLMETRICS_TEST_POSTGRES")
    rows = pl.DataFrame([row[:2] for row in ROWS], schema=["n", "p"], orient="row").filter(pl.col("p") < 8)
    frame = rows.select("n", s=pl.col("p") / 8, y=(pl.col("n") % 2 == 0).cast(pl.Int64))
    assert result.metrics["value"].to_list() == plm.evaluate(frame, **asked).metrics["value"].to_list()
    assert result.record["rows"] == plm.evaluate(frame, **asked).record["rows"]


def test_a_night_reads_its_rows_and_those_without_a_time(databases, root):
    query = f"SELECT t, p / 8 AS s, CAST(b AS INTEGER) AS y FROM {TABLE} WHERE n IS NOT NULL OR t IS NULL"
    suite = {
        "name": "night",
        "data": {"database": databases["duckdb"], "query": query},
        "columns": {"label": "y"},
        "models": {"s": "s"},
        "metrics": ["recall"],
        "interval": {"column": "t", "every": "1d"},
    }
    Path("night.yaml").write_text(json.dumps(suite))
    result = plm.run("night.yaml", interval="2026-01-03")
    (file,) = result.record["files"]
    of_the_day = sum(row[7] is not None and row[7].date() == date(2026, 1, 3) for row in ROWS)
    without_time = sum(row[7] is None for row in ROWS)
    assert result.record["rows"]["read"] == of_the_day
    assert file["rows"] == of_the_day + without_time
    assert any("6 rows have no time in column 't'" in text for text in result.record["warnings"])
