"""What the slices of a run are: quantile edges, top values, tags and all values that occur, found in the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.errors import ConfigError, DataError, Problem
from plmetrics.core.quantiles import averaged_inverse
from plmetrics.engine.folds import MOST_FOLDS, check_folds, fold_warnings
from plmetrics.table.roles import prediction_table
from plmetrics.table.slice_keys import OTHER, TAG_SEPARATOR, SliceKey, bin_index, top_index, value_text
from plmetrics.table.slices import KeyCodes, Slices, SliceSet, order, plain_values, without_excluded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from plmetrics.engine.request import Request

EXACT_ROWS = 50_000_000
"""Up to so many rows, quantile edges come from all of them; above, from every k-th row."""

OCCURRING = 1_000_000
"""The most values from which some are excluded."""

COMBINATIONS = 100_000
"""The most different combinations of tags."""


def settled(request: Request) -> Request:
    """The request with the edges of its quantile bins and the values of its tops in place of their numbers."""
    waiting = [key for key in request.roles.keys if key.kind in {"quantiles", "top"}]
    if not waiting:
        return request
    roles = replace(request.roles, unit=None, unit_name=None, keys=tuple(waiting), columns=())
    table = prediction_table(request.raw, request.schema, roles)
    known = {key.column: _settle(key, request, table.frame, table.weight) for key in waiting}
    sets = tuple(
        replace(part, keys=tuple(known.get(key.column, key) for key in part.keys)) for part in request.sets
    )
    keys = tuple(known.get(key.column, key) for key in request.roles.keys)
    return replace(request, sets=sets, roles=replace(request.roles, keys=keys))


def _settle(key: SliceKey, request: Request, frame: pl.LazyFrame, weight: pl.Expr | None) -> SliceKey:
    dtype = request.schema[key.label]
    if key.kind == "quantiles":
        edges = _quantile_edges(frame, key, weight)
        index = bin_index(key.expression, dtype, edges) if edges else _only_bin(key.expression)
        return replace(key, kind="bins", expression=index, edges=edges)
    values, excluded = _top_values(frame, key, _excluded(key, request))
    number = top_index(key.expression, values, excluded)
    return replace(key, expression=number, edges=tuple(plain_values(values)), excluded=excluded)


def _excluded(key: SliceKey, request: Request) -> tuple[Any, ...]:
    """What the set of a top excludes; a top is shared only by sets that exclude nothing."""
    return next(part.exclude for part in request.sets if key in part.keys)


def _only_bin(value: pl.Expr) -> pl.Expr:
    return pl.when(value.is_not_null()).then(pl.lit(0, dtype=pl.UInt32))


def _quantile_edges(frame: pl.LazyFrame, key: SliceKey, weight: pl.Expr | None) -> tuple[Any, ...]:
    """Averaged inverse of the weighted distribution at i / number, each once, without the smallest value."""
    columns = [pl.col(key.column).alias("value"), (pl.lit(1.0) if weight is None else weight).alias("weight")]
    held = frame.select(columns).filter(pl.col("value").is_not_null())
    step = 1 + (held.select(pl.len()).collect().item() - 1) // EXACT_ROWS
    if step > 1:
        held = held.with_row_index("@row").filter(pl.col("@row") % step == 0).drop("@row")
    rows = held.sort("value").collect()
    if rows.height == 0:
        return ()
    value = rows["value"]
    numbers = value.to_numpy().astype(np.float64)
    shares = np.arange(1, key.number) / key.number
    edges = np.unique(averaged_inverse(numbers, rows["weight"].to_numpy(), shares))
    whole = value.dtype.is_integer()
    return tuple(
        int(edge) if whole and edge == int(edge) else float(edge)
        for edge in edges
        if edge > numbers[0] and np.isfinite(edge)
    )


def _top_values(frame: pl.LazyFrame, key: SliceKey, exclude: tuple[Any, ...]) -> tuple[pl.Series, pl.Series]:
    """The values with the most rows, the smaller first among equals; in result order, null last. And the excluded."""
    counted = frame.group_by(key.column).agg(pl.len().alias("rows"))
    ranked = counted.sort(["rows", key.column], descending=[True, False], nulls_last=True)
    found = ranked.head(OCCURRING + 1 if exclude else key.number + 1).select(key.column).collect()
    left_out = found.clear()
    if exclude:
        if found.height > OCCURRING:
            raise _too_many(key.label)
        plain = Slices(SliceSet("", (replace(key, kind="column"),), exclude), found)
        kept, _ = without_excluded(plain)
        found, left_out = kept.values, left_out if kept.left_out is None else kept.left_out
    values = found.head(key.number).to_series().sort(nulls_last=True)
    if found.height > key.number and OTHER in [value_text(value) for value in plain_values(values)]:
        msg = f"column '{key.label}' has a value '{OTHER}' among its top, and the rest is called that"
        raise DataError(Problem(msg, ("slices",), "rename the value, or exclude it"))
    return values, left_out.to_series()


def _too_many(label: str) -> ConfigError:
    msg = f"column '{label}' has more than {OCCURRING:,} values, too many to look for those to exclude"
    return ConfigError(Problem(msg, ("slices",), "leave the rows out by where, in place of exclude"))


@dataclass(frozen=True, slots=True)
class FoundSlices:
    """The slices of a run in result order, the values of every key, excluded or not, and words of caution."""

    slices: tuple[Slices, ...]
    values: Mapping[str, pl.Series]
    warnings: tuple[str, ...]


def slice_plans(request: Request, frame: pl.LazyFrame) -> dict[str, pl.LazyFrame]:
    """Plans that find the values of slice columns, by name."""
    plans = {}
    for number, part in enumerate(request.sets):
        if part.keys and not part.is_predicate:
            limit = OCCURRING if part.exclude else request.suite.max_slices
            limit = MOST_FOLDS if part.is_derived else limit
            limit = COMBINATIONS if part.is_tagged else limit
            columns = [key.column for key in part.keys]
            plans[f"slices|{number}"] = frame.select(columns).unique().head(limit + 1)
    return plans


def found_slices(request: Request, found: Mapping[str, pl.DataFrame]) -> FoundSlices:
    """The slices from what the plans found.

    Raises:
        ConfigError: there are more than `max_slices`, or too many combinations of tags.
    """
    out: list[Slices] = []
    values: dict[str, list[pl.Series]] = {}
    warnings: list[str] = []
    for number, part in enumerate(request.sets):
        here = found.get(f"slices|{number}")
        if here is not None:
            if part.exclude and not part.is_tagged and here.height > OCCURRING:
                raise _too_many(" x ".join(key.label for key in part.keys))
            _check_combinations(part, here)
            for column in here:
                values.setdefault(column.name, []).append(column)
        made = _slices(part, here)
        kept = [without_excluded(each) for each in made] if part.exclude else [(each, []) for each in made]
        out += [each for each, _ in kept]
        nowhere = [item for item in part.exclude if all(item in unknown for _, unknown in kept)]
        warnings += [_absent(part, item) for item in nowhere if not _left_out(part, item)]
    slices = tuple(each for each in out if len(each) or not each.slice_set.is_tagged)
    _check(request, [each for each in slices if not each.slice_set.is_derived])
    check_folds(request.suite, slices)
    together = {column: pl.concat(parts) for column, parts in values.items()}
    return FoundSlices(slices, together, (*warnings, *fold_warnings(request.suite, slices)))


def _absent(part: SliceSet, item: Any) -> str:
    return f"slice set '{part.name}' excludes {item!r}, which does not occur"


def _left_out(part: SliceSet, item: Any) -> bool:
    """Whether a top left the item out before it ranked the values."""
    key = part.keys[0]
    if key.kind != "top" or key.excluded is None:
        return False
    plain = SliceSet(part.name, (replace(key, kind="column"),), (item,))
    return not without_excluded(Slices(plain, key.excluded.to_frame()))[1]


def _check_combinations(part: SliceSet, values: pl.DataFrame) -> None:
    if part.is_tagged and values.height > COMBINATIONS:
        msg = f"slice set '{part.name}' ({part.keys[0].label}) has more than {COMBINATIONS:,} combinations of tags"
        raise ConfigError(Problem(msg, ("slices", part.name), "keep fewer tags in the column"))


def _slices(part: SliceSet, found: pl.DataFrame | None) -> list[Slices]:
    if part.is_predicate:
        return [Slices(part, pl.DataFrame({part.keys[0].column: [True]}))]
    if found is None:
        return [Slices(part, pl.DataFrame(height=1))]
    if part.keys[0].kind == "top":
        found = found.filter(pl.nth(0) <= len(part.keys[0].edges))
    if not part.is_tagged:
        return [Slices(part, order(found))]
    column = part.keys[0].column
    tags = found[column].drop_nulls().str.split(TAG_SEPARATOR).explode().unique().sort()
    return [Slices(part, pl.DataFrame({column: [tag]}, schema={column: pl.String})) for tag in tags]


def _check(request: Request, slices: Sequence[Slices]) -> None:
    limit = request.suite.max_slices
    hint = "use fewer or binned columns, or raise max_slices"
    sizes: dict[str, int] = {}
    for each in slices:
        sizes[each.slice_set.name] = sizes.get(each.slice_set.name, 0) + len(each)
    for part in request.sets:
        if sizes.get(part.name, 0) > limit:
            columns = " x ".join(key.label for key in part.keys)
            msg = f"slice set '{part.name}' ({columns}) has more than max_slices = {limit:,} slices"
            raise ConfigError(Problem(msg, ("slices", part.name), hint))
    total = sum(sizes.values()) - 1
    if total > limit:
        msg = f"the slice sets have {total:,} slices together, more than max_slices = {limit:,}"
        raise ConfigError(Problem(msg, ("slices",), hint))


def key_codes(request: Request, found: FoundSlices) -> dict[str, KeyCodes]:
    """The integer code of every key."""
    flags = pl.Series([False, True])
    return {
        key.column: KeyCodes.of(key, flags if key.kind == "predicate" else found.values[key.column])
        for key in request.roles.keys
    }
