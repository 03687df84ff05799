"""Fingerprints of the data of an interval, against later changes."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import polars as pl
from polars.exceptions import PanicException, PolarsError

from plmetrics.api.context import data_files, feature_tables
from plmetrics.core.errors import PlmetricsError
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.faults import reading
from plmetrics.engine.streaming import collected_frame
from plmetrics.features.nights.manifests import digest_of_value
from plmetrics.features.registry import features_of

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.core.results import RecordedFile
    from plmetrics.features.nights.interval_section import IntervalSection
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source

_SEEDS = (0, 1)


def data_stamps(
    suite: Suite,
    section: IntervalSection,
    source: Source,
    where: str,
    files: Sequence[RecordedFile],
) -> dict[str, str]:
    """The hashes of the data in a manifest, by name.

    Folders of an interval have its files alone: `data` is of their names, sizes and both ends, and `times` of when they
    were written, since a correction in the middle changes nothing else. Rows that a column says to be of an interval
    lie in files beside others, and are told by their content; but not where the others are read, too. `where` is the
    condition on the rows of the interval, `files` are as run.json lists them.
    """
    others = suite.reads_other_rows
    if section.column is not None and not others:
        with suppress(PlmetricsError, PolarsError, PanicException):  # what is wrong is said by the evaluation
            return {"data": _rows_digest(source, where), "times": ""}
    # Rows of a database are a scratch file, whose digest is that of the rows.
    times = [file.stamp[-1] for file in source.files if file.stamp is not None and file.digest is None]
    contents: list[object] = [_content(file) for file in files]
    # Of the same files, other rows may be those of the interval.
    return {
        "data": digest_of_value([*contents, where] if others else contents),
        "times": digest_of_value(times),
    }


def tables_digest(suite: Suite, base: Path) -> str:
    """Hash of the files of the features' tables and states beside the rows; empty without any."""
    tables = feature_tables(suite, base=base)
    contents: dict[str, object] = {
        key: [_content(file) for file in data_files(table)] for key, table in tables.items()
    }
    states = ((feature.key, feature.state_digests(suite, base)) for feature in features_of(suite))
    contents |= {key: list(digests) for key, digests in states if digests}
    return digest_of_value(contents) if contents else ""


def _content(file: RecordedFile) -> dict[str, object]:
    """Facts of a data file but its place."""
    return {key: value for key, value in file.items() if key != "folder"}


def _rows_digest(source: Source, where: str) -> str:
    """Hash of some rows, in any order and files."""
    row = pl.struct(pl.all())
    sums = [row.hash(seed).sum().alias(str(seed)) for seed in _SEEDS]
    plan = source.frame.filter(compile_row(where).expr).select(*sums, n=pl.len())
    with reading(source):
        (content,) = collected_frame(plan).rows()
    types = [(name, str(dtype)) for name, dtype in source.schema.items()]
    return digest_of_value([types, content, pl.__version__])
