"""Result table `labelling`: differences of scores between rows with a label and rows without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.ops import Array
from plmetrics.core.results import LABELLING_SCHEMA, in_schema
from plmetrics.core.special import stdtrit
from plmetrics.inference.comparisons.independent import satterthwaite
from plmetrics.inference.comparisons.moderation import SampleErrors, moderating_errors, widen
from plmetrics.inference.estimate import effective_blocks
from plmetrics.inference.intervals.spread import DEGENERATE
from plmetrics.inference.subject import Analysis, SetStates
from plmetrics.suite.sections.labels import SIDES, side_column
from plmetrics.table.tags import in_result_order

_SLICES_AT_ONCE = 256
_ROUNDING = 1e-10
"""Of the mean square: a variance below this share of it is rounding."""

_CERTAIN = 1e-14
"""Of the mean scores: an error below this share of them is rounding."""

SMALL = 0.1
"""Standard deviations: a difference of means below is small (Austin, 2009)."""


@dataclass(frozen=True, slots=True)
class LabelSide:
    """Sums over the rows of some slices with or without a label, `[slice]` or `[slice, block]`."""

    n: Array
    weight: Array
    score: Array | None
    squares: Array | None

    @classmethod
    def of(cls, columns: Mapping[str, Array], model: str, side: str) -> LabelSide:
        """Sums of a model; a model without one number a row has no scores."""
        names = (side_column(model, side, name) for name in ("n", "weight", "score", "squares"))
        return cls(*(columns.get(name) for name in names))  # type: ignore[arg-type]

    def total(self) -> LabelSide:
        """The sums of all blocks."""
        parts = (self.n, self.weight, self.score, self.squares)
        return LabelSide(*(None if part is None else part.sum(axis=1) for part in parts))  # type: ignore[arg-type]

    @property
    def mean(self) -> Array:
        """Mean score; NaN without rows or scores."""
        return np.full(self.weight.shape, np.nan) if self.score is None else _ratio(self.score, self.weight)

    @property
    def variance(self) -> Array:
        """Variance of the scores; NaN where rounding has eaten it."""
        if self.squares is None:
            return np.full(self.weight.shape, np.nan)
        squares = _ratio(self.squares, self.weight)
        variance = squares - self.mean**2
        return np.where(variance > _ROUNDING * squares, variance, np.nan)


def labelling_table(analysis: Analysis) -> pl.DataFrame:
    """A row per model and slice, in result order."""
    frames = [
        _rows(analysis, model, states, name)
        for model in analysis.models
        for states in analysis.sets
        for name in [states.slices.slice_set.name]
        if not states.slices.slice_set.is_derived
    ]
    table = pl.concat([LABELLING_SCHEMA.to_frame(), *frames])
    return in_result_order(table, [states.slices for states in analysis.sets], "model")


def _rows(analysis: Analysis, model: str, states: SetStates, name: str) -> pl.DataFrame:
    """The rows of a model in the slices of a set."""
    size = states.sums.slices
    parts = [
        _columns(analysis, model, states.sums.by_block(first, min(first + _SLICES_AT_ONCE, size)))
        for first in range(0, size, _SLICES_AT_ONCE)
    ]
    data = {column: np.concatenate([part[column] for part in parts]) for column in parts[0]} if parts else {}
    texts = {column: values.tolist() for column, values in data.items() if values.dtype == object}
    places = {"slice": states.slices.texts(), "slice_values": states.slices.pair_lists()}
    frame = pl.DataFrame({"model": [model] * size, "slice_set": [name] * size, **places, **data, **texts})
    return in_schema(frame.with_columns(pl.selectors.float().fill_nan(None)), LABELLING_SCHEMA)


def _columns(analysis: Analysis, model: str, blocks: Mapping[str, Array]) -> dict[str, Any]:
    """The numbers of some slices, from sums `[slice, block]`."""
    labelled, unlabelled = (LabelSide.of(blocks, model, side) for side in SIDES)
    there, absent = labelled.total(), unlabelled.total()
    difference = there.mean - absent.mean
    spread = np.sqrt((there.variance + absent.variance) / 2.0)
    status = np.select(
        [(there.n + absent.n) == 0, there.n == 0, absent.n == 0, ~np.isfinite(difference)],
        ["no_rows", "unlabelled", "all_labelled", "no_numbers"],
        "ok",
    ).astype(object)
    out = {
        "share": _ratio(there.weight, there.weight + absent.weight),
        "mean_labelled": there.mean,
        "mean_unlabelled": absent.mean,
        "difference": difference,
        "standardised": _ratio(difference, spread),
        "n_labelled": np.rint(there.n).astype(np.int64),
        "n_unlabelled": np.rint(absent.n).astype(np.int64),
        "status": status,
    }
    return out | _interval(analysis, (labelled, unlabelled), difference, status)


def _interval(
    analysis: Analysis, sides: Sequence[LabelSide], difference: Array, status: NDArray[np.object_]
) -> dict[str, Any]:
    """The interval of the difference, from the influences of blocks (delta method).

    Degrees of freedom are Satterthwaite's, and a side of few blocks has its error moderated by the other's spread: a
    handful of scores that are near each other by chance are not certain. A side of one block has
    no interval: the spread of the others does not say how far a single score may lie.
    """
    nothing = np.full(difference.shape, np.nan)
    requested = analysis.suite.uncertainty is not None
    reason = np.where(status == "ok", "not_requested", "undefined_value" if requested else "not_requested")
    out: dict[str, Any] = {"lower": nothing, "upper": nothing, "std_error": nothing}
    out |= {"method": np.full(difference.shape, None, dtype=object), "interval_status": reason.astype(object)}
    if not requested or any(side.score is None for side in sides):
        return out
    ok = status == "ok"
    several = np.min([np.count_nonzero(side.n, axis=1) for side in sides], axis=0) > 1
    error, freedom = _error(sides, independent=analysis.population.independent)
    size = np.fmax(np.abs(sides[0].total().mean), np.abs(sides[1].total().mean))
    certain = error <= _CERTAIN * size
    sound = ok & several & ~certain
    reach = np.where(sound, stdtrit(freedom, (1.0 + analysis.level) / 2.0) * error, np.nan)
    out["std_error"] = np.where(sound, error, np.nan)
    out["lower"], out["upper"] = difference - reach, difference + reach
    out["method"][sound] = "delta"
    reasons = ["undefined_value", "too_few_units", DEGENERATE]
    out["interval_status"] = np.select([~ok, ~several, certain], reasons, "ok").astype(object)
    return out


def _error(sides: Sequence[LabelSide], *, independent: bool) -> tuple[Array, Array]:
    """Standard error of the difference of means, and its degrees of freedom.

    `independent` says whether rows are units of equal weight.
    """
    moves = [_influences(side) for side in sides]
    samples = []
    for side, moved in zip(sides, moves, strict=True):
        blocks = effective_blocks((side.weight,))
        size = side.total().n if independent else blocks.astype(np.float64)
        samples.append(SampleErrors(np.sqrt(np.sum(moved**2, axis=1)), blocks, size))
    errors = np.stack([each.error for each in samples])
    _, freedom = satterthwaite(errors, np.array([each.blocks for each in samples], np.float64) - 1)
    error = np.sqrt(np.sum((moves[0] - moves[1]) ** 2, axis=1))
    return widen(error, moderating_errors(*samples), freedom)


def _influences(side: LabelSide) -> Array:
    """Influences of blocks on the mean of a side, so that the sum of their squares is its variance."""
    total, blocks = side.total(), np.count_nonzero(side.n, axis=1)
    assert side.score is not None
    moves = _ratio(side.score - total.mean[:, None] * side.weight, total.weight[:, None])
    scale: Array = np.sqrt(blocks / np.maximum(blocks - 1.0, 1.0))[:, None]
    return moves * scale


def _ratio(above: Array, below: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient: Array = np.where(below > 0, above / below, np.nan)
    return quotient


def labelling_warnings(table: pl.DataFrame) -> Iterator[str]:
    """Words where rows with a label clearly have other scores than the others, of all rows together."""
    known = pl.col("interval_status") != "too_few_units"
    for row in table.filter(known, slice_set="overall", status="ok").iter_rows(named=True):
        distance, ends = row["standardised"], (row["lower"], row["upper"])
        if distance is None or abs(distance) < SMALL or (None not in ends and ends[0] <= 0.0 <= ends[1]):
            continue
        side = "higher" if distance > 0 else "lower"
        interval = (
            "" if None in ends else f", difference {row['difference']:.3g} [{ends[0]:.3g}, {ends[1]:.3g}]"
        )
        yield (
            f"labels: rows with a label have {side} scores of model '{row['model']}': {row['mean_labelled']:.3g} "
            f"against {row['mean_unlabelled']:.3g}{interval}, "
            f"{abs(distance):.2g} standard deviations; metrics that need labels speak of these rows, not of all"
        )
