"""The history of a suite: values of its intervals as a frame, and as a chart."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from plmetrics.core.errors import CallError, PlmetricsWarning, Problem

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl

    from plmetrics.report.charts.figure import Figure
    from plmetrics.table.storage.places import Place


def history(
    folder: str | PathLike[str],
    *,
    metrics: str | Sequence[str] | None = None,
    models: str | Sequence[str] | None = None,
    slices: str | Sequence[str] | None = None,
    last: int | None = None,
    superseded: bool = False,
) -> pl.DataFrame:
    """Read the values of a suite's intervals, one after another.

    Intervals without a result between the first and the last one have a row without values, of status `missing`; so has
    a result that is not as it was written, of status `damaged`, and a `PlmetricsWarning` says what is wrong. A suite
    without intervals has its complete runs by time, whose `interval` is null.

    Args:
        folder: the folder of a suite's runs, its latest.json, or its parent where that has one suite.
        metrics: metrics by their text, or their name without parameters; all if not given.
        models: names of models; all if not given.
        slices: slices as `region=north`, or slice sets; `overall` is all rows. All slices if not given.
        last: how many intervals to read, up to the last one that has a result; all if not given.
        superseded: whether results that others have replaced are read as well.

    Returns:
        A row per interval, model, slice and metric: `interval, start, end, model, slice, metric, value, lower, upper,
        n, verdict, gate_verdict, status, value_status, slice_set, class, accepted, band_lower, band_upper, std_error,
        bound, level, level_before, run_id`. `level` is the mean between change points, null in series of fewer than
        8 values; where another level begins, `level_before` is the one that ended.

    Raises:
        ConfigError: there is no such metric, model or slice, or several suites have runs in the folder.
        DataError: there are no results.

    >>> import plmetrics as plm
    >>> try:
    ...     plm.history("nowhere")
    ... except plm.DataError as error:
    ...     print(error.problems[0].message)
    nowhere: no such folder
    """
    from plmetrics.features.nights.change_points.history_levels import read_rows
    from plmetrics.features.nights.history_selection import home_of

    check_last(last)
    asked = names(metrics), names(models), names(slices)
    values, rows = read_rows(home_of(_path(folder)), *asked, last=last, superseded=superseded)
    for words in values.warnings:
        warnings.warn(words, PlmetricsWarning, stacklevel=2)
    return rows


def history_chart(
    folder: str | PathLike[str],
    *,
    metric: str | None = None,
    models: str | Sequence[str] | None = None,
    slices: str | Sequence[str] | None = None,
    last: int | None = 60,
) -> Figure:
    """Draw a metric over the intervals of a suite, with intervals, gates, and control bands where a gate has one.

    Args:
        folder: the folder of a suite's runs, its latest.json, or its parent where that has one suite.
        metric: the metric; those with gates if not given, or else the first one.
        models: names of models; all if not given.
        slices: slices as `region=north`, or slice sets, a panel a slice; all rows if not given.
        last: how many intervals to draw; all if None.

    Returns:
        A figure: to look at, to save, or to go on with as an Altair chart.

    Raises:
        ConfigError: there is no such metric, model or slice, or nothing to draw.
        DataError: there are no results.
        EnvironmentFault: the extra `report` is not installed.

    >>> import plmetrics as plm
    >>> try:
    ...     plm.history_chart("nowhere")
    ... except plm.DataError as error:
    ...     print(error.problems[0].message)
    nowhere: no such folder
    """
    from plmetrics.features.nights.history_selection import home_of
    from plmetrics.report.charts.rendering import require

    require("altair", needed_for="a chart")
    from plmetrics.features.nights.change_points.history_levels import FEWEST
    from plmetrics.features.nights.charts.history_chart import figure_of
    from plmetrics.features.nights.interval_history import read_history

    check_last(last)
    values = read_history(home_of(_path(folder)), last=None if last is None else max(last, FEWEST))
    for words in values.warnings:
        warnings.warn(words, PlmetricsWarning, stacklevel=2)
    return figure_of(values, metric, names(models), names(slices), last)


def check_last(last: int | None) -> None:
    """Check the requested number of intervals.

    Raises:
        ConfigError: it is no whole number, or less than one.
    """
    if last is not None and (not isinstance(last, int) or last < 1):
        raise CallError(Problem(f"last is {last!r}: ask for one interval or more, as a number", ("last",)))


def names(asked: str | Sequence[str] | None) -> list[str] | None:
    """Names as a list; None for all."""
    if asked is None:
        return None
    return [asked] if isinstance(asked, str) else list(asked)


def _path(folder: str | PathLike[str]) -> Place:
    from plmetrics.runs.files import path_argument, place_of

    return place_of(path_argument(folder, "folder"))
