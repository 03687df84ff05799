"""The second stage of a run: one small collection that finds the run's constants.

Slice values, the number of units and rows, a centre for the labels. What nothing asks for is not looked up.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.hashing import HASH_VERSION
from plmetrics.engine.baseline import with_baseline
from plmetrics.engine.budget import OrderPlan, order_plan, sorts_in_memory
from plmetrics.engine.calibration import with_calibrators
from plmetrics.engine.exponents import exact_means, with_exponents
from plmetrics.engine.models import with_classes
from plmetrics.engine.queries import by_query
from plmetrics.engine.references import check_references
from plmetrics.engine.saved.constants import pinned
from plmetrics.engine.slicing import found_slices, key_codes, settled, slice_plans
from plmetrics.engine.thresholds import Chosen, choose_thresholds
from plmetrics.engine.unit_counts import counted_units, counts_by_batch
from plmetrics.states.sums import Rows
from plmetrics.table.predicted import score_column
from plmetrics.table.roles import (
    LABEL,
    PLAIN,
    TREATMENT,
    UNIT,
    WEIGHT,
    prediction_table,
    unchecked_table,
)
from plmetrics.table.slices import Cube, Slices, plan_cubes
from plmetrics.table.units import OWN_BLOCK_LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from plmetrics.engine.request import Request
    from plmetrics.engine.saved.constants import Constants
    from plmetrics.engine.saved.grids import Grids
    from plmetrics.states.sums import RowValue
    from plmetrics.table.roles import PredictionTable

MAX_CELLS = 1_000_000


@dataclass(frozen=True, slots=True)
class Accounting:
    """Where the rows went: read (after `where`), of weight 0, and dropped per model.

    `fitted` are those beside them that calibrators were fitted on.
    """

    read: int
    zero_weight: int
    dropped: Mapping[str, int]
    fitted: int = 0


@dataclass(frozen=True, slots=True)
class Blocks:
    """How units are blocked. `modulus` is None where each unit is its own block.

    `keys` are the group keys of the non-empty blocks, ascending, `units` how many units each holds, and `digests` the
    sums of their hashes modulo 2^64; all are None until the aggregation has counted them, where each row is a unit.
    """

    modulus: int | None
    keys: NDArray[np.uint64] | None = None
    units: NDArray[np.int64] | None = None
    digests: NDArray[np.uint64] | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """The constants of a run and the plans that use them. `grids` are those of another run that it takes its from."""

    request: Request
    table: PredictionTable
    slices: tuple[Slices, ...]
    cubes: tuple[Cube, ...]
    rows: Accounting
    blocks: Blocks | None
    centres: Mapping[str, Mapping[str, float]]
    thresholds: Mapping[str, Mapping[str, float]]
    exact: bool
    warnings: tuple[str, ...] = ()
    added: Mapping[str, Any] = field(default_factory=dict)
    exponents: Mapping[str, int] = field(default_factory=dict)
    inexact: frozenset[str] = frozenset()
    grids: Grids | None = None

    def row_of(self, model: str) -> Rows:
        """The roles of a model's rows, with the constants that its metrics read."""
        rows = rows_of(model, self.table)
        return replace(rows, centres=self.centres[model], thresholds=self.thresholds[model])

    @property
    def rows_added(self) -> pl.LazyFrame:
        """The rows that sums are made of."""
        return self.table.every if self.request.counts_every_row else self.table.frame

    @property
    def fixed(self) -> frozenset[str]:
        """The sums that have whole numbers beside them."""
        return frozenset(self.exponents) - self.inexact

    def populations(self) -> dict[str, str]:
        """Prefix of the counts that hold for a model: its own where rows are dropped per model, else shared."""
        apart = self.request.suite.data.missing == "drop_per_model"
        return {model: f"{model}|" if apart else "" for model in self.request.models}

    def constants(self, units: int) -> dict[str, Any]:
        """What the run found in its data and computed with, for run.json: states add only where these agree."""
        blocks = None
        if self.blocks is not None:
            blocks = {"modulus": self.blocks.modulus, "units": units, "hash_version": HASH_VERSION}
        return {
            "slices": self._slice_texts(),
            "centres": {model: dict(values) for model, values in self.centres.items()},
            "thresholds": {
                model: {rule: value if isfinite(value) else None for rule, value in values.items()}
                for model, values in self.thresholds.items()
            },
            "ordered_metrics": "exact" if self.exact else "binned",
            "blocks": blocks,
            **({"exponents": dict(self.exponents)} if self.request.suite.reproducible else {}),
            **self.added,
        }

    def _slice_texts(self) -> dict[str, list[str]]:
        out: dict[str, list[str]] = {}
        for part in self.slices:
            if not part.slice_set.is_derived:
                out.setdefault(part.slice_set.name, []).extend(part.texts())
        return out

    @property
    def order(self) -> OrderPlan:
        """How the rows of ordered metrics are brought in order."""
        return order_plan(self.request, self.rows.read, len(self.cubes))

    def number_of(self, slices: Slices) -> int:
        """The number of the slice set that some slices are of."""
        return next(i for i, part in enumerate(self.request.sets) if part is slices.slice_set)

    def cube_of(self, slices: Slices) -> int:
        """The number of the cube that serves a slice set."""
        return next(i for i, cube in enumerate(self.cubes) if any(part is slices for part in cube.sets))


