"""The axis of thresholds: from 0 to 1 where scores lie there, else over their range."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.report.charts.marks import axis, span, unit

if TYPE_CHECKING:
    import polars as pl


def threshold_axis(thresholds: pl.Series, title: str = "Threshold of the score") -> dict[str, Any]:
    """The axis `x` of these thresholds."""
    finite = thresholds.drop_nulls()
    if len(finite) and finite.is_between(0, 1 + 1e-9).all():
        return unit("x", title)
    return axis("x", title, span(finite))
