"""Two runs as sides of a comparison: pairs where both are of the same units, else independent samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.inference.across_runs.retained_replicates import sharing
from plmetrics.inference.across_runs.run_pairs import PairedRuns
from plmetrics.inference.comparisons.independent import Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from plmetrics.core.results import RecordedMasses
    from plmetrics.inference.across_runs.retained_replicates import RunReplicates, Sharing
    from plmetrics.suite.sections.uncertainty import Uncertainty

NOT_IN_RUN = "not_in_run"


@dataclass(frozen=True, slots=True)
class Side:
    """A run: what it is called, its table `metrics`, and how its intervals were made (None: it has none).

    `units` is how many units it has, and `groups` into how many blocks they fell; 0 where that is not known. `kept`
    are its replicates, if it kept them, and `masses` the denominators of means that it decomposed.
    """

    name: str
    metrics: pl.DataFrame
    uncertainty: Uncertainty | None
    units: int = 0
    groups: int = 0
    kept: RunReplicates | None = None
    masses: Sequence[RecordedMasses] = ()

    @property
    def level(self) -> float:
        """The confidence level of its intervals, or that of comparisons without any."""
        return 0.95 if self.uncertainty is None else self.uncertainty.level

    @property
    def resampled(self) -> bool:
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
    """The pairs of two runs whose rows are aligned."""
    shared = sharing(now.kept, before.kept)
    if not shared.paired or now.kept is None or before.kept is None:
        return Pairing(shared, None)
    return Pairing(shared, PairedRuns(both, (("", now.kept), ("|b", before.kept))))


def sample(both: pl.DataFrame, suffix: str, *, resampled: bool) -> Sample:
    """One side of joined rows; where the other side has a row and this has none, `not_in_run`."""
    present = pl.col(f"here{suffix}").is_not_null()
    numbers = both.select(
        pl.col(f"value{suffix}").alias("value"),
        pl.when(present).then(f"status{suffix}").otherwise(pl.lit(NOT_IN_RUN)).alias("status"),
        pl.col(f"std_error{suffix}").alias("std_error"),
        pl.col(f"blocks{suffix}").fill_null(0).alias("blocks"),
        pl.col(f"interval_status{suffix}").fill_null("undefined_value").alias("interval_status"),
    )
    return Sample(
        _numbers(numbers["value"]),
        numbers["status"].to_numpy().astype(object),
        _numbers(numbers["std_error"]),
        numbers["blocks"].to_numpy(),
        numbers["interval_status"].to_numpy().astype(object),
        resampled,
    )


def _numbers(column: pl.Series) -> NDArray[np.float64]:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()
