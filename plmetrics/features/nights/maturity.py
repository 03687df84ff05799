"""Maturity of the labels of an interval: whether they are due, and whether its rows have them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.core.results import LABELLED
from plmetrics.suite.sections.labels import label_status

if TYPE_CHECKING:
    from datetime import datetime

    import polars as pl

    from plmetrics.suite.sections.labels import Labels


@dataclass(frozen=True, slots=True)
class Maturity:
    """The labels of an interval: whether they are due, and the share of rows that must have one.

    A suite without the section `labels` has a label for every row.
    """

    due: bool
    coverage: float = 0.0

    @classmethod
    def of(cls, labels: Labels | None, interval_end: datetime, as_of: datetime) -> Maturity:
        """Maturity of an interval, looked at from a moment."""
        if labels is None:
            return cls(due=True)
        status = label_status(interval_end, labels.mature_after, as_of)
        return cls(status == "unlabelled", labels.coverage or 0.0)

    def awaits(self, metrics: pl.DataFrame) -> bool:
        """Whether rows have no label that is still to come; `metrics` is the table of the interval."""
        return not self.due and _labelled_share(metrics) < 1

    def lacks(self, metrics: pl.DataFrame) -> bool:
        """Whether labels are due, and no row has one, or fewer than are asked for."""
        share = _labelled_share(metrics)
        return self.due and (share == 0 or share < self.coverage)


def _labelled_share(metrics: pl.DataFrame) -> float:
    """The share of all rows that have a label, of the model with the fewest."""
    if LABELLED not in metrics.columns:
        return 1.0
    shares = metrics.filter(slice_set="overall")[LABELLED].drop_nulls().to_list()
    return min(map(float, shares), default=1.0)