def rows_of(model: str, table: PredictionTable) -> Rows:
    """The roles of a model's rows on the canonical columns."""
    roles = table.roles
    return Rows(
        pl.col(LABEL),
        pl.col(score_column(model)),
        pl.col(LABEL) == 1,
        weight=table.weight,
        prefix=PLAIN,
        model=model,
        parts=roles.models[model].parts,
        classes=roles.classes,
        treated=pl.col(TREATMENT) == 1,
    )


def prepare(request: Request, constants: Constants | None = None) -> Prepared:
    """Find the constants of a run, or take them from another as far as states must share them.

    Raises:
        DataError: there are no rows.
        ConfigError: there are more slices than `max_slices`.
    """
    request = request if constants is None else pinned(request, constants)
    calibrated = with_calibrators(with_classes(request))
    based = with_baseline(calibrated.request)
    request = settled(by_query(based.request) if request.suite.task == "ranking" else based.request)
    table = prediction_table(request.raw, request.schema, request.roles)
    reproducible = request.suite.reproducible
    centred = _centred_values(request)
    plans = constant_plans(request, table, centres=not reproducible and constants is None)
    found = dict(zip(plans, pl.collect_all(list(plans.values())), strict=True)) if plans else {}
    rows = replace(_accounting(request, found.get("rows")), fitted=calibrated.left_out)
    sliced = found_slices(request, found)
    check_references(request.suite, sliced.slices)
    blocks = _blocks(request, table, rows, found)
    count = 1 if blocks is None else (blocks.modulus or OWN_BLOCK_LIMIT)
    cubes = plan_cubes(sliced.slices, key_codes(request, sliced), count, MAX_CELLS)
    exact = sorts_in_memory(request, rows.read, len(cubes))
    means = _means(found.get("centres"))
    if reproducible and constants is None:
        means = exact_means(table.frame, _centred(table, centred))
    centres = _by_model(request, means)
    if constants is None:
        chosen = choose_thresholds(request)
    else:
        centres = {model: dict(constants.centres[model]) for model in request.models}
        chosen = Chosen(constants.thresholds, ())
    prepared = Prepared(
        request,
        table,
        sliced.slices,
        tuple(cubes),
        rows,
        blocks,
        centres,
        chosen.values,
        exact,
        (*calibrated.warnings, *chosen.warnings, *sliced.warnings),
        _added(calibrated.constants, based.constants),
        grids=None if constants is None else constants.grids,
    )
    return with_exponents(prepared, constants) if reproducible else prepared


def constant_plans(
    request: Request, table: PredictionTable, *, centres: bool = True
) -> dict[str, pl.LazyFrame]:
    """Plans that find constants, by name: they are collected together. `explain` looks at them."""
    plans: dict[str, pl.LazyFrame] = {}
    if _needs_count(request):
        plans["rows"] = _count_plan(request, table)
    centred = _centred_values(request)
    if centred and centres:
        plans["centres"] = _centre_plan(table, centred)
    plans |= slice_plans(request, table.frame, every_key(request, table))
    by_unit = request.suite.uncertainty is not None and not request.unit_rows
    if request.suite.uncertainty is not None and by_unit and not counts_by_batch(request):
        units = _rows_of_units(request, table).select(pl.col(UNIT)).unique()
        modulus = request.suite.uncertainty.blocks
        plans["units"] = units.head(OWN_BLOCK_LIMIT + 2)
        counts = pl.len().cast(pl.Int64).alias("units"), pl.col(UNIT).sum().alias("digest")
        plans["blocks"] = units.group_by((pl.col(UNIT) % modulus).alias("block")).agg(counts)
    return plans


def _rows_of_units(request: Request, table: PredictionTable) -> pl.LazyFrame:
    return table.every if request.counts_every_row else table.frame


def every_key(request: Request, table: PredictionTable) -> pl.LazyFrame:
    """The keys of all rows of a weight, also of those that are left out."""
    if request.suite.data.missing == "error" or request.suite.task == "ranking":
        return table.frame
    columns = {key.column: key.expression for key in request.roles.keys}
    if request.roles.weight is None:
        return request.raw.select(**columns)
    weight = pl.col(request.roles.weight).cast(pl.Float64)
    return request.raw.filter((weight != 0).fill_null(value=True)).select(**columns)


