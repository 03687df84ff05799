"""Rankings: a table of rows becomes a table of queries, aggregated by the rest of a run as rows are.

One collection brings the rows, one sort per model puts them in order, and every number that a metric reads of a query
becomes a column. Rows that do not fit into memory come in passes, each with all rows of some queries, by the hash of
their names; or some files at a time, where the suite says that these share no query, which is checked.
Weight, unit and slices belong to the query: a column that varies within one is an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.errors import AbsentDataError, DataError, Problem
from plmetrics.core.names import data_text
from plmetrics.core.ops import Array, Codes, Flags
from plmetrics.engine.bad_rows import bad_values, no_rows_left
from plmetrics.engine.memory.budget import passes_of_rows, passes_to_hold
from plmetrics.engine.ranking.query_passes import (
    WORD,
    closed_parts,
    query_word,
    refuse_shared_queries,
    some_queries,
)
from plmetrics.engine.ranking.rank_order import QueryRows, codes_of, equal_models
from plmetrics.engine.request import Request, TableView
from plmetrics.engine.run_plan import Accounting, NoRowsLeftError
from plmetrics.states.queries import QUERY, QUERY_NAME, QueryValue, query_column
from plmetrics.suite.tasks import RANKING_CURVES
from plmetrics.table.checks import SCORED, VALID, scored_column, valid_column
from plmetrics.table.prediction_columns import (
    LABEL,
    UNIT,
    WEIGHT,
    PredictionColumns,
    RoleColumns,
    plain_column,
    score_column,
)

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.suite.sections.basics import Columns


def by_query(request: Request, view: TableView) -> Question[tuple[TableView, int, tuple[str, ...]]]:
    """View of a table with one row per query, the number of its rows, and warnings of those that are left out.

    Raises:
        DataError: rows failed a check, a query has a document twice, or what belongs to queries varies within one.
    """
    width = _width(request, view.roles)
    passes = yield from passes_to_hold(view, view.raw, width, "ranking", "task")
    parts: list[pl.DataFrame] = []
    read = left_out = 0
    closed = [view] if passes == 1 else closed_parts(view, passes)
    for of_files in closed:
        if len(closed) > 1:
            passes = yield from passes_to_hold(of_files, of_files.raw, width, "ranking", "task")
        for number in range(passes):
            part = of_files if passes == 1 else replace(of_files, raw=some_queries(of_files, number, passes))
            queries, rows, absent = yield from _queries_of_pass(request, part, view)
            read, left_out = read + rows, left_out + absent
            parts += queries
    if not parts:
        raise _no_rows_error(request, read)
    table = pl.concat(parts)
    if len(closed) > 1:
        yield from refuse_shared_queries(view, table[WORD])
    verb, whose = ("is", "its query") if left_out == 1 else ("are", "their queries")
    words = f"{left_out:,} of {read:,} rows {verb} left out (missing), and what is left of {whose} is ranked alone"
    return view_of_queries(view, table.drop(WORD, strict=False)), read, (words,) if left_out else ()


def ranking_passes(request: Request, rows: int) -> int:
    """Number of passes for the rows of a ranking; 1 for files of whole queries, read once each."""
    if request.suite.data.partitioned_by is not None:
        return 1
    return passes_of_rows(request.suite, rows, _width(request, request.view.roles))


def _width(request: Request, roles: RoleColumns) -> int:
    """Estimated numbers of a row while its query is computed."""
    return len(_columns(request, roles)) + _RANKED


def _queries_of_pass(
    request: Request, part: TableView, whole: TableView
) -> Question[tuple[list[pl.DataFrame], int, int]]:
    """Queries of a pass, if any, and the numbers of its rows, and of those left out for some model."""
    frame, rows, weightless = yield from _collect_rows(request, part, whole)
    masks = _masks(request, frame)
    complete = frame.select(pl.all_horizontal(masks).sum()).item() if masks else frame.height
    queries = [_queries(request, part, _SoundRows.of(request, part, frame))] if frame.height else []
    return queries, rows, rows - weightless - complete


def _queries(request: Request, view: TableView, collected: _SoundRows) -> pl.DataFrame:
    """One row for each query, with the numbers of its metrics."""
    firsts = collected.frame[collected.first_rows]
    names = (WEIGHT, UNIT, *(key.column for key in view.roles.keys))
    columns = {name: firsts[name] for name in names if name in firsts.columns}
    values = _values(request, collected)
    absent = _absent(request, collected)
    columns[LABEL] = _with_nulls(np.where(collected.complete_queries(request), 0.0, np.nan))
    scores = partial(_sound_scores, request, collected.frame)
    numbers = dict.fromkeys(values, np.zeros(len(firsts)))
    if request.pairs:
        numbers = equal_models(values, scores, collected.codes, len(firsts))
    for model, score in numbers.items():
        columns[score_column(model)] = _with_nulls(np.where(absent[model], np.nan, score))
    for model, of_key in values.items():
        for key, query_values in of_key.items():
            columns[query_column(model, key)] = _with_nulls(query_values)
    if any(curve.curve in RANKING_CURVES for curve in request.suite.curves):
        columns[QUERY_NAME] = firsts[plain_column(_query(request.suite.columns))].cast(pl.String)
    if view.suite.data.partitioned_by is not None:
        columns[WORD] = firsts.select(query_word(view, plain_column(_query(view.suite.columns)))).to_series()
    return pl.DataFrame(columns)


def _with_nulls(values: Array) -> pl.Series:
    return pl.Series(values=values, nan_to_null=True)


_RANKED = 6
"""So many numbers a row takes beside its columns while a model's rows are put in order."""


