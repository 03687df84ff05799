"""States of runs: written for the rows of a day, and merged into results of a month without a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.api.entry import located, masked
from plmetrics.api.stages import Stopwatch
from plmetrics.api.warned import warned
from plmetrics.core.errors import ConfigError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from plmetrics.api.stages import Progress
    from plmetrics.engine.request import Request
    from plmetrics.engine.saved.capture import Captured
    from plmetrics.engine.saved.constants import Constants
    from plmetrics.engine.saved.merging import Stored
    from plmetrics.states.saved import Head
    from plmetrics.suite.model import Suite
    from plmetrics.suite.yaml import LoadedSuite
    from plmetrics.table.source import Source


@dataclass(frozen=True, slots=True)
class State:
    """A state: what it says of itself, its rows, and the file it was written to.

    `content` is the hash of what it holds: the same rows, suite and constants give the same, but for what drift adds
    within bins, which is rounded as it comes.
    """

    head: Head
    table: pl.DataFrame
    content: str
    path: Path | None = None

    @property
    def rows(self) -> int:
        """How many rows it was made from."""
        read: int = self.head.rows["read"]
        return read

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is no error but probably not meant."""
        return self.head.warnings

    def __repr__(self) -> str:
        return f"State({self.head.name!r}, rows={self.rows}, path={self.path})"


@warned
def state(
    data: object,
    output: str | Path | None = None,
    *,
    set: Mapping[str, Any] | None = None,  # noqa: A002
    constants: State | str | Path | None = None,
    progress: Progress | None = None,
    **arguments: Any,
) -> State:
    """Make the state of some rows: sums and counts from which `merge` makes the results of all rows together.

    States add where their constants are equal: edges of quantile slices, values of a top, chosen
    thresholds, and the grid that scores are counted on. Take them from an earlier state with `constants`. Slices need
    not be the same. Of a suite with drift a state also holds what that counts, whatever it is measured from: it is the
    reference of later runs with `drift: {state: FILE}`, whose suites may be others.

    Args:
        data: a YAML suite, or a table as `evaluate` takes it, then with its keyword arguments.
        output: the file, which ends in `.state`, or a folder. A suite's state goes to `states` beside it if not given;
            that of a table is not written.
        set: suite keys to replace, dotted, e.g. {"data.path": "scores/2026-11-20.parquet"}.
        constants: a state, or its file, whose constants are taken.
        progress: called with the name of each stage as it begins.
        arguments: those of `evaluate`, for a table.

    Returns:
        The state.

    Raises:
        ConfigError: the suite is wrong, asks for what needs the rows, or is another than that of the constants.
        DataError: the data is not what the suite says.
        EnvironmentFault: the state cannot be written.

    >>> import polars as pl, plmetrics as plm
    >>> monday = pl.DataFrame({"y": [1, 0, 1], "p": [0.9, 0.2, 0.4]})
    >>> tuesday = pl.DataFrame({"y": [0, 0], "p": [0.7, 0.1]})
    >>> days = [plm.state(day, label="y", models="p", metrics=["brier"]) for day in (monday, tuesday)]
    >>> plm.merge(*days).metrics.select("n", "value").row(0)
    (5, 0.182)
    """
    from plmetrics.suite.arguments import suite_from_arguments
    from plmetrics.suite.yaml import load_suite
    from plmetrics.table.source import open_source

    watch = Stopwatch(progress)
    taken = None if constants is None else stored_state(constants)
    if arguments:
        suite = suite_from_arguments(**arguments)
        made = _state(suite, open_source(data, where=suite.reads_where), taken, watch)
        return _written(made, None if output is None else Path(output))
    if not isinstance(data, (str, Path)):
        raise ConfigError(
            Problem("a table needs the keyword arguments of evaluate: label, models", ("data",))
        )
    loaded = load_suite(Path(data), set or {})
    with masked(loaded), located(loaded):
        source = open_source(loaded.suite.data.rows, loaded.folder, loaded.suite.reads_where)
        head, table = _state(loaded.suite, source, taken, watch)
    made = as_recorded(loaded, head), table
    return _written(made, loaded.folder / "states" if output is None else Path(output))


def as_recorded(loaded: LoadedSuite, head: Head) -> Head:
    """The head of a state without values of variables."""
    facts = loaded.record({"suite": head.suite, "files": head.files, "warnings": head.warnings})
    return replace(head, suite=facts["suite"], files=tuple(facts["files"]), warnings=tuple(facts["warnings"]))


def _state(
    suite: Suite, source: Source, earlier: Stored | None, watch: Stopwatch
) -> tuple[Head, pl.DataFrame]:
    """The head and the table of a state."""
    from plmetrics.engine.budget import budget_of
    from plmetrics.engine.frugal import memory_settings

    with memory_settings(budget_of(suite)):
        return _made(suite, source, earlier, watch)


