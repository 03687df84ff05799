"""States of a Spark table: what a task of Spark does with the rows of a partition, a million or so at a time."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import PlmetricsError
from plmetrics.features.shards.unit_plan import read_content
from plmetrics.features.shards.unit_states import check_versions, count_rows, open_plan
from plmetrics.features.stored.state_files import ENDING, state_bytes
from plmetrics.runners.worker import error_answer, receipt_of
from plmetrics.states.state_format import frame_of, frame_text
from plmetrics.table.opening import open_source

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa

    from plmetrics.features.shards.unit_plan import UnitPlan

TASK = f"{__name__}:states_of_batches"
SCHEMA = "answer string, state binary"
"""What a task gives: a row for each state, with the number of its rows or an error in words."""

ROWS = 1_000_000
"""Batches are put together to so many rows: a state costs some milliseconds, and Spark's batches are of 10,000."""

WHOLE = "whole"
"""The key in a plan's table that says that the rows of a partition must be in one state, as those of queries must."""


def states_of_batches(batches: Iterator[pa.RecordBatch], text: str) -> Iterator[pa.RecordBatch]:
    """The states of a partition's rows; `text` is the plan. An error of ours is an answer: Spark would try again."""
    import pyarrow as pa

    try:
        plan = _plan(text)
        check_versions(plan)
        for group in _groups(batches, None if plan.table[WHOLE] else ROWS):
            rows, content = _state(plan, pa.Table.from_batches(group))
            yield _row(json.dumps({"receipt": str(rows)}), content)
    except PlmetricsError as error:
        yield _row(error_answer(error), b"")


def _row(answer: str, state: bytes) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict(
        {"answer": [answer], "state": [state]},
        schema=pa.schema([("answer", pa.string()), ("state", pa.binary())]),
    )


@lru_cache(maxsize=2)
def _plan(text: str) -> UnitPlan:
    """A plan, read once by a worker."""
    return read_content(text, "the plan of a Spark table")


def _groups(batches: Iterator[pa.RecordBatch], most: int | None) -> Iterator[list[pa.RecordBatch]]:
    """Batches of at least so many rows together."""
    group: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        group.append(batch)
        size += batch.num_rows
        if most is not None and size >= most:
            yield group
            group, size = [], 0
    if size:
        yield group


def _state(plan: UnitPlan, table: pa.Table) -> tuple[int, bytes]:
    suite, variables, constants = open_plan(plan)
    schema = frame_of(plan.table["columns"]).schema
    frame = pl.DataFrame(pl.from_arrow(table)).select(
        pl.col(name).cast(kind) for name, kind in schema.items()
    )
    try:
        head, rows = count_rows(suite, open_source(frame), constants)
    except BaseException as error:
        variables.mask(error)
        raise
    return head.rows["read"], state_bytes(head, rows)[0]


def table_of_rows(schema: pl.Schema, *, whole: bool) -> dict[str, Any]:
    """Entry of a Spark table in a plan."""
    return {"columns": frame_text(pl.DataFrame(schema=schema)), WHOLE: whole}


def write_states(answers: pa.Table, folder: Path) -> list[str]:
    """Write the states that tasks gave to files of a folder."""
    paths = []
    for number, row in enumerate(answers.to_pylist()):
        receipt_of(row["answer"])
        path = folder / f"{number:06}{ENDING}"
        path.write_bytes(row["state"])
        paths.append(str(path))
    return paths
