"""Drift as a stage of a run: its reference, and the comparison with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import DataError, PlmetricsError, Problem
from plmetrics.core.results import DRIFT_SCHEMA, GATES_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from plmetrics.api.outcome import Result
    from plmetrics.api.references import EarlierRuns
    from plmetrics.api.stages import Stopwatch
    from plmetrics.api.states import State
    from plmetrics.core.names import SuitePath
    from plmetrics.engine.drift import DriftCounts
    from plmetrics.engine.drift_summary import Summary
    from plmetrics.engine.request import Request
    from plmetrics.engine.saved.merging import Stored
    from plmetrics.runs.reading import StoredRun
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source

FIRST = "there is no earlier run of this suite yet that drift can be measured from"
_NAMED = 3


def reference_table(suite: Suite, drift: Any = None, base: Path | None = None) -> Source | None:
    """The table whose rows are the reference of the section `drift`; None where there is none.

    Args:
        suite: its section drift says which.
        drift: the mapping with the table itself, where that was handed over.
        base: the folder that relative paths start from.

    Raises:
        DataError: as for the rows to evaluate; located at `drift.reference`.
    """
    from plmetrics.suite.leakage import FRAME
    from plmetrics.table.source import open_source

    spec = suite.drift
    if spec is None or spec.reference is None or spec.is_counted:
        return None
    try:
        where = spec.where or (None if suite.data.long else suite.data.where)
        return open_source(drift["reference"] if spec.reference == FRAME else spec.reference, base, where)
    except PlmetricsError as error:
        raise _located(error, ("drift", "reference")) from error


def _located(error: PlmetricsError, path: SuitePath) -> PlmetricsError:
    """The same error, at a place of the suite."""
    return type(error)([replace(problem, path=path) for problem in error.problems])


@dataclass(frozen=True, slots=True)
class Counted:
    """A reference of counts in place of rows: the states that add to it, and where the suite names them.

    There are no states before the first run of a suite whose own runs are the reference; `passed_over` then says of
    earlier ones why they do not serve.
    """

    states: tuple[Stored, ...]
    path: SuitePath
    passed_over: str = ""


def reference_counts(
    suite: Suite, runs: EarlierRuns, drift: Any = None, base: Path | None = None
) -> Counted | None:
    """The counts that are the reference of the section `drift`; None where it is a table.

    Args:
        suite: its section drift says which.
        runs: chooses among the runs of a folder, and notes which it took.
        drift: the mapping with states or a result, where these were handed over.
        base: the folder that relative paths start from.

    Raises:
        DataError: a file is no state, or a folder no run that keeps what drift counts.
    """
    from plmetrics.suite.leakage import FRAME

    spec = suite.drift
    if spec is None or not spec.is_counted:
        return None
    path = ("drift", "state" if spec.state is not None else "run")
    try:
        if spec.state is not None:
            given = drift["state"] if spec.state == FRAME else spec.state
            return Counted(_stored(given if isinstance(given, (list, tuple)) else [given], base), path)
        given = drift["run"] if spec.run == FRAME else spec.run
        return Counted(_of_run(given, spec.choice, runs, base), path, runs.none_yet("drift.run"))
    except PlmetricsError as error:
        raise _located(error, path) from error


def _stored(given: Sequence[Any], base: Path | None) -> tuple[Stored, ...]:
    """States, with the files in folders; one that is there twice would count twice."""
    from plmetrics.api.states import State, stored_state
    from plmetrics.engine.saved.adding import check_once
    from plmetrics.runs.states import state_files

    out: list[Stored] = []
    for one in given:
        if isinstance(one, State):
            out.append(stored_state(one))
        else:
            named = Path(one) if base is None else base / one
            out += [stored_state(file) for file in state_files([named])]
    try:
        check_once(out)
    except DataError as error:
        raise type(error)([replace(problem, hint="name each once") for problem in error.problems]) from error
    return tuple(out)


def _of_run(given: Any, choice: str, runs: EarlierRuns, base: Path | None) -> tuple[Stored, ...]:
    """What an earlier run keeps; nothing before the first run of the suite itself."""
    from plmetrics.api.states import stored_state

    if not isinstance(given, (str, Path)):
        if getattr(given, "drift_state", None) is None:
            msg = "the result holds no counts for drift: it had no drift.state or drift.run"
            raise DataError(Problem(msg, hint="compare with a state: drift.state"))
        return (stored_state(given.drift_state),)
    path = Path(given) if base is None else base / given
    found = runs.reference("drift.run", path, choice, _counts, _check_counts_kept)
    return () if found is None else (found,)


def _counts(run: StoredRun) -> Stored:
    """What drift counted in a run."""
    from plmetrics.api.states import stored_state
    from plmetrics.runs.states import DRIFT_STATE

    return stored_state(run.folder / DRIFT_STATE)


def _check_counts_kept(run: StoredRun) -> None:
    from plmetrics.runs.states import DRIFT_STATE

    if not (run.folder / DRIFT_STATE).is_file():
        raise DataError(_keeps_none(run))


def _keeps_none(run: StoredRun) -> Problem:
    """A run has the results of drift, not what was counted of its rows: say what has."""
    files = [str(file["path"]) for file in run.record.get("files", ())]
    named = ", ".join(files[:_NAMED]) + (f" and {len(files) - _NAMED} more" if len(files) > _NAMED else "")
    rows = f"name the rows it read by reference: [{named}]" if files else "name its rows by reference"
    msg = f"the run {run.run_id} keeps no counts for drift: only runs with drift.run or drift.state do"
    made = "write a state of its rows (plmetrics state SUITE --output before.state) for drift: {state: before.state}"
    return Problem(msg, hint=f"{made}; or {rows}")


def check_counts(bound: Request, models: Iterable[str], reference: Counted | None) -> None:
    """Check that counts of a reference hold what a suite compares, without a look at its rows.

    Raises:
        DataError: they lack columns or slices, or hold them with another meaning; all is named.
    """
    if reference is None or not reference.states:
        return
    from plmetrics.api.states import file_places
    from plmetrics.engine.drift_against import on_slices_of
    from plmetrics.engine.drift_said import Said
    from plmetrics.engine.saved.drift import check_reference, said_of
    from plmetrics.engine.windows import current_window
    from plmetrics.runs.states import as_written

    with as_written(file_places(reference.states)):
        held = said_of(reference.states, reference.path)
        request = on_slices_of(bound, bound, held[0])
        wanted = Said.of(current_window(request, frozenset(models)))
        check_reference(reference.states, wanted, reference.path)


@dataclass(frozen=True, slots=True)
class Drifted:
    """The table `drift`, the gates on it, and what was counted of the rows where the reference are counts, too."""

    table: pl.DataFrame
    gates: pl.DataFrame
    counted: Summary | None = None
    warnings: tuple[str, ...] = ()


def drifted(
    request: Request, bound: Request, models: Iterable[str], watch: Stopwatch, reference: Counted | None
) -> Drifted:
    """The drift of a prepared request, without rows where the suite does not ask for it.

    Args:
        request: what is evaluated, with rows as they are in the data: not the queries made from them.
        bound: the same before anything was looked up.
        models: the models of the suite, without those that a run adds.
        watch: told of the stage.
        reference: the counts of the reference, where it is no table.

    Raises:
        DataError: a window has no rows, or the reference has bad values or lacks what is compared.
    """
    suite = request.suite
    if suite.drift is None:
        return Drifted(DRIFT_SCHEMA.to_frame(), GATES_SCHEMA.to_frame())
    from plmetrics.engine.drift import drift_counted
    from plmetrics.engine.faults import reading
    from plmetrics.gates.drift import drift_gates
    from plmetrics.inference.drift import drift_table

    asked, counted = frozenset(models), None
    with watch.stage("drift"), reading(request.source, request.reference):
        if reference is None:
            counts: DriftCounts | None = drift_counted(request, asked)
        else:
            counts, counted = _against(request, bound, asked, reference)
    table = drift_table(suite, counts)
    warnings = () if reference is None or counts is not None else (f"{FIRST}{reference.passed_over}",)
    return Drifted(table, drift_gates(suite, table), counted, warnings)


def _against(
    request: Request, bound: Request, asked: frozenset[str], reference: Counted
) -> tuple[DriftCounts | None, Summary]:
    """Both windows, counted alike; None where there is no reference yet."""
    from plmetrics.api.states import file_places
    from plmetrics.engine.drift_against import drift_against, on_slices_of
    from plmetrics.engine.drift_summary import summarised
    from plmetrics.engine.saved.drift import check_reference, reference_of, said_of
    from plmetrics.engine.saved.merging import by_layout
    from plmetrics.runs.states import as_written

    if not reference.states:
        return None, summarised(request, asked)
    check_counts(bound, asked, reference)
    request = on_slices_of(request, bound, said_of(reference.states, reference.path)[0])
    current = summarised(request, asked)
    check_reference(reference.states, current.said, reference.path)
    with as_written(file_places(reference.states)):
        before = reference_of(by_layout(reference.states), current.said)
    return drift_against(request, asked, before, current, reference.path), current


def files_kept(result: Result) -> dict[str, bytes]:
    """By name the files of a run folder that hold what was counted."""
    from plmetrics.runs.states import DRIFT_STATE, state_bytes

    state = result.drift_state
    return {} if state is None else {DRIFT_STATE: state_bytes(state.head, state.table)[0]}


def kept(bound: Request, drift: Drifted) -> State | None:
    """What was counted of the rows as a state of its own, for later runs to be measured from."""
    if drift.counted is None:
        return None
    from plmetrics.api.states import drift_state
    from plmetrics.engine.saved.capture import capture_drift

    return drift_state(bound, capture_drift(bound, drift.counted))
