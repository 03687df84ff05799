"""Selection from histories by folder, metric, model and slice; errors name the choices."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.features.nights.manifests import INTERVALS
from plmetrics.runs.files import names_in, place_of
from plmetrics.runs.folder import LATEST
from plmetrics.runs.reading import AbsentRun
from plmetrics.runs.work_folder import RECORD

if TYPE_CHECKING:
    from os import PathLike

    from plmetrics.table.storage.places import Place

ALL = "all"
"""The slice of values of all rows, and of those across the slices of a set."""
_EVERY = (
    (re.compile(r"\d{4}-\d\d-\d\d", re.ASCII), "1d"),
    (re.compile(r"\d{4}-W\d\d", re.ASCII), "1w"),
    (re.compile(r"\d{4}-\d\d", re.ASCII), "1mo"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\dZ", re.ASCII), "1h"),
)
_HOURS = re.compile(r"\d{4}-\d\d-\d\dT\d\dZ\.(\d+h)", re.ASCII)
_RUN = ("start", "run_id")
_FACTS = ("interval", "end", "verdict", "accepted", "status")
"""What is said of an interval or a run, in each of its rows."""
_NAMED = 5
FOLDERS = (
    "name the folder of a suite's runs (the one with latest.json), or its parent where that has one suite"
)


def select(
    frame: pl.DataFrame,
    metrics: Sequence[str] | None = None,
    models: Sequence[str] | None = None,
    slices: Sequence[str] | None = None,
) -> pl.DataFrame:
    """Rows of a history of the requested metrics, models and slices, and those without values.

    An interval or run after the first requested row that has none has one without values: no gap closes unseen.
    A metric is named by its text, or by its name without parameters. A slice is named by its text, as `region=north`,
    by its set and value in the same form, or by its set alone: then all slices of it.

    Raises:
        ConfigError: there is no such metric, model or slice; the nearest name is given.
    """
    if frame["model"].is_null().all():
        return frame
    conditions: list[pl.Expr] = []
    problems: list[Problem] = []
    asked = (
        ("metric", metrics, _metric_condition, ("metric",)),
        ("model", models, lambda name: pl.col("model") == name, ("model",)),
        ("slice", slices, _slice_condition, ("slice_set", "slice")),
    )
    for kind, names, condition, columns in asked:
        if not names:
            continue
        for name in names:
            if frame.filter(condition(name)).is_empty():
                choices = [
                    text
                    for column in columns
                    for text in frame[column].drop_nulls().unique(maintain_order=True)
                ]
                problems.append(
                    Problem(f"the history has no {kind} '{name}'", hint=did_you_mean(name, choices))
                )
        conditions.append(pl.any_horizontal(*(condition(name) for name in names)))
    if problems:
        raise ConfigError(problems)
    if not conditions:
        return frame
    asked_for = pl.all_horizontal(*conditions).fill_null(value=False)
    kept = pl.col("model").is_null() | asked_for
    lone = ~kept.any().over(_RUN) & pl.struct(_RUN).is_first_distinct() & (asked_for.cum_sum() > 0)
    return frame.filter(kept | lone).with_columns(pl.when(kept).then(pl.exclude(*_RUN, *_FACTS)))


def _metric_condition(name: str) -> pl.Expr:
    return (pl.col("metric") == name) | (pl.col("metric").str.split("(").list.first() == name)


def _slice_condition(name: str) -> pl.Expr:
    slice_set, equals, value = name.partition("=")
    whole = (pl.col("slice_set") == name) | (pl.col("slice") == name)
    if not equals:
        return whole
    last = pl.col("slice").str.splitn("=", 2).struct.field("field_1")
    return whole | ((pl.col("slice_set") == slice_set) & (last == value))


def metric_names(values: pl.DataFrame) -> list[str]:
    """Names of the metrics in some values of a history, those of the last interval first, in its order."""
    latest_first = values.sort("start", descending=True, maintain_order=True)
    return latest_first["metric"].unique(maintain_order=True).to_list()


def home_of(text: str | PathLike[str]) -> Place:
    """Folder of a suite's runs from a path: itself, its latest.json, a run in it, or its parent.

    Raises:
        AbsentRun: there is no such folder, or no runs in it.
        ConfigError: several suites have runs there, or it is a file.
    """
    path = place_of(text)
    folder = path.parent if path.name in (LATEST, RECORD) else path
    if folder.is_file():
        raise ConfigError(Problem(f"{folder} is a file, not a folder of runs", hint=FOLDERS))
    if not folder.is_dir():
        raise AbsentRun(Problem(f"{folder}: no such folder", hint=FOLDERS))
    if _is_home(folder):
        return folder
    if (folder / RECORD).is_file():
        return folder.resolve().parent
    homes = [child for name in sorted(names_in(folder)) if _is_home(child := folder / name)]
    if len(homes) > 1:
        names = ", ".join(child.name for child in homes[:_NAMED])
        raise ConfigError(
            Problem(f"{folder} has runs of {len(homes)} suites: {names}", hint="name one of them")
        )
    if not homes:
        raise AbsentRun(Problem(f"{folder} has no runs", hint=FOLDERS))
    return homes[0]


def interval_length(key: str) -> str | None:
    """Length of an interval from its name; None for other names.

    >>> interval_length("2026-11-20"), interval_length("2026-11-20T06Z.6h"), interval_length("notes")
    ('1d', '6h', None)
    """
    if match := _HOURS.fullmatch(key):
        return match[1]
    return next((every for pattern, every in _EVERY if pattern.fullmatch(key)), None)


def _is_home(folder: Place) -> bool:
    return (folder / INTERVALS).is_dir() or (folder / LATEST).is_file()
