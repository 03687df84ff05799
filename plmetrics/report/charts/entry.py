"""A chart by name: the module that draws it, and the rows that it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary


@dataclass(frozen=True, slots=True)
class Entry:
    """A chart: the module whose function `draw` makes it, and the table and curves it is drawn from.

    Modules of features are named in full, others from this package on. `where` is a condition in SQL of which the table
    must have rows.
    """

    module: str
    table: str = "curves"
    curves: tuple[str, ...] = ()
    where: str = ""

    @property
    def path(self) -> str:
        """The full name of the module."""
        return self.module if self.module.startswith("plmetrics.") else f"{__package__}.{self.module}"

    def drawable(self, summary: Summary) -> bool:
        """Whether a result has rows that it shows."""
        rows = summary.tables.get(self.table)
        if rows is None or rows.is_empty():
            return False
        if self.where:
            return not rows.filter(pl.sql_expr(self.where)).is_empty()
        return not self.curves or bool(rows["curve"].is_in(list(self.curves)).any())