@dataclass(frozen=True, slots=True)
class _SoundRows:
    """The sound rows, the query of each, and the first row of every query."""

    frame: pl.DataFrame
    codes: Codes
    first_rows: Codes

    def complete_queries(self, request: Request) -> Flags:
        """Queries with labels in all rows that some model ranks: for others the ideal order is unknown."""
        out = np.ones(len(self.first_rows), dtype=np.bool_)
        masks = _masks(request, self.frame)
        ranked = pl.any_horizontal(masks) if masks else pl.lit(value=True)
        unlabelled = self.frame.select(pl.col(LABEL).is_null() & ranked).to_series()
        out[self.codes[unlabelled.to_numpy()]] = False
        return out

    @classmethod
    def of(cls, request: Request, view: TableView, frame: pl.DataFrame) -> _SoundRows:
        """The rows of some queries."""
        codes, first_rows = codes_of(frame[plain_column(_query(request.suite.columns))])
        collected = cls(frame, codes, first_rows)
        problems = [*_varying(view, collected), *_twice(request.suite.columns, collected)]
        if problems:
            raise DataError(problems)
        return collected


def _query(columns: Columns) -> str:
    name = columns.query
    assert name is not None
    return name


def _flags(query_values: Sequence[QueryValue]) -> tuple[str, ...]:
    """Indicator columns of the rows."""
    return tuple(dict.fromkeys(value.flag for value in query_values if value.flag is not None))


def _columns(request: Request, roles: RoleColumns) -> list[str]:
    """Columns of the prediction table for queries."""
    document = request.suite.columns.document
    columns = [LABEL, plain_column(_query(request.suite.columns)), *map(score_column, request.models)]
    columns += [] if document is None else [plain_column(document)]
    columns += [plain_column(name) for name in _flags(request.query_values)]
    columns += [name for name in (WEIGHT,) if roles.weight is not None]
    columns += [name for name in (UNIT,) if roles.unit is not None]
    columns += [key.column for key in roles.keys]
    if request.suite.data.missing == "drop_per_model":
        columns += [_valid(request, model) for model in request.models]
    if request.suite.data.missing == "error":
        columns.append(SCORED if request.awaits_labels else VALID)
    return list(dict.fromkeys(columns))


def _collect_rows(
    request: Request, view: TableView, whole: TableView
) -> Question[tuple[pl.DataFrame, int, int]]:
    """Valid rows, with or without a label, the number read, and that of rows of weight 0.

    Raises:
        DataError: some did not pass; what it says is of the `whole` table.
    """
    table = view.table()
    plans = [
        table.scored.select(_columns(request, view.roles)),
        view.raw.select(pl.len(), weightless=_has_no_weight(view).sum()),
        _without_weight(request.suite.columns, view),
    ]
    frame, rows, without = yield plans
    for name in (VALID, SCORED):
        if name in frame.columns and not frame[name].all():
            total = rows[0, 0] if view is whole else whole.raw.select(pl.len()).collect().item()
            raise bad_values(whole, table.checks, total)
    frame = frame.drop(VALID, SCORED, strict=False)
    _refuse_partial(request.suite.columns, frame, without)
    return frame, *rows.row(0)


