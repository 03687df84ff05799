"""Check that sums have no rows of a value that has no code: these would count in the slice of null."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import PlmetricsError

if TYPE_CHECKING:
    from plmetrics.table.slices import Cube, KeyCodes


def check_codes(cube: Cube, sums: pl.DataFrame, counts: Sequence[str]) -> None:
    """Check the keys of sums against the values with codes.

    Raises:
        PlmetricsError: rows that one of the `counts` counts have another value.
    """
    absent = {part.key.column: _lacks_code(part) for part in cube.codes if part.key.column in sums.columns}
    occurring = sums.select(value.any().alias(name) for name, value in absent.items())
    for name in (column.name for column in occurring if column.any()):
        rows = sums.filter(absent[name] & pl.any_horizontal(pl.col(count) > 0 for count in counts))
        if rows.height:
            label = next(part.key.label for part in cube.codes if part.key.column == name)
            msg = f"rows went astray: no slice was listed for {label} = {rows[name][0]!r}"
            raise PlmetricsError(msg)


def _lacks_code(part: KeyCodes) -> pl.Expr:
    """Whether a value has no code of its own: it has that of null, or one outside the range."""
    code = part.expression()
    return pl.col(part.key.column).is_not_null() & ((code < 0) | (code >= part.size - 1))
