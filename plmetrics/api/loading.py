"""Results of earlier runs, read from their folders."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, cast

from plmetrics.api.result import Result
from plmetrics.core.errors import ConfigError, PlmetricsWarning
from plmetrics.core.results import TABLES, RunRecord
from plmetrics.features.registry import features_in

if TYPE_CHECKING:
    from os import PathLike

    from plmetrics.runs.reading import StoredResult
    from plmetrics.states.state_format import State
    from plmetrics.suite.model import Suite


def load(path: str | PathLike[str]) -> Result:
    """Load the result of a run folder.

    Tables, suite, record and verdict are those of the run. What another version wrote in another way is issued as a
    `PlmetricsWarning`; warnings of the run itself stand in `warnings`.

    Args:
        path: a run folder, its run.json, or the folder of a suite's runs: then the last complete one.

    Returns:
        The result, with `folder` set.

    Raises:
        ConfigError: `path` is no path.
        DataError: it is not a run that has ended with results, or a file of it is damaged.

    >>> import plmetrics as plm
    >>> try:
    ...     plm.load("nowhere")
    ... except plm.DataError as error:
    ...     print(error.problems[0].message)
    nowhere: no such folder
    """
    from plmetrics.runs.files import path_argument, place_of
    from plmetrics.runs.history.previous_runs import last_results

    stored = last_results(place_of(path_argument(path, "path")))
    for note in stored.notes:
        warnings.warn(note, PlmetricsWarning, stacklevel=2)
    return Result(
        **{name: getattr(stored, name) for name in TABLES},
        others=stored.others,
        verdict=stored.verdict,
        suite=_suite(stored),
        replicates=stored.replicates,
        record=cast("RunRecord", stored.record),
        folder=stored.folder,
        drift_state=_drift_state(stored),
    )


def _suite(stored: StoredResult) -> Suite:
    """Complete suite of a run; of one refused by this version, its parts for reports."""
    from plmetrics.suite.yaml.dump import readable, suite_from_content

    content = stored.record.get("suite", {})
    try:
        return suite_from_content(readable(content), name=stored.record.get("name"))
    except (ConfigError, LookupError, TypeError, ValueError, AttributeError):
        return stored.suite


def _drift_state(stored: StoredResult) -> State | None:
    """Counts for drift of the rows of a run, None where it kept nothing."""
    states = (feature.stored_state(stored.folder) for feature in features_in(stored.record.get("suite", {})))
    return next((state for state in states if state is not None), None)
