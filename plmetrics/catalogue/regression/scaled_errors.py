"""Errors against those of a naive forecast, the label one season ago, or in units of the labels' variation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from plmetrics.catalogue.metric import IntervalForm, Undefined
from plmetrics.catalogue.parameters import ParameterError, parameter
from plmetrics.catalogue.registry import register
from plmetrics.catalogue.regression.errors import ABSOLUTE_ERROR, ErrorMetric
from plmetrics.catalogue.variation import LAST_DIGITS
from plmetrics.core import ops
from plmetrics.states.sums import Atom, Rows
from plmetrics.table.checks import REPEATED_TIME, UNORDERED, Derivation, Requirement, absent, is_unordered
from plmetrics.table.prediction_columns import EVALUATED_LABEL, plain_column

_ROUNDING = 1e-13
"""Of the labels' size: what they vary less is rounding."""

_SMALL, _LARGE = 1e-100, 1e100
_UNITS = (2.0**600, 1.0, 2.0**-600)
"""Of labels below, between and above these limits: powers of 2, so that squares are numbers and no digit is lost."""
_LONGEST_SEASON = 10**9


def _is_no_iso_time(time: pl.Expr) -> pl.Expr:
    return time.pipe_with_dtype(is_unordered)


def _column(doc: str) -> Any:
    return parameter(None, doc=doc, check=lambda value: value is None or bool(value), domain="a column")


@register
@dataclass(frozen=True)
class MeanAbsoluteScaledError(ErrorMetric):
    """Mean absolute error over that of the naive forecast, the label one season ago.

    With `scale`, a column that holds each series' own mean naive error (as it is found in training data): the mean over
    rows of abs(e) / scale. With `time`: the mean of abs(e) over the mean of abs(y_t - y_(t - season)), rows in the
    order of `time` within each `series`, over the evaluated rows that have a label a season before. Below 1 beats the
    naive forecast. Weighted by row; 0 or more; undefined (`zero_denominator`) where no row has such a label or none
    changes. A scale that is not above 0 is a data error, and so are a null time and two rows of a series at one time.
    Source: Hyndman and Koehler (2006).

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"day": [1, 2, 3, 4], "y": [1.0, 3.0, 2.0, 4.0], "p": [1.0, 2.0, 2.0, 5.0]})
    >>> found = plm.evaluate(rows, task="regression", label="y", models="p", metrics=["mase(time=day)"]).metrics
    >>> round(found["value"].item(), 6)
    0.3
    """

    name = "mase"
    expressible = False
    formula = "mean of abs(e) / mean of abs(label - label a season ago)"
    use_when = "Series of different scale are put together, and labels may be 0."
    beware = (
        "The scale from evaluated labels depends on the slice: a scale column from training data does not."
    )
    reference = (
        "Hyndman and Koehler (2006), Another look at measures of forecast accuracy, Int. J. Forecasting 22(4)"
    )

    season: int = parameter(
        1,
        doc="rows of a series in a season",
        check=lambda value: 1 <= value <= _LONGEST_SEASON,
        domain=f"from 1 to {_LONGEST_SEASON:,}",
    )
    scale: str | None = _column("column of the series' mean naive error")
    time: str | None = _column("column that rows are ordered by")
    series: str | None = _column("column that tells series apart")

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.scale is None) == (self.time is None):
            msg = "mase: give either scale, a column of naive errors, or time, to find them in the labels"
            raise ParameterError(msg)
        if self.scale is not None and (self.series is not None or self.season != 1):
            msg = "mase: season and series belong to time, and scale needs neither"
            raise ParameterError(msg)

    @property
    def interval_form(self) -> IntervalForm | None:  # type: ignore[override]
        """A mean over rows with a scale of each; else a ratio of two means."""
        return "t" if self.scale is not None else None

    def columns(self) -> tuple[str, ...]:
        """Column of the scale, or of the time order."""
        return tuple(name for name in (self.scale, self.time, self.series) if name is not None)

    def requirements(self) -> tuple[Requirement, ...]:
        """A scale is above 0; a time is there, has an order, and is there once in its series."""
        if self.scale is None:
            assert self.time is not None
            role = "time of mase" if self.series is None else f"time of mase within '{self.series}'"
            return (
                Requirement(self.time, "null or NaN", lambda value: value.pipe_with_dtype(absent), role),
                Requirement(self.time, UNORDERED, _is_no_iso_time, role, needs_order=True),
                Requirement(self.time, REPEATED_TIME, lambda _: pl.col(plain_column(self._repetition)), role),
            )

        def bad(value: pl.Expr) -> pl.Expr:
            return value.is_null() | ~value.cast(pl.Float64).is_finite() | (value <= 0)

        return (Requirement(self.scale, "null, infinite or not above 0", bad, "scale of mase", numeric=True),)

    def derivations(self, label: str) -> Mapping[str, Derivation]:
        """Distance of each label from that of a season before, null where there is none, and repeated times.

        Labels that differ in their last digits alone, as 0.1 + 0.2 and 0.3, are one number.
        """
        if self.time is None:
            return {}
        value, time = pl.col(label).cast(pl.Float64), pl.col(self.time)
        series = pl.lit(0) if self.series is None else pl.col(self.series)
        repeated = ((time == time.shift(1)) | (time == time.shift(-1))).fill_null(value=False)
        sole = pl.when(value.is_finite() & ~repeated).then(value)
        step = (sole - sole.shift(self.season)).abs()
        step = pl.when(step <= LAST_DIGITS * sole.abs()).then(0.0).otherwise(step)
        return {
            self._naive: Derivation(step.over(series, order_by=self.time)),
            self._repetition: Derivation(repeated.over(series, order_by=self.time)),
        }

    @property
    def _repetition(self) -> str:
        return f"repeated time|{self.time}|{self.series}"

    @property
    def _naive(self) -> str:
        return f"naive|{self.season}|{self.time}|{self.series}"

    def atoms(self) -> Mapping[str, Atom]:
        """Errors, and the naive ones with their rows."""
        if self.scale is not None:
            return {"error_sum": Atom(f"scaled_error|{self.scale}", self._error_by_scale)}
        return {
            "error_sum": ABSOLUTE_ERROR,
            "naive_sum": Atom(self._naive, lambda rows: rows.column(self._naive).fill_null(0.0)),
            "naive_mass": Atom(
                f"{self._naive}|rows", lambda rows: rows.column(self._naive).is_not_null(), counts=True
            ),
        }

    def _error_by_scale(self, rows: Rows) -> pl.Expr:
        assert self.scale is not None
        return rows.error.abs() / rows.column(self.scale).cast(pl.Float64)

    def finalise(self, state: Any) -> Any:
        mean = ops.ratio(state.error_sum, state.weight)
        return mean if self.scale is not None else ops.ratio(mean * state.naive_mass, state.naive_sum)

    def undefined(self, state: Any) -> Undefined:
        """There is no naive forecast, or it makes no error."""
        reasons = super().undefined(state)
        return reasons if self.scale is not None else [*reasons, ("zero_denominator", state.naive_sum == 0)]


