"""Decomposition, by slice, of the change of a metric of ordered scores: no mean over rows.

A slice's part is its Shapley value, the worth of a coalition being the metric on rows that are as in this run in its
slices and as in the earlier one elsewhere. Both runs weigh the same in such a mixture, and a slice has the share of the
rows in it that it has in its run. The part is what the slice's labels and scores do (within) and what its share does
(mix); see `owen`.

The value shares of single columns have a part by reweighting. In a coalition of columns the values of these have,
jointly, the shares that they have in the second table: the weight of each slice of the first is multiplied by the
ratio of both. What a column adds is averaged over all orders of the columns, with the rows of slices as in the first
table and as in the second one: Owen values of columns that change as one, before all else or after it. They add up to
what the shares of the slices do by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plmetrics.core.ops import Array, Codes, Texts
from plmetrics.inference.across_runs.comparisons import NOTE
from plmetrics.inference.across_runs.decomposition import PARTS, SetMetric, part_rows
from plmetrics.inference.across_runs.mixtures import SlicedPair, Worth, replicate_worths, weighted_worths
from plmetrics.inference.across_runs.owen import Coalitions, OwenValues, Steps
from plmetrics.inference.comparisons.paired_bootstrap import Difference, difference_from_zero
from plmetrics.inference.estimate import Estimate, effective_blocks
from plmetrics.inference.weights import draw_weights

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.catalogue.metric import Metric
    from plmetrics.suite.sections.uncertainty import Uncertainty

SLICE_PARTS = ("within", "mix", "shapley")
_ROUNDING = 1e-14
"""Of areas and shares: what adds up to so little is nothing."""

COLUMNS = "shares of the column's values, by reweighting"
"""Note of the rows of columns."""

_NO_REPLICATES = "no replicates"

_ROOM = 1 << 22
"""So many numbers of replicates are made at a time."""
MOST_COLUMNS = 6
"""Of so many columns every coalition is looked at; of more none."""


@dataclass(frozen=True, slots=True)
class SlicedChange:
    """The scores of a model in both runs by slice of a set; `names` and `values` are the slices' columns.

    `constants` are the columns that all rows share, `note` what to say of the slices. `blocks` are the scores of the
    earlier run and of this one by block, on fewer bins: `[slice, block, class, bin]`; None where nothing is resampled.
    """

    pair: SlicedPair
    names: Sequence[str]
    values: Sequence[Any]
    constants: Mapping[str, str | None]
    note: str | None = None
    blocks: tuple[Array, Array] | None = None


@dataclass(frozen=True, slots=True)
class ScoreChange:
    """The difference of metrics of the order of scores: `within`, `mix` and their sum `shapley` of slices, and of all.

    Runs are taken as independent samples: the blocks of each are resampled by themselves. A replicate's parts are those
    of one order of slices and its reverse, moved by what these cost the value. `uncertainty` says how they are
    resampled, with the seed of that and of the orders where slices are too many for every coalition of them.
    """

    change: SlicedChange
    subjects: Sequence[SetMetric]
    uncertainty: Uncertainty | None

    def frames(self) -> Iterator[pl.DataFrame]:
        """Rows of the table `decomposition`: of each slice, of all, and of columns."""
        change, uncertainty = self.change, self.uncertainty
        seed = 0 if uncertainty is None else uncertainty.seed
        steps = Steps.of(change.pair.slices, seed)
        metrics = [subject.class_metric for subject in self.subjects]
        worths = change.pair.worths(metrics, steps.mixtures)
        varying: Sequence[Variation | None] = [None] * len(metrics)
        if uncertainty is not None and change.blocks is not None:
            varying = variations(change.blocks, metrics, uncertainty.replicates, seed)
        level = None if uncertainty is None else uncertainty.level
        for subject, worth, variation in zip(self.subjects, worths, varying, strict=True):
            yield _rows(change, subject, steps, worth, variation, level)
        yield from _of_columns(change, self.subjects)


def _of_columns(change: SlicedChange, subjects: Sequence[SetMetric]) -> Iterator[pl.DataFrame]:
    """Rows of the effects of the shares of each column's values, if all rows have a value."""
    names, codes = column_codes(change.values)
    if not 1 <= len(names) <= MOST_COLUMNS:
        return
    metrics = [subject.class_metric for subject in subjects]
    for subject, part in zip(subjects, column_parts(change.pair, codes, metrics), strict=True):
        defined = np.isfinite(part.value).all()
        if not defined:
            continue
        status = np.full(len(names), "ok", dtype=object)
        yield part_rows(
            subject.columns("run", **change.constants),
            ["all"] * len(names),
            [[]] * len(names),
            [f"mix|{name}" for name in names],
            _without_intervals(part.value, status, "not_estimable"),
            COLUMNS,
            np.where(part.bound > 0, part.bound, np.nan),
        )


