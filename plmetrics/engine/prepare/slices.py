"""Slices of a run from the data: quantile edges, top values, tags and all distinct values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.quantiles import quantile_edges
from plmetrics.engine.memory.budget import rows_that_fit
from plmetrics.engine.prepare.constants import top_key
from plmetrics.features.registry import features_of
from plmetrics.table.prediction_table import present_rows
from plmetrics.table.slice_keys import SliceKey, refuse_name_of_rest
from plmetrics.table.slices import KeyCodes, Slices, SliceSet, drop_exclusions, order, plain_values

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import TableView
    from plmetrics.table.prediction_columns import RoleColumns
    from plmetrics.table.prediction_table import PredictionTable

EXACT_ROWS = 50_000_000
"""Up to so many rows, if they fit, quantile edges come from all of them; above, from every k-th row."""

_LEAST_ROWS = 400_000
_COPIES = 3
"""A sort holds values, and weights beside them, a few times over."""

OCCURRING = 1_000_000
"""The most values from which some are excluded."""

MOST_DERIVED = 1_000_000
"""The most slices of a set that a feature makes from another."""

COMBINATIONS = 100_000
"""The most different combinations of tags."""


def every_key(view: TableView, table: PredictionTable) -> pl.LazyFrame:
    """Keys of all rows that some model may weigh, excluded ones included."""
    if view.suite.data.missing == "error" or view.suite.task == "ranking":
        return table.scored
    columns = {key.column: key.expression for key in view.roles.keys}
    return present_rows(view.raw, view.roles).select(**columns)


def resolve_keys(view: TableView) -> Question[dict[str, SliceKey]]:
    """Quantile bins with their edges, and tops with their values, in place of the numbers of these; by column."""
    waiting = [key for key in view.roles.keys if key.waits]
    if not waiting:
        return {}
    roles = view.roles
    if roles.missing != "error":
        roles = replace(roles.without_values(), unit=None, unit_name=None, keys=tuple(waiting))
    table = view.table(roles)
    rows_of_keys = yield from _edge_row_counts(view, table, waiting)
    keys: dict[str, SliceKey] = {}
    most = most_rows(view)
    for names in _together(rows_of_keys, most):
        batch = [key for key in waiting if key.column in names]
        plans = [_key_plan(key, view, table, 1 + (rows_of_keys[key.column] - 1) // most) for key in batch]
        for key, values in zip(batch, (yield plans), strict=True):
            keys[key.column] = _resolve(key, view, values)
    return keys


def most_rows(view: TableView) -> int:
    """Largest number of rows in a scan for quantile edges."""
    numbers = 1 if view.roles.weight is None else 2
    return min(EXACT_ROWS, max(_LEAST_ROWS, rows_that_fit(view.suite, _COPIES * numbers)))


def _edge_row_counts(
    view: TableView, table: PredictionTable, keys: Sequence[SliceKey]
) -> Question[dict[str, int]]:
    """Upper bound of the rows for each key's edges: counted only where there may be too many."""
    total = view.source.rows
    of_numbers = [key for key in keys if key.kind == "quantiles"]
    counted = {key.column: total or 0 for key in of_numbers}
    if of_numbers and (total is None or total > most_rows(view)):
        counts = [pl.col(key.column).count().alias(key.column) for key in of_numbers]
        (frame,) = yield [table.scored.select(counts)]
        counted = frame.row(0, named=True)
    return {key.column: counted.get(key.column, 0) for key in keys}


def _together(rows_of_keys: Mapping[str, int], most: int) -> Iterator[list[str]]:
    """Keys resolved in one scan: as many as hold no more rows than a single one may."""
    names: list[str] = []
    rows = 0
    for name, size in rows_of_keys.items():
        rows += min(size, most)
        if names and rows > most:
            yield names
            names, rows = [], min(size, most)
        names.append(name)
    yield names


