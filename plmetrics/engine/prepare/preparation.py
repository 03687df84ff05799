"""The second stage of a run: one small collection that finds the run's constants.

Slice values, the number of units and rows, a centre for the labels. What nothing asks for is not looked up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.engine.binding.models import with_classes
from plmetrics.engine.memory.budget import sorts_in_memory
from plmetrics.engine.prepare.constants import Based, Calibrated, Chosen
from plmetrics.engine.prepare.slices import found_slices, key_codes, settled, slice_plans
from plmetrics.engine.prepared import Accounting, Blocks, Prepared, rows_of, units_of_rows
from plmetrics.engine.streaming import collected_frames
from plmetrics.table.roles import (
    UNIT,
    WEIGHT,
    prediction_table,
    unchecked_table,
)
from plmetrics.table.slices import plan_cubes
from plmetrics.table.units import OWN_BLOCK_LIMIT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.engine.prepare.pinning import Constants
    from plmetrics.engine.request import Request
    from plmetrics.states.sums import RowValue
    from plmetrics.table.roles import PredictionTable

MAX_CELLS = 1_000_000


def prepare(request: Request, constants: Constants | None = None) -> Prepared:
    """Find the constants of a run, or take them from another as far as states must share them.

    Raises:
        DataError: there are no rows.
        ConfigError: there are more slices than `max_slices`.
    """
    request = request if constants is None else _pinned(request, constants)
    calibrated = _calibrated(with_classes(request))
    based = _based(calibrated.request)
    request = settled(_queries(based.request))
    table = prediction_table(request.raw, request.schema, request.roles)
    reproducible = request.suite.reproducible
    centred = _centred_values(request)
    plans = constant_plans(request, table, centres=not reproducible and constants is None)
    found = collected_frames(plans) if plans else {}
    rows = replace(_accounting(request, found.get("rows")), fitted=calibrated.left_out)
    sliced = found_slices(request, found)
    if request.suite.slices:
        from plmetrics.engine.binding.reference_slices import check_references

        check_references(request.suite, sliced.slices)
    blocks = _blocks(request, table, rows, found)
    count = 1 if blocks is None else (blocks.modulus or OWN_BLOCK_LIMIT)
    cubes = plan_cubes(sliced.slices, key_codes(request, sliced), count, MAX_CELLS)
    exact = sorts_in_memory(request, rows.read, len(cubes))
    means = _means(found.get("centres"))
    if reproducible and constants is None:
        from plmetrics.engine.prepare.exponents import exact_means

        means = exact_means(table.frame, _centred(table, centred))
    centres = _by_model(request, means)
    if constants is None:
        chosen = _thresholds(request)
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
    return _with_exponents(prepared, constants) if reproducible else prepared


def _pinned(request: Request, constants: Constants) -> Request:
    from plmetrics.engine.prepare.pinning import pinned

    return pinned(request, constants)


def _with_exponents(prepared: Prepared, constants: Constants | None) -> Prepared:
    from plmetrics.engine.prepare.exponents import with_exponents

    return with_exponents(prepared, constants)


def _calibrated(request: Request) -> Calibrated:
    if not request.suite.calibrate:
        return Calibrated(request, {})
    from plmetrics.engine.prepare.calibrators import with_calibrators

    return with_calibrators(request)


def _based(request: Request) -> Based:
    if not request.suite.baseline:
        return Based(request, {})
    from plmetrics.engine.prepare.baseline import with_baseline

    return with_baseline(request)


def _queries(request: Request) -> Request:
    if request.suite.task != "ranking":
        return request
    from plmetrics.engine.ranking.queries import by_query

    return by_query(request)


def _thresholds(request: Request) -> Chosen:
    if all(metric.chosen_threshold is None for metric in request.leaves):
        return Chosen({model: {} for model in request.models}, ())
    from plmetrics.engine.prepare.thresholds import choose_thresholds

    return choose_thresholds(request)


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
    if request.suite.uncertainty is not None and not request.unit_rows and not _by_batch(request):
        units = _rows_of_units(request, table).select(pl.col(UNIT)).unique()
        modulus = request.suite.uncertainty.blocks
        plans["units"] = units.head(OWN_BLOCK_LIMIT + 2)
        counts = pl.len().cast(pl.Int64).alias("units"), pl.col(UNIT).sum().alias("digest")
        plans["blocks"] = units.group_by((pl.col(UNIT) % modulus).alias("block")).agg(counts)
    return plans


def _by_batch(request: Request) -> bool:
    from plmetrics.engine.prepare.units import counts_by_batch

    return counts_by_batch(request)


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


def _blocks(
    request: Request, table: PredictionTable, rows: Accounting, found: dict[str, pl.DataFrame]
) -> Blocks | None:
    uncertainty = request.suite.uncertainty
    if uncertainty is None:
        return None
    if request.unit_rows:
        return Blocks(None if units_of_rows(request, rows) <= OWN_BLOCK_LIMIT else uncertainty.blocks)
    if "units" not in found:
        from plmetrics.engine.prepare.units import counted_units

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
