"""Execution of plans: alone, together, by batch, or into a file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.threads import batches

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.core.segments import Values
    from plmetrics.table.source import Source

AGGREGATES_PER_NODE = 400
"""The most aggregates that one node of a plan is given, where it reads few columns."""

_WIDE = 400

SAMPLE_ROWS = 100_000
"""The most rows of a sample."""

_PLACES = 5


def sample(source: Source, columns: Iterable[str] | None = None) -> pl.DataFrame:
    """Some rows, of some columns: from five places of the table where its length is known, else from its start."""
    rows = source.rows
    frame = source.frame if columns is None else source.frame.select(*dict.fromkeys(columns))
    if rows is None or rows <= SAMPLE_ROWS:
        return frame.head(SAMPLE_ROWS).collect()
    size = SAMPLE_ROWS // _PLACES
    starts = [place * (rows - size) // (_PLACES - 1) for place in range(_PLACES)]
    return pl.concat(pl.collect_all([frame.slice(start, size) for start in starts]))


def node_aggregates(aggregates: list[pl.Expr]) -> list[list[pl.Expr]]:
    """Aggregates by the node that adds them; a node has several times as many in a table of many columns.

    Each plan of a scan walks the columns that they share: with small nodes planning grows as the square of classes.
    """
    columns = {name for part in aggregates for name in part.meta.root_names()}
    return batches(aggregates, AGGREGATES_PER_NODE * (1 + len(columns) // _WIDE))


def collected_frame(plan: pl.LazyFrame) -> pl.DataFrame:
    """Frame of a plan collected alone."""
    return plan.collect()


def collected_frames(plans: Mapping[str, pl.LazyFrame], *, separate: bool = False) -> dict[str, pl.DataFrame]:
    """Frames of plans collected together, by name; one after another if `separate`."""
    return dict(zip(plans, frames_of(list(plans.values()), separate=separate), strict=True))


def frames_of(plans: Sequence[pl.LazyFrame], *, separate: bool = False) -> list[pl.DataFrame]:
    """Frames of plans collected together, in order; one after another if `separate`.

    Plans that run together share their scans. What the slowest of them has yet to take waits in memory, without limit.
    """
    if separate:
        return [frame for plan in plans for frame in pl.collect_all([plan])]
    return pl.collect_all(list(plans))


def collected_batches(plan: pl.LazyFrame, rows: int) -> Iterator[pl.DataFrame]:
    """The rows of a plan, so many at a time, in any order."""
    return plan.collect_batches(chunk_size=rows, maintain_order=False)


def column_array(column: pl.Series, kind: np.dtype[np.generic] | None = None) -> Values:
    """Values of a column of a batch as one contiguous array, of another type if given; not to be written to."""
    parts = [part.to_numpy() for part in column.get_chunks()]
    if len(parts) == 1 and kind in (None, parts[0].dtype):
        return parts[0]
    return np.concatenate(parts, dtype=kind, casting="unsafe")


def batch_sink(plan: pl.LazyFrame, rows: int, take: Callable[[pl.DataFrame], None]) -> pl.LazyFrame:
    """Plan with a callback for its rows, so many at a time and in any order, and an empty result."""
    return plan.sink_batches(take, chunk_size=rows, maintain_order=False, lazy=True)


def write_rows(plan: pl.LazyFrame, file: Path, ending: str) -> None:
    """Write the rows of a plan to a file as they stream by: text for `.csv`, else Parquet."""
    if ending == ".csv":
        plan.sink_csv(file)
    else:
        plan.sink_parquet(file)
