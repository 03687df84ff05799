"""Both windows of a drift comparison: the evaluated rows and the reference, as one lazy table."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import TypeVar

import polars as pl

from plmetrics.core.errors import Collected, DataError, PlmetricsError, Problem
from plmetrics.core.hashing import is_key, unit_hash
from plmetrics.core.names import SuitePath
from plmetrics.engine.binding.long_form import WHERE, wide_table
from plmetrics.engine.binding.row_expressions import predicate
from plmetrics.engine.binding.slice_keys import slice_keys
from plmetrics.engine.inquiry import answer
from plmetrics.engine.request import Request, TableView
from plmetrics.features.drift.drift_section import TESTS, Drift
from plmetrics.features.drift.slice_counts import BLOCK
from plmetrics.features.drift.subjects import Subject, bits_of, common_kind, from_raw, subjects_of, value_of
from plmetrics.inference.comparisons.tests.unit_samples import BLOCKS
from plmetrics.suite.model import Suite
from plmetrics.table.checks import bad_rows
from plmetrics.table.common_types import common_type
from plmetrics.table.prediction_columns import WEIGHT, PredictionColumns, plain_column
from plmetrics.table.slices import Cube, SliceSet
from plmetrics.table.source import Source

WINDOW = "@@window"
"""0 in rows of the reference, 1 in rows that are evaluated."""

BAD = "@bad"
VALUE = "@value|"

_PATH = ("drift",)
_NO_LABEL = "@@no_label"
Rows = TypeVar("Rows", pl.DataFrame, pl.LazyFrame)


def check_drift_columns(suite: Suite, schema: pl.Schema, reference: Source | None) -> None:
    """Check the columns of the section `drift` against both windows, on zero rows.

    Raises:
        DataError: columns are absent, or of types that do not compare; all are named.
        ConfigError: the condition on the reference's rows does not fit its columns.
    """
    spec, collected = Drift.of(suite), Collected()
    no_rows = (spec.reference is not None and reference is None) or spec.is_counted
    with collected.step():
        there = schema if reference is None or no_rows else _reference(suite, reference).schema
    collected.settle()
    for place, name in enumerate(spec.columns):
        with collected.step():
            common_kind(name, schema, there, (*_PATH, "columns", place))
    if no_rows:
        collected.settle()
        return
    with collected.step():
        _condition(suite, there)
    if reference is not None:
        for name in spec.sets(tuple(suite.slices)):
            with collected.step(), _reference_errors():
                slice_keys(name, suite.slices[name], there)
    collected.settle()


def reference_of(request: Request) -> Source | None:
    """The table of the reference; None where it is in the rows themselves, or of counts."""
    return request.tables.get("drift")


def compared_columns(suite: Suite) -> str:
    """Subject of the comparison, in words."""
    spec = Drift.of(suite)
    scores = sum(len(model.columns()) for model in suite.models.values()) if spec.scores else 0
    columns = scores + int(spec.label) + len(set(spec.columns))
    sets = len(spec.sets(tuple(suite.slices)))
    where = "" if not sets else f", overall and in {sets} slice {'set' if sets == 1 else 'sets'}"
    return f"{columns} {'column' if columns == 1 else 'columns'} against the reference{where}"


def check_drift_windows(request: Request) -> None:
    """Check the roles and slices of both windows on zero rows."""
    spec = Drift.of(request.suite)
    if spec.is_counted:
        current_window(request.view)
    elif spec.reference is None or reference_of(request) is not None:
        drift_windows(request, request.view)


@contextmanager
def _reference_errors() -> Iterator[None]:
    try:
        yield
    except PlmetricsError as error:
        raise in_reference(error) from error


def in_reference(error: PlmetricsError) -> PlmetricsError:
    """Error of rows, as one of the reference."""
    path = (*_PATH, "reference")
    problems = [
        replace(problem, message=f"in the reference: {problem.message}", path=path)
        for problem in error.problems
    ]
    return type(error)(problems)


def _reference(suite: Suite, reference: Source) -> Source:
    """Reference with a row per forecast, of the run's condition on rows or of drift's; it may lack labels, too."""
    has_where = Drift.of(suite).where is not None
    reference = reference if suite.labels is None else reference.with_absent(suite.columns.label)
    return answer(
        wide_table(reference, suite.data.long, None if has_where else suite.data.where, every=has_where)
    )


def _condition(suite: Suite, schema: pl.Schema) -> pl.Expr | None:
    spec = Drift.of(suite)
    if spec.where is not None:
        return predicate(spec.where, schema, (*_PATH, "where"), "drift's where")
    if suite.data.where is None:
        return None
    if suite.data.long is not None:
        return pl.col(WHERE)
    with _reference_errors():
        return predicate(suite.data.where, schema, ("data", "where"), "data.where")


@dataclass(frozen=True, slots=True)
class CurrentWindow:
    """Evaluated rows as one lazy table: slice keys, weights, and a value per subject.

    `unit` is the column of their units, whose blocks count for p values; None where there are none.
    """

    view: TableView
    subjects: tuple[Subject, ...]
    frame: pl.LazyFrame
    unit: str | None

    @property
    def sets(self) -> tuple[SliceSet, ...]:
        """Overall, and the slice sets of the comparison."""
        return self.view.sets

    @property
    def has_weights(self) -> bool:
        """Whether rows have weights."""
        return self.view.suite.columns.weight is not None

    @property
    def block(self) -> list[pl.Expr]:
        """The block of a row's unit, where these count."""
        return [] if self.unit is None else [pl.col(block_column(self.unit)).alias(BLOCK)]

    def cells(self, cubes: Collection[Cube]) -> list[int]:
        """Number of cells of each cube, by block of units."""
        return [cube.cells * (1 if self.unit is None else BLOCKS) for cube in cubes]


