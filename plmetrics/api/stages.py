"""The stages of a run, in order: they wire the layers below, nothing else."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.api.drifting import drifted
from plmetrics.api.earlier import decomposed, noted, with_earlier
from plmetrics.api.gating import judged
from plmetrics.api.outcome import Result
from plmetrics.api.searching import search_warnings, searched_slices
from plmetrics.api.testing import tested
from plmetrics.core.errors import PlmetricsError
from plmetrics.core.results import COMPARISONS_SCHEMA

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from plmetrics.api.earlier import Earlier
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
    suite: Suite,
    source: Source,
    progress: Progress | None = None,
    train: Source | None = None,
    history: pl.DataFrame | None = None,
    reference: Source | None = None,
    earlier: Earlier | None = None,
) -> Result:
    """Evaluate a checked suite on an open source.

    Args:
        suite: what is asked.
        source: where the rows are.
        progress: called with the name of each stage as it begins.
        train: the training table that leakage is looked for in.
        history: the gates of earlier runs, for those that fail after some in a row.
        reference: the table that drift is measured from.
        earlier: the run that this one is compared with.

    Raises:
        ConfigError: the suite does not fit the table, or asks for more slices or memory than it allows.
        DataError: a column is absent or of the wrong type, a value is bad, or there are no rows.
    """
    from plmetrics.engine.faults import reading
    from plmetrics.engine.leakage import leakage_found
    from plmetrics.engine.passes import aggregate
    from plmetrics.engine.prepare import prepare
    from plmetrics.engine.repeated import repeated_sums
    from plmetrics.engine.request import bind
    from plmetrics.engine.rows import models_by_row, models_in_order, sliced_rests, sliced_sums
    from plmetrics.engine.stream import models_on_grids
    from plmetrics.gates.leakage import leakage_gates, leakage_table, leakage_warnings
    from plmetrics.gates.verdicts import verdict
    from plmetrics.inference.analysis import (
        Analysis,
        SetStates,
        corrected,
        resampling,
        tables,
    )
    from plmetrics.inference.cross_validation.tables import cross_validated, without_folds
    from plmetrics.inference.estimates import Population
    from plmetrics.inference.ordering import ordered_stage, rank_stage, row_curves

    watch = Stopwatch(progress)
    with watch.stage("prepare"), reading(source):
        bound = bind(suite, source, train, reference)
        prepared = prepare(bound)
        request, asked, suite = prepared.request, suite.models, prepared.request.suite
    found: list[Finding] = []
    if suite.leakage is not None:
        with watch.stage("leakage"), reading(source, train):
            found = leakage_found(bound if request.pairs_read is not None else request)
    with watch.stage("aggregate"), reading(source):
        aggregated, repeated = aggregate(prepared), repeated_sums(prepared)
    drift = drifted(bound if request.pairs_read is not None else request, asked, watch)
    with watch.stage("order"), reading(source):
        sums = sliced_sums(prepared, aggregated)
        rests = sliced_rests(prepared, aggregated)
        sets = [SetStates(*states) for states in zip(prepared.slices, sums, rests, strict=True)]
        independent = suite.columns.unit is None and suite.columns.weight is None
        weights = resampling(suite, aggregated.units)
        population = Population(prepared.populations(), independent, prepared.thresholds)
        analysis = Analysis(suite, sets, population, request.pairs, weights, aggregated.units)
        scores = models_in_order if prepared.exact else models_on_grids
        ordered, curves = ordered_stage(analysis, scores(prepared, aggregated), exact=prepared.exact)
        if request.reads_pairs:
            rows = list(models_by_row(prepared, aggregated))
            ordered |= rank_stage(analysis, rows)
            if request.draws_rows:
                curves = row_curves(analysis, rows, request.roles.classes)
    with watch.stage("intervals"):
        folds, cross_validation = cross_validated(analysis, ordered, repeated)
        analysis = without_folds(analysis)
        metric_table, every_comparison = tables(analysis, ordered)
        leakage = leakage_table(suite, found)
        listed = pl.col("metric").is_in([metric.text for metric in suite.metrics])
        every_comparison = with_earlier(every_comparison, suite, metric_table.filter(listed), earlier)
        gates = judged(analysis, metric_table, every_comparison, history)
        gates = pl.concat([gates, leakage_gates(leakage), drift.gates])
        metric_table, comparisons = metric_table.filter(listed), every_comparison.filter(listed)
        changes = decomposed(analysis, metric_table, earlier)
    with watch.stage("tests"), reading(source):
        comparisons = tested(comparisons, analysis, prepared, metric_table, folds)
        comparisons = corrected(analysis, comparisons).select(list(COMPARISONS_SCHEMA))
    suite = suite.model_copy(update={"models": asked})
    with watch.stage("search"), reading(source):
        slices_found, searched = searched_slices(suite, source)
    record = _record(request, prepared, aggregated, watch) | searched
    record["warnings"] += [*leakage_warnings(leakage), *search_warnings(record)]
    result = Result(
        metrics=metric_table,
        comparisons=comparisons,
        gates=gates,
        curves=curves,
        leakage=leakage,
        drift=drift.table,
        folds=folds,
        cross_validation=cross_validation,
        found_slices=slices_found,
        decomposition=changes,
        verdict=verdict(gates),
        suite=suite,
        record=record,
    )
    return noted(result, earlier)


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
