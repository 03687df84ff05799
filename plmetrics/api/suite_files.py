"""Runs of a suite's file: their places, errors at lines of the file, and masks of the values of variables."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from plmetrics.core.errors import ConfigError, DataError, EnvironmentFault, PlmetricsError

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.api.result import Result
    from plmetrics.states.state_format import Head
    from plmetrics.suite.yaml.load import LoadedSuite
    from plmetrics.table.source import Source
    from plmetrics.table.storage.places import Place


def without_variables(loaded: LoadedSuite, result: Result) -> Result:
    """A result without values of variables in its record and in the state of drift."""
    if not loaded.variables.names:
        return result
    from plmetrics.runs.record import suite_content

    state = result.drift_state
    return replace(
        result,
        record=loaded.record({**result.record, "suite": suite_content(result.suite)}),
        drift_state=None if state is None else replace(state, head=redact_head(loaded, state.head)),
    )


def output_directory(loaded: LoadedSuite, override: str | Path | None = None) -> Place:
    """Directory for the runs of a suite: its own choice, or `override`, anywhere.

    Raises:
        ConfigError: located in the suite's file; see `resolve_output`.
        EnvironmentFault: likewise.
    """
    from plmetrics.runs.folder import resolve_output

    suite = loaded.suite
    try:
        return resolve_output(loaded.folder, suite.output.directory, suite.name, override)
    except (ConfigError, EnvironmentFault) as error:
        raise loaded.locate(error) from error


def open_rows(loaded: LoadedSuite, *, rows: bool = True) -> Source:
    """The rows of a suite; of a database only some, where not all `rows` are wanted.

    Raises:
        DataError: they cannot be read, or are not what the suite says.
    """
    from plmetrics.api.context import table_of

    return table_of(loaded.suite, loaded.suite.data.rows, loaded.folder, rows=rows)


@contextmanager
def without_values(loaded: LoadedSuite) -> Iterator[None]:
    """Errors without values of variables."""
    try:
        yield
    except BaseException as error:
        loaded.variables.mask(error)
        raise


@contextmanager
def error_places(loaded: LoadedSuite) -> Iterator[None]:
    """Locate problems in the suite's file; those of data files at `data.path`."""
    try:
        yield
    except (DataError, EnvironmentFault) as error:
        problems = [
            problem if problem.path or problem.where else replace(problem, path=("data", "path"))
            for problem in error.problems
        ]
        raise loaded.locate(type(error)(problems)) from error
    except PlmetricsError as error:
        raise loaded.locate(error) from error


def redact_head(loaded: LoadedSuite, head: Head) -> Head:
    """The head of a state without values of variables."""
    from plmetrics.runs.record import mask_head

    return mask_head(loaded.variables, head)