def _valid(request: Request, model: str) -> str:
    """Validity column of a model's rows, with or without a label."""
    return scored_column(model) if request.awaits_labels else valid_column(model)


def _masks(request: Request, frame: pl.DataFrame) -> list[str]:
    """Validity columns of models with rows of their own."""
    return [name for model in request.models if (name := _valid(request, model)) in frame.columns]


def _no_rows_error(request: Request, total: int) -> DataError:
    if total == 0:
        return AbsentDataError.without_rows(request.suite.data.where)
    error = NoRowsLeftError(no_rows_left(total))
    error.rows = Accounting(0, 0, {}, pairs=total)
    return error


def _without_weight(columns: Columns, view: TableView) -> pl.LazyFrame:
    """Queries with rows of weight 0."""
    query = pl.col(_query(columns))
    if view.roles.weight is None:
        return view.raw.select(query).clear()
    return view.raw.filter(_has_no_weight(view)).select(query).drop_nulls().unique()


def _has_no_weight(view: TableView) -> pl.Expr:
    return (
        pl.lit(value=False) if view.roles.weight is None else pl.col(view.roles.weight).cast(pl.Float64) == 0
    )


def _refuse_partial(columns: Columns, frame: pl.DataFrame, without: pl.DataFrame) -> None:
    if without.height == 0:
        return
    queries = frame[plain_column(_query(columns))]
    both = queries.filter(queries.is_in(without.to_series().implode()))
    if len(both):
        name = columns.weight
        msg = (
            f"column '{name}' (weight) varies within a query: in query {data_text(both[0])} some rows have 0"
        )
        raise DataError(Problem(msg, ("columns", "weight"), "give all rows of a query the same weight"))


def _varying(view: TableView, collected: _SoundRows) -> Iterator[Problem]:
    """Queries with differing values of a per-query column."""
    columns = view.suite.columns
    named: dict[str, tuple[str, str, tuple[str, ...]]] = {}
    if view.roles.weight is not None:
        named[WEIGHT] = (f"column '{columns.weight}' (weight)", "weight", ("columns", "weight"))
    if view.roles.unit is not None and columns.unit is not None:
        named[UNIT] = (f"column '{columns.unit}' (unit)", "unit", ("columns", "unit"))
    for key in view.roles.keys:
        owner = next(part for part in view.sets if key.column in part.columns)
        if owner.is_derived or key.column not in {member.column for member in owner.keys}:
            named[key.column] = (f"'{key.label}' ({owner.maker})", "value", (owner.maker,))
        else:
            named[key.column] = (
                f"'{key.label}' of slice set '{owner.name}'",
                "value",
                ("slices", owner.name),
            )
    queries = collected.frame[plain_column(str(columns.query))]
    for name, (what, word, path) in named.items():
        values = collected.frame[name]
        differs = values.ne_missing(values.gather(collected.first_rows).gather(collected.codes))
        if not differs.any():
            continue
        row = int(differs.arg_max() or 0)
        first = int(collected.first_rows[collected.codes[row]])
        example = "" if name == UNIT else f", such as {values[first]!r} and {values[row]!r}"
        count = len(np.unique(collected.codes[differs.to_numpy()]))
        msg = (
            f"{what} varies within {count:,} of {len(collected.first_rows):,} queries; query {queries[row]!r}"
        )
        yield Problem(
            f"{msg} has more than one {word}{example}", path, f"a {word} must belong to the whole query"
        )


