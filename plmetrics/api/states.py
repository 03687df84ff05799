"""States of runs: written for the rows of a day, and merged into results of a month without a row."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from plmetrics.api.stopwatch import Stopwatch
from plmetrics.api.suite_files import as_recorded, located, masked
from plmetrics.api.warnings import warned
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.runs.stored_state import file_places, head_of, stored_state
from plmetrics.states.stored import State

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from plmetrics.api.stopwatch import Progress
    from plmetrics.engine.stored.alignment import Stored
    from plmetrics.engine.stored.constants import Constants
    from plmetrics.states.stored import Head
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source


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
    from plmetrics.suite.yaml.load import load_suite
    from plmetrics.table.opening import open_source

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


def _state(
    suite: Suite, source: Source, earlier: Stored | None, watch: Stopwatch
) -> tuple[Head, pl.DataFrame]:
    """The head and the table of a state."""
    from plmetrics.engine.memory.budget import budget_of
    from plmetrics.engine.memory.settings import memory_settings

    with memory_settings(budget_of(suite)):
        return _made(suite, source, earlier, watch)


def _made(
    suite: Suite, source: Source, earlier: Stored | None, watch: Stopwatch
) -> tuple[Head, pl.DataFrame]:
    from plmetrics.engine.aggregate.aggregation import aggregated, summed
    from plmetrics.engine.binding.bind import bind
    from plmetrics.engine.faults import check_rows, reading
    from plmetrics.engine.prepare.preparation import prepare
    from plmetrics.engine.stored.capture import capture
    from plmetrics.engine.stored.support import check_units, countable

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
        captured = capture(bound, prepared, frames, sums)
    return head_of(counted, source, captured, (*uneven, *prepared.warnings)), captured.table


def _constants(suite: Suite, stored: Stored) -> Constants:
    """The constants of another state of the same suite.

    Raises:
        ConfigError: it is of another suite.
    """
    from plmetrics.engine.stored.compatibility import NotAdding, check_whole
    from plmetrics.engine.stored.constants import Constants
    from plmetrics.engine.stored.grids import Grids
    from plmetrics.engine.stored.merging import read
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


def suite_of(head: Head) -> Suite:
    """The suite that a state is of.

    Raises:
        ConfigError: it names what this version does not know.
    """
    from plmetrics.suite.reader import suite_from_mapping

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
