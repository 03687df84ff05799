"""Retained replicates of a run, and their units, for pairs with another run.

A replicate's weights follow from the seed, its number and the blocks. Runs of one seed whose blocks hold the same units
have drawn the same units in each replicate, so that replicates of one may be held against those of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes
from plmetrics.core.slice_texts import rename_slices
from plmetrics.inference.tables import WHOLE

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.subject import Analysis, SliceEstimates

KEPT_SCHEMA = pl.Schema(
    [
        *((name, pl.String) for name in ("model", "slice_set", "slice", "metric", "class", "kind")),
        ("blocks", pl.Int64),
        ("groups", pl.Int64),
        ("replicates", pl.List(pl.Float64)),
    ]
)
UNITS_SCHEMA = pl.Schema({"block": pl.UInt64, "units": pl.Int64, "digest": pl.UInt64})

FEW = 1 << 20
"""So many numbers are kept where nobody says whether to: 8 MB."""

MANY = 1 << 23
"""So many are kept where runs are compared: 64 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class RunReplicates:
    """Retained replicates and units of a run.

    `rows` has a row per estimate with replicates, of one key in the order of the table `metrics`: of what kind they
    are, and the effective blocks, and the blocks with rows, that their standard error is made from. `units` has a row
    per block: how many units it holds, and a digest of which. `facts` are the `seed`, and whether each row is a unit
    (`by_row`); the digest is then of labels, too.
    """

    rows: pl.DataFrame
    units: pl.DataFrame
    facts: dict[str, Any]

    def rename(self, now: pl.DataFrame) -> RunReplicates:
        """The replicates with the names of slices in the table of a later run."""
        return replace(self, rows=rename_slices(self.rows, now))

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables of it, by the names of their files."""
        return {"replicates": self.rows, "units": self.units}


@dataclass(frozen=True, slots=True, eq=False)
class Sharing:
    """Whether two runs have equal units and replicates, and else their overlap in words, if known."""

    paired: bool
    words: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Replicates of a metric of one model in some slices of a set: `draws` are `[slice, replicate]`.

    `names` are those of the model, the metric, its class, and the kind of replicates.
    """

    names: tuple[str | None, ...]
    index: int
    numbers: Codes
    blocks: Codes
    groups: Codes | None
    draws: Array

    @property
    def group_column(self) -> pl.Series:
        """The numbers of blocks with rows, null where all count."""
        groups = [None] * len(self.numbers) if self.groups is None else self.groups
        return pl.Series(groups, dtype=pl.Int64)


class Keeper:
    """Collects the replicates of a run, estimate by estimate; none where they are too many and nobody asked."""

    def __init__(self, analysis: Analysis) -> None:
        suite = analysis.suite
        compares = suite.compare is not None and suite.compare.run is not None
        requested = suite.uncertainty is not None and bool(suite.uncertainty.keep)
        self._analysis = analysis
        self._remaining = None if requested else MANY if compares else FEW
        self._listed = {metric.text for metric in suite.metrics}
        self._batches: list[Batch] = []
        self.too_many = False

    def add(self, index: int, metric: Metric, part: SliceEstimates, named: str) -> None:
        """Add the estimates of every model of a metric in a chunk of slices."""
        places = np.flatnonzero(part.mask)
        if self.too_many or metric.text not in self._listed or len(places) == 0:
            return
        for model, estimates in part.estimates.items():
            estimate = estimates.estimate
            if estimate.replicates is None or not self._room(len(estimate.replicates) * len(places)):
                continue
            replicates = np.ascontiguousarray(estimate.replicates[:, places].T)
            groups = None if estimate.groups is None else estimate.groups[places]
            names = model, metric.text, named or None, estimate.kind
            batch = Batch(names, index, places + part.first, estimate.blocks[places], groups, replicates)
            self._batches.append(batch)

    def _room(self, numbers: int) -> bool:
        if self._remaining is not None:
            self._remaining -= numbers
            if self._remaining < 0:
                self.too_many = True
                self._batches.clear()
        return not self.too_many

    def replicates(self, units: pl.DataFrame | None) -> RunReplicates | None:
        """All of it, with the units; None where there is nothing, or units are not known."""
        suite = self._analysis.suite
        if units is None or not self._batches or suite.uncertainty is None:
            return None
        by_row = suite.columns.unit is None and suite.task != "ranking"
        return RunReplicates(self._rows(), units, {"seed": suite.uncertainty.seed, "by_row": by_row})

    def _rows(self) -> pl.DataFrame:
        slices = [states.slices for states in self._analysis.sets]
        sizes = [len(batch.numbers) for batch in self._batches]
        sets = np.repeat([batch.index for batch in self._batches], sizes)
        numbers = np.concatenate([batch.numbers for batch in self._batches])
        texts = pl.Series([text for values in slices for text in ("all", *values.texts())], dtype=pl.String)
        starts = np.concatenate(([0], np.cumsum([1 + len(values) for values in slices])))
        names = [
            np.repeat(np.array(names_of_batches, dtype=object), sizes).tolist()
            for names_of_batches in zip(*(batch.names for batch in self._batches), strict=True)
        ]
        columns: dict[str, Any] = dict(zip(("model", "metric", "class", "kind"), names, strict=True))
        columns["slice_set"] = pl.Series([values.slice_set.name for values in slices]).gather(sets)
        columns["slice"] = texts.gather(starts[sets] + numbers - WHOLE)
        columns["blocks"] = np.concatenate([batch.blocks for batch in self._batches])
        columns["groups"] = pl.concat([batch.group_column for batch in self._batches])
        columns["replicates"] = _end_to_end([batch.draws for batch in self._batches])
        return pl.DataFrame([pl.Series(name, columns[name], dtype) for name, dtype in KEPT_SCHEMA.items()])


