"""States of units, of files or of partitions of a Spark table, with rows in batches of about a million."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.errors import AbsentDataError, EnvironmentFault, PlmetricsError, Problem
from plmetrics.core.redaction import Redaction
from plmetrics.engine.run_plan import Accounting, NoRowsLeftError
from plmetrics.features.shards.file_table import open_table
from plmetrics.features.shards.unit_plan import Unit, UnitPlan, read_content, read_plan
from plmetrics.features.stored.state_files import ENDING, state_bytes, write_state
from plmetrics.features.stored.state_of_rows import state_of_rows
from plmetrics.features.stored.stored_state import head_of, stored_state
from plmetrics.features.stored.support import countable
from plmetrics.runners.worker import error_answer, receipt_of
from plmetrics.runs.files import place_of
from plmetrics.runs.record import fingerprint, fingerprint_with_values, mask_head, versions
from plmetrics.states.state_format import PART, Head, State, frame_of, frame_text
from plmetrics.suite.reader import suite_from_mapping
from plmetrics.suite.yaml.variables import Expansion
from plmetrics.table.files import Stamp, shown_path
from plmetrics.table.opening import open_source
from plmetrics.table.stamps import stamps_now

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from plmetrics.features.stored.alignment import StateReference
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source
    from plmetrics.table.storage.places import Place

_DECISIVE = ("plmetrics", "polars", "hash")
TASK = f"{__name__}:states_of_batches"
SCHEMA = "answer string, state binary"
"""Columns of a task's result: a row for each state, with the number of its rows or an error in words."""
ROWS = 1_000_000
"""Batches are put together to so many rows: a state costs some milliseconds, and Spark's batches are of 10,000."""
WHOLE = "whole"
"""The key in a plan's table that says that the rows of a partition must be in one state, as those of queries must."""


@dataclass(frozen=True, slots=True)
class UnitJob:
    """Job of a worker: the plan's file, the unit, the folder for its state, and memory if it has not all.

    A state that is not `durable` may be lost with the machine; it is then counted again.
    """

    plan: str
    unit: str
    output: str
    memory: int | None = None
    durable: bool = True

    def text(self) -> str:
        """The job as JSON."""
        return json.dumps(asdict(self))


@dataclass(frozen=True, slots=True)
class UnitReceipt:
    """Receipt of a worker: the state's file, the number of its rows, and whether it existed before."""

    path: str
    rows: int
    again: bool

    @classmethod
    def read(cls, text: str) -> UnitReceipt:
        """The receipt from its JSON."""
        return cls(**json.loads(text))


def write_unit(text: str) -> str:
    """Write the state of a unit, unless a valid one is there; JSON of a `UnitJob` in, of a `UnitReceipt` out.

    Raises:
        ConfigError: the suite names what is not known or not set here.
        DataError: the data is not what the suite says, or changed since the plan was made.
        EnvironmentFault: this worker is of another version than the plan, or the state cannot be written.
    """
    job = UnitJob(**json.loads(text))
    plan, suite, variables, constants = _plan(job.plan, _stamp(job.plan))
    unit = plan.unit(job.unit)
    path = place_of(job.output) / f"{plan.name}-{unit.short_id}{ENDING}"
    try:
        stored = _valid(path, unit)
        if stored is not None:
            return json.dumps({"path": str(path), "rows": stored.rows["read"], "again": True})
        check_versions(plan)
        if job.memory is not None:
            suite = suite.model_copy(update={"memory": job.memory}).with_templates(suite.templates)
        head, table = count_rows(suite, open_table(plan.table, unit.files), constants)
        masked = mask_head(variables, replace(head, plan={"unit": unit.id}))
        write_state(path, masked, table, durable=job.durable)
    except BaseException as error:
        variables.mask(error)
        raise
    return json.dumps({"path": str(path), "rows": head.rows["read"], "again": False})


def _stamp(plan: str) -> Stamp:
    """Identity of a plan, against a replacement."""
    stamp = stamps_now([plan])[plan]
    if stamp is None:
        msg = f"a worker does not see the plan {shown_path(plan)}"
        hint = "name a folder that all workers see: engine: {states: FOLDER}"
        raise EnvironmentFault(Problem(msg, ("engine", "states"), hint))
    return stamp


@lru_cache(maxsize=2)
def _plan(path: str, stamp: Stamp) -> tuple[UnitPlan, Suite, Redaction, StateReference | None]:  # noqa: ARG001
    """Plan with its suite, their variables, and its constants: read once by a worker, not for each unit."""
    plan = read_plan(place_of(path))
    return plan, *open_plan(plan)


