"""Shares of labels below quantiles, in central intervals and by probability integral transform: points of curves.

They are no metrics that a suite names. Each has a number, which says which of a model's levels, intervals or bins it is
about: models of one suite may have different ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import polars as pl

from plmetrics.catalogue.forecast.rows import MeanOfForecasts, member_number, quantile
from plmetrics.catalogue.parameters import parameter
from plmetrics.core import ops
from plmetrics.states.sums import Atom, Rows
from plmetrics.table.prediction_columns import SAME_LEVEL, levels_of

NORMAL_BINS = 20
"""Bins of equal width for forecasts that are normal distributions."""

MOST_RANKS = 20
"""Ensembles of more members have several neighbouring ranks in a bin."""

Interval = tuple[float, float]
LOW, HIGH = "transform|low", "transform|high"
"""The parts of a prediction that `transform_parts` adds."""


def forecast_levels(parts: Sequence[str]) -> tuple[float, ...]:
    """The levels of a model's quantiles, ascending: its columns', those between bins, or those of sorted members.

    >>> forecast_levels(("quantile|0.1", "quantile|0.9")), forecast_levels(("member|0", "member|1", "member|2"))
    ((0.1, 0.9), (0.25, 0.5, 0.75))
    """
    if "sd" in parts:
        return tuple(number / NORMAL_BINS for number in range(1, NORMAL_BINS))
    members = member_number(parts)
    return (
        tuple(rank / (members + 1) for rank in _ranks(members)[1:-1]) if members else levels_of(tuple(parts))
    )


def central_intervals(parts: Sequence[str]) -> tuple[Interval, ...]:
    """Pairs of a model's levels symmetric about one half, the narrowest first."""
    levels = forecast_levels(parts)
    pairs = zip(levels, reversed(levels), strict=True)
    declared = [(low, high) for low, high in pairs if low < high and abs(low + high - 1) <= SAME_LEVEL]
    if not declared:
        apart = ((low, high) for low in levels for high in levels if low < high)
        declared = [pair for pair in apart if abs(sum(pair) - 1) <= SAME_LEVEL]
    return tuple(sorted(declared, key=lambda pair: pair[1] - pair[0]))


def transform_bins(parts: Sequence[str]) -> tuple[Interval, ...]:
    """The bins of the probability integral transform: between a model's levels, with one at either end."""
    levels = forecast_levels(parts)
    return tuple(pairwise((0.0, *levels, 1.0))) if levels else ()


def _ranks(members: int) -> list[int]:
    """Ranks among members at the ends of bins: all, or so many at even distances."""
    bins = min(members + 1, MOST_RANKS)
    return [round(number * (members + 1) / bins) for number in range(bins + 1)]


@dataclass(frozen=True)
class CalibrationShare(MeanOfForecasts):
    """Base of the shares for one point of a calibration curve."""

    range = (0.0, 1.0)
    direction = "none"
    needs_label = True
    curve: ClassVar[str]

    number: int = parameter(doc="which of a model's levels, intervals or bins", domain="0 or more")

    @staticmethod
    def points(parts: Sequence[str]) -> tuple[Any, ...]:
        """Levels of the points of a model, in order."""
        raise NotImplementedError

    @staticmethod
    def place(point: Any) -> tuple[float, float | None, float | None]:
        """Place of a point: x, and for a bin its upper edge and width."""
        return point, None, None

    def atoms(self) -> Mapping[str, Atom | tuple[Atom, ...]]:
        """The rows of the point, or the parts of rows; none for a model with fewer points."""

        def row(rows: Rows) -> pl.Expr:
            points = self.points(rows.parts)
            return self.row(rows, points[self.number]) if self.number < len(points) else rows.label * 0.0

        return {"share_sum": Atom(self.text, row, most=1.0)}

    def finalise(self, state: Any) -> Any:
        return ops.ratio(state.share_sum, state.weight)

    def remark(self, state: object) -> None:
        """Curves have no notes."""

    def row(self, rows: Rows, point: Any) -> pl.Expr:
        """Share of a row, between 0 and 1."""
        raise NotImplementedError


class QuantileCoverage(CalibrationShare):
    """Share of the labels at or below a quantile."""

    name = "quantile_coverage"
    curve = "quantile_coverage"
    points = staticmethod(forecast_levels)

    def row(self, rows: Rows, point: float) -> pl.Expr:
        """Whether the label is at or below the quantile."""
        if member_number(rows.parts):
            return _indicator(rows.part(LOW) < point)
        return _indicator(rows.label <= quantile(rows, point))


