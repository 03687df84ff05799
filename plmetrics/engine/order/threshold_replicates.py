"""Thresholds chosen anew by rules in each replicate, and the confusion tables of all slices at them.

Rows to choose on are resampled with the blocks of their units. Those whose units are not evaluated have draws of their
own: a threshold that was chosen elsewhere is as uncertain as the rows that it was chosen on are few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.catalogue.binary.counts import quadrants
from plmetrics.core.hashing import OWN_BLOCK_LIMIT, block_numbers
from plmetrics.core.ops import Array
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.aggregate.row_plan import BLOCK, POSITIVE, cell_column
from plmetrics.engine.inquiry import Step
from plmetrics.engine.order.in_memory import set_codes, weights_of
from plmetrics.states.moving_thresholds import ScoredRows, replicate_thresholds
from plmetrics.states.scores.exact.sorted_rows import SortedRows
from plmetrics.states.sums import sum_column
from plmetrics.table.checks import valid_column
from plmetrics.table.prediction_columns import WEIGHT, score_column
from plmetrics.table.prediction_table import PredictionTable, prediction_table

if TYPE_CHECKING:
    from plmetrics.catalogue.parameters import ThresholdRule
    from plmetrics.engine.request import Request
    from plmetrics.engine.run_plan import RunPlan

Keys = NDArray[np.uint64]
Columns = dict[str, Array]
SCORE = "score"


@dataclass(frozen=True, slots=True)
class Draws:
    """Draws of blocks `[replicate, block]`, their keys, and a function for a number of further draws."""

    weights: Array
    keys: Keys
    further: Callable[[int], Array]

    def of(self, blocks: Keys, most: int) -> tuple[Array, NDArray[np.int32]]:
        """The draws of some rows' blocks, and the number of each row's block in them.

        Blocks that are not evaluated are drawn apart from these; if they are units, and too many, as random groups.
        """
        in_keys = np.isin(blocks, self.keys)
        others = np.unique(blocks[~in_keys])
        unknown = blocks[~in_keys]
        if len(others) > OWN_BLOCK_LIMIT:
            unknown %= np.uint64(most)
            others = np.unique(unknown)
        number = np.empty(len(blocks), dtype=np.int32)
        number[in_keys] = block_numbers(blocks[in_keys], self.keys)
        number[~in_keys] = len(self.keys) + np.searchsorted(others, unknown)
        if len(others) == 0:
            return self.weights, number
        return np.hstack([self.weights, self.further(len(others))]), number


def rules_of_replicates(request: Request) -> tuple[ThresholdRule, ...]:
    """Distinct rules with a new choice in each replicate."""
    uncertainty = request.suite.uncertainty
    if uncertainty is None or uncertainty.thresholds == "fixed":
        return ()
    rules = (metric.chosen_threshold for metric in request.leaves)
    distinct = {rule.text: rule for rule in rules if rule is not None and rule.constant is None}
    return tuple(distinct.values())


def threshold_steps(plan: RunPlan) -> Iterator[Step]:
    """Rows for the choice of rules, by condition, and the evaluated rows, by model."""
    rules = rules_of_replicates(plan.request)
    if not rules:
        return
    yield Step("order", does="thresholds of replicates")
    for model in plan.request.models:
        for condition in _conditions(rules):
            yield Step("order", (_rows_to_choose_on(plan, model, condition),))
        yield Step("order", (_evaluated_rows(plan, model),))


def threshold_replicates(
    plan: RunPlan, block_keys: NDArray[np.uint64], draws: Draws, *, complements: Sequence[bool]
) -> list[tuple[Columns, Columns]]:
    """Replicates of counts at resampled thresholds by slice set, and those of its complements, by column.

    The latter are of the rows of no slice, and then of each slice, where a set's `complements` are asked for.
    """
    rules = rules_of_replicates(plan.request)
    out: list[tuple[Columns, Columns]] = [({}, {}) for _ in plan.slices]
    for model in plan.request.models:
        thresholds: dict[str, Array] = {}
        for condition in _conditions(rules):
            of_condition = [rule for rule in rules if rule.select_on == condition]
            (frame,) = Step("order", (_rows_to_choose_on(plan, model, condition),)).collect()
            chosen = _choices(plan, model, frame, of_condition, draws)
            thresholds |= zip((rule.text for rule in of_condition), chosen, strict=True)
        (frame,) = Step("order", (_evaluated_rows(plan, model),)).collect()
        frame = plan.request.arithmetic.rows(frame)
        rows = ScoredRows(
            frame[SCORE].to_numpy(),
            frame[POSITIVE].to_numpy(),
            block_numbers(frame[BLOCK].to_numpy(), block_keys),
            weights_of(frame),
        )
        for place, (columns, complement_columns) in enumerate(out):
            codes, slices = set_codes(plan, frame, place), len(plan.slices[place])
            codes = np.zeros(frame.height, dtype=np.int64) if codes is None else codes
            for rule in rules:
                cells = quadrants(rule)
                names = {name: sum_column(model, atom.key) for name, atom in cells.items()}
                counted = rows.cells(thresholds[rule.text], draws.weights, codes, slices)
                columns |= {names[name]: column for name, column in counted.items()}
                if complements[place]:
                    counted = rows.cells(thresholds[rule.text], draws.weights, codes + 1, slices + 1)
                    complement_columns |= {names[name]: column for name, column in counted.items()}
    return out


def _choices(
    plan: RunPlan, model: str, frame: pl.DataFrame, rules: Sequence[ThresholdRule], draws: Draws
) -> list[Array]:
    """The thresholds of some rules in each replicate."""
    uncertainty = plan.request.suite.uncertainty
    assert uncertainty is not None
    weights, block = draws.of(frame[BLOCK].to_numpy(), uncertainty.blocks)
    rows = SortedRows(frame[SCORE].to_numpy(), frame[POSITIVE].to_numpy(), weights_of(frame), block)
    thresholds = plan.thresholds[model]
    choose = [rule.choose for rule in rules]
    return replicate_thresholds(rows, weights, choose, [thresholds[rule.text] for rule in rules])


def _conditions(rules: Sequence[ThresholdRule]) -> list[str | None]:
    return list(dict.fromkeys(rule.select_on for rule in rules))


def _rows_to_choose_on(plan: RunPlan, model: str, condition: str | None) -> pl.LazyFrame:
    """Rows for the choice: the evaluated rows, or those of a condition, irrespective of `where`; ascending by score."""
    request, view = plan.request, plan.view
    if condition is None:
        return request.arithmetic.sort(_model_rows(plan, plan.table, model), SCORE)
    every = view.source.with_row_key() if request.unit_rows else view.source.frame
    roles = replace(view.roles.without_values(), keys=())
    table = prediction_table(every.filter(compile_row(condition).expr), view.schema, roles)
    rows = _model_rows(plan, table, model).drop_nulls(BLOCK)
    return request.arithmetic.sort(rows, SCORE)


def _evaluated_rows(plan: RunPlan, model: str) -> pl.LazyFrame:
    """Evaluated rows, with their cells in each cube."""
    cells = [cube.cell().alias(cell_column(index)) for index, cube in enumerate(plan.cubes) if cube.codes]
    return _model_rows(plan, plan.table, model, *cells)


def _model_rows(plan: RunPlan, table: PredictionTable, model: str, *further: pl.Expr) -> pl.LazyFrame:
    """Score, class, block and weight of a model's rows."""
    assert plan.blocks is not None
    roles = table.roles
    frame = table.frame.filter(pl.col(valid_column(model))) if roles.per_model else table.frame
    weight = roles.weight_of(model)
    return frame.select(
        pl.col(score_column(model)).alias(SCORE),
        (pl.col(roles.label_of(model)) == 1).alias(POSITIVE),
        plan.blocks.of_unit.alias(BLOCK),
        *([] if weight is None else [pl.col(weight).alias(WEIGHT)]),
        *further,
    )