def _made(
    suite: Suite, source: Source, earlier: Stored | None, watch: Stopwatch
) -> tuple[Head, pl.DataFrame]:
    from plmetrics.engine.drift_summary import summarised
    from plmetrics.engine.faults import check_rows, reading
    from plmetrics.engine.passes import aggregated, summed
    from plmetrics.engine.prepare import prepare
    from plmetrics.engine.request import bind
    from plmetrics.engine.saved.capture import capture, rows_of
    from plmetrics.engine.saved.carried import check_units, countable

    counted = countable(suite)
    check_units(counted, source)
    taken = None if earlier is None else _constants(counted, earlier)
    with watch.stage("prepare"), reading(source):
        bound = bind(counted, source)
        countable(bound.suite.model_copy(update={"exact": None}))
        uneven = check_rows(counted.data.missing, source)
        prepared = prepare(bound, taken)
    with watch.stage("aggregate"), reading(source):
        frames, _ = summed(prepared)
        sums = aggregated(prepared, frames, None)
    with watch.stage("count"), reading(source):
        drift = None
        if counted.drift is not None:
            drift = summarised(rows_of(bound, prepared), frozenset(counted.models))
        captured = capture(bound, prepared, frames, sums, drift)
    return _head(counted, source, captured, (*uneven, *prepared.warnings)), captured.table


def _head(suite: Suite, source: Source, captured: Captured, warnings: tuple[str, ...]) -> Head:
    from plmetrics.core.redaction import masked
    from plmetrics.runs.fingerprint import fingerprint
    from plmetrics.runs.record import versions
    from plmetrics.suite.written import written
    from plmetrics.table.digests import digest_of
    from plmetrics.table.faults import stamps_of, unchanged

    with unchanged(stamps_of(source)):
        files = tuple(
            {
                "path": masked(str(Path(file.path).resolve())),
                "name": file.name,
                "bytes": file.size,
                "rows": file.rows,
                "digest": digest_of(file),
            }
            for file in source.files
        )
    return captured.head(
        name=suite.name,
        suite=written(suite),
        fingerprint=fingerprint(suite),
        versions=versions(),
        files=files,
        warnings=warnings,
    )


def drift_state(bound: Request, captured: Captured) -> State:
    """What drift counted in a run, as a state of no metrics."""
    from plmetrics.runs.states import state_bytes

    head = _head(bound.suite, bound.source, captured, ())
    return State(head, captured.table, state_bytes(head, captured.table)[1])


def _constants(suite: Suite, stored: Stored) -> Constants:
    """The constants of another state of the same suite.

    Raises:
        ConfigError: it is of another suite.
    """
    from plmetrics.engine.saved.adding import NotAdding
    from plmetrics.engine.saved.constants import Constants
    from plmetrics.engine.saved.drift import check_whole
    from plmetrics.engine.saved.grids import Grids
    from plmetrics.engine.saved.merging import read
    from plmetrics.runs.fingerprint import fingerprint
    from plmetrics.runs.states import as_written

    check_whole([stored])
    if stored.head.fingerprint != fingerprint(suite):
        differing = ", ".join(differences(suite, suite_of(stored.head)))
        msg = f"the constants of {stored.place} are those of another suite: they differ in {differing}"
        raise NotAdding(Problem(msg, hint="take constants from a state of this suite"))
    with as_written(file_places([stored])):
        return Constants.read(stored.head.constants, Grids.read(read(stored, "edges", "usual", "cuts")))


def _written(made: tuple[Head, pl.DataFrame], output: Path | None) -> State:
    from plmetrics.runs.states import state_bytes, write_state

    head, table = made
    if output is None:
        return State(head, table, state_bytes(head, table)[1])
    path, content = write_state(output, head, table)
    return State(head, table, content, path)


def stored_state(given: State | str | Path) -> Stored:
    """A state as it is merged: checked, its table not read."""
    from plmetrics.engine.saved.merging import Stored
    from plmetrics.runs.states import read_head
    from plmetrics.table.files import shown_path

    if isinstance(given, State):
        place = f"the state '{given.head.name}'" if given.path is None else shown_path(given.path)
        return Stored(given.head, given.table, place, given.content)
    path = Path(given)
    head, content = read_head(path)
    return Stored(head, path, shown_path(path), content)


def file_places(states: Sequence[Stored]) -> list[str]:
    """The places of those states that lie in files."""
    return [state.place for state in states if isinstance(state.table, Path)]


def suite_of(head: Head) -> Suite:
    """The suite that a state is of.

    Raises:
        ConfigError: it names what this version does not know.
    """
    from plmetrics.suite.problems import suite_from_mapping

    suite: Suite = suite_from_mapping(head.suite)
    return suite


def differences(one: Suite, other: Suite) -> list[str]:
    """What two suites say differently, as dotted keys."""
    from plmetrics.suite.model import canonical

    first, second = canonical(one), canonical(other)
    found = []
    for key in dict.fromkeys([*first, *second]):
        mine, its = first.get(key), second.get(key)
        if isinstance(mine, dict) and isinstance(its, dict):
            found += [
                f"{key}.{inner}"
                for inner in dict.fromkeys([*mine, *its])
                if mine.get(inner) != its.get(inner)
            ]
        elif mine != its:
            found.append(key)
    return found