def _key_plan(key: SliceKey, view: TableView, table: PredictionTable, step: int) -> pl.LazyFrame:
    """Plan of a key's constants: its sorted values, of every k-th row, with weights, or the most frequent."""
    from plmetrics.table.sampling import telling

    if key.kind == "top":
        return _rank_values(table.scored, key, _top_exclusions(key, view.sets))
    columns = [pl.col(key.column).alias("value")]
    columns += [] if table.weight is None else [table.weight.alias("weight")]
    names = [key.column, *telling(replace(view.roles, unit_name=None), table.scored.collect_schema().names())]
    chosen = view.arithmetic.sample(table.scored, step, names)
    return view.arithmetic.sort(chosen.select(columns), "value")


def _resolve(key: SliceKey, view: TableView, column_values: pl.DataFrame) -> SliceKey:
    if key.kind == "quantiles":
        edges, dtype = _quantile_edges(column_values, key), view.schema[key.label]
        return key.in_bins(edges, dtype)
    values, excluded = _top_values(column_values, key, _top_exclusions(key, view.sets))
    return top_key(key, values, excluded)


def _top_exclusions(key: SliceKey, sets: Sequence[SliceSet]) -> tuple[Any, ...]:
    """Excluded values of a set's top; a top is shared only by sets without exclusions."""
    return next(part.exclude for part in sets if key in part.keys)


def _quantile_edges(values: pl.DataFrame, key: SliceKey) -> tuple[Any, ...]:
    """Averaged inverse of the weighted distribution at i / number, each once, without the smallest value."""
    rows = values.drop_nulls("value")
    rows = rows.drop_nans("value") if rows.schema["value"].is_float() else rows
    if rows.height == 0:
        return ()
    weight = rows["weight"].to_numpy() if "weight" in rows.columns else np.ones(rows.height)
    return quantile_edges(rows["value"], weight, key.number)


def _rank_values(frame: pl.LazyFrame, key: SliceKey, exclude: tuple[Any, ...]) -> pl.LazyFrame:
    """Values by their number of rows, the smaller first among equals."""
    counted = frame.group_by(key.column).agg(pl.len().alias("rows"))
    ranked = counted.sort(["rows", key.column], descending=[True, False], nulls_last=True)
    return ranked.head(OCCURRING + 1 if exclude else key.number + 1).select(key.column)


def _top_values(
    counted_values: pl.DataFrame, key: SliceKey, exclude: tuple[Any, ...]
) -> tuple[pl.Series, pl.Series]:
    """The values with the most rows, in result order, null last. And the excluded."""
    omissions = counted_values.clear()
    if exclude:
        if counted_values.height > OCCURRING:
            raise _exclusion_error(key.label)
        plain = Slices(SliceSet("", (replace(key, kind="column"),), exclude), counted_values)
        remaining, _ = drop_exclusions(plain)
        counted_values = remaining.values
        omissions = omissions if remaining.omissions is None else remaining.omissions
    values = counted_values.head(key.number).to_series().sort(nulls_last=True)
    if counted_values.height > key.number:
        refuse_name_of_rest(plain_values(values, key.label), key.label, ("slices",), "exclude it")
    return values, omissions.to_series()


def _exclusion_error(label: str) -> ConfigError:
    msg = f"column '{label}' has more than {OCCURRING:,} values, too many to look for those to exclude"
    return ConfigError(Problem(msg, ("slices",), "leave the rows out by where, in place of exclude"))


@dataclass(frozen=True, slots=True)
class SliceList:
    """Slices of a run in result order, the values of every key, excluded ones included, and warnings."""

    slices: tuple[Slices, ...]
    values: Mapping[str, pl.Series]
    warnings: tuple[str, ...]


def slice_plans(
    view: TableView, frame: pl.LazyFrame, every: pl.LazyFrame | None = None
) -> dict[str, pl.LazyFrame]:
    """Plans of the values of slice columns, by name; those of a wider set include those of a narrower one.

    Folds are those of the rows that are evaluated, other sets those of `every` row, if these are given. Sums over
    every row need a code for each fold of these, too.
    """
    plans: dict[str, pl.LazyFrame] = {}
    covered = _covering_sets(view.sets)
    if every is not None and every is not frame:
        plans |= {f"key|{name}": every.select(name).unique() for name in _fold_columns(view.sets)}
    for number, part in enumerate(view.sets):
        if part.keys and not part.is_predicate and number not in covered:
            rows = frame if part.is_derived or every is None else every
            plans[f"slices|{number}"] = _combinations(part, rows).head(_combination_limit(view, part) + 1)
    return plans