def _centred_values(request: Request) -> tuple[RowValue, ...]:
    """The numbers of a row whose means are looked up."""
    return tuple({value.key: value for metric in request.sums for value in metric.centres()}.values())


def _added(calibrators: Mapping[str, Any], baseline: Mapping[str, float]) -> dict[str, Any]:
    """What models that the run adds were made from."""
    found = {"calibrators": calibrators, "baseline": baseline}
    return {name: dict(values) for name, values in found.items() if values}


def _centre_plan(table: PredictionTable, values: tuple[RowValue, ...]) -> pl.LazyFrame:
    numbers = _centred(table, values)
    return table.frame.select(
        number.filter(number.is_finite()).mean().alias(name) for name, number in numbers.items()
    )


def _centred(table: PredictionTable, values: tuple[RowValue, ...]) -> dict[str, pl.Expr]:
    """The numbers of each row that moments are taken of, by `model|key`."""
    return {
        f"{model}|{value.key}": value.build(rows_of(model, table))
        for model in table.models
        for value in values
    }


def _means(found: pl.DataFrame | None) -> dict[str, float]:
    means = {} if found is None else found.row(0, named=True)
    return {name: float(value or 0.0) for name, value in means.items()}


def _by_model(request: Request, found: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Constants by model and key, of those that are named `model|key`."""
    held: dict[str, dict[str, float]] = {model: {} for model in request.models}
    for name, value in found.items():
        model, key = name.split("|", 1)
        held[model][key] = value
    return held


def _needs_count(request: Request) -> bool:
    suite = request.suite
    plain = request.where is None and suite.columns.weight is None and suite.data.missing == "error"
    return not plain or request.source.rows is None


def _count_plan(request: Request, table: PredictionTable) -> pl.LazyFrame:
    """How many rows were read, and left out; where none is, from the plan that the other constants come from."""
    if request.suite.columns.weight is None and request.suite.data.missing == "error":
        return table.frame.select(pl.len().cast(pl.Int64).alias("read"))
    frame = unchecked_table(request.raw, request.schema, request.roles)
    checks = prediction_table(request.raw, request.schema, request.roles).checks
    present = (pl.col(WEIGHT) != 0).fill_null(value=True) if request.roles.weight else pl.lit(value=True)
    counts = [pl.len().alias("read")]
    if request.roles.weight:
        counts.append((~present).sum().alias("zero_weight"))
    if request.suite.data.missing != "error":
        apart = request.suite.data.missing == "drop_per_model"
        for model in request.models:
            bad = [pl.col(c.column_name) for c in checks if not apart or c.model in {None, model}]
            counts.append((present & pl.any_horizontal(bad)).sum().alias(f"dropped|{model}"))
    return frame.select(part.cast(pl.Int64) for part in counts)


def _accounting(request: Request, counted: pl.DataFrame | None) -> Accounting:
    found: dict[str, Any] = (
        counted.row(0, named=True) if counted is not None else {"read": request.source.rows}
    )
    if not found["read"]:
        where = request.suite.data.where
        told = (
            f"no row satisfies where: {where}"
            if where and request.source.rows != 0
            else "the table has no rows"
        )
        raise DataError(Problem(told, ("data", "where") if where else ("data", "path")))
    dropped = {model: found.get(f"dropped|{model}", 0) for model in request.models}
    return Accounting(found["read"], found.get("zero_weight", 0), dropped)


def units_of_rows(request: Request, rows: Accounting) -> int:
    """How many units there are, where each row is one."""
    left = rows.read - rows.zero_weight
    shared = request.suite.data.missing == "drop" and not request.counts_every_row
    return left - min(rows.dropped.values()) if shared else left


def _blocks(
    request: Request, table: PredictionTable, rows: Accounting, found: dict[str, pl.DataFrame]
) -> Blocks | None:
    uncertainty = request.suite.uncertainty
    if uncertainty is None:
        return None
    if request.unit_rows:
        return Blocks(None if units_of_rows(request, rows) <= OWN_BLOCK_LIMIT else uncertainty.blocks)
    if "units" not in found:
        own, counted_blocks = counted_units(request, _rows_of_units(request, table), uncertainty.blocks)
        if own is not None:
            return Blocks(None, own, np.ones(len(own), dtype=np.int64), own)
        return Blocks(uncertainty.blocks, *counted_blocks)
    units = found["units"][UNIT].drop_nulls()
    if len(units) <= OWN_BLOCK_LIMIT:
        keys = units.sort().to_numpy()
        return Blocks(None, keys, np.ones(len(keys), dtype=np.int64), keys)
    counted = found["blocks"].drop_nulls("block").sort("block")
    return Blocks(uncertainty.blocks, *(counted[name].to_numpy() for name in ("block", "units", "digest")))