@dataclass(frozen=True, slots=True)
class Refusal:
    """A change that has no decomposition: a row without a value for each metric, and the reason."""

    constants: Mapping[str, str | None]
    subjects: Sequence[SetMetric]
    status: str
    note: str

    def frames(self) -> Iterator[pl.DataFrame]:
        """Rows of the table `decomposition`."""
        difference = _without_intervals(np.full(1, np.nan), np.full(1, self.status, dtype=object))
        for subject in self.subjects:
            constants = subject.columns("run", **self.constants)
            yield part_rows(constants, ["all"], [[]], ["total"], difference, self.note)


def _rows(
    change: SlicedChange,
    subject: SetMetric,
    steps: Steps,
    worth: Worth,
    variation: Variation | None,
    level: float | None,
) -> pl.DataFrame:
    coalitions = len(steps.coalitions.members)
    none, every = 0, coalitions - 1
    lost = [status for status in worth.status[[every, none]] if status != "ok"]
    if lost:
        return next(Refusal(change.constants, [subject], lost[0], "of one of the runs").frames())
    undefined = worth.status[worth.status != "ok"]
    parts = steps.parts(worth)
    total = worth.value[every] - worth.value[none]
    sums = [parts[0].value.sum(), total - parts[0].value.sum(), total]
    value = np.append(np.stack([part.value for part in parts], axis=-1).reshape(-1), sums)
    ends = worth.bound[none] + worth.bound[every]
    doubts = [part.bound.sum() for part in parts[:2]]
    bound = np.append(np.stack([part.bound for part in parts], axis=-1).reshape(-1), [*doubts, ends])
    status = np.full(value.shape, "ok", dtype=object)
    if len(undefined):
        value[:-1], status[:-1] = np.nan, undefined[0]
    ok = status == "ok"
    errors = np.append(np.stack([_or_missing(part) for part in parts], axis=-1).reshape(-1), [np.nan] * 3)
    return part_rows(
        subject.columns("run", **change.constants),
        [name for name in [*change.names, "all"] for _ in SLICE_PARTS],
        [pairs for pairs in [*change.values, []] for _ in SLICE_PARTS],
        [*SLICE_PARTS] * len(change.names) + [*PARTS],
        _difference(value, status, variation, level),
        _note(change, steps, undefined=len(undefined) > 0, lacks=level is not None and variation is None),
        np.where(ok & (bound > 0), bound, np.nan),
        np.where(ok, errors, np.nan),
    )


def _or_missing(part: OwenValues) -> Array:
    return np.full(part.value.shape, np.nan) if part.error is None else part.error


def _difference(value: Array, status: Texts, variation: Variation | None, level: float | None) -> Difference:
    """Parts with their intervals, where they were resampled."""
    if level is None or variation is None:
        return _without_intervals(value, status, "not_requested" if level is None else "not_estimable")
    replicates = variation.deviations + value
    sure = (np.abs(value) <= _ROUNDING) & (np.abs(variation.deviations) <= _ROUNDING).all(axis=0)
    part = Estimate(np.where(sure, 0.0, value), status, variation.blocks, replicates, ())
    return difference_from_zero(part, equal=sure, level=level)


def _note(change: SlicedChange, steps: Steps, *, undefined: bool, lacks: bool) -> str | None:
    sampled = steps.halves.sampled
    orders = f"{steps.halves.before.shape[1]} random orders of slices" if sampled else None
    mixtures = "some mixtures of the runs have no value" if undefined else None
    lacking = _NO_REPLICATES if lacks else None
    words = [change.note, orders, mixtures, lacking, NOTE if change.blocks is not None else None]
    return "; ".join(filter(None, words)) or None


def _without_intervals(value: Array, status: Texts, interval_status: str = "undefined_value") -> Difference:
    """Values without an interval, for a reason."""
    reasons = np.where(status == "ok", interval_status, "undefined_value")
    return Difference.without_intervals(value, status, reasons)


@dataclass(frozen=True, slots=True, eq=False)
class Variation:
    """Deviations of replicates of parts, three of each slice and three of all; and their effective blocks."""

    deviations: Array
    blocks: Codes


