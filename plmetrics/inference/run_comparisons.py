"""A run held against an earlier one: replicate by replicate where both are of the same units.

Else as independent samples: what its table `metrics` says against what that of the earlier run says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.catalogue.metric import TOTAL
from plmetrics.core.results import first_rows
from plmetrics.inference.comparisons.independent import Sample, independent_difference
from plmetrics.inference.comparisons.inflation import (
    NOISE_NOTE,
    UNEQUAL_NOISE,
    is_inflated,
    sizes_matter,
)
from plmetrics.inference.contrasts import UNEQUAL_ROWS
from plmetrics.inference.kept import sharing
from plmetrics.inference.paired_runs import PairedRuns
from plmetrics.inference.tables import COMPARED_SCHEMA, comparison_columns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.comparisons.paired import Difference
    from plmetrics.inference.kept import Kept
    from plmetrics.suite.sections import ContrastScale, Uncertainty

KEYS = ("model", "slice_set", "slice", "metric", "class")
TEST = "independent_t"
"""What the test of two runs is called that are not of the same units."""

NOTE = "independent samples"
PAIRED, PAIRED_ROWS = "paired: both runs are of the same units", "paired: both runs are of the same rows"
NOT_IN_RUN = "not_in_run"
_ALIKE = "@alike"


@dataclass(frozen=True, slots=True)
class Side:
    """A run: what it is called, its table `metrics`, and how its intervals were made (None: it has none).

    `units` is how many units it has, and `groups` into how many blocks they fell; 0 where that is not known. `kept`
    are its replicates, if it kept them.
    """

    name: str
    metrics: pl.DataFrame
    uncertainty: Uncertainty | None
    units: int = 0
    groups: int = 0
    kept: Kept | None = None

    @property
    def resampled(self) -> bool:
        """Whether its standard errors are those of resampled blocks."""
        methods = getattr(self.uncertainty, "methods", None) or (
            getattr(self.uncertainty, "method", "bootstrap"),
        )
        return methods[0] == "bootstrap"


def run_comparisons(
    now: Side, before: Side, scales: Sequence[ContrastScale], level: float, metrics: Sequence[Metric] = ()
) -> pl.DataFrame:
    """The rows of `comparisons` that hold a run against an earlier one.

    Args:
        now: the run. Its rows come first, in its order.
        before: the earlier run, which the rows name as their baseline. Rows that it alone has come last.
        scales: what a comparison is: the difference, the ratio, the relative change.
        level: two-sided confidence level of the intervals.
        metrics: of the run. Totals are compared over equally many rows only; of those that are best at 0 it is also
            tested which run is nearer to it.

    Returns:
        A row per value of either run and scale, without adjusted p values, and with `blocks` where runs are paired.
        What one of the runs does not have has the status `not_in_run`.
    """
    both = joined(now.metrics, before.metrics)
    if both.is_empty():
        return COMPARED_SCHEMA.to_frame()
    sides = sample(both, "", resampled=now.resampled), sample(both, "|b", resampled=before.resampled)
    pairing = pairing_of(both, now, before)
    unequal = _totals_of_unequal_rows(both, metrics)
    nearer = _nearer(both, sides, pairing, level, metrics)
    parts = []
    for scale in scales:
        made = independent_difference(*sides, level=level, scale=scale)
        if pairing.runs is not None:
            made = pairing.runs.onto(made, scale, level)
        made = made.refuse(unequal, UNEQUAL_ROWS)
        made = made.untested(_of_noise(both, sides, made, scale, metrics), UNEQUAL_NOISE)
        parts.append(_rows(both, made, scale, (now, before), pairing).with_columns(nearer))
    return pl.concat(parts)


def _totals_of_unequal_rows(both: pl.DataFrame, metrics: Sequence[Metric]) -> NDArray[np.bool_]:
    """The totals that are of more rows, or of more weight, in one of the runs."""
    near = (pl.col("weight") - pl.col("weight|b")).abs() <= 1e-9 * pl.col("weight").abs()
    same = (pl.col("n") == pl.col("n|b")) & near
    total = pl.col("metric").is_in([metric.text for metric in metrics if metric.additive])
    return both.select(total & ~same.fill_null(value=True)).to_series().to_numpy()


def _of_noise(
    both: pl.DataFrame, sides: tuple[Sample, Sample], made: Difference, scale: str, metrics: Sequence[Metric]
) -> NDArray[np.bool_]:
    """The norms that may differ because noise adds more to the run with fewer rows."""
    norm = both["metric"].is_in([metric.text for metric in metrics if is_inflated(metric, scale)]).to_numpy()
    rows = both.select(pl.col("n", "n|b").cast(pl.Float64)).to_numpy().T
    values = np.stack([side.value for side in sides])
    error = np.hypot(*(side.std_error for side in sides))
    found: NDArray[np.bool_] = norm & (made.interval_status == "ok") & sizes_matter(values, rows, error)
    return found


def _nearer(
    both: pl.DataFrame,
    sides: tuple[Sample, Sample],
    pairing: Pairing,
    level: float,
    metrics: Sequence[Metric],
) -> list[pl.Series]:
    """By how much the run is nearer to 0 than the earlier one, and the p value of that, where 0 is best."""
    zero = both["metric"].is_in([metric.text for metric in metrics if metric.direction == "zero"]).to_numpy()
    one, other = (replace(side, value=np.abs(side.value)) for side in sides)
    made = independent_difference(one, other, level=level)
    if pairing.runs is not None and zero.any():
        made = pairing.runs.onto(made, "difference", level, absolute=True)
    numbers = {"nearer": -made.difference, "nearer_p": made.p_value}
    return [
        pl.Series(name, np.where(zero, values, np.nan)).fill_nan(None) for name, values in numbers.items()
    ]


@dataclass(frozen=True, slots=True)
class Pairing:
    """The values of two runs that are paired, None where they are not of the same units; and what a row's note says.

    `test` and `note` are of each row.
    """

    runs: PairedRuns | None
    test: NDArray[np.object_]
    note: NDArray[np.object_]


def pairing_of(both: pl.DataFrame, now: Side, before: Side) -> Pairing:
    """Which of the joined rows are paired."""
    shared = sharing(now.kept, before.kept)
    said = NOTE if shared.words is None else f"taken as {NOTE}: {shared.words}"
    test, note = (np.full(both.height, text, dtype=object) for text in (TEST, said))
    if not shared.paired or now.kept is None or before.kept is None:
        return Pairing(None, test, note)
    runs = PairedRuns(both, (("", now.kept), ("|b", before.kept)))
    tests, paired = runs.tests, runs.paired
    by_row = now.kept.facts["by_row"]
    note[:] = f"taken as {NOTE}: there are no replicates of both runs"
    note[paired], test[paired] = PAIRED_ROWS if by_row else PAIRED, tests[paired]
    return Pairing(runs, test, note)


def joined(now: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """The rows of either run side by side, those of the earlier one with `|b`; of several methods the first.

    In tables of older versions slices may share a text: none of these is taken for one of this run.
    """
    mine, other = (
        first_rows(frame).with_columns(pl.len().over(KEYS).alias(_ALIKE), here=True)
        for frame in (now, before)
    )
    on = [*KEYS, _ALIKE]
    both = mine.join(other, on=on, how="left", suffix="|b", nulls_equal=True, maintain_order="left")
    alone = other.join(mine, on=on, how="anti", nulls_equal=True, maintain_order="left")
    both, alone = both.drop(_ALIKE), alone.drop(_ALIKE)
    own = [name for name in alone.columns if name not in KEYS]
    gone = alone.rename({name: f"{name}|b" for name in own}).with_columns(
        pl.col("slice_values|b").alias("slice_values")
    )
    return pl.concat([both, gone], how="diagonal")


def sample(both: pl.DataFrame, suffix: str, *, resampled: bool) -> Sample:
    """One side of joined rows; where the other side has a row and this has none, `not_in_run`."""
    present = pl.col(f"here{suffix}").is_not_null()
    found = both.select(
        pl.col(f"value{suffix}").alias("value"),
        pl.when(present).then(f"status{suffix}").otherwise(pl.lit(NOT_IN_RUN)).alias("status"),
        pl.col(f"std_error{suffix}").alias("std_error"),
        pl.col(f"blocks{suffix}").fill_null(0).alias("blocks"),
        pl.col(f"interval_status{suffix}").fill_null("undefined_value").alias("interval_status"),
    )
    return Sample(
        _numbers(found["value"]),
        found["status"].to_numpy().astype(object),
        _numbers(found["std_error"]),
        found["blocks"].to_numpy(),
        found["interval_status"].to_numpy().astype(object),
        resampled,
    )


def _numbers(column: pl.Series) -> NDArray[np.float64]:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _rows(
    both: pl.DataFrame, made: Difference, scale: str, runs: tuple[Side, Side], pairing: Pairing
) -> pl.DataFrame:
    n = both.select(pl.min_horizontal("n", "n|b")).to_series()
    intervals = all(run.uncertainty is not None for run in runs)
    numbers = comparison_columns(made, n, intervals=intervals, test="")
    if intervals:
        blocks = np.where(pairing.test != TEST, made.blocks, np.nan)
        numbers |= {"test": pairing.test, "blocks": pl.Series(blocks).fill_nan(None)}
    columns = {
        name: pl.Series(
            name,
            values.tolist() if values.dtype == object else values,
            dtype=COMPARED_SCHEMA[name],
            strict=False,
        )
        for name, values in numbers.items()
        if not isinstance(values, str)
    }
    words = {name: pl.lit(values) for name, values in numbers.items() if isinstance(values, str)}
    here, there = pl.col("here").is_not_null(), pl.col("here|b").is_not_null()
    total, norm = (
        pl.Series(part, dtype=pl.Boolean)
        for part in (made.status == UNEQUAL_ROWS, made.interval_status == UNEQUAL_NOISE)
    )
    note = (
        pl.when(~there)
        .then(pl.lit("only in this run"))
        .when(~here)
        .then(pl.lit("only in the earlier run"))
        .when(total)
        .then(pl.lit(f"it {TOTAL}"))
        .when(norm)
        .then(pl.lit(NOISE_NOTE))
    ).otherwise(pl.Series(pairing.note, dtype=pl.String))
    made_here = both.with_columns(
        **columns,
        **words,
        contrast=pl.lit("run"),
        scale=pl.lit(scale),
        baseline=pl.lit(runs[1].name),
        note=note,
    ).with_columns(pl.col(pl.Float64).fill_nan(None))
    return made_here.select(
        pl.col(name).cast(dtype) if name in made_here.columns else pl.lit(None, dtype).alias(name)
        for name, dtype in COMPARED_SCHEMA.items()
    )
