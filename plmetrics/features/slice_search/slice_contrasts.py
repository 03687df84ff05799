"""Slices of a search against the rest, from sums by block: differences, standard errors and one-sided tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plmetrics.catalogue.metric import Metric
from plmetrics.core.ops import Array
from plmetrics.core.special import stdtr, stdtrit
from plmetrics.inference.comparisons.tests.arms import Moments
from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.intervals.spread import block_factor
from plmetrics.inference.metric_values import conditions, value_or_nan
from plmetrics.inference.sums import COUNTS, ModelSums

Sums = dict[str, Array]
"""Columns of sums, each `[slice, block]`."""

_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Contrast:
    """A metric in slices, in their references, and the difference; an entry a slice.

    `worse` is the difference with the sign that makes a worse slice positive, and `p` how surprising so large a one
    is where the slice is no worse. `value`, `complement`, `worse` and `std_error` are NaN where undefined, `p`
    where there is none. `rows` are the slice's, `share` is its part of the weight of both.
    """

    value: Array
    complement: Array
    worse: Array
    std_error: Array
    p: Array
    freedom: Array
    rows: Array
    share: Array
    status: NDArray[np.object_]

    def half_width(self, level: float) -> Array:
        """Half of the width of a two-sided interval of the difference, NaN without one."""
        usable = (self.freedom > 0) & (self.std_error > 0)
        half = stdtrit(np.where(usable, self.freedom, 1.0), (1 + level) / 2) * self.std_error
        return np.where(usable, half, np.nan)


def contrast(
    metric: Metric, model: str, population: str, part: Sums, complement: Sums, *, scattered: bool = False
) -> Contrast:
    """Hold a metric in slices against the same metric elsewhere, both from the same blocks.

    The standard error is that of the jackknife that leaves out a block at a time, around the difference itself:
    sqrt((B - 1) / B sum (d_b - d)^2), where a side with rows in m of the B blocks brings its own (m - 1) / m. The p
    value is Student's, with one degree of freedom less than the effective number of blocks of the slice or of the rest,
    whichever has fewer. A mean that no block moves, such as a recall of 0 of six positives, has the spread of both
    sides about their common mean. Where leaving out changes nothing on either side and the slice is worse, p is that of
    a sign test over blocks, 2^-G. `part` and `complement` are sums `[slice, block]`, `population` is the prefix of the
    counts that hold for the model. Where they are `scattered`,
    what is left without a block is added anew, since much taken off leaves no digits of little.

    Returns:
        An entry a slice. `status` says why there is no difference; with fewer than 2 effective blocks there is a
        difference, but `too_few_units` for a test, and `undefined_replicates` where it is undefined without a block.

    Source: Efron and Stein (1981), The jackknife estimate of variance, Annals of Statistics 9(3).
    """
    sign = -1.0 if metric.direction == "higher" else 1.0
    with np.errstate(over="ignore", invalid="ignore"):
        here, there = (_Side(metric, model, population, sums, scattered) for sums in (part, complement))
        worse = sign * (here.value - there.value)
        left_out = sign * (here.left_out - there.left_out)
    magnitude = np.maximum(np.abs(here.value), np.abs(there.value))
    worse = np.where(np.abs(worse) <= _ROUNDING * magnitude, 0.0, worse)
    blocks = np.minimum(here.blocks, there.blocks)
    error = _jackknife(left_out, worse, magnitude)
    if metric.mean is not None:
        error = np.hypot(error, _alike_error(here, there))
    status = np.where(here.status == "ok", there.status, here.status)
    ok = status == "ok"
    status[ok & np.isnan(error)] = "undefined_replicates"
    status[ok & (blocks < 2)] = "too_few_units"
    usable = status == "ok"
    mass = here.weight + there.weight
    return Contrast(
        value=here.value,
        complement=there.value,
        worse=worse,
        std_error=np.where(usable, error, np.nan),
        p=_one_sided_p_values(worse, error, blocks, usable),
        freedom=np.where(usable, blocks - 1.0, 0.0),
        rows=here.rows,
        share=np.divide(here.weight, mass, out=np.zeros_like(mass), where=mass > 0),
        status=status,
    )


def _alike_error(here: _Side, there: _Side) -> Array:
    """Standard error of a side whose blocks are all alike beside one that varies, from both together; 0 elsewhere."""
    sides = here, there
    errors = [np.nan_to_num(_jackknife(side.left_out, side.value, np.abs(side.value))) for side in sides]
    moments = [
        Moments.of_errors(side.blocks, side.value, error) for side, error in zip(sides, errors, strict=True)
    ]
    variance = np.zeros_like(here.value)
    for side in (0, 1):
        alike = (errors[side] == 0) & (errors[1 - side] > 0)
        variance += np.where(alike, moments[side].with_spread(moments[1 - side], alike).of_mean, 0.0)
    return np.sqrt(variance)


def _one_sided_p_values(
    worse: Array, error: Array, blocks: NDArray[np.int64], usable: NDArray[np.bool_]
) -> Array:
    p = np.full(worse.shape, np.nan)
    spread = usable & (error > 0)
    p[spread] = stdtr(blocks[spread] - 1.0, -worse[spread] / error[spread])
    flat = usable & (error == 0)
    p[flat] = np.where(worse[flat] > 0, 2.0 ** -blocks[flat].astype(np.float64), 1.0)
    return p


class _Side:
    """A metric on one side of a contrast: its value, its values without each block, and their sizes."""

    def __init__(self, metric: Metric, model: str, population: str, sums: Sums, scattered: bool) -> None:  # noqa: FBT001
        by_block = {name: sums[name] for name in _columns(model, population, sums)}
        totals = {name: column.sum(axis=1) for name, column in by_block.items()}
        rows = by_block[f"{population}n"]
        alone = rows == rows.sum(axis=1, keepdims=True)
        without = {
            name: np.where(
                alone, 0.0, complement_sums(column) if scattered else totals[name][:, None] - column
            )
            for name, column in by_block.items()
        }
        model_sums = ModelSums(by_block, None)
        view = model_sums.totals(metric, model, population)
        value = value_or_nan(metric, view)
        self.status = np.full(value.shape, "ok", dtype=object)
        self.status[~np.isfinite(value)] = "not_finite"
        for name, condition in reversed(conditions(metric, view)):
            self.status[np.broadcast_to(condition, value.shape)] = name
        self.value = np.where(self.status == "ok", value, np.nan)
        left_out = value_or_nan(metric, ModelSums(without, None).by_block(metric, model, population))
        self.left_out = with_all_blocks(value, left_out, np.count_nonzero(rows, axis=1))
        masses = metric.denominators(model_sums.by_block(metric, model, population))
        self.blocks = effective_blocks(tuple(np.asarray(mass) for mass in masses))
        self.rows = totals[f"{population}n"]
        self.weight = totals[f"{population}weight"]


def with_all_blocks(value: Array, left_out: Array, occupied: NDArray[np.int64]) -> Array:
    """Values without each block, stretched about the value as if all blocks had rows, and not so many."""
    stretch = block_factor(np.array(max(left_out.shape[1], 2))) / block_factor(np.maximum(occupied, 2))
    with np.errstate(over="ignore", invalid="ignore"):
        stretched = value[:, None] + stretch[:, None] * (left_out - value[:, None])
    return np.where(stretch[:, None] == 1, left_out, stretched)


def complement_sums(column: Array) -> Array:
    """For each block of `[slice, block]` the sum of all others, added.

    >>> complement_sums(np.array([[1.0, 1e20, 2.0]]))
    array([[1.e+20, 3.e+00, 1.e+20]])
    """
    out = np.zeros_like(column)
    np.cumsum(column[:, :-1], axis=1, out=out[:, 1:])
    out[:, :-1] += np.cumsum(column[:, :0:-1], axis=1)[:, ::-1]
    return out


def _columns(model: str, population: str, sums: Mapping[str, Array]) -> list[str]:
    """Columns of a model's metric: its own sums and the counts of its population."""
    counts = {f"{population}{name}" for name in COUNTS}
    return [name for name in sums if name in counts or name.startswith(f"{model}|")]


def _jackknife(left_out: Array, total: Array, magnitude: Array) -> Array:
    """Standard error from the values without each block; NaN where one is undefined, 0 within rounding."""
    blocks = left_out.shape[1]
    with np.errstate(invalid="ignore", over="ignore"):
        away = left_out - total[:, None]
        error: Array = np.sqrt((blocks - 1) / blocks * np.sum(away * away, axis=1))
        return np.where(error <= _ROUNDING * magnitude, 0.0, error)
