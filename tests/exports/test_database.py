"""The same on every database that a server is there for; SQLite always is."""

import dataclasses
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import sqlalchemy
from exports.examples import of_interval
from polars.testing import assert_frame_equal

import plmetrics.exports.database as database_module
from plmetrics.core.errors import EnvironmentFault
from plmetrics.exports.database import PREFIX, DatabaseTarget, database_tables, open_engine
from plmetrics.exports.protocol import EndedRun
from plmetrics.exports.tidy import RESULTS, RUN_KEYS, run_tables

DRIVERS = {"postgresql": "postgresql+psycopg", "mariadb": "mariadb+pymysql", "sqlite": "sqlite"}


def target(address: str) -> DatabaseTarget:
    url = sqlalchemy.make_url(address)
    return DatabaseTarget(url.set(drivername=DRIVERS[url.get_backend_name()]))


def query(address: str, text: str) -> list[dict[str, Any]]:
    with open_engine(target(address).url).begin() as connection:
        return [dict(row._mapping) for row in connection.execute(sqlalchemy.text(text))]


def rows(address: str, table: str, key: str = "") -> list[dict[str, Any]]:
    where = f" where run_key = '{key}'" if key else ""
    order = "run_key" if table == "runs" else "run_key, position"
    return query(address, f"select * from plmetrics_{table}{where} order by {order}")


@pytest.mark.exhaustive
def test_the_tables_are_those_of_the_run_folder(database: str, ended: EndedRun) -> None:
    assert ended.result is not None
    target(database).write(ended)
    for name, schema in RESULTS.items():
        stored = rows(database, name, ended.run_id)
        plain = [column for column, dtype in schema.items() if not dtype.is_nested()]
        texts = pl.col(pl.String).str.replace_all("\0", "\ufffd", literal=True)
        expected = ended.result.tables[name].select(plain).with_columns(texts)
        assert expected.height
        assert_frame_equal(
            pl.DataFrame(
                [{column: row[column] for column in plain} for row in stored], schema=expected.schema
            ),
            expected,
            check_exact=True,
        )
        assert [row["position"] for row in stored] == list(range(expected.height))
        assert {row["run_id"] for row in stored} == {ended.run_id}
    assert rows(database, "metrics")[-1]["slice_values"].startswith('[{"column":"region","value":"')
    (run,) = rows(database, "runs")
    assert (run["suite"], run["verdict"], run["exit_code"], run["rows_read"]) == ("credit", "fail", 3, 500)
    assert run["interval_start"] is None
    assert moment(run["started"]) == ended.start
    assert run["fingerprint"] == ended.record["fingerprint"]


def moment(value: Any) -> datetime:
    """What a driver gives for a time: SQLite has texts for them."""
    read = datetime.fromisoformat(value) if isinstance(value, str) else value
    return read.replace(tzinfo=UTC) if read.tzinfo is None else read.astimezone(UTC)


@pytest.mark.exhaustive
def test_runs_without_an_interval_stand_side_by_side(database: str, ended: EndedRun) -> None:
    target(database).write(ended)
    again = dataclasses.replace(ended, record={**ended.record, "run_id": "20261121T020000Z-000001"})
    target(database).write(again)
    assert len(rows(database, "runs")) == 2
    assert len(rows(database, "gates")) == 2 * len(rows(database, "gates", ended.run_id))


@pytest.mark.exhaustive
def test_an_interval_is_replaced_and_others_stay(database: str, ended: EndedRun) -> None:
    assert ended.result is not None
    first, other = of_interval(ended, 20), of_interval(ended, 21)
    for run in (first, other):
        target(database).write(run)
    fewer = dataclasses.replace(ended.result, gates=ended.result.gates.head(1), verdict="pass")  # type: ignore[type-var]
    again = dataclasses.replace(of_interval(ended, 20), result=fewer)
    target(database).write(again)
    assert [row["run_id"] for row in rows(database, "runs")] == [again.run_id, other.run_id]
    assert [row["verdict"] for row in rows(database, "runs")] == ["pass", "fail"]
    assert len(rows(database, "gates", again.key)) == 1
    assert len(rows(database, "gates", other.key)) == ended.result.gates.height
    assert {row["run_id"] for row in rows(database, "metrics", again.key)} == {again.run_id}
    start = rows(database, "metrics", again.key)[0]["interval_start"]
    assert moment(start) == datetime(2026, 11, 19, 23, tzinfo=UTC)


