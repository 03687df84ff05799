"""Types of values from Python alone: tables, results and metrics in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from os import PathLike
from typing import Protocol, Required, TypeAlias, TypedDict

import polars as pl

from plmetrics.catalogue.metric import Metric


class TableInMemory(Protocol):
    """A DataFrame or LazyFrame, a pandas DataFrame, or a pyarrow Table."""

    @property
    def columns(self) -> object:
        """The columns, or their names."""


class ArrowStream(Protocol):
    """Table of any library with the Arrow PyCapsule interface."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """A stream of record batches."""


Columns: TypeAlias = Mapping[str, Sized]
"""Arrays, lists or Series by the name of their column."""

Table: TypeAlias = TableInMemory | ArrowStream | Columns | PathLike[str] | str | Sequence[PathLike[str] | str]
"""A table in memory, a path, or a list of paths."""


class TrecFiles(TypedDict, total=False):
    """Judgements and runs in TREC's formats; several runs by the name of their model."""

    qrels: Required[PathLike[str] | str]
    run: Required[PathLike[str] | str | Mapping[str, PathLike[str] | str]]
    complete: bool


class TrecTable(TypedDict):
    """Ranking with rows from TREC's files."""

    trec: TrecFiles


MetricParameters: TypeAlias = Mapping[str, Mapping[str, object] | None]
MetricText: TypeAlias = Metric | str | MetricParameters
"""A metric: an object, its text, or its name with parameters."""


class RunResult(Protocol):
    """The result of a run, as `plmetrics.evaluate` gives it."""

    @property
    def metrics(self) -> pl.DataFrame:
        """The table of values."""


RunFolder: TypeAlias = RunResult | PathLike[str] | str
"""A run: its result, its folder, or the folder of the runs of a suite."""
