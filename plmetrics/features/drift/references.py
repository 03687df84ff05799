"""The reference of a comparison: a table, stored states, or the counts of an earlier run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import ConfigError, DataError, Problem, errors_at
from plmetrics.core.names import SuitePath, is_address, name_list
from plmetrics.features.drift.against_counts import on_slices_of
from plmetrics.features.drift.description import Description
from plmetrics.features.drift.drift_section import Drift
from plmetrics.features.drift.stored_counts import check_reference, descriptions_of
from plmetrics.features.drift.windows import current_window
from plmetrics.features.stored.compatibility import check_once
from plmetrics.features.stored.state_files import DRIFT_STATE, damage_errors, state_files
from plmetrics.features.stored.stored_state import file_places, stored_state
from plmetrics.runs.files import place_of
from plmetrics.states.state_format import State
from plmetrics.suite.sections.references import IntervalReference
from plmetrics.suite.sections.section import HANDED_OVER, names_of
from plmetrics.table.opening import open_source

if TYPE_CHECKING:
    from plmetrics.engine.request import TableView
    from plmetrics.features.stored.alignment import StateReference
    from plmetrics.runs.history.earlier_runs import EarlierRuns
    from plmetrics.runs.reading import StoredRun
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source

_NAMED = 3
_INTERVALS = "drift.reference"


@dataclass(frozen=True, slots=True)
class ReferenceCounts:
    """Reference of counts in place of rows: its states, and their place in the suite.

    There are no states before the first run of a suite whose own runs are the reference; `passed_over` then says of
    earlier ones why they do not serve. Of the intervals that `runs` chose those whose counts do not serve are left out.
    Where it is `optional`, what is wrong with it is a warning; `fault` says why it cannot be read.
    """

    states: tuple[StateReference, ...]
    path: SuitePath
    passed_over: str = ""
    runs: EarlierRuns | None = None
    optional: bool = False
    fault: str = ""


def reference_table(suite: Suite, argument: Any, base: Path | None) -> Source | None:
    """Table of the reference rows; None without one.

    `argument` is the mapping with the table itself, where that was handed over.
    """
    spec = Drift.of(suite)
    if spec.reference is None or spec.is_counted:
        return None
    where = spec.where or (None if suite.data.long else suite.data.where)
    with errors_at("drift", "reference"):
        return open_source(
            argument["reference"] if spec.reference == HANDED_OVER else spec.reference, base, where
        )


def reference_counts(
    suite: Suite, argument: Any, base: Path | None, runs: EarlierRuns
) -> ReferenceCounts | None:
    """Counts of the reference; None for a table of rows.

    `argument` is the mapping with states or a result, where these were handed over; `runs` notes which run it took.

    Raises:
        DataError: a file is no state, or a folder no run that keeps what drift counts.
    """
    spec = Drift.of(suite)
    if not spec.is_counted:
        return None
    if isinstance(spec.reference, IntervalReference):
        with errors_at("drift", "reference"):
            counted = runs.of_intervals(_INTERVALS, spec.reference, spec.choice, _interval_counts)
        return ReferenceCounts(tuple(counted), ("drift", "reference"), runs.none_yet(_INTERVALS), runs)
    key = "state" if spec.state is not None else "run"
    chosen = getattr(spec, key)
    source = argument[key] if chosen == HANDED_OVER else chosen
    with errors_at("drift", key):
        if key == "state":
            states = _open_states(source if isinstance(source, (list, tuple)) else [source], base)
        else:
            states = _states_of_run(source, spec.choice, runs, base)
    return ReferenceCounts(states, ("drift", key), runs.none_yet("drift.run"))


def reference_states(suite: Suite, base: Path | None) -> tuple[StateReference, ...]:
    """The states that the suite names as the reference; none without any."""
    named = Drift.of(suite).state
    if named is None:
        return ()
    with errors_at("drift", "state"):
        return _open_states(names_of(named), base)


def merge_gap(suite: Suite) -> Problem | None:
    """Reason against a comparison of merged states with the reference of a suite, and the remedy."""
    spec = Drift.of(suite)
    cut = [
        name
        for name in spec.sets(tuple(suite.slices))
        if suite.slices[name].quantiles or suite.slices[name].top
    ]
    if not spec.is_counted:
        reason = "its reference is rows, and states hold counts"
        hint = (
            "write a state of the reference (plmetrics state SUITE --set data.path=REFERENCE --output FILE), then "
            "drift: {state: FILE}"
        )
    elif isinstance(spec.reference, IntervalReference):
        reason, hint = "its reference is earlier intervals", "name their states: drift: {state: [FILE, FILE]}"
    elif HANDED_OVER in (spec.state, spec.run):
        reason, hint = "its reference was handed over", "write it to a file, then drift: {state: FILE}"
    elif cut:
        reason = (
            f"a run cuts the slice set '{cut[0]}' as the reference does, and states as their own rows say"
        )
        hint = "give it bins or values, or leave it out of drift.slices"
    else:
        return None
    return Problem(f"drift is not measured here, nor are its gates judged: {reason}", ("drift",), hint)


def counts_for_merge(suite: Suite, runs: EarlierRuns) -> ReferenceCounts | None:
    """Reference counts of merged states; None without a reference, see `merge_gap`."""
    if merge_gap(suite) is not None:
        return None
    try:
        counts = reference_counts(suite, None, None, runs)
    except (ConfigError, DataError) as error:
        return ReferenceCounts((), ("drift",), optional=True, fault=error.problems[0].message)
    return None if counts is None else replace(counts, optional=True)


def _open_states(sources: Sequence[Any], base: Path | None) -> tuple[StateReference, ...]:
    """Open states, with the files in folders; duplicates are refused, as their rows would count twice."""
    out: list[StateReference] = []
    for item in sources:
        if isinstance(item, State) or is_address(str(item)):
            out.append(stored_state(item))
        else:
            named = Path(item) if base is None else base / item
            out += [stored_state(file) for file in state_files([named])]
    try:
        check_once(out)
    except DataError as error:
        raise type(error)([replace(problem, hint="name each once") for problem in error.problems]) from error
    return tuple(out)


def _states_of_run(run: Any, choice: str, runs: EarlierRuns, base: Path | None) -> tuple[StateReference, ...]:
    """Counts of an earlier run's state; none before the first run of the suite itself."""
    if not isinstance(run, (str, Path)):
        if getattr(run, "drift_state", None) is None:
            msg = "the result holds no counts for drift: it had no drift.state or drift.run"
            raise DataError(Problem(msg, hint="compare with a state: drift.state"))
        return (stored_state(run.drift_state),)
    reference = runs.reference("drift.run", place_of(run, base), choice, _counts, _check_counts)
    return () if reference is None else (reference,)


