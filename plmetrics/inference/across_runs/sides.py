"""Two runs as sides of a comparison: their rows aligned, and pairs of values where both are of the same units.

Where they are not, values are independent samples. Pairs hold the replicates of one run against those of the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from plmetrics.core.ops import Array, Codes, Flags, Texts
from plmetrics.core.results import RecordedMasses, first_rows
from plmetrics.inference.across_runs.retained_replicates import RunReplicates, Sharing, as_replicates, sharing
from plmetrics.inference.comparisons.independent import Sample
from plmetrics.inference.comparisons.inflation import bounded_by_noise
from plmetrics.inference.comparisons.paired_bootstrap import (
    Difference,
    distance,
    log_estimate,
    paired_difference,
    paired_ratio,
    without_spread,
)
from plmetrics.inference.estimate import Estimate, ReplicateKind, of_other_rows
from plmetrics.inference.intervals.closed_forms import hidden_error, tie_of_shares
from plmetrics.inference.intervals.spread import of_tied_rows, without_difference
from plmetrics.inference.records import entries_of
from plmetrics.inference.tables import TESTS

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.suite.sections.basics import ContrastScale
    from plmetrics.suite.sections.uncertainty import Uncertainty


KEYS = ("model", "slice_set", "slice", "metric", "class")
"""Keys of the values of a run."""

ROUNDING = 1e-9
"""By what share of their size values are taken as the same: sums of floats in another order differ a little."""

_OCCURRENCE, _OCCURRENCES = "@occurrence", "@occurrences"

NOT_IN_RUN = "not_in_run"
_PLACE, _CURRENT, _EARLIER = "@place", "@current", "@earlier"
_AT_ONCE = 1 << 21
"""How many replicates of a run are held against those of the other at a time."""


def align(now: pl.DataFrame, before: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Rows of either run, with columns of the earlier one called `name|b`; those of the earlier run alone come last.

    `here` and `here|b` are not null where a run has the row. In tables of older versions slices may share a text: their
    rows are matched in their order where both runs have as many, else not at all.
    """
    on = [*keys, _OCCURRENCE, _OCCURRENCES]
    current, other = (
        frame.with_columns(
            pl.int_range(pl.len()).over(keys).alias(_OCCURRENCE),
            pl.len().over(keys).alias(_OCCURRENCES),
            here=True,
        )
        for frame in (now, before)
    )
    other = other.rename({name: f"{name}|b" for name in other.columns if name not in on})
    both = current.join(other, on=on, how="left", nulls_equal=True, maintain_order="left")
    gone = other.join(current, on=on, how="anti", nulls_equal=True, maintain_order="left")
    return pl.concat([both, gone], how="diagonal").drop(_OCCURRENCE, _OCCURRENCES)


