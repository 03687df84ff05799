"""A suite with gates of every verdict and names that no format expects, and databases to write it to."""

import dataclasses
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from plmetrics.exports.protocol import EndedRun

POSTGRES = os.environ.get("PLMETRICS_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test")
MARIADB = os.environ.get(
    "PLMETRICS_TEST_MARIADB", "mariadb://root@localhost/test?unix_socket=/run/mysqld/mysqld.sock"
)
REGIONS = ["north", 'sou"th', "ea\0st\x1b[1m", "we\\st\n<b>", "Ünï 🙂, a=b|c"]
SUITE: dict[str, Any] = {
    "name": "credit",
    "data": {"path": "s.parquet"},
    "columns": {"label": "y"},
    "models": {"A": "p", "B": "q"},
    "metrics": ["roc_auc", "recall", {"name": "never", "mean": "score", "where": "p > 2"}],
    "slices": {"region": "region"},
    "uncertainty": {"replicates": 20},
    "compare": "A",
    "gates": [
        {"metric": "roc_auc", "at_least": 0.8},
        {"metric": "roc_auc", "at_least": 0.2, "slices": ["overall", "region"]},
        {"metric": "recall", "at_least": 0.99, "level": "warn", "name": 'all "found"'},
        {"metric": "never", "at_least": 0.5},
        {"metric": "never", "at_most": 0.5, "on_undefined": "skip"},
    ],
}


def write_rows(folder: Path) -> None:
    """500 rows: model A is right more often than B."""
    rows = range(500)
    y = [row % 2 for row in rows]
    frame = pl.DataFrame(
        {
            "y": y,
            "p": [0.9 * truth + 0.05 if row % 7 else 0.5 for row, truth in zip(rows, y, strict=True)],
            "q": [
                0.9 * truth + 0.05 if row % 3 else 0.95 - 0.9 * truth
                for row, truth in zip(rows, y, strict=True)
            ],
            "region": [REGIONS[row // 2 % len(REGIONS)] for row in rows],
        }
    )
    frame.write_parquet(folder / "s.parquet")


def of_interval(run: EndedRun, day: int, **changes: Any) -> EndedRun:
    """The same run as that of a day of November, under another id."""
    interval = {"start": f"2026-11-{day:02}T00:00:00+01:00", "end": f"2026-11-{day + 1:02}T00:00:00+01:00"}
    run_id = f"202612{day:02}T020000Z-{secrets.token_hex(3)}"
    return dataclasses.replace(run, record={**run.record, "interval": interval, "run_id": run_id, **changes})


def server_database(address: str) -> Iterator[str]:
    """A schema of its own for each test, so that processes of tests do not meet."""
    sqlalchemy = pytest.importorskip("sqlalchemy")
    url = sqlalchemy.make_url(address)
    backend = url.get_backend_name()
    driver = {"postgresql": "postgresql+psycopg", "mariadb": "mariadb+pymysql"}[backend]
    engine = sqlalchemy.create_engine(url.set(drivername=driver), poolclass=sqlalchemy.NullPool)
    name = f"plmetrics_{os.getpid()}_{secrets.token_hex(4)}"
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql(f"CREATE SCHEMA {name}")
    except sqlalchemy.exc.SQLAlchemyError as error:
        pytest.skip(f"no server answers at {url.render_as_string()}: {type(error).__name__}")
    cascade = " CASCADE" if backend == "postgresql" else ""
    own = (
        url.update_query_dict({"options": f"-csearch_path={name}"})
        if backend == "postgresql"
        else url.set(database=name)
    )
    try:
        yield own.render_as_string(hide_password=False)
    finally:
        with engine.begin() as connection:
            connection.exec_driver_sql(f"DROP SCHEMA {name}{cascade}")