def _twice(columns: Columns, collected: _SoundRows) -> Iterator[Problem]:
    """Duplicate documents of a query."""
    document = columns.document
    if document is None:
        return
    pairs = pl.DataFrame({"query": collected.codes, "document": collected.frame[plain_column(document)]})
    # Pairs that are alike have one hash, and hashes are sorted several times faster than pairs are grouped.
    hashes = np.sort(pairs.hash_rows().to_numpy())
    if (hashes[1:] != hashes[:-1]).all():
        return
    repeated = pairs.lazy().group_by("query", "document").len().filter(pl.col("len") > 1).collect()
    if repeated.height:
        query, name, count = repeated.sort("query", "document").row(0)
        query_name = collected.frame[plain_column(_query(columns))][int(collected.first_rows[query])]
        stand = "document stands" if repeated.height == 1 else "documents stand"
        msg = f"column '{document}' (document): {repeated.height:,} {stand} in a query more than once"
        example = f"the first is {name!r}, {count} times in query {query_name!r}"
        yield Problem(f"{msg}; {example}", ("columns", "document"), "keep one row a query and document")


def _values(request: Request, collected: _SoundRows) -> dict[str, dict[str, Array]]:
    """The numbers of every query by model and key; NaN where a query takes no part."""
    by_key = {value.key: value for value in request.query_values}
    document = request.suite.columns.document
    if all(value.ties != "document" for value in by_key.values()):
        document = None
    shared: QueryRows | None = None
    labelled, flags = collected.complete_queries(request), _flags(request.query_values)
    out: dict[str, dict[str, Array]] = {}
    for model in request.models:
        frame, codes = collected.frame, collected.codes
        if _valid(request, model) in frame.columns:
            valid = frame[_valid(request, model)]
            frame, codes = frame.filter(valid), codes[valid.to_numpy()]
            shared = None
        if shared is None:
            documents = None if document is None else frame[plain_column(document)]
            shared = QueryRows(
                codes,
                len(collected.first_rows),
                frame[LABEL].fill_null(0.0),
                documents,
                zero=request.source.not_retrieved != "no_part",
                flags={name: frame[plain_column(name)].cast(pl.Boolean) for name in flags},
                any_order=request.arithmetic.any_order,
            )
        values = shared.values(frame[score_column(model)], tuple(by_key.values()))
        out[model] = {key: np.where(labelled, numbers, np.nan) for key, numbers in values.items()}
    return out


def _absent(request: Request, collected: _SoundRows) -> dict[str, Flags]:
    """Queries without a valid row of a model."""
    out: dict[str, Flags] = {}
    for model in request.models:
        codes = collected.codes
        if _valid(request, model) in collected.frame.columns:
            codes = codes[collected.frame[_valid(request, model)].to_numpy()]
        out[model] = np.bincount(codes, minlength=len(collected.first_rows)) == 0
    return out


def _sound_scores(request: Request, frame: pl.DataFrame, model: str) -> Array:
    """Scores of a model, NaN in rows that it has no sound one in."""
    valid, score = _valid(request, model), pl.col(score_column(model)).cast(pl.Float64).fill_null(np.nan)
    sound = pl.when(valid).then(score).otherwise(np.nan) if valid in frame.columns else score
    return frame.select(sound).to_series().to_numpy()


def view_of_queries(view: TableView, table: pl.DataFrame) -> TableView:
    """The view of the table of queries, its columns named as the canonical table names them."""
    keys = {key.column: replace(key, expression=pl.col(key.column)) for key in view.roles.keys}
    roles = RoleColumns(
        label=LABEL,
        models={model: PredictionColumns({"score": score_column(model)}) for model in view.roles.models},
        task=view.roles.task,
        weight=None if view.roles.weight is None else WEIGHT,
        unit=None if view.roles.unit is None else pl.col(UNIT),
        missing=view.roles.missing,
        keys=tuple(keys.values()),
        columns=tuple(name for name in table.columns if name.startswith(QUERY)),
        unlabelled=view.roles.unlabelled,
    )
    sets = tuple(
        replace(
            part,
            keys=tuple(keys[key.column] for key in part.keys),
            within=None if part.within is None else keys[part.within.column],
        )
        for part in view.sets
    )
    labels = {key.label: view.schema[key.label] for key in keys.values() if key.label in view.schema}
    schema = pl.Schema({**labels, **table.schema})
    source = replace(view.source, frame=table.lazy(), schema=schema, rows=table.height, reader=None)
    return TableView(view.suite, source, table.lazy(), None, roles, sets)