def units_table(keys: NDArray[np.uint64], units: Codes, digests: NDArray[np.uint64]) -> pl.DataFrame:
    """The units of a run by block."""
    return pl.DataFrame({"block": keys, "units": units, "digest": digests}, schema=UNITS_SCHEMA)


def _end_to_end(replicates: Sequence[Array]) -> pl.Series:
    """Replicates of batches, one after another; at once where there are as many of each."""
    if len({part.shape[1] for part in replicates}) == 1:
        return as_lists(np.concatenate(replicates))
    return pl.concat([as_lists(part) for part in replicates])


def as_lists(replicates: Array) -> pl.Series:
    """Replicates `[slice, replicate]` as a column of lists, null where undefined.

    >>> as_lists(np.array([[0.5, np.nan]])).to_list()
    [[0.5, None]]
    """
    flat = pl.Series("replicates", replicates.reshape(-1)).fill_nan(None)
    return flat.reshape((-1, replicates.shape[1])).cast(pl.List(pl.Float64))


def as_replicates(lists: pl.Series) -> Array:
    """The replicates as an array `[replicate, slice]`, NaN where undefined.

    >>> as_replicates(pl.Series([[0.5, None]])).tolist()
    [[0.5], [nan]]
    """
    return lists.explode().fill_null(np.nan).to_numpy().reshape(len(lists), -1).T


def sharing(now: RunReplicates | None, before: RunReplicates | None) -> Sharing:
    """Whether replicates of two runs are of the same units, drawn alike."""
    if now is None or before is None or now.facts["by_row"] != before.facts["by_row"]:
        return Sharing(paired=False)
    if now.units.equals(before.units):
        if now.facts["seed"] == before.facts["seed"]:
            return Sharing(paired=True)
        return Sharing(paired=False, words="the runs are of the same units, but resample them by other seeds")
    if now.facts["by_row"]:
        return Sharing(paired=False)  # Rows have no names to tell by which of them are in both.
    totals = [run.units.select(pl.col("units", "digest").sum()).row(0) for run in (now, before)]
    if totals[0] == totals[1]:
        return Sharing(paired=False, words="the runs are of the same units, but in other blocks")
    return Sharing(paired=False, words=_overlap(now.units, before.units))


def _overlap(now: pl.DataFrame, before: pl.DataFrame) -> str | None:
    """Share of units common to two runs, None if there is none."""
    both = now.join(before, on=["block", "units", "digest"], how="semi").height
    if not both:
        return None
    if now["units"].max() == before["units"].max() == 1:
        return f"{both:,} units are in both runs, of {now.height:,} and {before.height:,}"
    return f"{both:,} of {now.height:,} blocks hold the same units in both runs"