@register
@dataclass(frozen=True)
class SegmentScaledError(ErrorMetric):
    """Mean absolute error in units of the variation of labels in the row's segment.

    The mean over rows of abs(e) / s, s the standard deviation (ddof 0) of the segment's labels among all evaluated
    rows, whatever the slice and the weights. Rows of a segment whose labels are all alike take no part, and the note
    counts them. Weighted by row; 0 or more; undefined (`zero_denominator`) where no row is left. Source: Hyndman and
    Koehler (2006), on scaled errors, with the spread in place of the naive error.

    >>> import polars as pl, plmetrics as plm
    >>> rows = pl.DataFrame({"g": ["a", "a", "b", "b"], "y": [1.0, 3.0, 100.0, 300.0], "p": [1.0, 2.0, 100.0, 200.0]})
    >>> found = plm.evaluate(rows, task="regression", label="y", models="p", metrics=["scaled_mae(by=g)"]).metrics
    >>> found["value"].item()
    0.5
    """

    name = "scaled_mae"
    expressible = False
    interval_form = "t"
    mean = "mass"
    nonzero = (("zero_denominator", "mass"),)
    masses = ("mass",)
    formula = "mean of abs(e) / standard deviation of the labels of the row's segment"
    use_when = "Segments are of different size, as shops or currencies, and none of them should decide alone."
    beware = "The scale is that of the evaluated rows: another table has another one. mase takes a column."
    reference = (
        "Hyndman and Koehler (2006), Another look at measures of forecast accuracy, Int. J. Forecasting 22(4)"
    )

    by: str = parameter(doc="column of segments", check=bool, domain="the name of a column")

    def columns(self) -> tuple[str, ...]:
        return (self.by,)

    def derivations(self, label: str) -> Mapping[str, Derivation]:  # noqa: ARG002
        """The scale of each row's segment."""
        value, segment = pl.col(EVALUATED_LABEL), plain_column(self.by)
        largest = value.abs().max().over(segment)
        small, middle, large = ((value * unit).std(ddof=0).over(segment) / unit for unit in _UNITS)
        scale = pl.when(largest < _SMALL).then(small).when(largest > _LARGE).then(large).otherwise(middle)
        return {self._scale: Derivation(pl.when(scale > _ROUNDING * largest).then(scale), evaluated=True)}

    @property
    def _scale(self) -> str:
        return f"segment scale|{self.by}"

    def atoms(self) -> Mapping[str, Atom]:
        """Errors in units of scale, and the rows with one."""
        return {
            "error_sum": Atom(f"segment_scaled|{self.by}", self._error),
            "mass": Atom(f"segment_scaled|{self.by}|rows", self._has_scale, counts=True),
        }

    def _has_scale(self, rows: Rows) -> pl.Expr:
        return rows.column(self._scale).is_not_null()

    def _error(self, rows: Rows) -> pl.Expr:
        scaled = rows.error.abs() / rows.column(self._scale)
        return pl.when(self._has_scale(rows)).then(scaled).otherwise(0.0)

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.error_sum, state.mass)

    def remark(self, state: Any) -> Any:
        """Number of rows without any."""
        absent = np.atleast_1d(state.weight - state.mass)
        texts = [f"no scale in rows of weight {weight:g}" if weight > 0 else None for weight in absent]
        return np.array(texts, dtype=object)
