"""Constants of a run, and the plans with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import DataError
from plmetrics.core.exact_sums import Addition
from plmetrics.core.hashing import HASH_VERSION, block_key
from plmetrics.core.ops import Array, Codes
from plmetrics.engine.memory.budget import OrderPlan, order_plan
from plmetrics.states.sums import EVERY, SCORED, Rows
from plmetrics.table.prediction_columns import PLAIN, TREATMENT, UNIT, score_column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from plmetrics.core.results import Json
    from plmetrics.engine.inquiry import Step
    from plmetrics.engine.request import Request, TableView
    from plmetrics.states.scores.grid.run_grids import Grids
    from plmetrics.table.prediction_table import PredictionTable
    from plmetrics.table.slices import Cube, Slices


@dataclass(frozen=True, slots=True)
class Accounting:
    """Numbers of rows: read (after `where`), of weight 0, and dropped, by model.

    `fitted` are further rows, those of calibrators; `pairs` are the rows that queries were made from.
    """

    read: int
    zero_weight: int
    dropped: Mapping[str, int]
    fitted: int = 0
    pairs: int | None = None


class NoRowsLeftError(DataError):
    """Error of a table without rows to count: all are of weight 0, dropped, or for calibrators."""

    rows: Accounting


@dataclass(frozen=True, slots=True)
class Blocks:
    """Blocks of units. `modulus` is None where each unit is its own block.

    `keys` are the group keys of the non-empty blocks, ascending, `units` how many units each holds, and `digests` the
    sums of their hashes modulo 2^64; all are None until the aggregation has counted them, where each row is a unit.
    """

    modulus: int | None
    keys: NDArray[np.uint64] | None = None
    units: Codes | None = None
    digests: NDArray[np.uint64] | None = None

    @property
    def of_unit(self) -> pl.Expr:
        """The group key of the block of a row's unit."""
        return block_key(pl.col(UNIT), self.modulus)


