"""Context of a run beside its own rows: tables and counts of features, and earlier runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.features.registry import features_of

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from plmetrics.api.result import Result
    from plmetrics.core.results import RecordedFile, RecordedInterval
    from plmetrics.engine.request import Request
    from plmetrics.gates.bands import BandKey
    from plmetrics.runs.history.earlier_runs import EarlierRuns
    from plmetrics.runs.reading import StoredResult
    from plmetrics.suite.model import Suite
    from plmetrics.suite.sections.labels import LabelStatus
    from plmetrics.table.source import Source
    from plmetrics.table.storage.places import Place


@dataclass(frozen=True, slots=True)
class RunContext:
    """Tables and results beside the rows, each None where the suite does not ask for it.

    `tables` are those that features read, by key, `counts` the counts that they read in place of tables, `earlier` the
    run that this one is compared with, and `history` the gates of earlier runs, for those that fail after some in a
    row, `bands` the values of earlier intervals for those that judge by them. `files` are the data files as run.json
    lists them, `runs` says which runs were taken. `where` is the condition on the rows where only some of those that
    the suite is about are evaluated. `interval` is the one that they are of, and `as_of` the moment at which its labels
    are looked at: both say whether they are due.
    """

    tables: Mapping[str, Source] = field(default_factory=dict)
    counts: Mapping[str, object] = field(default_factory=dict)
    earlier: Result | StoredResult | None = None
    history: pl.DataFrame | None = None
    bands: Mapping[BandKey, pl.DataFrame] = field(default_factory=dict)
    files: Sequence[RecordedFile] = ()
    runs: EarlierRuns | None = None
    as_of: datetime | None = None
    interval: RecordedInterval | None = None
    where: str | None = None

    @classmethod
    def of(
        cls,
        suite: Suite,
        source: Source,
        arguments: Mapping[str, object] | None = None,
        base: Path | None = None,
        home: Place | None = None,
        runs: EarlierRuns | None = None,
        files: Sequence[RecordedFile] | None = None,
    ) -> RunContext:
        """Context of a suite.

        `arguments` are by key, and may hold tables and results. `home` is the folder of the suite's runs, if it has
        one; `runs` are the earlier runs, where others than those are chosen among; `files` are the data files, where
        they were looked at already.

        Raises:
            DataError: tables are not what the suite says, or an earlier run cannot be read.
        """
        files, arguments = data_files(source) if files is None else files, arguments or {}
        compares = suite.compare is not None and suite.compare.run is not None
        counts_runs = any(gate.consecutive > 1 for gate in suite.gates)
        if not (compares or counts_runs or features_of(suite)):
            return cls(files=files)
        from plmetrics.api.earlier_run import reference_run
        from plmetrics.api.gates import band_values, gate_history
        from plmetrics.runs.history.earlier_runs import EarlierRuns

        runs = runs or EarlierRuns.of(suite, files, home)
        return cls(
            tables=feature_tables(suite, arguments, base),
            counts=feature_counts(suite, runs, arguments, base),
            earlier=reference_run(suite, runs, arguments.get("compare"), base),
            history=gate_history(suite.gates, runs),
            bands=band_values(suite.gates, runs),
            files=files,
            runs=runs,
        )


def data_files(source: Source) -> list[RecordedFile]:
    """The data files as run.json lists them, each with a digest of its size and both its ends."""
    if not source.files:
        return []
    from plmetrics.table.stamps import digests_of

    return [
        {
            "path": file.name,
            "folder": file.folder,
            "bytes": file.size,
            "rows": file.live_rows,
            "digest": digest,
        }
        for file, digest in zip(source.files, digests_of(source.files), strict=True)
    ]


def feature_tables(
    suite: Suite, arguments: Mapping[str, object] | None = None, base: Path | None = None
) -> dict[str, Source]:
    """Tables of features beside the rows, by key.

    `arguments` are by key, and may hold frames; relative paths start from `base`.

    Raises:
        DataError: as for the rows to evaluate; located at the key of the table.
    """
    opened = {
        feature.key: feature.table(suite, (arguments or {}).get(feature.key), base)
        for feature in features_of(suite)
        if feature.key in suite.sections
    }
    return {key: table for key, table in opened.items() if table is not None}


def feature_counts(
    suite: Suite, runs: EarlierRuns, arguments: Mapping[str, object] | None = None, base: Path | None = None
) -> dict[str, object]:
    """Counts of features in place of tables, by key; as `feature_tables`.

    `runs` chooses among the runs of a folder, and notes which were taken.
    """
    opened = {
        feature.key: feature.counts(suite, (arguments or {}).get(feature.key), base, runs)
        for feature in features_of(suite)
    }
    return {key: counts for key, counts in opened.items() if counts is not None}


def check_feature_counts(request: Request, counts: Mapping[str, object]) -> dict[str, object]:
    """Check feature counts against the needs of the suite.

    Returns:
        Those that serve.

    Raises:
        DataError: they do not; all that they lack is named.
    """
    return {
        feature.key: feature.check_counts(request, counts[feature.key])
        for feature in features_of(request.suite)
        if feature.key in counts
    }


def check_distributable(suite: Suite) -> None:
    """Refuse sections without merged states, and suites of intervals.

    Raises:
        ConfigError: names all of it.
    """
    gaps = (feature.merge_gap(suite) for feature in features_of(suite))
    problems = [gap for gap in gaps if gap is not None]
    if "interval" in suite.sections:
        msg = "a suite with intervals reads one of them in a run, and a runner counts all units of a table"
        problems.append(Problem(msg, ("interval",), "leave out the runner: backfill --jobs N runs intervals"))
    if problems:
        raise ConfigError(problems)


def feature_files(result: Result) -> dict[str, bytes]:
    """Files of a run folder with the counts of features, by name."""
    if result.drift_state is None:
        return {}
    mappings = (feature.files(result.drift_state) for feature in features_of(result.suite))
    return {name: content for files in mappings for name, content in files.items()}


def label_status_of(suite: Suite, context: RunContext) -> LabelStatus:
    """Status of a slice without labels: they are absent, or not due yet."""
    labels = suite.labels
    if labels is None or labels.mature_after is None:
        return "unlabelled"
    from plmetrics.suite.sections.labels import label_status

    end = None if context.interval is None else datetime.fromisoformat(context.interval["end"])
    return label_status(end, labels.mature_after, context.as_of)


def table_of(suite: Suite, data: object, base: Path | None = None, *, rows: bool = True) -> Source:
    """Table of a suite, unread but for the required rows and columns of a database.

    `rows` says whether all rows will be read, not only looked at; relative paths start from `base`.

    Raises:
        DataError: they cannot be read, or are not what the suite says.
    """
    from plmetrics.table.opening import open_source

    def needed(schema: pl.Schema) -> Sequence[str]:
        from plmetrics.engine.binding.columns_read import columns_to_fetch

        return columns_to_fetch(suite, schema)

    return open_source(data, base, suite.reads_where, suite.optional_columns, needed, rows=rows)
