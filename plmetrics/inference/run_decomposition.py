"""What a change of a mean from an earlier run is made of, from the tables `metrics` of both; see `decomposition`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.catalogue.means import is_weighed_by_rows
from plmetrics.core.results import DECOMPOSITION_SCHEMA
from plmetrics.inference.comparisons.paired import Difference, student_test
from plmetrics.inference.decomposition import PARTS, REST, Shares, change_parts, part_rows, subjects
from plmetrics.inference.run_comparisons import NOT_IN_RUN, joined, sample

if TYPE_CHECKING:
    from collections.abc import Iterator

    from plmetrics.inference.comparisons.independent import Sample
    from plmetrics.inference.decomposition import Subject
    from plmetrics.inference.run_comparisons import Side
    from plmetrics.suite.model import Suite

Array = NDArray[np.float64]

NOTE = "independent samples; shares of slices are taken as known"
_NO_SHARES = "the table of an earlier run has no shares of this metric's denominator"
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """A run's mean in all rows and in slices: what each contributes, with errors and degrees of freedom."""

    shares: Shares
    error: Array
    freedom: Array


def run_decompositions(suite: Suite, now: Side, before: Side, level: float) -> pl.DataFrame:
    """The table `decomposition` of this run against an earlier one, for the models that both have.

    Shares are those of the weight of rows, which results hold; a mean with another denominator, such as precision, has
    one row that says so (`unknown_shares`). Intervals are t intervals with Satterthwaite's degrees of freedom of the
    slices' standard errors. What a run has no value for is in the part of the slice `rest`, which has no interval.
    """
    both = joined(now.metrics, before.metrics)
    parts = [
        _Runs(both, (before, now), model, subject, level).frame()
        for model in suite.models
        for subject in subjects(suite)
    ]
    return pl.concat([DECOMPOSITION_SCHEMA.to_frame(), *parts])


