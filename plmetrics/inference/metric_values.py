"""Values of a metric from a state, or a view of points or bins: in its range, NaN where undefined, and the reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.catalogue.needs import OrderedRows
from plmetrics.catalogue.variation import faint, square_sums
from plmetrics.core import ops
from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.ops import Array, Flags
from plmetrics.inference.records import entries_of
from plmetrics.inference.sums import COUNTS
from plmetrics.states.sums import View

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric


@dataclass(frozen=True, slots=True)
class MetricValues:
    """One metric of one model over slices, before rows are too few.

    `value` `[slice]`; `reasons` are (status, condition) pairs; `replicates` and, for norm-type metrics,
    `deviations` are `[replicate, slice]`. `bound` is the largest possible error, None where values are exact.
    `placements` are as in `Estimate`.
    """

    value: Array
    reasons: list[tuple[str, Flags]]
    replicates: Array | None
    deviations: Array | None
    bound: Array | None = None
    threshold: Array | None = None
    placements: tuple[Array, Array] | None = None

    def part(self, slices: slice) -> MetricValues:
        """The values of a range of the slices."""
        return entries_of(self, slices)


@contextmanager
def finalising(metric: Metric) -> Iterator[None]:
    """Context manager: no warnings of NumPy, and an error for metrics that read undeclared columns.

    Raises:
        ConfigError: it does.
    """
    try:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            yield
    except AttributeError as error:
        if not isinstance(error.obj, View):
            raise
        msg = f"metric {metric.text} reads state.{error.name}, which its state does not have"
        declared = "declare reads = 'scores' in its class: replicates and grids have no scores otherwise"
        raise ConfigError(Problem(msg, hint=declared if error.name == "score" else None)) from error


def finalise(metric: Metric, view: View) -> Array:
    """The metric's value, kept inside its range against rounding, without warnings."""
    with finalising(metric):
        value = np.asarray(metric.finalise(_declared_view(metric, view)), dtype=np.float64)
    return np.clip(value, *metric.range)


def _declared_view(metric: Metric, view: View) -> View:
    """State without scores for a metric without declared scores: not every state of its rows has some."""
    need = metric.needs
    return view.without("score") if isinstance(need, OrderedRows) and not need.scores else view


def value_or_nan(metric: Metric, view: View) -> Array:
    """The metric's value, NaN where it is undefined."""
    value = finalise(metric, view)
    for _, condition in conditions(metric, view):
        if condition.any() or condition.shape != value.shape:
            value = np.where(condition, np.nan, value)
    return value


def conditions(metric: Metric, view: View) -> list[tuple[str, Flags]]:
    """Conditions of an undefined value with their reasons, without warnings; overflow of sums comes first."""
    with finalising(metric):
        particular = [
            (status, np.asarray(condition))
            for status, condition in metric.undefined(_declared_view(metric, view))
        ]
        faded = [
            ("underflow", faint(getattr(view, name), view.weight)) for name in square_sums(metric.atoms())
        ]
    return [("overflow", _overflow_mask(metric, view)), *faded, *particular]


def _overflow_mask(metric: Metric, view: View) -> Flags:
    """Mask of slices with a non-finite sum of the metric."""
    out = np.zeros(np.shape(view.weight), dtype=np.bool_)
    names = dict.fromkeys((*COUNTS, *metric.atoms()))
    columns = {id(column): column for name in names if (column := getattr(view, name, None)) is not None}
    with np.errstate(invalid="ignore", over="ignore"):
        overflown = [
            column
            for column in columns.values()
            if isinstance(column, (np.ndarray, np.floating)) and not np.isfinite(column.sum())
        ]
    for column in overflown:
        odd = ~np.isfinite(column)
        out |= odd.any(axis=-1) if odd.ndim > out.ndim else odd
    return out


def score_view(
    state: Mapping[str, Any], *, coarse: bool = False, joined: bool = False, binned: bool = False
) -> View:
    """Points of each class, or of each arm, with their totals, as a metric reads them.

    `coarse` points are bins of a replicate's state, in which a metric that looks for a threshold may look further, and
    `binned` ones those of a grid, whose order is open: but of both those that are `tied`, of a single score. `joined`
    ones are runs of scores without positives between them.
    """
    of_arms = "treated" in state
    first, second = ("treated", "control") if of_arms else ("positive", "negative")
    first_total, second_total = ops.total(state[first]), ops.total(state[second])
    names = ("treated_weight", "control_weight") if of_arms else ("positives", "negatives")
    totals = {
        **dict(zip(names, (first_total, second_total), strict=True)),
        "weight": first_total + second_total,
        "n": first_total + second_total,
    }
    return View({"tied": False, **state, **totals, "coarse": coarse, "joined": joined, "binned": binned})


def bin_view(counts: Array) -> View:
    """Bins `[..., bin, channel]` as a metric reads them."""
    from plmetrics.states.scores.sliced_scores import BIN_CHANNELS

    weight, positive = counts[..., 0].sum(axis=-1), counts[..., 1].sum(axis=-1)
    channels = dict(zip(BIN_CHANNELS, np.moveaxis(counts, -1, 0), strict=False))
    return View(
        {**channels, "weight": weight, "n": weight, "positives": positive, "negatives": weight - positive}
    )
