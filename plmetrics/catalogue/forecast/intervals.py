"""The middle of a forecast and its central intervals: errors of the one; coverage, width and score of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from plmetrics.catalogue.forecast.rows import CROSSING, INFINITY, MeanOfForecasts, quantile
from plmetrics.catalogue.parameters import parameter, share
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.regression.errors import ABSOLUTE_ERROR, MEAN_ERROR
from plmetrics.core.names import number_text
from plmetrics.states.sums import Atom, Rows

_GNEITING = (
    "Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation, JASA 102(477)"
)


@dataclass(frozen=True)
class CentralInterval(MeanOfForecasts):
    """Base of the metrics of the interval between the quantiles (1 - level)/2 and (1 + level)/2."""

    level: float = parameter(
        doc="share of labels that the interval should hold", check=share, domain="between 0 and 1"
    )

    def levels(self) -> tuple[float, ...]:
        return ((1.0 - self.level) / 2.0, (1.0 + self.level) / 2.0)

    def ends(self, rows: Rows) -> tuple[pl.Expr, pl.Expr]:
        """Both ends of a row's interval."""
        low, high = self.levels()
        return quantile(rows, low), quantile(rows, high)

    def _key(self, what: str) -> str:
        return f"interval_{what}|{number_text(self.level)}"


@register
class IntervalCoverage(CentralInterval):
    """Share of the rows with the label in the central interval, ends included.

    Weighted by row; in [0, 1]; best at `level`; undefined (`no_rows`) without rows. Ends are the quantiles
    (1 - level)/2 and (1 + level)/2, matched within 1e-9. Source: Christoffersen (1998).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [10.0, 16.0], "low": [8.0, 9.0], "high": [10.0, 15.0]})
    >>> models = {"m": {"quantiles": {0.1: "low", 0.9: "high"}}}
    >>> found = plm.evaluate(rows, task="quantile", label="y", models=models, metrics=["interval_coverage(level=0.8)"])
    >>> found.metrics["value"].item()
    0.5
    """

    name = "interval_coverage"
    range = (0.0, 1.0)
    direction = "none"
    kind = "proportion"
    formula = "sum of w [l <= label <= u] / W"
    use_when = "Somebody relies on the interval holding as often as it says."
    beware = "A useless interval that is wide enough covers perfectly: read it with interval_width or interval_score."
    reference = "Christoffersen (1998), Evaluating interval forecasts, International Economic Review 39(4)"

    def _atom(self) -> Atom:
        def row(rows: Rows) -> pl.Expr:
            low, high = self.ends(rows)
            return (rows.label >= low) & (rows.label <= high)

        return Atom(self._key("held"), row, counts=True)


@register
class IntervalWidth(CentralInterval):
    """Mean width of the central interval: upper end minus lower end.

    Weighted by row; in the label's unit; below 0 where quantiles cross; undefined (`no_rows`) without rows. Source:
    Gneiting and Raftery (2007).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [10.0, 16.0], "low": [8.0, 9.0], "high": [10.0, 15.0]})
    >>> models = {"m": {"quantiles": {0.1: "low", 0.9: "high"}}}
    >>> found = plm.evaluate(rows, task="quantile", label="y", models=models, metrics=["interval_width(level=0.8)"])
    >>> found.metrics["value"].item()
    4.0
    """

    name = "interval_width"
    range = (-float("inf"), float("inf"))
    formula = "sum of w (u - l) / W"
    use_when = "Two forecasts cover alike, and the sharper one is wanted."
    beware = "Narrow alone is no virtue: read it with interval_coverage."
    reference = _GNEITING

    def _atom(self) -> Atom:
        def row(rows: Rows) -> pl.Expr:
            low, high = self.ends(rows)
            return high - low

        return Atom(self._key("width"), row)


@register
class IntervalScore(CentralInterval):
    """Width of the central interval, and a fine for labels outside of it: (u - l) + (2/a)(l - y)+ + (2/a)(y - u)+.

    a = 1 - level. Weighted by row; in the label's unit; 0 or more; undefined (`no_rows`) without
    rows. Source: Gneiting and Raftery (2007), also called the Winkler score.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [10.0, 16.0], "low": [8.0, 9.0], "high": [10.0, 15.0]})
    >>> models = {"m": {"quantiles": {0.1: "low", 0.9: "high"}}}
    >>> found = plm.evaluate(rows, task="quantile", label="y", models=models, metrics=["interval_score(level=0.8)"])
    >>> round(found.metrics["value"].item(), 9)
    9.0
    """

    name = "interval_score"
    proper = "strictly"
    formula = "sum of w ((u - l) + (2/a)(l - y)+ + (2/a)(y - u)+) / W"
    use_when = "One number for coverage and sharpness of one interval."
    beware = "It is in the label's unit: large series decide it."
    reference = _GNEITING

    def _atom(self) -> Atom:
        def row(rows: Rows) -> pl.Expr:
            low, high = self.ends(rows)
            outside = (low - rows.label).clip(0.0) + (rows.label - high).clip(0.0)
            return (high - low) + 2.0 / (1.0 - self.level) * outside

        return Atom(self._key("score"), row)


@register
class CrossingRate(MeanOfForecasts):
    """Share of the rows with crossing quantiles: a higher level with a lower value.

    Weighted by row; in [0, 1]; undefined (`no_rows`) without rows; 0 for forecasts that are no columns of quantiles.
    Source: Bassett and Koenker (1982).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"y": [10.0, 16.0], "low": [8.0, 19.0], "high": [10.0, 15.0]})
    >>> models = {"m": {"quantiles": {0.1: "low", 0.9: "high"}}}
    >>> plm.evaluate(rows, task="quantile", label="y", models=models, metrics=["crossing_rate"]).metrics["value"].item()
    0.5
    """

    name = "crossing_rate"
    range = (0.0, 1.0)
    kind = "proportion"
    formula = "sum of w [some quantile is above a higher one] / W"
    use_when = "Quantiles come from separate models, which nothing keeps in order."
    beware = "It counts rows, not how far quantiles cross."
    reference = "Bassett and Koenker (1982), An empirical quantile function for linear models, JASA 77(378)"

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        return {"row_sum": CROSSING}

    def remark(self, state: object) -> None:
        """The value says it."""


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
