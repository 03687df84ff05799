"""Errors of the middle of a forecast: its median, or its mean."""

from __future__ import annotations

from plmetrics.catalogue.forecast.rows import INFINITY, MeanOfForecasts
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.regression.rows import ABSOLUTE_ERROR, MEAN_ERROR


class _Middle(MeanOfForecasts):
    """Base of the errors of the middle of a forecast."""

    def lacks(self, parts: tuple[str, ...]) -> str | None:
        """The median, where quantiles are declared without it."""
        if any(part.startswith("quantile|") for part in parts) and "quantile|0.5" not in parts:
            return "the quantile 0.5"
        return None


@register
class MeanAbsoluteError(_Middle):
    """Mean distance between the middle of the forecast and the label.

    The middle is the quantile 0.5, the mean of a normal distribution or the mean of an ensemble. In the label's unit; 0
    or more; undefined (`no_rows`) without rows. Source: Gneiting (2011).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [10.0, 12.0], "low": [8.0, 9.0], "mid": [9.0, 12.0], "high": [11.0, 15.0]})
    >>> models = {"m": {"quantiles": {0.1: "low", 0.5: "mid", 0.9: "high"}}}
    >>> plm.evaluate(rows, task="quantile", label="y", models=models, metrics=["mae"]).metrics["value"].item()
    0.5
    """

    name = "mae"
    row_atom = ABSOLUTE_ERROR
    formula = "sum of w abs(middle - label) / W"
    use_when = "You want to set a distribution beside point forecasts."
    beware = "It says nothing about the width of the forecast."
    reference = "Gneiting (2011), Making and evaluating point forecasts, JASA 106(494)"


@register
class MeanError(_Middle):
    """Mean of the middle of the forecast minus the label: above 0 it promises too much.

    The middle is the quantile 0.5, the mean of a normal distribution or the mean of an ensemble. In the label's unit;
    undefined (`no_rows`) without rows. Source: Gneiting (2011).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [10.0, 12.0], "mid": [9.0, 12.5]})
    >>> models = {"m": {"quantiles": {0.5: "mid"}}}
    >>> plm.evaluate(rows, task="quantile", label="y", models=models, metrics=["mean_error"]).metrics["value"].item()
    -0.25
    """

    name = "mean_error"
    range = (-INFINITY, INFINITY)
    direction = "zero"
    row_atom = MEAN_ERROR
    formula = "sum of w (middle - label) / W"
    use_when = "Totals of forecasts are used."
    beware = "Errors of both signs cancel; medians of skewed distributions miss the mean by design."
    reference = "Gneiting (2011), Making and evaluating point forecasts, JASA 106(494)"
