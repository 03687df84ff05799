"""Quantiles of the absolute error: its median, its largest value, and any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from plmetrics.catalogue.bases import Quantile
from plmetrics.catalogue.metric import Direction
from plmetrics.catalogue.needs import Quantiles
from plmetrics.catalogue.parameters import parameter
from plmetrics.catalogue.registry import register
from plmetrics.states.sums import RowValue

_ABSOLUTE_ERROR = RowValue("absolute_error", lambda rows: rows.error.abs())


class ErrorQuantile(Quantile):
    """Base of the quantiles of the absolute error."""

    task = "regression"
    range = (0.0, float("inf"))
    direction: ClassVar[Direction] = "lower"


@register
class MedianAbsoluteError(ErrorQuantile):
    """Median of the absolute errors, that of the weighted distribution.

    In the label's unit; 0 or more; undefined (`no_rows`) without rows. Source: Hyndman and Koehler (2006).

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [3.0, -0.5, 2.0, 7.0], "p": [2.5, 0.0, 2.0, 8.0]})
    >>> found = plm.evaluate(rows, task="regression", label="y", models="p", metrics=["median_absolute_error"])
    >>> found.metrics["value"].item()
    0.5
    """

    name = "median_absolute_error"
    needs = Quantiles(0.5, by=_ABSOLUTE_ERROR)
    formula = "median of abs(prediction - label)"
    use_when = (
        "A few wild rows must not decide the comparison, and you want a typical error in the label's unit."
    )
    beware = "It says nothing of the larger half of the errors: read it with absolute_error_quantile(q=0.95)."
    reference = (
        "Hyndman and Koehler (2006), Another look at measures of forecast accuracy, Int. J. Forecasting 22(4)"
    )


@register
@dataclass(frozen=True)
class AbsoluteErrorQuantile(ErrorQuantile):
    """Quantile q of the absolute errors by weight: an upper bound for a share q of them.

    The averaged inverse of the weighted distribution function; in the label's unit; 0 or more; undefined (`no_rows`)
    without rows. Source: Hyndman and Fan (1996), definition 2.

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [3.0, -0.5, 2.0, 7.0], "p": [2.5, 0.0, 2.0, 8.0]})
    >>> metric = AbsoluteErrorQuantile(q=0.75)
    >>> plm.evaluate(rows, task="regression", label="y", models="p", metrics=[metric]).metrics["value"].item()
    0.75
    """

    name = "absolute_error_quantile"
    formula = "mean of the smallest x with a share of at least q, and of more than q, of abs(prediction - label) <= x"
    use_when = "You promise that nine in ten predictions are at most so far off."
    beware = "Far in the tail few rows decide it; its interval says how few."
    reference = (
        "Hyndman and Fan (1996), Sample quantiles in statistical packages, The American Statistician 50(4)"
    )

    q: float = parameter(doc="which quantile", check=lambda value: 0 <= value <= 1, domain="from 0 to 1")

    @property
    def needs(self) -> Quantiles:
        return Quantiles(self.q, by=_ABSOLUTE_ERROR)


@register
class MaxError(ErrorQuantile):
    """The largest absolute error of a row of weight above 0.

    In the label's unit; 0 or more; undefined (`no_rows`) without rows. It has no interval (`not_estimable`):
    resampled rows never hold a larger one. Source: Efron and Tibshirani (1993), section 7.4, on why not.

    >>> import plmetrics as plm, polars as pl
    >>> rows = pl.DataFrame({"y": [3.0, -0.5, 2.0, 7.0], "p": [2.5, 0.0, 2.0, 8.0]})
    >>> plm.evaluate(rows, task="regression", label="y", models="p", metrics=["max_error"]).metrics["value"].item()
    1.0
    """

    name = "max_error"
    needs = Quantiles(1.0, by=_ABSOLUTE_ERROR)
    kind = "extreme"
    formula = "max of abs(prediction - label)"
    use_when = "One bad prediction is one too many, and you look for it."
    beware = (
        "One row decides it, and it grows with the number of rows: do not compare samples of unlike size."
    )
    reference = "Efron and Tibshirani (1993), An Introduction to the Bootstrap, section 7.4"