def aligned_metrics(now: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """The tables `metrics` of two runs aligned, with the first interval of each value."""
    both = align(first_rows(now), first_rows(before), KEYS)
    gone = pl.col("here").is_null()
    return both.with_columns(slice_values=pl.when(gone).then("slice_values|b").otherwise("slice_values"))


@dataclass(frozen=True, slots=True)
class Side:
    """Run: its name, its table `metrics`, and the method of its intervals (None: it has none).

    `units` is the number of its units, and `groups` that of their blocks; 0 if unknown. `replicates` are the retained
    ones of its estimates, if any, and `masses` the denominators of its decomposed means.
    """

    name: str
    metrics: pl.DataFrame
    uncertainty: Uncertainty | None
    units: int = 0
    groups: int = 0
    replicates: RunReplicates | None = None
    masses: Sequence[RecordedMasses] = ()

    @property
    def level(self) -> float:
        """Confidence level of its intervals, or that of comparisons without any."""
        return 0.95 if self.uncertainty is None else self.uncertainty.level

    @property
    def is_resampled(self) -> bool:
        """Whether its standard errors are those of resampled blocks."""
        methods = getattr(self.uncertainty, "methods", None) or (
            getattr(self.uncertainty, "method", "bootstrap"),
        )
        return methods[0] == "bootstrap"


@dataclass(frozen=True, slots=True)
class Pairing:
    """Pairing of two runs, with their paired values; `runs` is None where they are not of the same units."""

    shared: Sharing
    runs: PairedRuns | None


def pairing_of(both: pl.DataFrame, now: Side, before: Side) -> Pairing:
    """Pairs of two runs with aligned rows."""
    shared = sharing(now.replicates, before.replicates)
    if not shared.paired or now.replicates is None or before.replicates is None:
        return Pairing(shared, None)
    return Pairing(shared, PairedRuns(both, (("", now.replicates), ("|b", before.replicates))))


def sample(both: pl.DataFrame, suffix: str, side: Side) -> Sample:
    """One side of joined rows; where the other side has a row and this has none, `not_in_run`.

    Where replicates show no spread of a value at an end of its range, its interval says how sure it is.
    """
    present = pl.col(f"here{suffix}").is_not_null()
    numbers = both.select(
        pl.col(f"value{suffix}").alias("value"),
        pl.when(present).then(f"status{suffix}").otherwise(pl.lit(NOT_IN_RUN)).alias("status"),
        pl.col(f"std_error{suffix}").alias("std_error"),
        pl.col(f"blocks{suffix}").fill_null(0).alias("blocks"),
        pl.col(f"interval_status{suffix}").fill_null("undefined_value").alias("interval_status"),
        pl.col(f"n{suffix}").alias("n"),
    )
    blocks, std_error = numbers["blocks"].to_numpy(), _numbers(numbers["std_error"])
    hidden = hidden_error((_reach(both, suffix),), blocks, side.level)
    return Sample(
        _numbers(numbers["value"]),
        numbers["status"].to_numpy().astype(object),
        np.where(hidden > 0, hidden, std_error),
        blocks,
        numbers["interval_status"].to_numpy().astype(object),
        side.is_resampled,
        np.where(hidden > 0, np.nan, _numbers(numbers["n"])),
    )


def _reach(rows: pl.DataFrame, suffix: str) -> Array:
    """Length of the interval of each value without a standard error, 0 where there is one."""
    lower, upper, error = (_numbers(rows[f"{name}{suffix}"]) for name in ("lower", "upper", "std_error"))
    return np.where((error == 0) & (upper > lower), upper - lower, 0.0)


def _plausible(rows: pl.DataFrame, suffix: str) -> Array:
    """Farther end of the interval of each value without a standard error, and the value where there is one."""
    value, lower = (_numbers(rows[f"{name}{suffix}"]) for name in ("value", "lower"))
    reach = _reach(rows, suffix)
    return value + np.where(value - lower > reach / 2, -reach, reach)


def _numbers(column: pl.Series) -> Array:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


@dataclass(frozen=True, slots=True)
class Kind:
    """Rows of a table with replicates of one kind in both runs, and their places in either run."""

    kind: ReplicateKind
    rows: Codes
    current: Codes
    earlier: Codes


class PairedRuns:
    """Comparison of the values of two runs over the same units.

    `both` has a row per value of either run: the keys, and columns with a suffix for one of the runs. `runs` are the
    suffix of each run and what it kept, that of the run which the other is held against last.
    """

    def __init__(
        self, both: pl.DataFrame, runs: tuple[tuple[str, RunReplicates], tuple[str, RunReplicates]]
    ) -> None:
        self._both = both
        self._runs = runs
        self._kinds = list(_kinds(both, *(replicates.rows for _, replicates in runs)))
        self._equal = self._equal_rows()

    @property
    def tests(self) -> Texts:
        """The test of each row, None where a run has no replicates of it."""
        names = np.full(self._both.height, None, dtype=object)
        for kind in self._kinds:
            names[kind.rows] = TESTS[kind.kind]
        return names

    @property
    def mask(self) -> Flags:
        """Mask of rows with replicates in both runs."""
        is_paired = np.zeros(self._both.height, dtype=np.bool_)
        for kind in self._kinds:
            is_paired[kind.rows] = True
        return is_paired

    def onto(
        self,
        independent: Difference,
        scale: ContrastScale,
        level: float,
        *,
        absolute: bool = False,
        metrics: Sequence[Metric] = (),
    ) -> Difference:
        """Differences of independent samples, with paired ones in their places; or ratios, changes, distances from 0.

        Among `metrics` norms hold without their noise, and ties of shares have intervals.
        """
        fields = {name: np.array(getattr(independent, name)) for name in Difference.__slots__}
        for kind, part in self._parts():
            sides, rows = self._sides(kind, part), kind.rows[part]
            shares = self._shares(sides, rows, metrics, level)
            paired = self._contrast(shares, rows, scale, level, absolute=absolute)
            for index, bounded in self._norms(paired, sides, rows, metrics, scale, level):
                for name in fields:
                    getattr(paired, name)[index] = getattr(bounded, name)
            for name, column in fields.items():
                column[rows] = getattr(paired, name)
        return Difference(**fields)

    def differences(self, level: float, metrics: Sequence[Metric]) -> Difference:
        """Differences of the paired rows, without values for the others; `metrics` as in `onto`."""
        nothing = Difference.without_intervals(np.full(self._both.height, np.nan), None, None)
        return self.onto(nothing, "difference", level, metrics=metrics)

    def _parts(self) -> Iterator[tuple[Kind, slice]]:
        """Rows of a kind, so many at a time as memory has room for."""
        for kind in self._kinds:
            replicates = self._runs[0][1].rows["replicates"].list.len().gather(kind.current[:1]).item()
            step = max(1, _AT_ONCE // replicates)
            for first in range(0, len(kind.rows), step):
                yield kind, slice(first, first + step)

    def _shares(
        self, sides: tuple[Estimate, Estimate], rows: Codes, metrics: Sequence[Metric], level: float
    ) -> tuple[Estimate, Estimate]:
        """Sides whose shares and means in [0, 1] have the plausible ends that pairs leave: none, or those of ties.

        Which rows a run counts is not kept: those of means over all rows are the same where they are as many.
        """
        both = self._both[rows]
        shares = [metric.text for metric in metrics if metric.value_kind.end_form == "wilson"]
        whole = both["metric"].is_in([metric.text for metric in metrics if metric.mean == "rows"]).to_numpy()
        pair = of_other_rows(
            *(
                replace(side, fingerprints=(np.where(whole, _numbers(both[f"n{suffix}"]), np.nan),))
                for side, (suffix, _) in zip(sides, self._runs, strict=True)
            )
        )
        tied = both["metric"].is_in(shares).to_numpy() & ~self._equal[rows] & without_difference(*pair)
        tie = tie_of_shares(pair[0].smallest_size, level)
        return of_tied_rows(replace(pair[0], tie=tie), pair[1], tied)

    def _norms(
        self,
        paired: Difference,
        sides: tuple[Estimate, Estimate],
        rows: Codes,
        metrics: Sequence[Metric],
        scale: ContrastScale,
        level: float,
    ) -> Iterator[tuple[Codes, Difference]]:
        """The contrasts of each norm among some rows, with their places there."""
        norms = [metric for metric in metrics if metric.value_kind.is_norm]
        if not norms:
            return
        texts = self._both["metric"].gather(rows).to_numpy()
        fewest = self._both.select(pl.min_horizontal("n", "n|b").fill_null(0)).to_series().to_numpy()[rows]
        for metric in norms:
            index = np.flatnonzero(texts == metric.text)
            pair = sides[0].take(index), sides[1].take(index)
            part = entries_of(paired, index)
            yield index, bounded_by_noise(part, pair, metric, fewest[index], scale, level)

    def _contrast(
        self,
        sides: tuple[Estimate, Estimate],
        rows: Codes,
        scale: ContrastScale,
        level: float,
        *,
        absolute: bool,
    ) -> Difference:
        model, baseline = sides
        if absolute:
            model, baseline = distance(model), distance(baseline)
        equal = self._equal[rows]
        if scale == "difference":
            return paired_difference(model, baseline, equal=equal, level=level)
        logs = log_estimate(model), log_estimate(baseline)
        relative = scale == "relative_change"
        return paired_ratio(model, baseline, logs, equal=equal, level=level, relative=relative)

    def _sides(self, kind: Kind, part: slice) -> tuple[Estimate, Estimate]:
        """Both runs' estimates; of as many replicates as both have."""
        rows = self._both[kind.rows[part]]
        retained = [
            run.rows[places[part]]
            for (_, run), places in zip(self._runs, (kind.current, kind.earlier), strict=True)
        ]
        replicates = [as_replicates(stored["replicates"]) for stored in retained]
        least = min(map(len, replicates))
        model, baseline = (
            Estimate(
                _numbers(rows[f"value{suffix}"]),
                rows[f"status{suffix}"].to_numpy().astype(object),
                stored["blocks"].to_numpy(),
                of_run[:least],
                (stored["blocks"].to_numpy().astype(np.float64),),
                kind=kind.kind,
                groups=stored["groups"].to_numpy() if stored["groups"].null_count() == 0 else None,
                plausible=_plausible(rows, suffix),
            )
            for (suffix, _), stored, of_run in zip(self._runs, retained, replicates, strict=True)
        )
        return model, baseline

    def _equal_rows(self) -> Flags:
        """Rows of models with equal numbers in both runs, in each replicate; values that none moves prove nothing."""
        same, moves = self._same_values(), np.zeros(self._both.height, dtype=np.bool_)
        for kind, part in self._parts():
            model, baseline = self._sides(kind, part)
            same[kind.rows[part]] &= _same_replicates(model, baseline)
            moves[kind.rows[part]] = ~without_spread(replace(model, plausible=None))
        flags = pl.DataFrame({"model": self._both["model"], "same": same, "moves": moves})
        equal = pl.col("same").all().over("model") & pl.col("moves").any().over("model")
        return flags.select(equal).to_series().to_numpy()

    def _same_values(self) -> Flags:
        """Mask of equal values of two runs up to rounding, true also without a value on either side."""
        first, second = (suffix for suffix, _ in self._runs)
        first_value, second_value = pl.col(f"value{first}"), pl.col(f"value{second}")
        size = pl.max_horizontal(first_value.abs(), second_value.abs())
        same_status = pl.col(f"status{first}") == pl.col(f"status{second}")
        near = ((first_value - second_value).abs() <= ROUNDING * size).fill_null(value=True)
        same_values = self._both.select((same_status & near).fill_null(value=True)).to_series()
        return np.array(same_values.to_numpy())


def _kinds(both: pl.DataFrame, current: pl.DataFrame, earlier: pl.DataFrame) -> Iterator[Kind]:
    """Rows with replicates of the same kind in either run; of slices with equal text in both."""
    nth = pl.int_range(pl.len()).over(KEYS).alias(_OCCURRENCE)
    of = pl.len().over(*KEYS, "kind").alias(_OCCURRENCES)

    def numbered(frame: pl.DataFrame, place: str, *columns: str | pl.Expr) -> pl.DataFrame:
        return frame.select(*KEYS, *columns, nth).with_row_index(place)

    on: Sequence[str] = [*KEYS, _OCCURRENCE]
    stored = numbered(current, _CURRENT, "kind", of).join(
        numbered(earlier, _EARLIER, "kind", of), on=[*on, "kind", _OCCURRENCES], how="inner", nulls_equal=True
    )
    matched = numbered(both, _PLACE).join(stored, on=on, how="inner", nulls_equal=True).sort(_PLACE)
    for (kind,), part in matched.group_by("kind", maintain_order=True):
        yield Kind(
            cast("ReplicateKind", kind),
            *(part[name].cast(pl.Int64).to_numpy() for name in (_PLACE, _CURRENT, _EARLIER)),
        )


def _same_replicates(first: Estimate, second: Estimate) -> Flags:
    """Mask of slices with replicates equal but for rounding."""
    assert first.replicates is not None
    assert second.replicates is not None
    with np.errstate(invalid="ignore"):
        size = np.fmax(np.abs(first.replicates), np.abs(second.replicates))
        near = np.abs(first.replicates - second.replicates) <= ROUNDING * size
    undefined = np.isnan(first.replicates) & np.isnan(second.replicates)
    return np.asarray((near | undefined).all(axis=0))