@pytest.mark.exhaustive
def test_a_run_that_is_there_is_not_written_again(database: str, ended: EndedRun) -> None:
    assert ended.result is not None
    run = of_interval(ended, 20)
    target(database).write(run)
    query(database, "select 1")
    with open_engine(target(database).url).begin() as connection:
        connection.exec_driver_sql("delete from plmetrics_gates")
    target(database).write(run)
    assert not rows(database, "gates")
    target(database).write(of_interval(ended, 20))
    assert len(rows(database, "gates")) == ended.result.gates.height


@pytest.mark.exhaustive
def test_nothing_is_a_null_and_never_nan(database: str, ended: EndedRun) -> None:
    assert ended.result is not None
    strange = pl.Series("value", [float("nan"), float("inf"), float("-inf"), 0.1 + 0.2])
    metrics = ended.result.metrics.head(4).with_columns(strange)
    result = dataclasses.replace(ended.result, metrics=metrics)  # type: ignore[type-var]
    target(database).write(dataclasses.replace(ended, result=result))
    assert [row["value"] for row in rows(database, "metrics")] == [None, None, None, 0.1 + 0.2]


@pytest.mark.exhaustive
def test_a_text_of_any_length_and_alphabet_comes_back(database: str, ended: EndedRun) -> None:
    assert ended.result is not None
    texts = ["é" * 70_000, "🙂 'quoted' \"twice\" \\ %s :name", "Case", "case"]
    metrics = ended.result.metrics.head(4).with_columns(note=pl.Series(texts))
    result = dataclasses.replace(ended.result, metrics=metrics)  # type: ignore[type-var]
    target(database).write(dataclasses.replace(ended, result=result))
    assert [row["note"] for row in rows(database, "metrics")] == texts
    assert len(query(database, "select note from plmetrics_metrics where note = 'case'")) == 1


@pytest.mark.exhaustive
def test_suites_whose_names_differ_by_case_are_two(database: str, ended: EndedRun) -> None:
    for name in ("credit", "Credit"):
        target(database).write(dataclasses.replace(of_interval(ended, 20), name=name))
    assert sorted(row["suite"] for row in rows(database, "runs")) == ["Credit", "credit"]


@pytest.mark.exhaustive
def test_tables_of_an_earlier_version_get_the_columns_they_lack(database: str, ended: EndedRun) -> None:
    engine = open_engine(target(database).url)
    with engine.begin() as connection:
        for name, table in database_tables().items():
            earlier = sqlalchemy.Table(
                table.name,
                sqlalchemy.MetaData(),
                *(
                    column._copy()
                    for column in table.columns
                    if column.name not in {"seconds", "note", "lower"}
                ),
                sqlalchemy.Column("of_a_dashboard", sqlalchemy.Integer),
            )
            earlier.create(connection)
            assert earlier.name == f"{PREFIX}{name}"
    target(database).write(ended)
    assert ended.result is not None
    lower = [row["lower"] for row in rows(database, "metrics")]
    assert lower == ended.result.metrics["lower"].to_list()
    assert {row["of_a_dashboard"] for row in rows(database, "metrics")} == {None}
    assert rows(database, "runs")[0]["seconds"] == ended.record["seconds"]


@pytest.mark.slow
def test_writers_of_different_intervals_lose_nothing(database: str, ended: EndedRun) -> None:
    assert ended.result is not None
    for _ in range(2):  # Tables are made by all of them at once; then rows are replaced.
        runs = [of_interval(ended, day) for day in range(1, 9)]
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(target(database).write, runs))
    assert {row["run_id"] for row in rows(database, "runs")} == {run.run_id for run in runs}
    for run in runs:
        assert len(rows(database, "metrics", run.key)) == ended.result.metrics.height


@pytest.mark.slow
def test_of_writers_of_one_interval_the_last_is_there_as_a_whole(database: str, ended: EndedRun) -> None:
    assert ended.result is not None
    runs = [
        dataclasses.replace(
            of_interval(ended, 20),
            result=dataclasses.replace(ended.result, gates=ended.result.gates.head(number)),  # type: ignore[type-var]
        )
        for number in range(1, 7)
    ]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(target(database).write, runs))
    (winner,) = rows(database, "runs")
    run = next(run for run in runs if run.run_id == winner["run_id"])
    assert run.result is not None
    for name in RESULTS:
        stored = rows(database, name)
        assert {row["run_id"] for row in stored} == {run.run_id}
        assert len(stored) == run.result.tables[name].height


