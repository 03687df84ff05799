"""States of runs: written for the rows of a day, and merged into results of a month without a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from plmetrics.api.entry_point import entry_point
from plmetrics.api.stopwatch import Progress, Stopwatch
from plmetrics.api.suite_files import error_places, open_rows, redact_head, without_values
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.features.stored.state_of_rows import state_of_rows, written_state
from plmetrics.features.stored.stored_state import stored_state
from plmetrics.features.stored.support import anchor_tables

if TYPE_CHECKING:
    from plmetrics.states.state_format import State
    from plmetrics.suite.keywords import Arguments
    from plmetrics.suite.python_types import Table, TrecTable


@entry_point
def state(
    data: Table | TrecTable,
    output: str | Path | None = None,
    *,
    set: Mapping[str, object] | None = None,  # noqa: A002
    constants: State | str | Path | None = None,
    progress: Progress | None = None,
    **arguments: Unpack[Arguments],
) -> State:
    """Make the state of some rows: sums and counts for results of all rows together, by `merge`.

    States add where their constants are equal: edges of quantile slices, values of a top, chosen
    thresholds, and the grid that scores are counted on. Take them from an earlier state with `constants`. Slices need
    not be the same. Of a suite with drift a state also holds what that counts, whatever it is measured from: it is the
    reference of later runs with `drift: {state: FILE}`, whose suites may be others.

    Args:
        data: a YAML suite, or a table as `evaluate` takes it, then with its keyword arguments.
        output: the file, which ends in `.state`, or a folder; or an address such as s3://bucket/states. A suite's state
            goes to `states` beside it if not given; that of a table is not written.
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
    from plmetrics.api.context import table_of
    from plmetrics.suite.arguments import python_warnings, python_words, suite_from_arguments
    from plmetrics.suite.yaml.load import load_suite

    watch = Stopwatch(progress)
    pinned = None if constants is None else stored_state(constants)
    if arguments and set:
        msg = "set replaces keys of a suite's file, and there is a table"
        raise ConfigError(Problem(msg, ("set",), "give them as keyword arguments"))
    if arguments:
        with python_words():
            suite = suite_from_arguments(data, **arguments)
            source = table_of(suite, data)
            head, table = state_of_rows(suite, source, pinned, watch.stage)
        head = replace(head, warnings=python_warnings(head.warnings))
        return written_state(head, table, output)
    if not isinstance(data, (str, Path)):
        raise ConfigError(
            Problem("a table needs the keyword arguments of evaluate: label, models", ("data",))
        )
    loaded = load_suite(Path(data), set or {})
    with without_values(loaded), error_places(loaded):
        source = open_rows(loaded)
        suite = anchor_tables(loaded.suite, loaded.folder)
        head, table = state_of_rows(suite, source, pinned, watch.stage)
    target = loaded.folder / "states" if output is None else output
    return written_state(redact_head(loaded, head), table, target)