class _Runs:
    def __init__(
        self, both: pl.DataFrame, sides: tuple[Side, Side], model: str, subject: Subject, level: float
    ) -> None:
        own = both.filter(
            pl.col("model") == model,
            pl.col("metric") == subject.metric.text,
            pl.col("class").eq_missing(pl.lit(subject.named or None)),
        )
        self._overall = own.filter(pl.col("slice_set") == "overall")
        self._slices = own.filter(pl.col("slice_set") == subject.slice_set)
        self._sides = sides
        self._subject = subject
        self._level = level
        self._about = {
            "contrast": "run",
            "model": model,
            "baseline": sides[0].name,
            "metric": subject.metric.text,
            "class": subject.named or None,
            "slice_set": subject.slice_set,
        }

    def frame(self) -> pl.DataFrame:
        """Its rows: three of each slice, then three of all together."""
        if not is_weighed_by_rows(self._subject.own):
            return self._refused("unknown_shares", _NO_SHARES)
        wholes = list(self._wholes())
        statuses = [side.status[0] for side in wholes if len(side.status)]
        lost = [status for status in statuses if status != "ok"]
        if lost or not statuses:
            return self._refused(str(lost[0]) if lost else NOT_IN_RUN, None)
        before, after = (
            self._of(suffix, side, whole)
            for suffix, side, whole in zip(("|b", ""), self._sides, wholes, strict=True)
        )
        within, mix = change_parts(before.shares, after.shares)
        errors = _errors(before, after)
        held = (before.shares.share != 0) | (after.shares.share != 0)
        value = np.stack([within, mix, within + mix], axis=-1)
        totals = np.array([within.sum(), mix.sum(), wholes[1].value[0] - wholes[0].value[0]])
        moved = [(errors[part][:, held], errors["freedom"][:, held]) for part in PARTS]
        last = (
            np.array([[one.error[0]] for one in wholes]),
            np.array([[one.blocks[0] - 1.0] for one in wholes]),
        )
        made = self._judged(np.append(value[held].reshape(-1), totals), self._spread(moved, last))
        texts = np.array([*self._slices["slice"].to_list(), REST], dtype=object)[held]
        pairs = [*self._slices["slice_values"].to_list(), []]
        names = [*np.repeat(texts, 3).tolist(), *["all"] * 3]
        values = [pair for pair, listed in zip(pairs, held, strict=True) if listed for _ in PARTS] + [[]] * 3
        return part_rows(self._about, names, values, [*PARTS] * (len(names) // 3), made, NOTE)

    def _wholes(self) -> Iterator[Sample]:
        for suffix, side in zip(("|b", ""), self._sides, strict=True):
            yield sample(self._overall, suffix, resampled=side.resampled)

    def _of(self, suffix: str, side: Side, whole: Sample) -> Whole:
        """One run, with what its slices leave over as one more."""
        found = sample(self._slices, suffix, resampled=side.resampled)
        weight = self._slices[f"weight{suffix}"].fill_null(0.0).to_numpy()
        total = float(self._overall[f"weight{suffix}"].fill_null(0.0).sum())
        share = np.where(np.isfinite(found.value), weight / total, 0.0)
        value = np.where(share != 0, found.value, 0.0)
        left = 1.0 - float(share.sum())
        rest = left if left > _NEGLIGIBLE else 0.0
        its_value = (whole.value[0] - float(np.sum(share * value))) / left if rest else 0.0
        shares = Shares(np.append(share, rest), np.append(value, its_value))
        error = np.append(np.where(share != 0, found.error, 0.0), np.nan if rest else 0.0)
        freedom = np.append(np.where(share != 0, found.blocks - 1.0, 1.0), 1.0)
        return Whole(shares, error, np.maximum(freedom, 1.0))

    def _spread(self, moved: Any, last: tuple[Array, Array]) -> tuple[Array, Array]:
        """Standard errors and degrees of freedom of the parts of each slice, and of those of all together."""
        slices = [_combined(error, freedom, 0) for error, freedom in moved]
        totals = [_combined(error.reshape(-1, 1), freedom.reshape(-1, 1), 0) for error, freedom in moved[:2]]
        totals.append(_combined(*last, 0))
        error, freedom = (
            np.append(
                np.stack([one[place] for one in slices], axis=-1).reshape(-1),
                np.concatenate([one[place] for one in totals]),
            )
            for place in (0, 1)
        )
        return error, freedom

    def _judged(self, value: Array, spread: tuple[Array, Array]) -> Difference:
        error, freedom = spread
        sure = (value == 0) & (error == 0)
        half, p = student_test(value, error, freedom, self._level)
        status = np.full(value.shape, "ok", dtype=object)
        status[~np.isfinite(half)] = "degenerate"
        status[~np.isfinite(error)] = "not_estimable"
        if None in (self._sides[0].uncertainty, self._sides[1].uncertainty):
            status[:] = "not_requested"
        else:
            half[sure], status[sure] = 0.0, "ok"
        half[status != "ok"] = np.nan
        method = np.where(status == "ok", "t", "").astype(object)
        method[status != "ok"] = None
        blocks, ok = freedom.astype(np.int64), np.full(value.shape, "ok", dtype=object)
        return Difference(value, value - half, value + half, error, p, blocks, method, status, ok)

    def _refused(self, status: str, note: str | None) -> pl.DataFrame:
        missing = np.full(1, np.nan)
        lost, why, none = (np.full(1, word, dtype=object) for word in ("undefined_value", status, None))
        nothing = Difference(
            missing, missing, missing, missing, missing, np.zeros(1, dtype=np.int64), none, lost, why
        )
        return part_rows(self._about, ["all"], [[]], ["total"], nothing, note)


def _errors(before: Whole, after: Whole) -> dict[str, Array]:
    """By how much each part moves with the values of either run: `[run, slice]`."""
    w0, w1 = before.shares.share, after.shares.share
    both = (w0 != 0) & (w1 != 0)
    sides = np.stack([before.error, after.error])
    alone = np.where(both, np.abs(w1 - w0) / 2, np.stack([w0, w1]))
    factors = {
        "within": np.broadcast_to(np.where(both, (w0 + w1) / 2, 0.0), sides.shape),
        "mix": alone,
        "total": np.stack([w0, w1]),
    }
    made = {name: np.where(factor != 0, factor * sides, 0.0) for name, factor in factors.items()}
    return {**made, "freedom": np.stack([before.freedom, after.freedom])}


def _combined(error: Array, freedom: Array, axis: int) -> tuple[Array, Array]:
    """The error of a sum of independent numbers, and Satterthwaite's degrees of freedom."""
    squares = error * error
    whole = squares.sum(axis=axis)
    shares = (squares * squares / np.maximum(freedom, 1.0)).sum(axis=axis)
    return np.sqrt(whole), np.divide(whole * whole, shares, out=np.ones_like(whole), where=shares > 0)
