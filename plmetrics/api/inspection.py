"""Entry points of inspection of a suite or results, without an evaluation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from plmetrics.api.context import check_feature_counts, data_files, feature_counts, feature_tables
from plmetrics.api.earlier_run import reference_run
from plmetrics.api.entry_point import entry_point
from plmetrics.api.result import Result
from plmetrics.api.stopwatch import Progress, Stopwatch
from plmetrics.api.suite_files import error_places, open_rows, output_directory, without_values

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.engine.request import Request
    from plmetrics.runs.history.diff import Diff
    from plmetrics.runs.reading import StoredResult
    from plmetrics.suite.model import Suite


@dataclass(frozen=True, slots=True)
class Validated:
    """A suite checked against its table: the `suite`, the table's `schema`, and `warnings` of misleading metrics."""

    suite: Suite
    schema: pl.Schema
    warnings: tuple[str, ...] = ()


@entry_point
def validate(path: str | Path, set: Mapping[str, object] | None = None) -> Validated:  # noqa: A002
    """Check a suite against its data on zero rows: names, columns and types, without a scan.

    A sample of the rows says which of its metrics may mislead; what is wrong with rows is for a run to find,
    except for csv files that are cut off.

    Args:
        path: the suite.
        set: suite keys to replace, dotted, e.g. {"uncertainty.replicates": 200}.

    Returns:
        The suite bound to its table: `suite`, the table's `schema`, and `warnings`.

    Raises:
        ConfigError: the suite is wrong.
        DataError: files or columns are not what the suite says.
    """
    from plmetrics.diagnostics.run_warnings import sample_warnings
    from plmetrics.engine.binding.bind import bind
    from plmetrics.engine.faults import check_rows
    from plmetrics.runs.files import path_argument
    from plmetrics.runs.history.earlier_runs import EarlierRuns
    from plmetrics.suite.yaml.load import load_suite

    loaded = load_suite(Path(path_argument(path, "path")), set or {})
    directory = output_directory(loaded)
    if loaded.suite.output.exports:
        from plmetrics.exports.plan import exports_of

        exports_of(loaded)
    with without_values(loaded), error_places(loaded):
        source = open_rows(loaded, rows=False)
        tables = feature_tables(loaded.suite, base=loaded.folder)
        request = bind(loaded.suite, source, tables, classes=())
        if "engine" in loaded.suite.sections:
            from plmetrics.api.shards.distribution import check_distribution

            check_distribution(loaded.suite, source)
        if "interval" in loaded.suite.sections:
            from plmetrics.api.nights.checks import check_intervals

            check_intervals(loaded.suite, request.view.schema)
        uneven = check_rows(loaded.suite.data.missing, source, *tables.values(), ends=True)
        runs = EarlierRuns.of(loaded.suite, data_files(source), directory / loaded.suite.name)
        check_feature_counts(request, feature_counts(loaded.suite, runs, base=loaded.folder))
        if "interval" not in loaded.suite.sections:
            reference_run(loaded.suite, runs, base=loaded.folder)
    return Validated(
        request.column_suite, request.view.schema, (*uneven, *sample_warnings(request), *runs.warnings)
    )


@contextmanager
def bound_suite(
    path: str | Path,
    set: Mapping[str, object] | None = None,  # noqa: A002
    progress: Progress | None = None,
    *,
    data: bool = True,
) -> Iterator[Request]:
    """Suite bound to its table; errors in its context have their place in the suite's file.

    Without `data`, classes that nobody names are left open.
    """
    from plmetrics.engine.binding.bind import bind
    from plmetrics.engine.faults import reading
    from plmetrics.suite.yaml.load import load_suite

    loaded = load_suite(Path(path), set or {})
    with without_values(loaded), error_places(loaded):
        source = open_rows(loaded)
        with Stopwatch(progress).stage("prepare"), reading(source):
            tables = feature_tables(loaded.suite, base=loaded.folder)
            yield bind(loaded.suite, source, tables, classes=None if data else ())


def diff(before: Result | str | Path, after: Result | str | Path) -> Diff:
    """Changes from one run to another: of every value, with the interval of its difference, and of every gate.

    A value moved beyond its interval if 0 is outside the interval of the difference. Where both runs are of the same
    units and kept their replicates (`uncertainty.keep`), that is the interval of a paired comparison. Else they are
    taken as independent samples, and it goes from d - sqrt((b - b1)^2 + (a2 - a)^2) to d + sqrt((b2 - b)^2 +
    (a - a1)^2), d = b - a. Without intervals a value changed if it differs by more than 1e-9 of its size. Rows that are
    new or gone and statuses and verdicts that differ are changes.

    Args:
        before: a run folder, its run.json, the folder of a suite's runs (then the latest), or a result.
        after: likewise.

    Returns:
        Frames `metrics` and `gates`, a row per value and check of either run; `changed`; `notes` on what the runs do
        not share, such as their suites.

    Raises:
        ConfigError: one is neither a path nor a result.
        DataError: a folder is not a run that has ended with results.
    """
    from plmetrics.runs.files import path_argument
    from plmetrics.runs.history.diff import compare_runs

    sides = {"before": before, "after": after}
    return compare_runs(
        *(
            side if isinstance(side, Result) else load_result(path_argument(side, name))
            for name, side in sides.items()
        )
    )


def load_result(path: str | Path) -> StoredResult:
    """The results of a run folder, or of the last complete run of a suite.

    Raises:
        DataError: it is not a run that has ended with results.
    """
    from plmetrics.runs.files import place_of
    from plmetrics.runs.history.previous_runs import last_results

    return last_results(place_of(path))