def _fold_columns(sets: Sequence[SliceSet]) -> list[str]:
    """Columns of keys that no set but derived ones has."""
    derived = [key.column for part in sets if part.is_derived for key in part.keys]
    others = {key.column for part in sets if not part.is_derived for key in part.keys}
    return [column for column in dict.fromkeys(derived) if column not in others]


def _combination_limit(view: TableView, part: SliceSet) -> int:
    """Limit of the number of combinations of values."""
    if part.is_tagged:
        return COMBINATIONS
    if part.is_derived:
        return MOST_DERIVED
    return OCCURRING if part.exclude else view.suite.max_slices


def _combinations(part: SliceSet, rows: pl.LazyFrame) -> pl.LazyFrame:
    """Combinations of the values of a set's keys, and whether they occur in the rows of its condition."""
    columns = [key.column for key in part.keys]
    if part.within is None or part.is_derived:
        return rows.select(columns).unique()
    return rows.group_by(columns).agg(pl.col(part.within.column).any())


def _covering_sets(sets: Sequence[SliceSet]) -> dict[int, int]:
    """Superset of columns of a set, by number, refused unless all its values are listed."""
    columns = [frozenset(key.column for key in part.keys) for part in sets]
    plain_sets = [
        number
        for number, part in enumerate(sets)
        if part.keys and not (part.is_predicate or part.is_derived or part.is_tagged)
    ]
    covered: dict[int, int] = {}
    for number in plain_sets:
        wider = [
            other
            for other in plain_sets
            if other not in covered
            and (columns[number] < columns[other] or (columns[number] == columns[other] and number > other))
        ]
        if wider:
            covered[number] = wider[0]
    return covered


def _values(
    number: int, sets: Sequence[SliceSet], covered: Mapping[int, int], tables: Mapping[str, pl.DataFrame]
) -> pl.DataFrame | None:
    """The values of a set's keys, as they were found or as those of a wider set tell them."""
    wider = number
    while wider in covered:
        wider = covered[wider]
    here = tables.get(f"slices|{wider}")
    if here is None or wider == number:
        return here
    return _combinations(sets[number], here.lazy()).collect()


def list_slices(view: TableView, looked_up: Mapping[str, pl.DataFrame]) -> SliceList:
    """The slices from the results of the plans.

    Raises:
        ConfigError: there are more than `max_slices`, or too many combinations of tags.
    """
    out: list[Slices] = []
    values: dict[str, list[pl.Series]] = {}
    warnings: list[str] = []
    for name in _fold_columns(view.sets):
        if (every := looked_up.get(f"key|{name}")) is not None:
            values[name] = [every.to_series()]
    covered = _covering_sets(view.sets)
    for number, part in enumerate(view.sets):
        here = _values(number, view.sets, covered, looked_up)
        if here is not None:
            if part.exclude and not part.is_tagged and here.height > OCCURRING:
                raise _exclusion_error(" x ".join(key.label for key in part.keys))
            _check_combinations(part, here)
            warnings += _no_dates(view.schema, part, here)
            for column in here.select(key.column for key in part.keys):
                values.setdefault(column.name, []).append(column)
            here = _within(view, part, here)
        remaining = [drop_exclusions(each) if part.exclude else (each, []) for each in _slices(part, here)]
        out += [each for each, _ in remaining]
        nowhere = [item for item in part.exclude if all(item in unknown for _, unknown in remaining)]
        warnings += [_absent(part, item) for item in nowhere if not _is_excluded(part, item)]
        if part.exclude and not any(len(each) for each, _ in remaining):
            warnings.append(_empty_set(part))
    slices = tuple(each for each in out if len(each) or not each.slice_set.is_tagged)
    _check(view, [each for each in slices if not each.slice_set.is_derived])
    for feature in features_of(view.suite):
        warnings += feature.check_slices(view.suite, slices)
    together = {column: pl.concat(parts) for column, parts in values.items()}
    return SliceList(slices, together, tuple(warnings))


