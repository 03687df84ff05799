"""The state of some rows: the counts of a run, without its estimates."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.engine.aggregate.aggregation import collect_aggregates, sum_bins, sum_cubes
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.faults import check_rows, reading
from plmetrics.engine.inquiry import answer, gather
from plmetrics.engine.memory.budget import budget_of, separates_scans
from plmetrics.engine.memory.settings import memory_settings
from plmetrics.engine.prepare.preparation import prepare
from plmetrics.features.registry import rounding
from plmetrics.features.stored.capture import capture, feature_constants, typed_columns
from plmetrics.features.stored.compatibility import NotAdding, check_complete, check_types
from plmetrics.features.stored.grids import read_constants, read_grids
from plmetrics.features.stored.merging import read_state
from plmetrics.features.stored.state_files import damage_errors, state_bytes, write_state
from plmetrics.features.stored.stored_state import differences, file_places, head_of, suite_of
from plmetrics.features.stored.support import check_row_identity, countable
from plmetrics.runs.record import fingerprint
from plmetrics.states.state_format import Head, State, frame_of
from plmetrics.table.formats.parquet import common_type

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path

    from plmetrics.engine.prepare.constants import Constants
    from plmetrics.features.stored.alignment import StateReference
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source

    Stage = Callable[[str], AbstractContextManager[None]]


def state_of_rows(
    suite: Suite,
    source: Source,
    earlier: StateReference | None,
    stage: Stage,
    where: str | None = None,
    *,
    may_be_empty: bool = False,
) -> tuple[Head, pl.DataFrame]:
    """The head and the table of a state.

    `earlier` is a state whose constants are taken. With another condition `where` than the suite's, states of other
    rows add. A part of the rows may be empty: all of it is dropped, and counts where dropped rows do. Parts, and
    what has the constants of others, may lack positives.

    Raises:
        ConfigError: the suite asks for what needs the rows, or is another than that of the constants.
        NotAdding: columns have other types than those of the constants.
        DataError: the data is not what the suite says.
    """
    with memory_settings(budget_of(suite)):
        counted = countable(suite)
        check_row_identity(counted, source)
        constants = None if earlier is None else _constants(counted, earlier)
        source = source if earlier is None else _of_types(source, earlier.head)
        with stage("prepare"), reading(source):
            classes = None if constants is None else constants.classes
            bound = bind(counted if where is None else counted.with_where(where), source, classes=classes)
            countable(bound.suite.model_copy(update={"exact": None}))
            if earlier is not None:
                stored = earlier.place, frame_of(earlier.head.schema).schema, earlier.head.typed
                check_types([stored, ("these rows", bound.view.schema, typed_columns(bound.view))])
            uneven = check_rows(counted.data.missing, source)
            plan = prepare(bound, constants, adds=True, is_part=True)
        with stage("aggregate"), reading(source):
            sums_of_rows = sum_cubes(plan, is_part=may_be_empty or earlier is not None)
            asked = gather(sums_of_rows, sum_bins(plan), rounding(plan))
            (frames, _), bins, large_numbers = answer(asked, separate=separates_scans(plan.view))
            sums = collect_aggregates(plan, frames, None, may_be_empty=may_be_empty)
        with stage("count"), reading(source):
            of_features = feature_constants(bound, source) if constants is None else constants.features
            fields, table = capture(plan, frames, sums, source, of_features, bins)
        return head_of(counted, source, fields, (*uneven, *large_numbers, *plan.warnings)), table


def _of_types(source: Source, head: Head) -> Source:
    """Table whose columns of slices and units have the types of an earlier state, as in one table.

    A column of nulls alone has no type, and whole numbers may be stored in fewer bits.
    """
    schema = frame_of(head.schema).schema
    for name in head.typed:
        dtype, found = schema.get(name), source.schema.get(name)
        if dtype is not None and found is not None and found != dtype == common_type(dtype, found):
            source = source.with_columns({name: pl.col(name).cast(dtype)}, {name: dtype})
    return source


def _constants(suite: Suite, stored: StateReference) -> Constants:
    """The constants of another state of the same suite."""
    check_constants(suite, stored)
    with damage_errors(file_places([stored])):
        return read_constants(stored.head.constants, read_grids(read_state(stored, "edges", "usual", "cuts")))


def check_constants(suite: Suite, stored: StateReference) -> None:
    """Check the constants of a state against those of a suite.

    Raises:
        ConfigError: it is of another suite.
    """
    check_complete([stored])
    if stored.head.fingerprint != fingerprint(suite):
        differing = ", ".join(differences(suite, suite_of(stored.head)))
        msg = f"the constants of {stored.place} are those of another suite: they differ in {differing}"
        raise NotAdding(Problem(msg, hint="take constants from a state of this suite"))


def written_state(head: Head, table: pl.DataFrame, output: Path | str | None) -> State:
    """The state, in a file or an object where one is named."""
    if output is None:
        return State(head, table, state_bytes(head, table)[1])
    path, content = write_state(output, head, table)
    return State(head, table, content, path)