@dataclass(frozen=True, slots=True)
class SliceSums:
    """Sums by all slice keys of the one cube of a run, with the values of the keys in them.

    `plans` are those for the values alone. `frame` is None in a run that only explains.
    """

    frame: pl.DataFrame | None
    plans: tuple[pl.LazyFrame, ...]


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Constants of a run and the plans with them.

    `view` has the rows to count, with all models and final slice keys, and `table` their canonical columns. `grids`
    are the bins of another run to use again, `score_spans` the ends of histograms of scores by model, `countings` the
    constants of features by key, `bin_edges` the edges for curves of labels and predictions, `slice_sums` the sums that
    slice values were taken from, and `steps` the work of the preparation.
    """

    request: Request
    view: TableView
    table: PredictionTable
    slices: tuple[Slices, ...]
    cubes: tuple[Cube, ...]
    rows: Accounting
    blocks: Blocks | None
    centres: Mapping[str, Mapping[str, float]]
    thresholds: Mapping[str, Mapping[str, float]]
    exact: bool
    warnings: tuple[str, ...] = ()
    added: Mapping[str, Json] = field(default_factory=dict)
    addition: Addition = field(default_factory=Addition)
    grids: Grids | None = None
    countings: Mapping[str, object] = field(default_factory=dict)
    score_spans: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    bin_edges: Mapping[str, Array] = field(default_factory=dict)
    slice_sums: SliceSums | None = None

    def row_of(self, model: str) -> Rows:
        """Roles of a model's rows, with the constants of its metrics."""
        rows = rows_of(model, self.table)
        return replace(rows, centres=self.centres[model], thresholds=self.thresholds[model])

    @property
    def sum_rows(self) -> pl.LazyFrame:
        """Rows of the sums."""
        return self.table.all_rows if self.request.counts_every_row else self.table.frame

    def populations(self) -> dict[str, str]:
        """Prefix of the counts of each model: one of its own where rows are dropped per model, else shared."""
        apart = self.request.suite.per_model
        return {model: f"{model}|" if apart else "" for model in self.request.models}

    def score_free(self) -> frozenset[str]:
        """Texts of the metrics that no prediction is in: models of the same rows have them in common."""
        from plmetrics.catalogue.labels import reads_score

        suite, rows = self.request.suite, [self.row_of(model) for model in self.request.models]
        metrics = suite.state_metrics("overall", *suite.slices)
        return frozenset(
            metric.text for metric in metrics if not any(reads_score(metric, each) for each in rows)
        )

    def scored_populations(self) -> dict[str, str]:
        """Prefix of the counts of all rows of each model, labelled or not; none where all have labels."""
        if not self.request.awaits_labels:
            return {}
        apart = self.request.suite.per_model
        return {model: f"{model}|{SCORED}" if apart else SCORED for model in self.request.models}

    @property
    def weighs_apart(self) -> bool:
        """Whether rows without weight for one model may count for another."""
        suite = self.request.suite
        return suite.has_weights and any(model.has_own_rows for model in suite.models.values())

    def every_populations(self) -> dict[str, str]:
        """Prefix of the counts of all rows of each model, those that are left out as well; none where no metric asks.

        Where models have labels or weights of their own each counts the rows of its own weights.
        """
        if not self.request.reads_every_row:
            return {}
        apart = self.weighs_apart
        return {model: f"{model}|{EVERY}" if apart else EVERY for model in self.request.models}

    def constants(self, units: int) -> dict[str, Json]:
        """Constants of the data, for run.json: states add only where these agree."""
        blocks = None
        if self.blocks is not None:
            blocks = {"modulus": self.blocks.modulus, "units": units, "hash_version": HASH_VERSION}
        return {
            "slices": self._slice_texts(),
            "centres": {model: dict(values) for model, values in self.centres.items()},
            "thresholds": self.finite_thresholds,
            "ordered_metrics": "exact" if self.exact else "binned",
            "blocks": blocks,
            **({"exponents": dict(self.addition.exponents)} if self.request.arithmetic.any_order else {}),
            **self.added,
        }

    @property
    def finite_thresholds(self) -> dict[str, dict[str, float | None]]:
        """Chosen thresholds by model and rule, None for one that calls no row: JSON has no infinity."""
        return {
            model: {rule: value if isfinite(value) else None for rule, value in values.items()}
            for model, values in self.thresholds.items()
        }

    def _slice_texts(self) -> dict[str, list[str]]:
        out: dict[str, list[str]] = {}
        for part in self.slices:
            if not part.slice_set.is_derived:
                out.setdefault(part.slice_set.name, []).extend(part.texts())
        return out

    @property
    def order(self) -> OrderPlan:
        """Plan of ordering the rows for ordered metrics."""
        return order_plan(self.request, self.rows.read, len(self.cubes), max(map(len, self.slices)))

    def number_of(self, slices: Slices) -> int:
        """The number of the slice set of some slices."""
        return next(i for i, part in enumerate(self.view.sets) if part is slices.slice_set)

    def set_size(self, slices: Slices) -> int:
        """Number of slices of a set, with all its groups of tags: their bins are alike, for states hold one table."""
        return sum(len(part) for part in self.slices if part.slice_set is slices.slice_set)

    def cube_of(self, slices: Slices) -> int:
        """Number of the cube of a slice set."""
        return next(i for i, cube in enumerate(self.cubes) if any(part is slices for part in cube.sets))


def rows_of(model: str, table: PredictionTable) -> Rows:
    """The roles of a model's rows on the canonical columns."""
    roles = table.roles
    label, weight = pl.col(roles.label_of(model)), roles.weight_of(model)
    return Rows(
        label,
        pl.col(score_column(model)),
        label == 1,
        weight=None if weight is None else pl.col(weight),
        prefix=PLAIN,
        model=model,
        parts=roles.models[model].parts,
        classes=roles.classes,
        treated=pl.col(TREATMENT) == 1,
        label_set=bool(roles.label_columns),
    )


def units_of_rows(request: Request, rows: Accounting) -> int:
    """Number of units, where each row is one."""
    remaining = rows.read - rows.zero_weight
    shared = request.suite.data.missing == "drop" and not request.counts_every_row
    return remaining - min(rows.dropped.values()) if shared else remaining
