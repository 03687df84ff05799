"""Evaluations of Spark tables: Spark makes states of the rows where they lie, and these are merged here."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from plmetrics.api.context import check_distributable, feature_counts
from plmetrics.api.merging import result_of_units
from plmetrics.api.stopwatch import Progress, Stopwatch
from plmetrics.api.suite_run import Evaluation
from plmetrics.core.errors import AbsentDataError, ConfigError, Problem
from plmetrics.engine.binding.columns_read import columns_to_fetch
from plmetrics.features.shards.coverage import UnitCoverage
from plmetrics.features.shards.planning import counts_scores, needs_constants, plan_of_rows, shared_constants
from plmetrics.features.shards.unit_states import SCHEMA, TASK, table_of_rows, write_states
from plmetrics.runners.worker import call_on_batches
from plmetrics.runs.history.earlier_runs import EarlierRuns
from plmetrics.table.database.spark import spark_faults, spark_frame, spark_rows
from plmetrics.table.opening import open_source

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.api.result import Result
    from plmetrics.states.state_format import State
    from plmetrics.suite.model import Suite
    from plmetrics.table.storage.places import Place

SparkFrame: TypeAlias = Any  # pyspark is not installed where types are checked

SAMPLE = 1_000_000
"""Constants that states share are looked up in so many rows at most, which are fetched for that."""

_BATCH, _BATCHES = 200_000, "spark.sql.execution.arrow.maxRecordsPerBatch"


class SparkEvaluation(Evaluation):
    """Evaluation of a suite's file with a Spark table as its rows."""

    def result(self) -> Result | None:
        """Result of the states made by Spark."""
        suite = self.loaded.suite
        return evaluate_spark(
            suite,
            suite.data.spark,
            variables=[name for _, name in self.loaded.variables.names],
            home=self.home,
            progress=self.options.progress,
            base=self.loaded.folder,
        )


def evaluate_spark(
    suite: Suite,
    table: object,
    *,
    variables: Sequence[str] = (),
    home: Place | None = None,
    progress: Progress | None = None,
    base: Path | None = None,
) -> Result:
    """Evaluate a Spark table: states of its rows by `mapInArrow`, merged here.

    `table` may be the name of the table; the values of `variables`, those of the environment that the suite names, do
    not travel.

    Raises:
        ConfigError: the suite asks for what no state carries.
        DataError: the table is not what the suite says.
        EnvironmentFault: Spark cannot be used.
    """
    check_distributable(suite)
    counts = partial(feature_counts, suite, base=base)
    counts(EarlierRuns.of(suite, (), home))
    if "engine" in suite.sections:
        msg = "Spark counts the rows of its tables, and no other runner"
        raise ConfigError(Problem(msg, ("engine",), "leave out engine"))
    watch = Stopwatch(progress)
    with watch.stage("plan"):
        rows = spark_rows(table)
        empty = _zero_rows(suite, rows)
        columns = empty.columns
    with watch.stage("constants"):
        constants, warnings = _constants(suite, rows, empty, watch)
    query = suite.columns.query
    plan = plan_of_rows(suite, table_of_rows(empty.schema, whole=query is not None), constants, variables)
    with watch.stage("units"), tempfile.TemporaryDirectory(prefix="plmetrics-spark-") as folder:
        states = _states(rows, columns, query, plan.content().decode(), Path(folder))
        if not states:
            raise _no_rows()
        result = result_of_units(states, UnitCoverage(warnings=warnings), watch, home, counts)
    if suite.exact is None and counts_scores(plan):
        msg = "metrics of the order are counted on a grid, and have a bound: Spark makes states; write exact: false"
        result.record["warnings"].append(msg)
    return replace(result, suite=suite)


def _no_rows() -> AbsentDataError:
    return AbsentDataError(Problem("the Spark table has no rows", ("data",)))


def _zero_rows(suite: Suite, rows: SparkFrame) -> pl.DataFrame:
    empty = spark_frame(rows, rows.columns, 0)
    return empty.select(columns_to_fetch(suite, empty.schema) or empty.columns)


def _constants(
    suite: Suite, rows: SparkFrame, empty: pl.DataFrame, watch: Stopwatch
) -> tuple[State | None, list[str]]:
    """Shared constants of states, and a warning if they are those of a sample."""
    if not needs_constants(suite, open_source(empty.lazy())):
        return None, []
    seed = 0 if suite.uncertainty is None else suite.uncertainty.seed
    with spark_faults():
        count = rows.count()
        share = min(SAMPLE / max(count, 1), 1.0)
        chosen = rows if share == 1.0 else rows.sample(fraction=share, seed=seed)
    frame = spark_frame(chosen, empty.columns)
    if not frame.height:
        raise _no_rows()
    words = f"constants that states share are those of a sample: {frame.height:,} of {count:,} rows"
    return shared_constants(suite, open_source(frame), watch.stage), [] if share == 1.0 else [words]


def _states(
    rows: SparkFrame, columns: Sequence[str], query: str | None, plan: str, folder: Path
) -> list[str]:
    with spark_faults(), _batches_of_rows(rows):
        chosen = rows.select(*[f"`{name.replace('`', '``')}`" for name in columns])
        if query is not None:
            chosen = chosen.repartition(f"`{query.replace('`', '``')}`")
        # mapInArrow takes the name a.b for the field b of a
        numbered = chosen.toDF(*[str(place) for place in range(len(columns))])
        states = partial(call_on_batches, task=TASK, text=plan, threads=1)
        table = numbered.mapInArrow(states, SCHEMA).toArrow()
    return write_states(table, folder)


@contextmanager
def _batches_of_rows(rows: SparkFrame) -> Iterator[None]:
    """Batches of 200,000 rows from Spark, in place of its own of 10,000; its setting is put back."""
    settings = rows.sparkSession.conf
    before = settings.get(_BATCHES, None)
    settings.set(_BATCHES, str(_BATCH))
    try:
        yield
    finally:
        if before is None:
            settings.unset(_BATCHES)
        else:
            settings.set(_BATCHES, before)
