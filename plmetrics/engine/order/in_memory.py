"""The fourth stage: one sort per model, and the slice of each row in every set."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.hashing import block_numbers
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.engine.aggregate.row_plan import (
    BLOCK,
    POSITIVE,
    TREATED,
    ModelRows,
    cell_column,
    class_column,
    value_column,
)
from plmetrics.states.arms import EffectRows
from plmetrics.states.complements import ComplementScores, complement_codes
from plmetrics.states.ranks import Pairs, SlicedPairs
from plmetrics.states.scores.coarse import replicates_rows
from plmetrics.states.scores.exact.areas import AreaRows
from plmetrics.states.scores.exact.packed_rows import PackedRows
from plmetrics.states.scores.exact.sorted_rows import SortedRows
from plmetrics.states.scores.exact.sorting import ascending_order
from plmetrics.table.prediction_columns import LABEL, WEIGHT, score_column

if TYPE_CHECKING:
    from plmetrics.engine.aggregate.aggregation import Aggregates
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.scores.sliced_scores import SlicedScores
    from plmetrics.states.sums import RowValue


def models_in_order(
    plan: RunPlan, aggregated: Aggregates
) -> Iterator[tuple[str, str | None, Callable[[int], SlicedScores]]]:
    """Rows of each model in ascending order, as a function of the slice set.

    In between stands what they are ordered by: the key of a value, None for the score.
    """
    if aggregated.rows is None:
        return
    rows = ModelRows(plan, aggregated.rows)
    for model in plan.request.models:
        if plan.request.orders_scores:
            yield model, None, _by_score(plan, aggregated, rows, model)
        for value in plan.request.values:
            yield model, value.key, _by_value(plan, aggregated, rows, model, value)


def models_by_row(
    plan: RunPlan, aggregated: Aggregates
) -> Iterator[tuple[str, Pairs, Callable[[int], SlicedPairs]]]:
    """Labels and predictions of each model, as a function of the slice set."""
    if aggregated.rows is None or not plan.request.ranks:
        return
    rows = ModelRows(plan, aggregated.rows)
    for model in plan.request.models:
        frame = rows.of(model, score_column(model))
        block = _blocks(frame, aggregated.block_keys)
        score = frame[score_column(model)].to_numpy()
        pairs = Pairs(frame[LABEL].to_numpy(), score, weights_of(frame), block)
        yield model, pairs, _cutter(plan, frame, pairs)


def _by_score(
    plan: RunPlan, aggregated: Aggregates, rows: ModelRows, model: str
) -> Callable[[int], SlicedScores]:
    column = score_column(model)
    frame = rows.of(model, column)
    if plan.view.roles.treatment is not None:
        ordered = _ascending(frame, column)
        arms = _order_rows(ordered, column, ordered[TREATED].to_numpy(), aggregated.block_keys)
        return _cutter(plan, ordered, EffectRows(arms, ordered[LABEL].to_numpy()))
    if plan.request.areas_alone and AreaRows.fits(frame[column]):
        once = all(slices.slice_set.is_whole for slices in plan.slices)
        return _cutter(plan, frame, AreaRows(frame[column], frame[POSITIVE], once=once))
    return _in_order(plan, aggregated, frame, column, POSITIVE)


def _in_order(
    plan: RunPlan, aggregated: Aggregates, frame: pl.DataFrame, column: str, positive: str
) -> Callable[[int], SlicedScores]:
    """Rows of two classes ascending by a column."""
    score = frame[column].to_numpy()
    if _packs(plan, frame) and PackedRows.fits(score):
        packed = PackedRows(score, frame[positive].to_numpy(), _blocks(frame, aggregated.block_keys))
        return _cutter(plan, frame, packed)
    ordered = _ascending(frame, column)
    rows = _order_rows(ordered, column, ordered[positive].to_numpy(), aggregated.block_keys)
    return _cutter(plan, ordered, rows)


def _by_value(
    plan: RunPlan, aggregated: Aggregates, rows: ModelRows, model: str, value: RowValue
) -> Callable[[int], SlicedScores]:
    """Classes of rows by value: of a single class, every row with a value; else the value tells the positive."""
    column = value_column(model, value)
    if value.positive is not None:
        member = class_column(model, value)
        frame = rows.of(model, column, member)
        frame = frame.filter(pl.col(column).is_not_null())
        frame = frame if value.width == 1 else frame.explode(column, member)
        return _in_order(plan, aggregated, frame, column, member)
    label_free = value.key in plan.request.label_free_values
    frame = rows.of(model, column, unlabelled=label_free)
    frame = frame.filter(pl.col(column).is_not_null())
    if plan.request.suite.uncertainty is None:
        from plmetrics.states.scores.exact.quantile_rows import QuantileRows

        weight = WEIGHT if WEIGHT in frame.columns else None
        levels = plan.request.levels_of(value)
        return _cutter(plan, frame, QuantileRows.of(frame, column, weight, levels))
    ordered = _ascending(frame, column)
    everywhere = np.ones(ordered.height, dtype=np.bool_)
    return _cutter(plan, ordered, _order_rows(ordered, column, everywhere, aggregated.block_keys))


def _ascending(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The rows by a column of floats without nulls."""
    order = ascending_order(frame[column].to_numpy())

    def gathered(part: pl.Series) -> pl.Series:
        """Gather by NumPy where it has a type for the values, since its memory is used again."""
        return part.gather(order) if part.has_nulls() else pl.Series(part.name, part.to_numpy()[order])

    return pl.DataFrame([gathered(part) for part in frame])