def _counts(run: StoredRun) -> StateReference:
    """Counts for drift in a run."""
    return stored_state(run.folder / DRIFT_STATE)


def _interval_counts(run: StoredRun) -> StateReference:
    """Counts for drift in the run of an interval."""
    if not (run.folder / DRIFT_STATE).is_file():
        from plmetrics.runs.reading import removed_files

        if DRIFT_STATE in removed_files(run.folder):
            msg = "it keeps no counts for drift any more: they were older than keep.states"
        else:
            msg = "it keeps no counts for drift: its suite had no section drift"
        raise DataError(msg)
    return _counts(run)


def _check_counts(run: StoredRun) -> None:
    """Check that a run has a state with drift counts."""
    if not (run.folder / DRIFT_STATE).is_file():
        raise DataError(_no_counts_problem(run))


def _no_counts_problem(run: StoredRun) -> Problem:
    """Problem of a run with results of drift but without counts, and the remedy."""
    files = [str(file["path"]) for file in run.record.get("files", ())]
    named = (
        f"the rows it read by reference: [{name_list(files, _NAMED)}]" if files else "its rows by reference"
    )
    msg = f"the run {run.run_id} keeps no counts for drift: only runs with drift.run or drift.state do"
    hint = "write a state of its rows (plmetrics state SUITE --output before.state) for drift: {state: before.state}"
    return Problem(msg, hint=f"{hint}; or name {named}")


def check_counts(view: TableView, reference: ReferenceCounts) -> ReferenceCounts:
    """Check the counts of a reference against the compared columns of a suite, without a scan of its rows.

    Returns:
        The reference; of earlier intervals those whose counts serve.

    Raises:
        DataError: they lack columns or slices, or hold them with another meaning; all is named.
    """
    if reference.runs is None:
        _check_states(view, reference.states, reference.path)
        return reference
    serving: list[StateReference] = []
    reasons = {}
    for state in reference.states:
        try:
            _check_states(view, [*serving[:1], state], reference.path)
            serving.append(state)
        except (ConfigError, DataError) as error:
            file = state.table if isinstance(state.table, Path) else PurePosixPath(state.place)
            reasons[file.parent.name] = error.problems[0].message.replace(state.place, DRIFT_STATE)
    if reasons:
        reference.runs.pass_over(_INTERVALS, reasons)
    return replace(reference, states=tuple(serving), passed_over=reference.runs.none_yet(_INTERVALS))


def _check_states(view: TableView, states: Sequence[StateReference], path: SuitePath) -> None:
    if not states:
        return
    with damage_errors(file_places(states)):
        slices = on_slices_of(view, view, descriptions_of(states, path)[0])
        check_reference(states, Description.of(current_window(slices)), path)
