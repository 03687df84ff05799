"""The stages of a run, in order: they wire the layers below, nothing else."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.api.outcome import Result
from plmetrics.core.errors import PlmetricsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from plmetrics.engine.leakage import Finding
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source

    Progress = Callable[[str], None]


class Stopwatch:
    """Seconds of each stage, and a word to whoever watches when one begins."""

    def __init__(self, progress: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self._progress = progress

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Time a stage."""
        if self._progress is not None:
            self._progress(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(time.perf_counter() - start, 4)


def training_table(suite: Suite, leakage: Any = None, base: Path | None = None) -> Source | None:
    """The training table that leakage is looked for in.

    Args:
        suite: its section leakage says which.
        leakage: the mapping with the table itself, where that was handed over.
        base: the folder that relative paths start from.

    Raises:
        DataError: as for the rows to evaluate; located at `leakage.train`.
    """
    from plmetrics.suite.leakage import FRAME
    from plmetrics.table.source import open_source

    if suite.leakage is None or suite.leakage.train is None:
        return None
    try:
        return open_source(leakage["train"] if suite.leakage.train == FRAME else suite.leakage.train, base)
    except PlmetricsError as error:
        place = ("leakage", "train")
        raise type(error)([replace(problem, path=place) for problem in error.problems]) from error


def evaluate_suite(
    suite: Suite, source: Source, progress: Progress | None = None, train: Source | None = None
) -> Result:
    """Evaluate a checked suite on an open source.

    Args:
        suite: what is asked.
        source: where the rows are.
        progress: called with the name of each stage as it begins.
        train: the training table that leakage is looked for in.

    Raises:
        ConfigError: the suite does not fit the table, or asks for more slices or memory than it allows.
        DataError: a column is absent or of the wrong type, a value is bad, or there are no rows.
    """
    from plmetrics.engine.faults import reading
    from plmetrics.engine.leakage import leakage_found
    from plmetrics.engine.passes import aggregate
    from plmetrics.engine.prepare import prepare
    from plmetrics.engine.request import bind
    from plmetrics.engine.rows import models_by_row, models_in_order, sliced_sums
    from plmetrics.engine.stream import models_on_grids
    from plmetrics.gates.leakage import leakage_gates, leakage_table, leakage_warnings
    from plmetrics.gates.verdicts import evaluate_gates, verdict
    from plmetrics.inference.analysis import (
        Analysis,
        SetStates,
        corrected,
        ordered_stage,
        rank_stage,
        resampling,
        row_curves,
        tables,
    )
    from plmetrics.inference.estimates import Population

    watch = Stopwatch(progress)
    with watch.stage("prepare"), reading(source):
        bound = bind(suite, source, train)
        prepared = prepare(bound)
        request, asked, suite = prepared.request, suite.models, prepared.request.suite
    found: list[Finding] = []
    if suite.leakage is not None:
        with watch.stage("leakage"), reading(source, train):
            found = leakage_found(bound if request.pairs_read is not None else request)
    with watch.stage("aggregate"), reading(source):
        aggregated = aggregate(prepared)
    with watch.stage("order"), reading(source):
        sums = sliced_sums(prepared, aggregated)
        sets = [SetStates(part, total) for part, total in zip(prepared.slices, sums, strict=True)]
        independent = suite.columns.unit is None and suite.columns.weight is None
        weights = resampling(suite, aggregated.units)
        population = Population(prepared.populations(), independent, prepared.thresholds)
        analysis = Analysis(suite, sets, population, request.pairs, weights)
        scores = models_in_order if prepared.exact else models_on_grids
        ordered, curves = ordered_stage(analysis, scores(prepared, aggregated))
        if request.reads_pairs:
            rows = list(models_by_row(prepared, aggregated))
            ordered |= rank_stage(analysis, rows)
            if request.draws_rows:
                curves = row_curves(analysis, rows, request.roles.classes)
    with watch.stage("intervals"):
        metric_table, every_comparison = tables(analysis, ordered)
        leakage = leakage_table(suite, found)
        gates = pl.concat([evaluate_gates(suite, metric_table, every_comparison), leakage_gates(leakage)])
        listed = pl.col("metric").is_in([metric.text for metric in suite.metrics])
        metric_table, comparisons = (
            metric_table.filter(listed),
            corrected(analysis, every_comparison.filter(listed)),
        )
    record = _record(request, prepared, aggregated, watch)
    suite = suite.model_copy(update={"models": asked})
    record["warnings"] += leakage_warnings(leakage)
    return Result(
        metrics=metric_table,
        comparisons=comparisons,
        gates=gates,
        curves=curves,
        leakage=leakage,
        verdict=verdict(gates),
        suite=suite,
        record=record,
    )


def _record(request: Any, prepared: Any, aggregated: Any, watch: Stopwatch) -> dict[str, Any]:
    from plmetrics.engine.doubts import doubts

    return {
        "constants": prepared.constants(int(aggregated.units.sum())),
        "files": [
            {"path": file.name, "bytes": file.size, "rows": file.rows} for file in request.source.files
        ],
        "rows": {
            "read": prepared.rows.read,
            "zero_weight": prepared.rows.zero_weight,
            "used": aggregated.used,
            "dropped": dict(prepared.rows.dropped),
            **({"fitted": prepared.rows.fitted} if request.suite.calibrate else {}),
            **({} if request.pairs_read is None else {"pairs_read": request.pairs_read}),
        },
        "timings": dict(watch.seconds),
        "warnings": [*prepared.warnings, *doubts(prepared, aggregated)],
    }