def _packs(plan: RunPlan, frame: pl.DataFrame) -> bool:
    """Whether a packed sort serves: rows count once, and no replicate needs the sorted rows' blocks."""
    uncertainty = plan.request.suite.uncertainty
    if WEIGHT in frame.columns:
        return False
    if uncertainty is None:
        return True
    by_quantile = any(binning.strategy == "quantile" for binning in plan.request.binnings)
    most = max(len(part) for part in plan.slices)
    return not by_quantile and not replicates_rows(frame.height, uncertainty.replicates, most)


def _cutter(plan: RunPlan, frame: pl.DataFrame, rows: Any) -> Callable[..., Any]:
    """Function from the number of a slice set to its rows; or to the complement of one slice alone."""

    def cut(index: int, complement_of: int | None = None) -> Any:
        codes, slices = set_codes(plan, frame, index), plan.slices[index]
        if complement_of is None or codes is None:
            return rows.regroup(codes, len(slices))
        complements = rows.regroup(complement_codes(codes, complement_of), 1)
        return ComplementScores(complements, len(slices)) if hasattr(complements, "rows") else complements

    return cut


def set_codes(plan: RunPlan, frame: pl.DataFrame, index: int) -> Codes | None:
    """The slice of each row in a set, -1 for none; None for the one slice of all rows."""
    slices = plan.slices[index]
    if slices.slice_set.is_whole:
        return None
    number = plan.cube_of(slices)
    cells = frame[cell_column(number)].to_numpy().astype(np.int64)
    return plan.cubes[number].slice_codes(slices, cells)


def _order_rows(
    frame: pl.DataFrame, column: str, positive: Flags, block_keys: NDArray[np.uint64]
) -> SortedRows:
    return SortedRows(frame[column].to_numpy(), positive, weights_of(frame), _blocks(frame, block_keys))


def weights_of(frame: pl.DataFrame) -> Array | None:
    """The weight of each row; None where rows count once."""
    return frame[WEIGHT].to_numpy() if WEIGHT in frame.columns else None


def _blocks(frame: pl.DataFrame, block_keys: NDArray[np.uint64]) -> NDArray[np.int32] | None:
    if BLOCK not in frame.columns:
        return None
    return block_numbers(frame[BLOCK].to_numpy(), block_keys)
