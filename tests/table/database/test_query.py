"""Rows of queries: PostgreSQL live where there is one, SQLite and DuckDB in files."""

import gc
import json
import os
import socket
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import AbsentDataError, ConfigError, DataError, EnvironmentFault
from plmetrics.table.opening import open_source

POSTGRES = os.environ.get("PLMETRICS_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test")
PASSWORD = "geheim-db-17"
MARIADB = os.environ.get(
    "PLMETRICS_TEST_MARIADB", "mariadb://root@localhost/test?unix_socket=/run/mysqld/mysqld.sock"
)
TABLE = "plmetrics_test_query"
ROWS = [(row % 2, (row * 37 % 1000) / 1000, "ab"[row % 3 > 1]) for row in range(1500)]
FRAME = pl.DataFrame(ROWS, schema={"y": pl.Int64, "p": pl.Float64, "g": pl.String}, orient="row")

Fill = Callable[[list[tuple[Any, ...]]], None]


@pytest.fixture
def scratch(tmp_path, monkeypatch) -> Path:
    """Where scratch files go; nothing is left of them."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.chdir(tmp_path)
    return folder


def postgresql() -> tuple[str, Fill]:
    psycopg = pytest.importorskip("psycopg")
    pytest.importorskip("adbc_driver_postgresql", reason="needs the extra 'database'")
    try:
        psycopg.connect(POSTGRES, connect_timeout=3).close()
    except psycopg.OperationalError:
        pytest.skip("there is no PostgreSQL at PLMETRICS_TEST_POSTGRES")

    def fill(rows: list[tuple[Any, ...]]) -> None:
        with psycopg.connect(POSTGRES) as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
            cursor.execute(f"CREATE TABLE {TABLE} (y bigint, p numeric(9, 3), g text)")
            cursor.executemany(f"INSERT INTO {TABLE} VALUES (%s, %s, %s)", rows)

    return POSTGRES.replace("postgres@", f"postgres:{PASSWORD}@"), fill


def connect_mariadb() -> Any:
    """A connection to the server of MariaDB, which commits each statement."""
    sqlalchemy, pymysql = pytest.importorskip("sqlalchemy"), pytest.importorskip("pymysql")
    url = sqlalchemy.make_url(MARIADB).set(drivername="mysql+pymysql")
    arguments = url.get_dialect()().create_connect_args(url)[1]
    try:
        return pymysql.connect(**arguments, autocommit=True, connect_timeout=3)
    except pymysql.OperationalError:
        pytest.skip("there is no MariaDB at PLMETRICS_TEST_MARIADB")


def mariadb() -> tuple[str, Fill]:
    connect_mariadb().close()

    def fill(rows: list[tuple[Any, ...]]) -> None:
        with connect_mariadb() as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")
            cursor.execute(f"CREATE TABLE {TABLE} (y bigint, p decimal(9, 3), g text)")
            cursor.executemany(f"INSERT INTO {TABLE} VALUES (%s, %s, %s)", rows)

    return MARIADB, fill


def sqlite() -> tuple[str, Fill]:
    pytest.importorskip("adbc_driver_sqlite", reason="needs the extra 'database'")

    def fill(rows: list[tuple[Any, ...]]) -> None:
        with sqlite3.connect("rows.db") as connection:
            connection.execute(f"CREATE TABLE {TABLE} (y bigint, p real, g text)")
            connection.executemany(f"INSERT INTO {TABLE} VALUES (?, ?, ?)", rows)
        connection.close()

    return "sqlite:///rows.db", fill


def duckdb() -> tuple[str, Fill]:
    library = pytest.importorskip("duckdb", reason="needs the extra 'duckdb'")

    def fill(rows: list[tuple[Any, ...]]) -> None:
        with library.connect("rows.duckdb") as connection:
            frame = pl.DataFrame(rows, schema=FRAME.schema, orient="row")
            frame.write_csv("rows.csv")
            connection.execute(f"CREATE TABLE {TABLE} AS SELECT * FROM 'rows.csv'")

    return "duckdb:///rows.duckdb", fill


@pytest.fixture(params=[postgresql, mariadb, sqlite, duckdb], ids=lambda make: make.__name__)
def database(request, scratch) -> Iterator[str]:
    address, fill = request.param()
    fill(ROWS)
    yield address
    if request.param is postgresql:
        import psycopg

        with psycopg.connect(POSTGRES) as connection:
            connection.execute(f"DROP TABLE IF EXISTS {TABLE}")
    if request.param is mariadb:
        with connect_mariadb() as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")


def test_types_of_columns_of_sqlite(scratch):
    address, fill = sqlite()
    fill([(0, None if row < 60_000 else 0.5, "a") for row in range(60_001)])
    sparse = f"SELECT y, p FROM {TABLE}"
    shorter = open_source({"database": address, "query": f"{sparse} WHERE rowid > 20000"})
    assert shorter.schema == {"y": pl.Int64, "p": pl.Float64}
    words = (
        r"column 'p' is INT64 in its first 50,000 rows \(as nulls alone are\), then DOUBLE\n.* BY p IS NULL"
    )
    with pytest.raises(DataError, match=words):
        open_source({"database": address, "query": sparse})
    assert open_source({"database": address, "query": f"{sparse} ORDER BY p IS NULL"}).rows == 60_001


@pytest.mark.slow
def test_rows(database, scratch):
    source = open_source({"database": database, "query": f"SELECT * FROM {TABLE} ORDER BY p;"})
    assert source.rows == len(ROWS)
    assert source.frame.collect().sort(pl.all()).equals(FRAME.sort(pl.all()))
    assert list(scratch.iterdir())
    other = open_source({"database": database, "query": f"SELECT * FROM {TABLE} ORDER BY p DESC"})
    fewer = open_source({"database": database, "query": f"SELECT * FROM {TABLE} WHERE y = 0"})
    assert source.files[0].digest == other.files[0].digest != fewer.files[0].digest
    del source, other, fewer
    gc.collect()
    assert not list(scratch.iterdir())


@pytest.mark.slow
def test_a_run(database, scratch, monkeypatch):
    FRAME.write_parquet("rows.parquet")
    suite: dict[str, Any] = {
        "name": "db",
        "columns": {"label": "y"},
        "models": {"p": "p"},
        "metrics": ["roc_auc", "log_loss"],
        "slices": ["g"],
    }
    monkeypatch.setenv("DB", database)
    data = {"query": f"SELECT * FROM {TABLE}"}
    for name, place in (("variable", "${DB}"), ("literal", database)):
        Path(f"{name}.yaml").write_text(json.dumps({**suite, "data": {"database": place, **data}}))
    Path("file.yaml").write_text(json.dumps({**suite, "data": {"path": "rows.parquet"}}))
    assert set(plm.validate("variable.yaml").schema) == {"y", "p", "g"}
    runs = [plm.run(f"{name}.yaml", output=f"runs-{name}") for name in ("variable", "literal", "file")]
    tables = [run.metrics.select("slice_set", "metric", "value", "n") for run in runs]
    assert tables[0].equals(tables[2])
    assert tables[1].equals(tables[2])
    assert runs[0].record["fingerprint"] == runs[2].record["fingerprint"]
    assert runs[0].record["suite"]["data"] == {"database": "${DB}", **data}
    texts = [path.read_bytes() for run in runs for path in run.folder.rglob("*") if path.is_file()]
    assert not [text for text in texts if PASSWORD.encode() in text]
    del runs
    gc.collect()
    assert not list(scratch.iterdir())


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("SELECT * FROM plmetrics_no_such_table", DataError),
        (f"SELECT no_such_column FROM {TABLE}", DataError),
        ("SELEC 1", None),
        (f"DELETE FROM {TABLE} RETURNING *", ConfigError),
    ],
)
def test_queries_that_fail(database, scratch, query, kind):
    with pytest.raises(kind or (ConfigError, DataError), match=r"data\.query: ") as caught:
        open_source({"database": database, "query": query})
    assert PASSWORD not in str(caught.value)
    assert not list(scratch.iterdir())
    assert open_source({"database": database, "query": f"SELECT * FROM {TABLE}"}).rows == len(ROWS)


@pytest.mark.parametrize("scheme", ["postgresql", "mysql"])
def test_a_server_that_never_answers_is_given_up(scratch, monkeypatch, scheme):
    monkeypatch.setattr("plmetrics.table.database.drivers._TIMEOUT", 2)
    pytest.importorskip("adbc_driver_postgresql" if scheme == "postgresql" else "pymysql")
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"{scheme}://me:{PASSWORD}@127.0.0.1:{server.getsockname()[1]}/test"
        with pytest.raises(EnvironmentFault) as raised:
            plm.evaluate(
                {"database": address, "query": "SELECT 1 AS y"}, label="y", models="y", metrics=["brier"]
            )
    assert PASSWORD not in str(raised.value)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT 1 AS y; DROP TABLE x", "the query is more than one statement"),
        (f"SELECT y, p, p FROM {TABLE}", "the query has several columns of one name: p"),
        ("", "write one SELECT statement"),
        (f"WITH x AS (DELETE FROM {TABLE} RETURNING *) SELECT * FROM x", "write one SELECT statement"),
    ],
)
def test_queries_that_are_refused(database, query, words):
    if "several columns" in words and not database.startswith("postgresql"):
        pytest.skip("the database gives the columns names of their own")
    with pytest.raises(ConfigError, match=words):
        open_source({"database": database, "query": query})


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("end", [";", " ; ", "; -- all; of them", " -- ;", " /* ; */"])
def test_ends_of_queries(database, end):
    source = open_source({"database": database, "query": f"-- a; b\nSELECT y, ';' AS c FROM {TABLE}{end}"})
    assert source.rows == len(ROWS)


@pytest.mark.slow
def test_types_of_columns_of_postgresql(scratch):
    address, fill = postgresql()
    fill(ROWS[:2])
    row = "p::numeric AS q, y = 1 AS b, timestamptz '2026-01-01 01:00+01' AS z, ARRAY[y] AS a, NULL::numeric AS n"
    source = open_source({"database": address, "query": f"SELECT {row}, '{{}}'::jsonb AS j FROM {TABLE}"})
    types = {"q": pl.Float64, "b": pl.Boolean, "z": pl.Datetime("us", "UTC"), "a": pl.List(pl.Int64)}
    assert source.schema == pl.Schema(types | {"n": pl.Float64, "j": pl.String})
    assert source.frame.collect()["z"].dt.hour().to_list() == [0, 0]
    for expression, words in (
        ("interval '1 day'", "column 'x' is of a type that is not read: month_day_nano_interval\n.*CAST it"),
        ("ARRAY[p]", "column 'x' is of a type that is not read: list"),
        ("1.1::money", "column 'x' is of a type that is not read: money"),
        ("ARRAY[4294967295::oid]", "column 'x' is of a type that is not read: oid"),
        ("1 / (y - y)", "division by zero"),
    ):
        with pytest.raises(DataError, match=words):
            open_source({"database": address, "query": f"SELECT y, {expression} AS x FROM {TABLE}"})
    lost = "SELECT y, pg_terminate_backend(pg_backend_pid()) AS x"
    with pytest.raises(EnvironmentFault, match="terminating connection") as caught:
        open_source({"database": address, "query": f"{lost} FROM {TABLE}"})
    assert PASSWORD not in str(caught.value)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("make", "value", "hint"),
    [
        *(
            (duckdb, f"'{sign}infinity'::{kind}", "isfinite")
            for kind in ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS")
            for sign in ("", "-")
        ),
        (duckdb, "['infinity'::TIMESTAMP_S]", "CAST"),
        (duckdb, "TIME '24:00'", "CAST"),
        (postgresql, "ARRAY['2026-01-01', 'infinity']::date[]", "CAST"),
        (postgresql, "ARRAY['-infinity'::timestamptz]", "CAST"),
        (postgresql, "time '24:00'", "CAST"),
    ],
)
def test_moments_that_polars_has_not_are_refused(scratch, make, value, hint):
    """As years of 292277, as 1969-12-31 or as null they would be rows of other slices and intervals."""
    address, fill = make()
    fill(ROWS[:2])
    with pytest.raises(DataError, match="column 'z' has a date or time that cannot be read") as caught:
        open_source({"database": address, "query": f"SELECT y, {value} AS z FROM {TABLE}"})
    assert hint in str(caught.value)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("value", "moment"),
    [
        ("TIMESTAMP_S '9999-12-31 23:59:59'", datetime(9999, 12, 31, 23, 59, 59)),
        ("TIMESTAMP_NS '2026-03-29 01:00:00'", datetime(2026, 3, 29, 1)),
        ("[DATE '0044-03-15', NULL]", [date(44, 3, 15), None]),
        ("TIME '23:59:59.999999'", time(23, 59, 59, 999999)),
        ("[]::DATE[]", []),
        ("NULL::TIMESTAMP_S", None),
    ],
)
def test_moments_of_duckdb(scratch, value, moment):
    address, fill = duckdb()
    fill(ROWS[:1])
    source = open_source({"database": address, "query": f"SELECT {value} AS z FROM {TABLE}"})
    assert source.frame.collect()["z"].to_list() == [moment]


def test_a_union_of_duckdb_may_stand_beside(scratch):
    address, fill = duckdb()
    fill(ROWS)
    data = {"database": address, "query": f"SELECT *, union_value(num := y) AS x FROM {TABLE}"}
    asked: dict[str, Any] = {"label": "y", "models": "p", "metrics": ["brier"]}
    assert plm.evaluate(data, **asked).metrics["n"].item() == len(ROWS)
    with pytest.raises(DataError, match="column 'x' is of a type that is not read"):
        plm.evaluate(data, **asked, slices=["x"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("make", [postgresql, mariadb])
def test_keys_in_decimals_are_not_rounded(scratch, make):
    """2^53 and 2^53 + 1 would be one unit, and one slice; fractions and what 64 bits hold are read."""
    address, fill = make()
    fill(ROWS[:2])
    query = f"SELECT CAST({{}} AS DECIMAL(38, 3)) AS k FROM {TABLE} WHERE y = {ROWS[0][0]}"
    with pytest.raises(
        DataError, match=r"'k' has decimals that a number of 64 bits rounds: 9007199254740993\n.*CAST"
    ):
        open_source({"database": address, "query": query.format("9007199254740993")})
    for text in ("9007199254740992", "-90071992547409920000", "12345678901234567.123", "0.1"):
        source = open_source({"database": address, "query": query.format(text)})
        assert source.frame.collect()["k"].unique().to_list() == [float(text)]


@pytest.mark.exhaustive
def test_no_row_that_satisfies_where(database):
    asked: dict[str, Any] = {"label": "y", "models": "p", "metrics": ["recall"]}
    data = {"database": database, "query": f"SELECT * FROM {TABLE}"}
    with pytest.raises(AbsentDataError, match="no row satisfies where: y > 3"):
        plm.evaluate(data, where="y > 3", **asked)


@pytest.mark.parametrize(
    ("address", "kind", "words"),
    [
        (
            f"postgresql://me:{PASSWORD}@127.0.0.1:9/test",
            EnvironmentFault,
            "postgresql://me@127.0.0.1:9/test: ",
        ),
        ("sqlite:///none.db", AbsentDataError, "sqlite:///none.db: no such file"),
        (f"mongodb://me:{PASSWORD}@host/test", ConfigError, "not the address of a database that can be read"),
        (f"postgresql://me:{PASSWORD}@[host/test", ConfigError, "not the address of a database"),
    ],
)
def test_databases_that_cannot_be_asked(scratch, address, kind, words):
    pytest.importorskip("adbc_driver_postgresql", reason="needs the extra 'database'")
    with pytest.raises(kind, match=words) as caught:
        open_source({"database": address, "query": "SELECT 1 AS y"})
    assert type(caught.value) is kind
    assert PASSWORD not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"query": "SELECT 1"}, "query needs the database"),
        ({"database": "sqlite:///x.db"}, "database needs a query"),
        ({"database": "sqlite:///x.db", "query": "SELECT 1", "path": "x.csv"}, "path and database both say"),
    ],
)
def test_a_suite_says_it_once(scratch, data, words):
    Path("s.yaml").write_text(json.dumps({"data": data, "columns": {"label": "y"}, "models": {"p": "p"}}))
    with pytest.raises(ConfigError, match=words):
        plm.validate("s.yaml")


def needed(*names: str) -> Callable[[pl.Schema], list[str]]:
    return lambda _: list(names)


@pytest.mark.slow
def test_columns_that_are_needed(database, scratch):
    """They alone are sent, whatever the query says, and rows are known again by them."""
    queries = [f"SELECT * FROM {TABLE}", f"SELECT g, y, p, p * 2 AS twice FROM {TABLE}"]
    sources = [
        open_source({"database": database, "query": query}, needed=needed("y", "g")) for query in queries
    ]
    for source in sources:
        assert set(source.schema) == {"y", "g"}
        assert (
            source.frame.collect()
            .select("y", "g")
            .sort("y", "g")
            .equals(FRAME.select("y", "g").sort("y", "g"))
        )
    other = open_source({"database": database, "query": queries[0]}).files[0]
    assert sources[0].files[0].digest != other.digest
    some = open_source({"database": database, "query": queries[0]}, needed=needed("y"), rows=False)
    assert set(some.schema) == {"y", "p", "g"}
    one = open_source({"database": database, "query": queries[0]}, None, "y = 1", needed=needed("p"))
    assert one.frame.collect().sort("p").equals(FRAME.filter(pl.col("y") == 1).select("p").sort("p"))


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name", ["two words", 'a "b"', "a`b", "Y", "select", "it's", "ä?", "x.y", "%s", "100", "y + 1"]
)
def test_names_of_columns_that_are_needed(database, name):
    quote = "`" if database == MARIADB else '"'
    quoted = quote + name.replace(quote, quote * 2) + quote
    query = f"SELECT p, y AS {quoted}, g AS other FROM {TABLE}"
    source = open_source({"database": database, "query": query}, needed=needed(name))
    assert source.frame.collect().sort(name).equals(FRAME.select(pl.col("y").alias(name)).sort(name))


@pytest.mark.exhaustive
def test_names_that_differ_in_capitals(database):
    if database == MARIADB:
        pytest.skip("names that differ in capitals are one name to MySQL")
    query = f'SELECT y AS "A", y + 5 AS a, p FROM {TABLE}'
    source = open_source({"database": database, "query": query}, needed=needed("a"))
    sums = source.frame.collect().sum()
    of_five = [
        name for name in sums.columns if name.lower().startswith("a") and sums[name].item() > len(ROWS)
    ]
    assert len(of_five) == 1
    assert of_five[0] != "A"


@pytest.mark.exhaustive
def test_expressions_without_a_name(database):
    queries = {"*": f"SELECT y + 1, p FROM {TABLE}"}
    name = next(iter(open_source({"database": database, "query": queries["*"]}).schema))
    source = open_source({"database": database, "query": queries["*"]}, needed=needed(name))
    assert source.frame.select(pl.col(name).sum()).collect().item() == FRAME["y"].sum() + len(ROWS)


@pytest.mark.exhaustive
def test_types_that_are_not_read_of_columns_that_are_not_needed(database):
    if not database.startswith("postgresql"):
        pytest.skip("of PostgreSQL")
    data = {"database": database, "query": f"SELECT *, interval '1 day' AS x FROM {TABLE}"}
    asked: dict[str, Any] = {"label": "y", "models": "p", "metrics": ["brier"]}
    assert plm.evaluate(data, **asked).metrics["n"].item() == len(ROWS)
    assert set(open_source(data, needed=needed("y"), rows=False).schema) == {"y", "p", "g"}
    with pytest.raises(DataError, match="column 'x' is of a type that is not read"):
        plm.evaluate(data, **asked, slices=["x"])
    data["query"] = f"SELECT *, interval '1 day' AS x, 'ab'::bytea AS z FROM {TABLE}"
    with pytest.raises(DataError, match="column 'z' is of type Binary, which has no slices") as raised:
        plm.evaluate(data, **asked, slices=["z"])
    assert "'x'" not in str(raised.value)


@pytest.mark.exhaustive
def test_an_absent_column_is_looked_for_among_all(database):
    data = {"database": database, "query": f"SELECT * FROM {TABLE}"}
    with pytest.raises(DataError, match=r"column 'gg' .*is not in the data\n    did you mean 'g'"):
        plm.evaluate(data, label="y", models="p", metrics=["recall"], where="gg = 'a'")


@pytest.mark.exhaustive
def test_rows_of_a_query_are_no_units(database):
    data = {"database": database, "query": f"SELECT * FROM {TABLE}"}
    with pytest.raises(ConfigError, match=r"data: only a table of files has units: .* those of a query"):
        plm.evaluate(data, label="y", models="p", metrics=["brier"], on="inline")


def test_floats_of_mariadb(scratch):
    """Numbers of 32 bits, which the server writes with six digits, to the last bit: none becomes 1."""
    numbers = np.float32([0.99999994, 0.12345679, 1e-30, -16777215]).tolist()
    address, _ = mariadb()
    table = f"(SELECT NULL AS f UNION ALL VALUES {', '.join(f'({x!r})' for x in numbers)}) AS rows_of_floats"
    query = f"SELECT CAST(f AS FLOAT) AS f FROM {table}"
    for where in (None, "f > 0"):
        source = open_source({"database": address, "query": query}, where=where)
        assert source.schema == {"f": pl.Float32}
        assert source.frame.collect()["f"].to_list() == [None, *numbers]


def test_texts_of_postgresql(scratch):
    """UUIDs are texts, and the blanks that fill up CHAR(n) are none of the value, also for a condition."""
    address, _ = postgresql()
    key = "f81d4fae-7dec-11d0-a765-00a0c91e6bf6"
    query = f"SELECT CAST('{key}' AS UUID) AS u, CAST('yes' AS CHAR(5)) AS c, CAST(NULL AS UUID) AS n"
    for where in (None, f"c = 'yes' AND u = '{key}'"):
        source = open_source({"database": address, "query": query}, where=where)
        assert source.schema == {"u": pl.String, "c": pl.String, "n": pl.String}
        assert source.frame.collect().rows() == [(key, "yes", None)]


@pytest.mark.slow
def test_types_of_columns_of_mariadb(scratch):
    """Numbers to the last bit, texts of any alphabet, moments in UTC; what a type does not hold is told."""
    address, fill = mariadb()
    fill(ROWS[:2])
    draws = np.random.default_rng(3).integers(0, 1 << 63, 200, dtype=np.uint64).view(np.float64)
    doubles = [float(value) for value in draws if np.isfinite(value)]
    try:
        with connect_mariadb() as connection, connection.cursor() as cursor:
            cursor.execute(
                f"ALTER TABLE {TABLE} ADD COLUMN x DOUBLE, ADD COLUMN f BIT(3), ADD COLUMN u BIGINT UNSIGNED"
            )
            cursor.execute(f"DELETE FROM {TABLE}")
            cursor.executemany(
                f"INSERT INTO {TABLE} VALUES (1, 0.5, 'ä😀', %s, 5, 7)", [(x,) for x in doubles]
            )
        more = "g AS t, DATE '2026-01-31' AS d, TIMESTAMP '2026-01-01 01:00:00.25' AS z, NULL AS n, u, f, TRUE AS b"
        source = open_source({"database": address, "query": f"SELECT x, {more} FROM {TABLE}"})
        rows = source.frame.collect()
        types = {
            "t": pl.String,
            "d": pl.Date,
            "z": pl.Datetime("us"),
            "n": pl.Null,
            "f": pl.Int64,
            "b": pl.Int64,
        }
        assert {name: source.schema[name] for name in types} == types
        assert sorted(rows["x"]) == sorted(doubles)
        assert rows.drop("x").unique().rows() == [
            ("ä😀", date(2026, 1, 31), datetime(2026, 1, 1, 1, microsecond=250_000), None, 7, 5, 1)
        ]
        for expression, words in (
            (
                "CAST(18446744073709551615 AS UNSIGNED)",
                "column 'v' has a value that cannot be read: .*\n.*CAST it",
            ),
            ("DATE '0000-00-00'", "column 'v' has a value that cannot be read"),
            ("9223372036854775807 + y", "BIGINT value is out of range"),
        ):
            with pytest.raises(DataError, match=words):
                open_source({"database": address, "query": f"SELECT {expression} AS v FROM {TABLE}"})
    finally:
        with connect_mariadb() as connection, connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {TABLE}")


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("address", "words"),
    [
        (f"mysql://me:{PASSWORD}@127.0.0.1:9/test", "mysql://me@127.0.0.1:9/test: Can't connect"),
        (f"mariadb+pymysql://nobody:{PASSWORD}@127.0.0.1/test", "Access denied for user 'nobody'"),
        ("mysql://root@127.0.0.1/no_such_database", "Unknown database 'no_such_database'"),
    ],
)
def test_servers_of_mysql_that_cannot_be_asked(scratch, address, words):
    connect_mariadb().close()
    with pytest.raises(EnvironmentFault, match=words) as caught:
        open_source({"database": address, "query": "SELECT 1 AS y"})
    assert PASSWORD not in str(caught.value)


def test_a_query_in_the_words_of_mysql(scratch):
    """Backslashes, texts in double quotes and comments that begin with a number sign."""
    connect_mariadb().close()
    query = "SELECT 'it\\'s; ' AS a, \"b;\" AS b # all; of it\n;"
    source = open_source({"database": MARIADB, "query": query}, needed=needed("a", "b"))
    assert source.frame.collect().rows() == [("it's; ", "b;")]
