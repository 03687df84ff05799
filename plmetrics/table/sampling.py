"""Some of the rows, for what need not be exact: edges of bins, and where to cut."""

from __future__ import annotations

import polars as pl

_ROW = "@row"


def every_kth(rows: pl.LazyFrame, step: int) -> pl.LazyFrame:
    """The first row and every `step`-th after it.

    >>> every_kth(pl.LazyFrame({"x": [5, 6, 7, 8]}), 2).select("x").collect()["x"].to_list()
    [5, 7]
    """
    return rows.with_row_index(_ROW).filter(pl.col(_ROW) % step == 0)