def _within(view: TableView, part: SliceSet, values: pl.DataFrame) -> pl.DataFrame:
    """Values in the rows of the set's condition; of too many to be listed, all of them."""
    if part.within is None or part.is_derived:
        return values
    if values.height <= _combination_limit(view, part):
        values = values.filter(part.within.column)
    return values.drop(part.within.column)


def _no_dates(schema: pl.Schema, part: SliceSet, values: pl.DataFrame) -> Iterator[str]:
    """Warning for each text column read as dates without any date."""
    for key in part.keys:
        column = values[key.column]
        dated = bool(key.every) or key.kind == "bins"
        if dated and schema.get(key.label) == pl.String and not column.count():
            yield _no_date(part, key.label)


def slice_warnings(sets: Sequence[SliceSet]) -> frozenset[str]:
    """Warnings of slices: those of a part of the rows need not hold for all."""
    return frozenset(
        text
        for part in sets
        for text in (
            *(_no_date(part, key.label) for key in part.keys),
            *(_absent(part, item) for item in part.exclude),
            _empty_set(part),
        )
    )


def _no_date(part: SliceSet, column: str) -> str:
    return (
        f"slice set '{part.name}': column '{column}' holds no ISO date such as 2026-03-01, and all rows are "
        f"in one slice, {column}=null: derive a column of dates"
    )


def _absent(part: SliceSet, item: Any) -> str:
    value = "null" if item is None else repr(item)
    return f"slice set '{part.name}' excludes {value}, which does not occur"


def _empty_set(part: SliceSet) -> str:
    return f"slice set '{part.name}' has no slices: it excludes all that occur"


def _is_excluded(part: SliceSet, item: Any) -> bool:
    """Whether a top left the item out before it ranked the values."""
    key = part.keys[0]
    if key.kind != "top" or key.excluded is None:
        return False
    plain = SliceSet(part.name, (replace(key, kind="column"),), (item,))
    return not drop_exclusions(Slices(plain, key.excluded.to_frame()))[1]


def _check_combinations(part: SliceSet, values: pl.DataFrame) -> None:
    if part.is_tagged and values.height > COMBINATIONS:
        msg = f"slice set '{part.name}' ({part.keys[0].label}) has more than {COMBINATIONS:,} combinations of tags"
        raise ConfigError(Problem(msg, ("slices", part.name), "keep fewer tags in the column"))


def _slices(part: SliceSet, values: pl.DataFrame | None) -> list[Slices]:
    if part.is_predicate:
        return [Slices(part, pl.DataFrame({part.keys[0].column: [True]}))]
    if values is None:
        return [Slices(part, pl.DataFrame(height=1))]
    if part.keys[0].kind == "top":
        values = values.filter(pl.nth(0) <= len(part.keys[0].edges))
    if not part.is_tagged:
        return [Slices(part, order(values))]
    from plmetrics.table.tags import tag_groups

    column = part.keys[0].column
    return [Slices(part, tags.alias(column).to_frame()) for tags in tag_groups(values[column])]


def _check(view: TableView, slices: Sequence[Slices]) -> None:
    limit = view.suite.max_slices
    hint = "use fewer or binned columns, or raise max_slices"
    sizes: dict[str, int] = {}
    for each in slices:
        sizes[each.slice_set.name] = sizes.get(each.slice_set.name, 0) + len(each)
    for part in view.sets:
        if sizes.get(part.name, 0) > limit:
            columns = " x ".join(key.label for key in part.keys)
            msg = f"slice set '{part.name}' ({columns}) has more than max_slices = {limit:,} slices"
            raise ConfigError(Problem(msg, ("slices", part.name), hint))
    total = sum(sizes.values()) - 1
    if total > limit:
        msg = f"the slice sets have {total:,} slices together, more than max_slices = {limit:,}"
        raise ConfigError(Problem(msg, ("slices",), hint))


def key_codes(roles: RoleColumns, slices: SliceList) -> dict[str, KeyCodes]:
    """The integer code of every key."""
    flags = pl.Series([False, True])
    return {
        key.column: KeyCodes.of(key, flags if key.kind == "predicate" else slices.values[key.column])
        for key in roles.keys
    }
