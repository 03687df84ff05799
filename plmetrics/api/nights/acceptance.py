"""Acceptance by a person of results with failed gates."""

from __future__ import annotations

import getpass
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import CallError, Problem
from plmetrics.core.results import first_rows
from plmetrics.features.nights.manifests import Acceptance, Manifest, Manifests
from plmetrics.runs.files import place_of

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.api.result import Result

_DIGITS = 1e-9


def accept(run: str | Path, because: str, by: str | None = None) -> Manifest:
    """Let the result of an interval be a reference of later ones, irrespective of its gates; this is recorded.

    Args:
        run: the folder of the run, or its run.json.
        because: why.
        by: who says so; the user of the process if not given.

    Returns:
        The manifest of the interval.

    Raises:
        ConfigError: no reason is given, the run has no interval, or another one has taken its place.
        DataError: it is no run that has ended with results.
        EnvironmentFault: the manifest cannot be written.
    """
    from plmetrics.runs.reading import open_run

    if not because.strip():
        raise CallError(Problem("an acceptance needs a reason", hint='--because "the label file was late"'))
    stored = open_run(place_of(run))
    stored.results()
    interval = stored.record.get("interval")
    if interval is None:
        msg = f"the run {stored.run_id} is of no interval: references of other runs are named, not accepted"
        raise CallError(Problem(msg, hint="compare: {run: FOLDER, reference: any}"))
    manifests = Manifests(stored.folder.resolve().parent)
    current = manifests.current(interval["key"])
    if current is None or current.run != stored.run_id:
        msg = f"the run {stored.run_id} is not the result of {interval['key']} that counts"
        hint = None if current is None else f"that is {current.run}"
        raise CallError(Problem(msg, hint=hint))
    acceptance = Acceptance(because.strip(), by or _user(), datetime.now(UTC).isoformat(timespec="seconds"))
    changed = manifests.change(current, accepted=acceptance)
    if changed is None:
        msg = f"another result of {interval['key']} was written meanwhile"
        raise CallError(Problem(msg, hint="look at that, and accept it if it is to count"))
    return changed


def has_no_other_failure(before: Result, after: Result) -> bool:
    """Whether no further check fails: then an acceptance of the one holds for the other."""
    failed = [
        set(
            result.gates.filter(level="fail", verdict="fail")
            .select("gate", "model", "slice_set", "slice")
            .iter_rows()
        )
        for result in (before, after)
    ]
    return failed[1] <= failed[0]


def has_same_values(before: Result, after: Result) -> bool:
    """Whether all values are the same but for the last digits of sums, and of as many rows."""
    old, new = (first_rows(result.metrics) for result in (before, after))
    names = ["model", "slice_set", "slice", "metric", "class", "n", "status"]
    if not old.select(names).equals(new.select(names)):
        return False
    values = pl.DataFrame({"old": old["value"], "new": new["value"]}).drop_nulls()
    apart = (pl.col("old") - pl.col("new")).abs() > _DIGITS * pl.max_horizontal(pl.all().abs())
    return not values.select(apart.any()).item()


def _user() -> str:
    with suppress(OSError, KeyError, ImportError):
        return getpass.getuser()
    return "unknown"