@dataclass(frozen=True, slots=True)
class Windows(CurrentWindow):
    """Both windows as one lazy table, told apart by `WINDOW`; `sides` are the windows by themselves.

    `reference` is the view of the reference's rows: what a second look at bad rows needs. Its rows that
    fail a check have `BAD` set where `missing` is an error.
    """

    reference: TableView
    sides: tuple[pl.LazyFrame, ...]


def current_window(view: TableView, there: pl.Schema | None = None) -> CurrentWindow:
    """Evaluated rows, of a cross-validation those held out, without a reference in the same table.

    Models that a run adds are made from the scores of others, and not compared. `there` are the types of the columns of
    the reference; those of the rows themselves if not given.

    Raises:
        DataError: columns are absent or of types that do not compare.
    """
    spec = Drift.of(view.suite)
    names = spec.sets(tuple(view.suite.slices))
    compared = (view.sets[0], *(part for part in view.sets if part.name in names))
    sets = tuple(replace(part, within=None) for part in compared)
    keys = tuple({key.column: key for part in sets for key in part.keys}.values())
    current = replace(view, sets=sets, roles=replace(view.roles, keys=keys))
    if view.held_out is not None:
        current = replace(current, raw=current.raw.filter(view.held_out))
    if spec.where is not None and spec.reference is None:
        where = predicate(spec.where, view.schema, (*_PATH, "where"), "drift's where")
        current = replace(current, raw=current.raw.filter(~where.fill_null(value=False)))
    subjects = tuple(subjects_of(current, _compared_models(current), spec, there or view.schema))
    unit = _unit(view.suite, view.schema, there or view.schema)
    return CurrentWindow(current, subjects, _side(current, subjects, unit, pl.lit(1)), unit)


def _unit(suite: Suite, *schemas: pl.Schema) -> str | None:
    """The column of units, where a test is asked for that counts them and all tables have them."""
    name = suite.columns.unit
    tested = any(measure.name in TESTS for measure in Drift.of(suite).distances())
    if name is None or suite.columns.weight is not None or not tested:
        return None
    return name if all(name in schema and is_key(schema[name]) for schema in schemas) else None


def _compared_models(view: TableView) -> dict[str, PredictionColumns]:
    """Models of the compared scores: those with columns."""
    models = view.roles.models if Drift.of(view.suite).scores else {}
    return {name: model for name, model in models.items() if not model.derivations}


def drift_windows(request: Request, view: TableView) -> Windows:
    """Both windows.

    `view` is of the rows as they are in the data.
    """
    spec, reference = Drift.of(request.suite), reference_of(request)
    source = view.source if reference is None else _reference(request.suite, reference)
    where = _condition(request.suite, source.schema)
    if not spec.label:
        labelled = source.frame.with_columns(_any_label(view.roles.task).alias(_NO_LABEL))
        source = replace(source, frame=labelled, schema=labelled.collect_schema())
    raw = source.frame if where is None else source.frame.filter(where)
    window = current_window(view, source.schema)
    current = window.view
    roles = replace(
        current.roles,
        models=_compared_models(current),
        unit=None,
        unit_name=None,
        requirements=(),
        derivations={},
        treatment=None,
        classes=(),  # One that is gone by now is no mistake.
    )
    if not spec.label:
        roles = replace(roles, label=_NO_LABEL, positive=None)
    before = replace(current, source=source, raw=raw, where=where, roles=roles)
    if reference is None and where is not None:
        frame = _one_scan(request.read, view, before, window)
        sides = tuple(frame.filter(pl.col(WINDOW) == side) for side in (0, 1))
        return Windows(current, window.subjects, frame, window.unit, before, sides)
    with _reference_errors():
        sides = (_side(before, window.subjects, window.unit, pl.lit(0)), window.frame)
    frame = pl.union(comparable(sides, {key.column: key.label for key in current.roles.keys}))
    return Windows(current, window.subjects, frame, window.unit, before, sides)


