"""Drift as a stage of a run: its reference, and the comparison with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import DataError, PlmetricsError, Problem
from plmetrics.core.results import DRIFT_SCHEMA, GATES_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable

    import polars as pl

    from plmetrics.api.stages import Stopwatch
    from plmetrics.engine.request import Request
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source

_NAMED = 3


def reference_table(suite: Suite, drift: Any = None, base: Path | None = None) -> Source | None:
    """The table whose rows are the reference of the section `drift`; None where they are in the table itself.

    Args:
        suite: its section drift says which.
        drift: the mapping with the table itself, where that was handed over.
        base: the folder that relative paths start from.

    Raises:
        DataError: as for the rows to evaluate; located at `drift.reference`. Or the reference is an earlier run.
    """
    from plmetrics.suite.leakage import FRAME
    from plmetrics.table.source import open_source

    spec = suite.drift
    if spec is None:
        return None
    if spec.run is not None:
        raise _no_rows(Path(spec.run) if base is None else base / spec.run)
    if spec.reference is None:
        return None
    try:
        return open_source(drift["reference"] if spec.reference == FRAME else spec.reference, base)
    except PlmetricsError as error:
        place = ("drift", "reference")
        raise type(error)([replace(problem, path=place) for problem in error.problems]) from error


def _no_rows(folder: Path) -> DataError:
    """A run folder has results, not the values of its columns: say where these are."""
    from plmetrics.runs.reading import read_run

    place = ("drift", "run")
    try:
        run = read_run(folder)
    except DataError as error:
        return DataError([replace(problem, path=place) for problem in error.problems])
    files = [str(file["path"]) for file in run.record.get("files", ())]
    named = ", ".join(files[:_NAMED]) + (f" and {len(files) - _NAMED} more" if len(files) > _NAMED else "")
    hint = f"name the rows it read: reference: [{named}]" if files else "name its rows by reference"
    msg = f"the run {run.run_id} holds results, but not how often its columns have which value"
    return DataError(Problem(msg, place, hint))


@dataclass(frozen=True, slots=True)
class Drifted:
    """The table `drift`, and the gates on it."""

    table: pl.DataFrame
    gates: pl.DataFrame


def drifted(request: Request, models: Iterable[str], watch: Stopwatch) -> Drifted:
    """The drift of a prepared request, without rows where the suite does not ask for it.

    Args:
        request: what is evaluated, with rows as they are in the data: not the queries made from them.
        models: the models of the suite, without those that a run adds.
        watch: told of the stage.

    Raises:
        DataError: a window has no rows, or the reference has bad values.
    """
    if request.suite.drift is None:
        return Drifted(DRIFT_SCHEMA.to_frame(), GATES_SCHEMA.to_frame())
    from plmetrics.engine.drift import drift_counted
    from plmetrics.engine.faults import reading
    from plmetrics.gates.drift import drift_gates
    from plmetrics.inference.drift import drift_table

    with watch.stage("drift"), reading(request.source, request.reference):
        counts = drift_counted(request, frozenset(models))
    table = drift_table(request.suite, counts)
    return Drifted(table, drift_gates(request.suite, table))