def variations(
    sides: tuple[Array, Array], metrics: Sequence[Metric], replicates: int, seed: int
) -> list[Variation | None]:
    """Variances of the parts of some metrics; None for norms, with one-sided noise.

    `sides` are the scores of the earlier run and of this one, `[slice, block, class, bin]`; both have draws of their
    own.
    """
    occupied = [counts[:, counts.any(axis=(0, 2, 3))] for counts in sides]
    smooth = [metric for metric in metrics if metric.value_kind.is_smooth]
    if not (smooth and all(counts.size for counts in occupied)):
        return [None] * len(metrics)
    steps = Steps.single(len(sides[0]), seed)
    kinds = steps.mixtures

    def parts(weights: Sequence[Array]) -> list[Array]:
        return _parts(steps, replicate_worths(_replicates(occupied, weights), smooth, kinds))

    weights = [
        draw_weights(np.ones(counts.shape[1], dtype=np.int64), replicates, of_side).counts.astype(np.float64)
        for counts, of_side in zip(occupied, (~seed, seed), strict=True)
    ]
    point = parts([np.ones((1, counts.shape[1])) for counts in occupied])
    at_once = max(1, _ROOM // occupied[0][:, 0].size)
    drawn = [
        parts([weight[first : first + at_once] for weight in weights])
        for first in range(0, replicates, at_once)
    ]
    blocks = _blocks(occupied)
    varying = {
        metric.text: Variation(np.concatenate([part[place] for part in drawn]) - point[place], blocks)
        for place, metric in enumerate(smooth)
    }
    return [varying.get(metric.text) for metric in metrics]


def _replicates(sides: Sequence[Array], weights: Sequence[Array]) -> SlicedPair:
    drawn = []
    for counts, weight in zip(sides, weights, strict=True):
        sums = weight @ counts.reshape(*counts.shape[:2], -1)
        drawn.append(np.moveaxis(sums.reshape(len(counts), len(weight), *counts.shape[2:]), 0, 1))
    return SlicedPair.with_equal_weight(*drawn)


def _parts(steps: Steps, worths: Sequence[Array]) -> list[Array]:
    """The parts of slices, and of all together, of each metric: `[replicate, part]`."""
    out = []
    for worth in worths:
        values = steps.values(worth)
        every = np.concatenate([values, values.sum(axis=1, keepdims=True)], axis=1)
        out.append(every.reshape(len(worth), -1))
    return out


def _blocks(sides: Sequence[Array]) -> Codes:
    """Effective blocks of each part: of the smaller class, in the run with fewer blocks of the slice."""
    least = []
    for counts in sides:
        mass = np.concatenate([counts, counts.sum(axis=0, keepdims=True)]).sum(axis=-1)
        present = mass.sum(axis=(1, 2)) > 0
        number = effective_blocks((mass[..., 0], mass[..., 1]))
        least.append(np.where(present, number, np.iinfo(np.int64).max))
    return np.repeat(np.minimum(*least), 3)


def column_codes(values: Sequence[Sequence[dict[str, str | None]]]) -> tuple[list[str], Codes]:
    """The columns of slices, and by column a number for the value of each; a slice of all other rows is one of its own.

    >>> pairs = [[{"column": "a", "value": "x"}], [{"column": "a", "value": "y"}], []]
    >>> column_codes(pairs)[0], column_codes(pairs)[1].tolist()
    (['a'], [[0, 1, 2]])
    """
    names = [str(pair["column"]) for pair in max(values, key=len, default=[])]
    codes = []
    for place in range(len(names)):
        texts = [("value", pairs[place]["value"]) if pairs else ("rest", None) for pairs in values]
        numbers = {text: number for number, text in enumerate(dict.fromkeys(texts))}
        codes.append([numbers[text] for text in texts])
    return names, np.array(codes, dtype=np.int64).reshape(len(names), len(values))


def column_parts(pair: SlicedPair, codes: Codes, metrics: Sequence[Metric]) -> list[OwenValues]:
    """By metric the effect of the shares of each column, and its error from bins; NaN where undefined.

    `codes` are the value of each slice, `[column, slice]`. The size of a table does not change the metrics.
    """
    coalitions = Coalitions.subsets(len(codes))
    shares = np.stack([_shares(pair, codes[members]) for members in coalitions.members])
    joined = pair.joined_for(2 * len(shares))
    standardised = _of_unit_weight(joined.before, joined.after), _of_unit_weight(joined.after, joined.before)
    weights = np.concatenate([np.hstack([shares, 0 * shares]), np.hstack([0 * shares, shares])])
    sides = np.concatenate(standardised).reshape(2 * pair.slices, -1)
    out = []
    for worth in weighted_worths(sides, weights, metrics):
        value, bound = (numbers.reshape(2, -1) for numbers in (worth.value, worth.bound))
        after, before = coalitions.after, coalitions.before
        part = sum(coalitions.mean([side[after], -side[before]]) for side in value) / 2
        doubt = sum(coalitions.mean([side[after], side[before]]) for side in bound) / 2
        out.append(OwenValues(np.asarray(part), np.asarray(doubt), None))
    return out


def _of_unit_weight(side: Array, other: Array) -> Array:
    """Rows of each slice with a weight of 1 in all; a slice of one table alone has equal rows in the other."""
    mass, other_mass = (part.sum(axis=(-2, -1), keepdims=True) for part in (side, other))
    rows, total = np.where(mass > 0, side, other), np.where(mass > 0, mass, other_mass)
    scaled: Array = np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)
    return scaled


def _shares(pair: SlicedPair, codes: Codes) -> Array:
    """The weight of each slice where the values of some columns have the shares of the second table."""
    before, after = (side.sum(axis=(-2, -1)) for side in (pair.before, pair.after))
    if not len(codes):
        return np.asarray(before)
    _, group = np.unique(codes, axis=1, return_inverse=True)
    totals = [np.bincount(group.reshape(-1), side) for side in (before, after)]
    ratio = np.divide(totals[1], totals[0], out=np.zeros_like(totals[0]), where=totals[0] > 0)
    return np.asarray(before * ratio[group.reshape(-1)])