def open_plan(plan: UnitPlan) -> tuple[Suite, Redaction, StateReference | None]:
    """Suite of a plan, its variables, and the plan's constants.

    Raises:
        EnvironmentFault: the suite means something else here.
    """
    expansion = Expansion()
    content = expansion.of_suite(plan.suite)
    suite = suite_from_mapping(content, name=plan.name).with_templates(expansion.templates)
    counted = countable(suite)
    if fingerprint(counted) != plan.fingerprint:
        msg = "the suite of the plan means something else here: another version of plmetrics has written it"
        raise EnvironmentFault(Problem(msg, hint="run the same version of plmetrics on all workers"))
    if fingerprint_with_values(counted) != plan.values:
        msg = f"a variable has another value here than where the plan was made: {', '.join(expansion.used)}"
        raise EnvironmentFault(Problem(msg, hint="set it to the same on all workers, or make the plan again"))
    constants = None if plan.constants is None else stored_state(constants_state(plan.constants))
    values = {name: os.environ[name] for name in plan.variables if name in os.environ}
    return suite, Redaction.of(values | expansion.used), constants


def constants_state(content: Mapping[str, Any]) -> State:
    """The constants of a plan, as a state without rows."""
    return State(Head.read(content["head"]), frame_of(content["table"]), "")


def _valid(path: Place, unit: Unit) -> Head | None:
    """The head of the unit's state, if it is there and whole."""
    if not path.is_file():
        return None
    try:
        head = stored_state(path).head
    except PlmetricsError:
        return None
    return head if head.plan is not None and head.plan.get("unit") == unit.id else None


def check_versions(plan: UnitPlan) -> None:
    """Check the versions of a plan against the installed ones.

    Raises:
        EnvironmentFault: it is of another version.
    """
    current = versions()
    for name in _DECISIVE:
        if plan.versions[name] != current[name]:
            msg = f"the plan was made with {name} {plan.versions[name]}, and here is {current[name]}"
            raise EnvironmentFault(Problem(msg, hint="install the same versions on all workers"))


def count_rows(suite: Suite, source: Source, constants: StateReference | None) -> tuple[Head, pl.DataFrame]:
    """State of some rows, with the warnings of all rows; without any rows it has their number alone."""
    head, table = _count_rows(suite, source, constants)
    shared = () if constants is None else constants.head.warnings
    return replace(head, warnings=tuple(dict.fromkeys((*shared, *head.warnings)))), table


def _count_rows(suite: Suite, source: Source, constants: StateReference | None) -> tuple[Head, pl.DataFrame]:
    try:
        return state_of_rows(suite, source, constants, lambda _: nullcontext(), may_be_empty=True)
    except NoRowsLeftError as error:
        return _empty(suite, source, error.rows)
    except AbsentDataError:
        return _empty(suite, source, Accounting(0, 0, {}))


def _empty(suite: Suite, source: Source, counted: Accounting) -> tuple[Head, pl.DataFrame]:
    rows = {
        "read": counted.read,
        "units": 0,
        "zero_weight": counted.zero_weight,
        "dropped": dict(counted.dropped),
        "pairs_read": counted.pairs,
        "fitted": counted.fitted,
    }
    head = head_of(
        countable(suite),
        source,
        {
            "schema": frame_text(pl.DataFrame(schema=source.schema)),
            "constants": {},
            "parts": (),
            "layout": "",
            "rows": rows,
            "sets": (),
        },
        (),
    )
    return head, pl.DataFrame(schema={PART: pl.UInt16})


def states_of_batches(batches: Iterator[pa.RecordBatch], text: str) -> Iterator[pa.RecordBatch]:
    """The states of a partition's rows; `text` is the plan. An error of ours is an answer: Spark would try again."""
    import pyarrow as pa

    try:
        plan = _plan_of_text(text)
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
def _plan_of_text(text: str) -> UnitPlan:
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
    frame = pl.DataFrame(pl.from_arrow(table.rename_columns(list(schema)))).cast(schema)
    try:
        head, rows = count_rows(suite, replace(open_source(frame), kind="spark"), constants)
    except BaseException as error:
        variables.mask(error)
        raise
    return head.rows["read"], state_bytes(head, rows)[0]


def table_of_rows(schema: pl.Schema, *, whole: bool) -> dict[str, Any]:
    """Entry of a Spark table in a plan."""
    return {"columns": frame_text(pl.DataFrame(schema=schema)), WHOLE: whole}


def write_states(answers: pa.Table, folder: Path) -> list[str]:
    """Write states from tasks to files of a folder."""
    paths = []
    for number, row in enumerate(answers.to_pylist()):
        receipt_of(row["answer"])
        path = folder / f"{number:06}{ENDING}"
        path.write_bytes(row["state"])
        paths.append(str(path))
    return paths
