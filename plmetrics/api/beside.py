"""What a run is held against beside its own rows: the training table, a reference window, and earlier runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import PlmetricsError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from plmetrics.api.drifting import Counted
    from plmetrics.api.earlier import Earlier
    from plmetrics.api.references import EarlierRuns
    from plmetrics.suite.model import Suite
    from plmetrics.table.source import Source


@dataclass(frozen=True, slots=True)
class Beside:
    """Tables and results beside the rows, each None where the suite does not ask for it.

    `train` is looked through for leakage, `reference` is what drift is measured from, `counted` likewise where it is no
    table, `earlier` the run that this one is compared with, and `history` the gates of earlier runs, for those that
    fail after some in a row. `files` are the data files as run.json lists them, `runs` says which runs were taken.
    """

    train: Source | None = None
    reference: Source | None = None
    counted: Counted | None = None
    earlier: Earlier | None = None
    history: pl.DataFrame | None = None
    files: Sequence[Mapping[str, Any]] = ()
    runs: EarlierRuns | None = None


def data_files(source: Source) -> list[dict[str, Any]]:
    """The data files as run.json lists them, each with a digest of its size and both its ends."""
    from plmetrics.table.digests import digest_of

    return [
        {"path": file.name, "bytes": file.size, "rows": file.rows, "digest": digest_of(file)}
        for file in source.files
    ]


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
