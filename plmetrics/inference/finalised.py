"""Finalising a metric on a state: values inside its range, NaN where it is undefined, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.sums import View

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class OrderedValues:
    """One ordered metric of one model over the slices of a set.

    `value` `[slice]`; `reasons` are (status, condition) pairs; `replicates` and, for norm-type metrics,
    `deviations` are `[replicate, slice]`. `bound` is the largest possible error, None where values are exact.
    `placements` are as in `Estimate`.
    """

    value: Array
    reasons: list[tuple[str, NDArray[np.bool_]]]
    replicates: Array | None
    deviations: Array | None
    bound: Array | None = None
    threshold: Array | None = None
    placements: tuple[Array, Array] | None = None


def finalised(metric: Metric, view: View) -> Array:
    """The metric's value, kept inside its range against rounding, without warnings."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        value = np.asarray(metric.finalise(view), dtype=np.float64)
    return np.clip(value, *metric.range)


def defined(metric: Metric, view: View) -> Array:
    """The metric's value, NaN where it is undefined."""
    value = finalised(metric, view)
    for _, condition in conditions(metric, view):
        if condition.any() or condition.shape != value.shape:
            value = np.where(condition, np.nan, value)
    return value


def conditions(metric: Metric, view: View) -> list[tuple[str, NDArray[np.bool_]]]:
    """Why the metric's value may be undefined, and where it is, without warnings."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        return [(status, np.asarray(condition)) for status, condition in metric.undefined(view)]