@pytest.mark.slow
def test_a_connection_that_is_ended_in_the_middle_leaves_the_rows_as_they_were(
    postgres: str, ended: EndedRun
) -> None:
    first, second = of_interval(ended, 20), of_interval(ended, 20)
    target(postgres).write(first)
    engine = open_engine(target(postgres).url)
    with engine.begin() as other, ThreadPoolExecutor(1) as pool:
        other.exec_driver_sql("LOCK TABLE plmetrics_gates IN EXCLUSIVE MODE")
        writing = pool.submit(target(postgres).write, second)
        process = waiting_process(postgres)
        with engine.begin() as killer:
            killer.exec_driver_sql(f"SELECT pg_terminate_backend({process})")
        with pytest.raises(EnvironmentFault, match="terminating connection due to administrator command"):
            writing.result(timeout=30)
    assert {row["run_id"] for row in rows(postgres, "metrics")} == {first.run_id}
    assert [row["run_id"] for row in rows(postgres, "runs")] == [first.run_id]
    target(postgres).write(second)
    assert {row["run_id"] for row in rows(postgres, "metrics")} == {second.run_id}


def waiting_process(address: str) -> int:
    """The server process that waits for the lock, once it does."""
    wait = threading.Event()
    sql = (
        "select pid from pg_locks where not granted and relation = "
        f"'{schema_of(address)}.plmetrics_gates'::regclass"
    )
    for _ in range(600):
        if found := query(address, sql):
            return int(found[0]["pid"])
        wait.wait(0.05)
    raise TimeoutError(time.monotonic())


def schema_of(address: str) -> str:
    return str(sqlalchemy.make_url(address).query["options"]).removeprefix("-csearch_path=")


def test_a_file_that_another_process_locks_is_a_fault(
    tmp_path: Path, ended: EndedRun, monkeypatch: Any
) -> None:
    monkeypatch.setitem(database_module._PATIENCE, "sqlite", {"timeout": 0.2})
    address = f"sqlite:///{tmp_path / 'results.db'}"
    target(address).write(ended)
    with open_engine(target(address).url).connect() as other:
        other.exec_driver_sql("BEGIN EXCLUSIVE")
        with pytest.raises(EnvironmentFault, match="database is locked"):
            target(address).write(of_interval(ended, 20))
        other.rollback()
    assert len(rows(address, "runs")) == 1


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["postgresql", "mariadb"])
def test_a_server_that_never_answers_is_given_up(ended: EndedRun, monkeypatch: Any, scheme: str) -> None:
    monkeypatch.setitem(database_module._PATIENCE, "postgresql", {"connect_timeout": 2})
    monkeypatch.setitem(database_module._MYSQL_PATIENCE, "read_timeout", 1)
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(EnvironmentFault):
        target(f"{scheme}://me:word@127.0.0.1:{server.getsockname()[1]}/metrics").write(ended)


def test_every_row_begins_with_the_keys() -> None:
    for table in database_tables().values():
        assert [column.name for column in table.columns if column.name in RUN_KEYS] == list(RUN_KEYS)


def test_the_row_of_a_run_has_its_labels_and_not_what_the_section_of_labels_says(ended: EndedRun) -> None:
    assert ended.result is not None
    facts = {"run_labels": {"team": "risk", "git": "abc"}, "labels": {"absent_labels": "unlabelled"}}
    labelled = dataclasses.replace(ended, record={**ended.record, **facts})
    labels = [run_tables(run, ended.result)["runs"]["labels"].item() for run in (labelled, ended)]
    assert labels == ['{"git": "abc", "team": "risk"}', None]


@pytest.mark.exhaustive
def test_the_queries_of_the_page_find_the_rows(database: str, ended: EndedRun) -> None:
    page = (Path(__file__).parents[2] / "docs" / "exports.md").read_text("utf-8")
    over_time, failures = re.findall(r"```sql\n(.*?)```", page, re.DOTALL)
    for day in (21, 20):
        run = of_interval(ended, day, finished=f"2026-11-{day}T05:00:00.000Z")
        target(database).write(dataclasses.replace(run, name="nightly"))
    assert ended.result is not None
    values = (
        ended.result.metrics.filter(metric="roc_auc", slice_set="overall").sort("model")["value"].to_list()
    )
    assert [row["value"] for row in query(database, over_time)] == 2 * values
    assert [moment(row["interval_start"]).day for row in query(database, over_time)] == [19, 19, 20, 20]
    expected = ended.result.gates.filter(verdict="fail")
    assert len(query(database, failures)) == expected.height
