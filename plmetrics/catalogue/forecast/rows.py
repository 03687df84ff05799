"""Numbers of a row of forecasts: a quantile, and losses from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import polars as pl

from plmetrics.catalogue.bases import RowMean
from plmetrics.catalogue.metric import Direction, Metric, leaves
from plmetrics.core import ops
from plmetrics.core.names import number_text
from plmetrics.core.special import ndtri
from plmetrics.states.sums import Atom, Rows
from plmetrics.table.prediction_columns import SAME_LEVEL, levels_of, quantile_part

INFINITY = float("inf")


class MeanOfForecasts(RowMean):
    """Base of the means over rows of a function of label and forecast."""

    task = "quantile"
    expressible = False
    range = (0.0, INFINITY)
    direction: ClassVar[Direction] = "lower"
    over_levels: ClassVar[bool] = False
    """Whether it is a mean over all quantiles of a model, of which others may declare other ones."""

    def levels(self) -> tuple[float, ...]:
        """The quantiles it needs, by level."""
        return ()

    def lacks(self, parts: tuple[str, ...]) -> str | None:
        """Missing quantiles, without a column or a distribution."""
        if "sd" in parts or not parts:
            return None
        for level in self.levels():
            if matching_level(parts, level) is None:
                return f"the quantile {number_text(round(level, 9))}"
        return None

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """Sum over rows, and the rows with decreasing quantiles."""
        return {"row_sum": self._atom(), "crossing": CROSSING}

    def remark(self, state: Any) -> Any:
        """Number of rows with decreasing quantiles."""
        return ops.where(state.crossing > 0, _crossing_notes(state.crossing), None)


def levels_metric(metric: Metric, others: Sequence[str], parts: Sequence[str]) -> str | None:
    """Name of what a metric means over the levels of models, if those of two models differ; None if it is one measure.

    >>> import plmetrics as plm
    >>> crps = plm.metric("crps", task="quantile")
    >>> levels_metric(crps, ("quantile|0.5",), ("mean", "sd"))
    'crps'
    >>> levels_metric(crps, ("member|0", "member|1"), ("mean", "sd"))
    """
    if levels_of(tuple(others)) == levels_of(tuple(parts)):
        return None
    means = (leaf for leaf in leaves(metric) if isinstance(leaf, MeanOfForecasts) and leaf.over_levels)
    return next((leaf.text for leaf in means), None)


def matching_level(parts: Sequence[str], level: float) -> float | None:
    """Declared level equal to a requested one, up to rounding."""
    near = [available for available in levels_of(tuple(parts)) if abs(available - level) <= SAME_LEVEL]
    return near[0] if near else None


def member_number(parts: Sequence[str]) -> int:
    """Number of members of an ensemble; 0 for other forecasts."""
    return sum(part.startswith("member|") for part in parts)


def quantile(rows: Rows, level: float) -> pl.Expr:
    """Quantile of the forecast: a column, or that of the normal distribution."""
    declared_level = matching_level(rows.parts, level)
    if declared_level is not None:
        return rows.part(quantile_part(declared_level))
    return rows.part("mean") + float(ndtri(level)) * rows.part("sd")


def pinball(rows: Rows, level: float) -> pl.Expr:
    """The pinball loss of a quantile."""
    error = quantile(rows, level) - rows.label
    return pl.when(error > 0).then((1.0 - level) * error).otherwise(-level * error)


def _crosses(rows: Rows) -> pl.Expr:
    columns = [rows.part(quantile_part(level)) for level in rows.levels]
    pairs = [lower > higher for lower, higher in pairwise(columns)]
    return pl.any_horizontal(pairs) if pairs else rows.part(rows.parts[0]).is_null() & pl.lit(value=False)


CROSSING = Atom("crossing", _crosses, counts=True)


def _crossing_notes(masses: Any) -> Any:
    """Note for each weight of rows with decreasing quantiles, without digits dependent on the order of rows."""
    each = np.asarray(masses, dtype=np.float64)
    weights = [mass if mass.is_integer() else float(f"{mass:.6g}") for mass in each.ravel().tolist()]
    texts = [f"quantiles decrease in rows of weight {number_text(weight)}" for weight in weights]
    return np.array(texts, dtype=object).reshape(each.shape)
