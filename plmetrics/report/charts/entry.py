"""Chart by name: its module, and its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary


@dataclass(frozen=True, slots=True)
class Entry:
    """Chart: the module with its function, `draw` by default, and the table and curves of its rows.

    Modules of features are named in full, others from this package on. `where` is a condition in SQL of which the table
    must have rows. A chart of another table than the curves is drawn from one of these curves, too.
    `groups` is whether a metric of the result must compare groups. `entry` is what the record must have: such a
    chart is drawn from the folder of the run and those beside it.
    """

    module: str
    table: str = "curves"
    curves: tuple[str, ...] = ()
    where: str = ""
    groups: bool = False
    entry: str = ""
    function: str = "draw"

    @property
    def path(self) -> str:
        """The full name of the module."""
        return self.module if self.module.startswith("plmetrics.") else f"{__package__}.{self.module}"

    def drawable(self, summary: Summary) -> bool:
        """Whether a result has rows for the chart."""
        if self.entry:
            return summary.folder is not None and bool(summary.record.get(self.entry))
        if self.groups and not any(metric.compares_groups for metric in summary.definitions):
            return False
        if self.curves and bool(summary.curves["curve"].is_in(list(self.curves)).any()):
            return True
        rows = summary.tables.get(self.table)
        if rows is None or rows.is_empty() or (self.curves and self.table == "curves"):
            return False
        return not self.where or not rows.filter(pl.sql_expr(self.where)).is_empty()