def _one_scan(read: pl.LazyFrame, view: TableView, before: TableView, window: CurrentWindow) -> pl.LazyFrame:
    """Both windows of one table in a single scan: the reference, and of the other rows those of the run."""
    assert before.where is not None
    no_label = [] if Drift.of(view.suite).label else [_any_label(view.roles.task).alias(_NO_LABEL)]
    roles, there = view.roles, before.where.fill_null(value=False)
    here = ~there if view.where is None else ~there & view.where.fill_null(value=False)
    if view.held_out is not None:
        here &= view.held_out
    if roles.missing != "error" and roles.unit is not None and roles.unit_name is not None:
        here &= roles.unit.is_not_null()
    side = pl.when(there).then(0).when(here).then(1).alias(WINDOW)
    marked = read.with_columns(side, *no_label).filter(pl.col(WINDOW).is_not_null())
    marked_view, number = replace(before, raw=marked), pl.col(plain_column(WINDOW))
    return _side(marked_view, window.subjects, window.unit, number, WINDOW)


def _any_label(task: str) -> pl.Expr:
    """Placeholder label for rows without a need of one."""
    return pl.lit("" if task == "multiclass" else 0.0)


def _side(
    view: TableView, subjects: tuple[Subject, ...], unit: str | None, window: pl.Expr, *further: str
) -> pl.LazyFrame:
    """Rows and their windows; an invalid label or score is null, and its row stays for the others.

    The windows may read columns of the raw table: these come `further`.
    """
    roles, schema = view.roles, view.schema
    raw = [*further, *(subject.column for subject in subjects if from_raw(subject, roles.task))]
    raw += [] if unit is None else [unit]
    table = view.table(replace(roles.without_values(), columns=tuple(dict.fromkeys(raw))))
    columns: dict[str, pl.Expr] = {WINDOW: window.cast(pl.Int64)}
    columns |= {key.column: pl.col(key.column) for key in roles.keys}
    if unit is not None:
        block = unit_hash(pl.col(plain_column(unit)), schema[unit]) % BLOCKS
        columns[block_column(unit)] = block.fill_null(0).cast(pl.UInt8)
    columns[WEIGHT] = pl.lit(1.0) if table.weight is None else table.weight
    columns[BAD] = bad_rows(unlabelled=roles.unlabelled) if roles.missing == "error" else pl.lit(value=False)
    for number, subject in enumerate(subjects):
        columns[f"{VALUE}{number}"] = value_of(subject, schema, roles.task)
    rows = table.all_rows
    if table.weight is not None:  # models of other weights may count rows without one
        rows = rows.filter((table.weight != 0).fill_null(value=True))
    return rows.select(**columns)


def block_column(unit: str) -> str:
    """Column of the blocks of units, which are a key of stored counts: that of other units has another name."""
    return f"{BLOCK}|{unit}"


def comparable(frames: Sequence[Rows], labels: Mapping[str, str]) -> list[Rows]:
    """Rows of several windows with their slice keys, by column and label, cast to comparable types."""
    schemas = [frame.collect_schema() for frame in frames]
    types = {key: list(dict.fromkeys(schema[key] for schema in schemas)) for key in labels}
    casts = [
        pl.col(key).cast(reduce(partial(_key_type, labels[key]), several))
        for key, several in types.items()
        if len(several) > 1
    ]
    return [frame.with_columns(casts) for frame in frames]


def no_reference_rows(path: SuitePath, hint: str | None) -> DataError:
    """The error of a reference without rows."""
    return DataError(Problem("the reference has no rows", path, hint))


def no_current_rows(path: SuitePath, hint: str | None = None) -> DataError:
    """Error of a compared window without rows."""
    msg = "nothing is left to compare with the reference: it holds every row that is evaluated"
    return DataError(Problem(msg, path, hint))


def _key_type(label: str, there: pl.DataType, here: pl.DataType) -> pl.DataType:
    """Common comparable type of a slice key and the reference's; floats of other bits are compared in the fewer.

    Raises:
        DataError: there is none.
    """
    common = (
        min(there, here, key=bits_of) if there.is_float() and here.is_float() else common_type(there, here)
    )
    if common is None and here.is_numeric() and there.is_numeric():
        return pl.Float64()
    if common is None:
        msg = f"the slice column '{label}' is of type {here}, but of type {there} in the reference"
        raise DataError(Problem(msg, (*_PATH, "slices"), "store it in one type in both"))
    return common
