"""Decomposition of the change of a mean from an earlier run, from both tables `metrics`; see `decomposition`.

Denominators of means in slices, which a run keeps, part a later change into within and mix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.ops import Array
from plmetrics.inference.across_runs.comparisons import NOTE
from plmetrics.inference.across_runs.decomposition import (
    PARTS,
    REST,
    SliceMeans,
    change_parts,
    is_incomplete,
    part_rows,
    rounded_sum,
    sizes,
    subjects,
    without_sums,
)
from plmetrics.inference.across_runs.retained_replicates import sharing
from plmetrics.inference.across_runs.sides import NOT_IN_RUN, Side, aligned_metrics, sample
from plmetrics.inference.across_runs.slice_masses import WHOLE, recorded_masses
from plmetrics.inference.comparisons.independent import Sample, satterthwaite
from plmetrics.inference.comparisons.paired_bootstrap import Difference, student_statistic, student_test
from plmetrics.inference.comparisons.tests.arms import Moments
from plmetrics.inference.intervals.spread import DEGENERATE

if TYPE_CHECKING:
    from plmetrics.inference.across_runs.decomposition import SetMetric
    from plmetrics.suite.model import Suite

KNOWN = "shares of slices are taken as known"
"""Addition to the note where the number of units of a run is unknown."""

_NO_SHARES = (
    "a run did not keep this metric's denominators: those do whose own suite has compare.decompose for it"
)
_NEGLIGIBLE = 1e-12
_SUFFIXES = ("|b", "")
"""Of the columns of the earlier run, and of this one."""


@dataclass(frozen=True, slots=True, eq=False)
class RunMeans:
    """A run's mean in all rows and in slices, with contributions, errors and degrees of freedom.

    `units` is the number of independent units that the shares of slices rest on, infinity where it is not known.
    """

    shares: SliceMeans
    error: Array
    freedom: Array
    units: float

    def with_spread(self, other: RunMeans) -> RunMeans:
        """These means; those that no replicate moves have the spread of both runs, if they vary in the other one."""
        runs = [Moments.of_errors(run.freedom + 1.0, run.shares.value, run.error) for run in (self, other)]
        alike = (self.error == 0) & (self.shares.share != 0) & (other.error > 0)
        error = np.sqrt(runs[0].with_spread(runs[1], alike).of_mean)
        return replace(self, error=np.where(alike, error, self.error))


@dataclass(frozen=True, slots=True)
class RunChanges:
    """The differences of this run from an earlier one, for the models of both.

    Shares are those of the weight of rows, which results hold, or of the metric's denominator, such as the
    called rows of precision or the queries of NDCG: runs that decompose it keep that, else one row says so
    (`unknown_shares`). Intervals are t intervals with Satterthwaite's degrees of freedom, of the
    slices' standard errors and of those of the shares, which vary as those of a multinomial draw of as many units as
    the run has. A mean that no replicate moves in one run has the spread of both runs together. A slice that a run has
    without a value, as for too few rows, is in the part of the slice `rest` in both runs, which has no interval. Runs
    over the same units are taken as independent samples, too, which the note says: their intervals are wider than they
    need be.
    """

    suite: Suite
    now: Side
    before: Side
    level: float

    def frames(self) -> Iterator[pl.DataFrame]:
        """Rows of the table `decomposition`."""
        both = aligned_metrics(self.now.metrics, self.before.metrics)
        shared = sharing(self.now.replicates, self.before.replicates)
        note = f"taken as {NOTE}" if shared.paired or shared.words else NOTE
        for model in self.suite.models:
            for subject in subjects(self.suite):
                yield _RunPair(both, (self.before, self.now), model, subject, (self.level, note)).frame()


class _RunPair:
    def __init__(
        self,
        both: pl.DataFrame,
        sides: tuple[Side, Side],
        model: str,
        subject: SetMetric,
        level_and_note: tuple[float, str],
    ) -> None:
        rows = both.filter(
            pl.col("model") == model,
            pl.col("metric") == subject.metric.text,
            pl.col("class").eq_missing(pl.lit(subject.class_name or None)),
        )
        self._overall = rows.filter(pl.col("slice_set") == "overall")
        self._slices = rows.filter(pl.col("slice_set") == subject.slice_set)
        self._sides = sides
        self._subject = subject
        self._masses = [recorded_masses(side.masses, subject, model) for side in sides]
        self._level, self._note = level_and_note
        self._about = subject.columns("run", model, sides[0].name)

    def frame(self) -> pl.DataFrame:
        """Its rows: three of each slice, then three of all together."""
        if self._subject.class_metric.mean != "rows" and not all(self._masses):
            return self._refusal("unknown_shares", _NO_SHARES)
        wholes = [
            sample(self._overall, suffix, side) for suffix, side in zip(_SUFFIXES, self._sides, strict=True)
        ]
        statuses = [side.status[0] for side in wholes if len(side.status)]
        lost = [status for status in statuses if status != "ok"]
        if lost or not statuses:
            return self._refusal(str(lost[0]) if lost else NOT_IN_RUN, None)
        columns = zip(_SUFFIXES, self._sides, wholes, self._weights(), self._massless(), strict=True)
        before, after = (self._of(*of_run) for of_run in columns)
        before, after = before.with_spread(after), after.with_spread(before)
        within, mix = change_parts(before.shares, after.shares)
        errors = _errors(before, after)
        occupied = (before.shares.share != 0) | (after.shares.share != 0)
        value = np.stack([within, mix, within + mix], axis=-1)
        size = float(sizes(before.shares, after.shares).sum())
        parts_together = rounded_sum(np.array([within.sum(), mix.sum()]), size)
        totals = np.append(parts_together, wholes[1].value[0] - wholes[0].value[0])
        share_errors, together = _errors_of_shares(before, after)
        errors_and_freedom = [
            (
                np.concatenate([errors[part], share_errors[part]])[:, occupied],
                _freedom(before, after)[:, occupied],
            )
            for part in PARTS
        ]
        moderate = [wholes[run].moderate(wholes[1 - run]) for run in (0, 1)]
        last = (
            np.array([[error[0]] for error, _ in moderate]),
            np.array([[freedom[0]] for _, freedom in moderate]),
        )
        difference = self._difference(
            np.append(value[occupied].reshape(-1), totals), self._spread(errors_and_freedom, together, last)
        )
        texts = np.array([*self._slices["slice"].to_list(), REST], dtype=object)[occupied]
        pairs = [*self._slices["slice_values"].to_list(), []]
        names = [*np.repeat(texts, 3).tolist(), *["all"] * 3]
        values = [pair for pair, listed in zip(pairs, occupied, strict=True) if listed for _ in PARTS]
        values += [[]] * 3
        countable = np.isfinite([before.units, after.units]).all()
        note = self._note if countable else f"{self._note}; {KNOWN}"
        rows = part_rows(self._about, names, values, [*PARTS] * (len(names) // 3), difference, note)
        first, second = (float(whole.value[0]) for whole in wholes)
        lacking = is_incomplete(float(parts_together.sum()), first, second, size)
        return without_sums(rows, PARTS[:2]) if lacking else rows

    def _weights(self) -> list[Array]:
        """By run the denominator of each slice, 0 where a run has the slice without a value, and of all rows."""
        weights = []
        for suffix, masses in zip(_SUFFIXES, self._masses, strict=True):
            rows, total = (part[f"weight{suffix}"].fill_null(0.0) for part in (self._slices, self._overall))
            weight = np.append(rows.to_numpy(), float(total.sum()))
            if masses is not None and self._subject.class_metric.mean != "rows":
                names = [*self._slices["slice"], WHOLE]
                weight = np.array([masses["masses"].get(name, 0.0) for name in names], dtype=np.float64)
            weights.append(weight)
        unknown = [
            (weight[:-1] != 0) & self._slices[f"value{suffix}"].is_null().to_numpy()
            for suffix, weight in zip(_SUFFIXES, weights, strict=True)
        ]
        finite = np.append(~np.any(unknown, axis=0), True)
        return [np.where(finite, weight, 0.0) for weight in weights]

    def _massless(self) -> list[float]:
        """By run what slices without a denominator add to its mean: it is no part of any slice, nor of the remainder.

        Those with too few rows in a run are in the remainder.
        """
        few = [self._slices[f"status{suffix}"].eq_missing("too_few_rows") for suffix in _SUFFIXES]
        listed = self._slices.filter(~(few[0] | few[1]))["slice"].to_list()
        added = [{} if masses is None else masses.get("massless", {}) for masses in self._masses]
        return [sum(of_run.get(name, 0.0) for name in listed) for of_run in added]

    def _of(self, suffix: str, side: Side, overall: Sample, weights: Array, massless: float) -> RunMeans:
        """One run, with the remainder of its slices as one more."""
        slices_sample = sample(self._slices, suffix, side)
        weight, total = weights[:-1], float(weights[-1])
        weight_of_rows = float(self._overall[f"weight{suffix}"].fill_null(0.0).sum())
        share = np.where(np.isfinite(slices_sample.value), weight / total, 0.0)
        value = np.where(share != 0, slices_sample.value, 0.0)
        remainder = 1.0 - float(share.sum())
        excluded_share = remainder if remainder > _NEGLIGIBLE else 0.0
        added = float(np.sum(share * value)) + massless
        its_value = (overall.value[0] - added) / remainder if excluded_share else 0.0
        shares = SliceMeans(np.append(share, excluded_share), np.append(value, its_value))
        error = np.append(np.where(share != 0, slices_sample.error, 0.0), np.nan if excluded_share else 0.0)
        freedom = np.append(np.where(share != 0, slices_sample.blocks - 1.0, 1.0), 1.0)
        rows = self._overall[f"n{suffix}"].fill_null(0).sum()
        unit_weight = rows == side.units and weight_of_rows == rows
        units = independent_units(side, int(overall.blocks[0]), unit_weight=unit_weight)
        units = min(units, total) if unit_weight else units
        return RunMeans(shares, error, np.maximum(freedom, 1.0), units)

    def _spread(
        self, errors_and_freedom: Any, together: Mapping[str, tuple[Array, Array]], last: tuple[Array, Array]
    ) -> tuple[Array, Array]:
        """Standard errors and degrees of freedom of the parts of each slice, and of those of all together.

        Values of slices are independent; their shares add up to 1 and are not, so that `together` has their errors.
        """
        slices = [satterthwaite(error, freedom) for error, freedom in errors_and_freedom]
        totals = []
        for part, (error, freedom) in zip(PARTS[:2], errors_and_freedom, strict=False):
            of_values = (numbers[:2].reshape(-1) for numbers in (error, freedom))
            totals_of_parts = [
                np.append(error_of_slice, more)[:, None]
                for error_of_slice, more in zip(of_values, together[part], strict=True)
            ]
            totals.append(satterthwaite(totals_of_parts[0], totals_of_parts[1]))
        totals.append(satterthwaite(*last))
        error, freedom = (
            np.append(
                np.stack([error_of_slice[place] for error_of_slice in slices], axis=-1).reshape(-1),
                np.concatenate([error_of_slice[place] for error_of_slice in totals]),
            )
            for place in (0, 1)
        )
        return error, freedom

    def _difference(self, value: Array, spread: tuple[Array, Array]) -> Difference:
        error, freedom = spread
        sure = (value == 0) & (error == 0)
        half, p = student_test(value, error, freedom, self._level)
        status = np.full(value.shape, "ok", dtype=object)
        status[~np.isfinite(half)] = DEGENERATE
        status[~np.isfinite(error)] = "not_estimable"
        if None in (self._sides[0].uncertainty, self._sides[1].uncertainty):
            status[:] = "not_requested"
        else:
            half[sure], status[sure] = 0.0, "ok"
        blocks, ok = freedom.astype(np.int64), np.full(value.shape, "ok", dtype=object)
        p_and_t = p, student_statistic(value, error, p)
        return Difference.by_student(
            value, (value - half, value + half), error, p_and_t, blocks, (status, ok)
        )

    def _refusal(self, status: str, note: str | None) -> pl.DataFrame:
        nothing = Difference.without_intervals(np.full(1, np.nan), status, "undefined_value")
        return part_rows(self._about, ["all"], [[]], ["total"], nothing, note)


def _errors(before: RunMeans, after: RunMeans) -> dict[str, Array]:
    """Sensitivity of each part to the values of either run: `[run, slice]`."""
    w0, w1 = before.shares.share, after.shares.share
    both = (w0 != 0) & (w1 != 0)
    sides = np.stack([before.error, after.error])
    alone = np.where(both, np.abs(w1 - w0) / 2, np.stack([w0, w1]))
    factors = {
        "within": np.broadcast_to(np.where(both, (w0 + w1) / 2, 0.0), sides.shape),
        "mix": alone,
        "total": np.stack([w0, w1]),
    }
    return {name: np.where(factor != 0, factor * sides, 0.0) for name, factor in factors.items()}


def _freedom(before: RunMeans, after: RunMeans) -> Array:
    """Degrees of freedom of the errors of values in either run, and of those of shares: `[error, slice]`."""
    of_shares = np.array([[before.units], [after.units]]) - 1.0
    of_values = np.stack([before.freedom, after.freedom])
    return np.concatenate([of_values, np.broadcast_to(np.maximum(of_shares, 1.0), of_values.shape)])


def _errors_of_shares(
    before: RunMeans, after: RunMeans
) -> tuple[dict[str, Array], dict[str, tuple[Array, Array]]]:
    """Sensitivity of each part to the shares of either run, `[run, slice]`; and all together, with the freedom.

    With c the change of a part per share, its variance is c^2 w (1 - w) / n in a slice, and in all together
    (sum of w c^2 - (sum of w c)^2) / n.
    """
    w = np.stack([before.shares.share, after.shares.share])
    m = np.where(w != 0, np.stack([before.shares.value, after.shares.value]), 0.0)
    n = np.array([[before.units], [after.units]])
    both = (w != 0).all(axis=0)
    change = {
        "within": np.broadcast_to(np.where(both, (m[1] - m[0]) / 2, 0.0), w.shape),
        "mix": np.where(both, m.mean(axis=0), m),
        "total": m,
    }
    single = {
        name: np.abs(changes) * np.sqrt(w * np.maximum(1.0 - w, 0.0) / n) for name, changes in change.items()
    }
    together = {}
    for name, changes in change.items():
        centred = changes - (w * changes).sum(axis=1, keepdims=True)
        error = np.sqrt((w * centred**2).sum(axis=1) / n[:, 0])
        together[name] = (error, np.maximum(n[:, 0] - 1.0, 1.0))
    return single, together


def independent_units(side: Side, blocks: int, *, unit_weight: bool) -> float:
    """Number of independent units of the shares of a run's slices: infinity where it is unknown.

    Where each unit is its own block, these are the blocks that the table counts. Else the blocks' sums vary about
    their mean as those of so many units would, to the whole block that the table gives. Where each row is a unit and
    weighs the same (`unit_weight`), these are the rows.

    >>> import polars as pl
    >>> side = Side("", pl.DataFrame(), None, units=20_000, groups=1000)
    >>> independent_units(side, 909, unit_weight=False), independent_units(side, 952, unit_weight=True)
    (9989.0, 20000.0)
    """
    if side.units == 0:
        return float("inf")
    if side.units == side.groups or unit_weight:
        return float(max(side.units if unit_weight else blocks, 1))
    if blocks >= side.groups:
        return float(side.units)
    return float(min(side.units, side.groups * blocks // (side.groups - blocks)))
