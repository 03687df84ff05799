"""Rows of PostgreSQL beside those of a parquet file: python -m benchmarks.database [ADDRESS] [--write].

A table of 12 columns, of which the suite needs 3, is made in the database, and its rows written to a parquet file. The
query is `SELECT *`. The server's own time is that of sending those columns,
which `psql` throws away.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.environment import environment
from benchmarks.markdown import write_section
from benchmarks.worker import peak_megabytes

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

README = Path(__file__).parent / "README.md"
NAME, TABLE, ROWS, ROUNDS = "database", "plmetrics_benchmark", 5_000_000, 5
ADDRESS = os.environ.get("PLMETRICS_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/test")
MOST = 2.0
COLUMNS = """
    i AS id, (random() < 0.3)::int::bigint AS y, random() AS p, random() AS q, random() AS r,
    chr(97 + (i % 12)::int) AS region, 'segment-' || (i % 40) AS segment, md5(i::text) AS customer,
    timestamptz '2026-01-01' + make_interval(secs => i) AS at, (random() * 1000)::numeric(9, 2) AS amount,
    random() < 0.5 AS flag, (random() * 90)::int AS age
"""
ASKED: dict[str, Any] = {
    "label": "y",
    "models": "p",
    "metrics": ["roc_auc", "brier", "log_loss"],
    "slices": ["region"],
}


def drop(address: str) -> None:
    """Remove the table from the database."""
    import psycopg

    with psycopg.connect(address) as connection:
        connection.execute(f"DROP TABLE IF EXISTS {TABLE}")


def make(address: str, rows: int, file: Path) -> None:
    """Make the table in the database, and write its rows to a file."""
    import psycopg

    from plmetrics.table.opening import open_source

    drop(address)
    with psycopg.connect(address, autocommit=True) as connection:
        made = f"SELECT setseed(0.17); CREATE UNLOGGED TABLE {TABLE} AS SELECT {COLUMNS}"
        connection.execute(f"{made} FROM generate_series(1, {rows}) AS i")
        connection.execute(f"VACUUM ANALYZE {TABLE}")
    source = open_source({"database": address, "query": f"SELECT * FROM {TABLE}"})
    source.frame.sink_parquet(file, row_group_size=250_000)


def server(address: str) -> None:
    """Let the server send the columns that are needed, by `psql`, to nowhere."""
    query = f"COPY (SELECT y, p, region FROM {TABLE}) TO STDOUT (FORMAT binary)"
    subprocess.run(["psql", address, "-qc", query], stdout=subprocess.DEVNULL, check=True)


def evaluated(data: str | dict[str, str]) -> list[float]:
    """The values of the metrics."""
    import plmetrics as plm

    values: list[float] = plm.evaluate(data, **ASKED).metrics["value"].to_list()
    return values


def told(of: Callable[[], object]) -> str:
    """A line of JSON: what it took, and what it gave."""
    start, before = time.perf_counter(), sum(os.times()[:4])
    values = of()
    seconds = {"seconds": time.perf_counter() - start, "processor": sum(os.times()[:4]) - before}
    return json.dumps({**seconds, "peak_mb": peak_megabytes(), "values": values})


def here(contestant: str, address: str, file: Path) -> str:
    """One run in this process, after one of few rows, which imports are in."""
    if contestant == "server":
        return told(lambda: server(address))
    query = f"SELECT * FROM {TABLE}"
    few: dict[str, str | dict[str, str]] = {
        "database": {"database": address, "query": f"{query} LIMIT 2000"},
        "parquet": str(file.with_name("few.parquet")),
    }
    all_rows: dict[str, str | dict[str, str]] = {
        "database": {"database": address, "query": query},
        "parquet": str(file),
    }
    evaluated(few[contestant])
    return told(lambda: evaluated(all_rows[contestant]))


def measured(address: str, rows: int, rounds: int) -> dict[str, list[dict[str, Any]]]:
    """What each round took, in processes of their own, by contestant."""
    import polars as pl

    times: dict[str, list[dict[str, Any]]] = {"server": [], "parquet": [], "database": []}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.parquet"
        make(address, rows, file)
        pl.scan_parquet(file).head(2000).sink_parquet(file.with_name("few.parquet"))
        for _ in range(rounds):
            for name, rounds_of in times.items():
                words = [sys.executable, "-m", "benchmarks.database", address, "--run", name, str(file)]
                done = subprocess.run(words, capture_output=True, text=True, check=True)
                rounds_of.append(json.loads(done.stdout.splitlines()[-1]))
    drop(address)
    return times


def section(times: dict[str, list[dict[str, Any]]], rows: int) -> str:
    """The figures in Markdown: the fastest round of each, since other work of the machine only adds to it."""
    best = {
        name: {key: min(each[key] or 0 for each in of) for key in ("seconds", "processor", "peak_mb")}
        for name, of in times.items()
    }
    lines = [
        f"| {name} | {of['seconds']:.2f} | {of['processor']:.2f} | {of['peak_mb']:.0f} |"
        if of["peak_mb"]
        else f"| {name} | {of['seconds']:.2f} | {of['processor']:.2f} | |"
        for name, of in best.items()
    ]
    ratios = [
        (best["database"][key] - best["server"][key]) / best["parquet"][key]
        for key in ("seconds", "processor")
    ]
    pairs = zip(times["database"][0]["values"], times["parquet"][0]["values"], strict=True)
    apart = max(abs(one - other) for one, other in pairs)
    rounds = f"the fastest of {len(times['server'])} rounds beside other work (load {os.getloadavg()[1]:.0f})"
    what = "a table of 12 columns in PostgreSQL on this machine, of which a suite needs 3, against its parquet file"
    return "\n".join(
        [
            f"### {NAME}: {what}",
            "",
            f"{rows:,} rows, {rounds}. {environment()}",
            "",
            "| contestant | s | processor s, without the server's | peak MB |",
            "|---|---:|---:|---:|",
            *lines,
            "",
            f"* (database - server) / parquet: **{ratios[0]:.3g}**, in processor time {ratios[1]:.3g}, aim at most "
            f"{MOST:g}: {'reached' if ratios[0] <= MOST else 'not reached'}.",
            f"* The query is `SELECT *`; values differ by {apart:.0e} at most.",
        ]
    )


def main(words: Sequence[str] | None = None) -> int:
    """Print the figures; 1 if the aim is not reached."""
    command = argparse.ArgumentParser(prog="python -m benchmarks.database", description=__doc__)
    command.add_argument("address", nargs="?", default=ADDRESS)
    command.add_argument("--rows", type=int, default=ROWS)
    command.add_argument("--rounds", type=int, default=ROUNDS)
    command.add_argument("--write", action="store_true", help="put the figures into the README")
    command.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    options = command.parse_args(words)
    if options.run:
        print(here(options.run[0], options.address, Path(options.run[1])))
        return 0
    text = section(measured(options.address, options.rows, options.rounds), options.rows)
    print(text)
    if options.write:
        write_section(README, NAME, text)
    return int("not reached" in text)


if __name__ == "__main__":
    sys.exit(main())