class CentralCoverage(CalibrationShare):
    """Share of the labels in a central interval, ends included."""

    name = "central_coverage"
    curve = "coverage"
    points = staticmethod(central_intervals)

    @staticmethod
    def place(point: Interval) -> tuple[float, None, None]:
        """At the nominal level."""
        return round(point[1] - point[0], 12), None, None

    def row(self, rows: Rows, point: Interval) -> pl.Expr:
        """Whether the label lies between both quantiles."""
        low, high = point
        if member_number(rows.parts):
            return _indicator((rows.part(HIGH) > low) & (rows.part(LOW) < high))
        return _indicator((rows.label >= quantile(rows, low)) & (rows.label <= quantile(rows, high)))


class TransformShare(CalibrationShare):
    """Share of the rows with a probability integral transform in a bin.

    The transform of a row is where the forecast's distribution function is at the label. Quantiles, and members, say
    only between which two levels that is: a row that equals several of them lies evenly between the outer two. That is
    the non-randomised transform of Czado, Gneiting and Held (2009).
    """

    name = "transform_share"
    curve = "pit_histogram"
    points = staticmethod(transform_bins)

    @staticmethod
    def place(point: Interval) -> tuple[float, float, float]:
        """In the middle of the bin."""
        low, high = point
        return (low + high) / 2, high, high - low

    def row(self, rows: Rows, point: Interval) -> pl.Expr:
        """Part of the row's transform within the bin."""
        low, high = rows.part(LOW), rows.part(HIGH)
        inside = high.clip(upper_bound=point[1]) - low.clip(lower_bound=point[0])
        return pl.when(inside > 0).then(inside / (high - low)).otherwise(0.0)


POINTS: tuple[type[CalibrationShare], ...] = (CentralCoverage, QuantileCoverage, TransformShare)
"""The shares that curves are made from, a class a curve."""


def shares_of_curves(curves: Iterable[str], parts: Sequence[Sequence[str]]) -> tuple[CalibrationShare, ...]:
    """Shares of some curves, for models with these parts."""
    classes = [share for share in POINTS if share.curve in set(curves)]
    return tuple(
        share(number=number)
        for share in classes
        for number in range(max((len(share.points(each)) for each in parts), default=0))
    )


def transform_parts(label: pl.Expr, parts: Mapping[str, pl.Expr]) -> dict[str, pl.Expr]:
    """Levels around the label at the ends of bins: columns common to all shares of a model.

    They are made once for each row; in every share, they would be made again.
    """
    names = tuple(parts)
    if "sd" in parts:
        return _normal_transform(label, parts["mean"], parts["sd"])
    values = [value for part, value in parts.items() if part.startswith(("quantile|", "member|"))]
    below = pl.sum_horizontal((value < label).cast(pl.Float64) for value in values)
    below_or_at = pl.sum_horizontal((value <= label).cast(pl.Float64) for value in values)
    members = member_number(names)
    edges = (
        [rank / (members + 1) for rank in range(members + 2)] if members else [0.0, *levels_of(names), 1.0]
    )
    return {LOW: _edge(below, edges[:-1]), HIGH: _edge(below_or_at, edges[1:])}


def _edge(number: pl.Expr, edges: Sequence[float]) -> pl.Expr:
    """Edge of a number: the very one at the end of a bin, unlike a quotient."""
    numbers = list(map(float, range(len(edges))))
    return number.replace_strict(numbers, list(edges), default=None, return_dtype=pl.Float64)


def _normal_transform(label: pl.Expr, mean: pl.Expr, sd: pl.Expr) -> dict[str, pl.Expr]:
    """Bin of Phi((label - mean) / sd); of a certain label all bins."""
    error = label - mean
    z = error / pl.when(sd > 0).then(sd).otherwise(1.0)
    below = pl.when(sd > 0).then(0.5 + 0.5 * (z / math.sqrt(2.0)).erf()).otherwise(0.5 + 0.5 * error.sign())
    number = (below * float(NORMAL_BINS)).floor().clip(0.0, NORMAL_BINS - 1.0)
    certain = (sd <= 0) & (error == 0)
    edges = [place / NORMAL_BINS for place in range(NORMAL_BINS + 1)]
    return {
        LOW: pl.when(certain).then(0.0).otherwise(_edge(number, edges[:-1])),
        HIGH: pl.when(certain).then(1.0).otherwise(_edge(number, edges[1:])),
    }


def _indicator(holds: pl.Expr) -> pl.Expr:
    return pl.when(holds).then(1.0).otherwise(0.0)
