"""What a suite asks of the engine: metrics by family, models, pairs to compare, roles and slice keys."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.catalogue.custom import ROLES, RowAggregate
from plmetrics.catalogue.metric import Facts
from plmetrics.core.errors import Collected, ConfigError, DataError, Problem
from plmetrics.core.names import did_you_mean
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.effects import outcome_requirements
from plmetrics.engine.leakage import check_leakage_columns
from plmetrics.engine.long import widened
from plmetrics.engine.models import classes_of, predicted_models
from plmetrics.engine.rankings import check_ranking, names_queries, role_requirements
from plmetrics.suite.model import BY_FOLD
from plmetrics.table.checks import each_once, require_numbers
from plmetrics.table.roles import RoleColumns, prediction_table, require
from plmetrics.table.slice_keys import SliceKey, bin_index, tag_text
from plmetrics.table.slices import SliceSet
from plmetrics.table.source import ROW_NUMBER
from plmetrics.table.units import OWN_BLOCK_LIMIT, unit_hash

if TYPE_CHECKING:
    from plmetrics.catalogue.metric import Metric
    from plmetrics.states.sums import RowValue
    from plmetrics.suite.model import SliceSet as SliceSpec
    from plmetrics.suite.model import Suite
    from plmetrics.table.predicted import Predicted
    from plmetrics.table.source import Source

OVERALL = SliceSet("overall", ())
INDEX = ROW_NUMBER
"""The number of a row in its table, in the second look at bad rows."""


@dataclass(frozen=True, slots=True)
class Request:
    """A suite bound to a source: everything the passes need to know, as plans not yet run.

    `pairs_read` is how many rows became the queries of a ranking, where its rows are queries by now. `train` is the
    training table that leakage is looked for in.
    """

    suite: Suite
    source: Source
    raw: pl.LazyFrame
    roles: RoleColumns
    sets: tuple[SliceSet, ...]
    where: pl.Expr | None
    pairs_read: int | None = None
    train: Source | None = None

    def numbered(self) -> pl.LazyFrame:
        """The raw rows in file order with their numbers, for a look at some of them."""
        frame = self.source.frame.with_row_index(INDEX).with_columns(pl.lit(0, dtype=pl.UInt64).alias("@row"))
        return frame if self.where is None else frame.filter(self.where)

    @property
    def schema(self) -> pl.Schema:
        """Types of the raw columns."""
        return self.source.schema

    @property
    def models(self) -> tuple[str, ...]:
        """Model names in suite order."""
        return tuple(self.suite.models)

    @property
    def leaves(self) -> tuple[Metric, ...]:
        """The metrics of a state family that the suite's are made from."""
        return self.suite.needed("overall", *self.suite.slices)

    @property
    def sums(self) -> tuple[Metric, ...]:
        """The metrics of the family sums."""
        return tuple(metric for metric in self.leaves if metric.family == "sums")

    @property
    def scores(self) -> tuple[Metric, ...]:
        """The metrics of the family scores."""
        return tuple(metric for metric in self.leaves if metric.family == "scores")

    @property
    def orders_scores(self) -> bool:
        """Whether rows are ordered by the models' scores."""
        by_score = any(metric.values() is None for metric in self.scores)
        return by_score or (bool(self.suite.curves) and not self.draws_rows)

    @property
    def draws_rows(self) -> bool:
        """Whether curves are drawn from labels and predictions row by row."""
        return bool(self.suite.curves) and self.suite.task in {"regression", "quantile", "multiclass"}

    @property
    def ranks(self) -> tuple[Metric, ...]:
        """The metrics of the ranks of labels and predictions."""
        return tuple(metric for metric in self.leaves if metric.family == "ranks")

    @property
    def reads_pairs(self) -> bool:
        """Whether labels and predictions are read row by row."""
        return self.draws_rows or bool(self.ranks)

    @property
    def values(self) -> tuple[RowValue, ...]:
        """The other numbers that rows are ordered by."""
        found = {value.key: value for metric in self.scores if (value := metric.values()) is not None}
        return tuple(found.values())

    @property
    def baselines(self) -> tuple[str, ...]:
        """Models that others are compared with: by `compare`, and by gates."""
        suite = self.suite
        named = [suite.compare.baseline] if suite.compare else []
        named += [gate.against for gate in suite.gates if gate.against is not None]
        return tuple(dict.fromkeys(named))

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Every model with every baseline but itself."""
        return tuple((m, b) for b in self.baselines for m in self.models if m != b)

    @property
    def unit_rows(self) -> bool:
        """Whether each row is a unit of its own."""
        return unit_column(self.suite) is None


def bind(suite: Suite, source: Source, train: Source | None = None) -> Request:
    """Resolve columns, predicates and types against the source, on zero rows.

    Raises:
        DataError: there are no rows, or columns are absent or of a type their role cannot take; all are named.
        ConfigError: an expression does not fit the columns' types.
    """
    if source.rows == 0:
        raise DataError(Problem("the table has no rows", ("data", "path")))
    source = widened(source, suite.data.long)
    collected = Collected()
    by_row = suite.uncertainty is not None and unit_column(suite) is None
    raw = source.with_row_key() if by_row else source.frame
    where, unit = None, pl.col("@row") if by_row else None
    with collected.step():
        if suite.data.where is not None:
            where = _predicate(suite.data.where, source.schema, ("data", "where"))
            fewer = source.in_folders(where, compile_row(suite.data.where).columns)
            raw = (fewer.with_row_key() if by_row else fewer.frame).filter(where)
    with collected.step():
        _extra_columns(suite, source.schema)
    with collected.step():
        _check_fit_on(suite, source.schema)
    with collected.step():
        check_leakage_columns(suite, source.schema, train)
    with collected.step():
        unit = unit if by_row else _unit(suite, source.schema)
    keys: dict[str, SliceKey] = {}
    sets = [OVERALL]
    for name, spec in suite.slices.items():
        with collected.step():
            for members in _keys(name, spec, source.schema):
                own = [keys.setdefault(_identity(key), key) for key in members]
                sets.append(SliceSet(name, tuple(own), spec.exclude))
    named = {key.column: key for key in keys.values()}
    models: dict[str, Predicted] = {}
    with collected.step():
        models = predicted_models(suite, source.schema)
    suite = suite.settled(Facts(classes_of(suite, models)))
    roles = _roles(suite, models, tuple(named.values()), unit)
    if suite.task == "ranking" and source.not_retrieved != "refused":
        roles = replace(roles, null_scores=True)
    for metric in suite.needed("overall", *suite.slices):
        with collected.step():
            if isinstance(metric, RowAggregate):
                _check_expressions(metric, source.schema)
            elif metric.chosen_threshold is not None and metric.chosen_threshold.select_on is not None:
                _predicate(metric.chosen_threshold.select_on, source.schema, ("metrics",), "select_on")
            else:
                _require_all(metric.columns(), source.schema, ("metrics",), metric.text)
                require_numbers(metric.requirements(), source.schema)
    with collected.step():
        if suite.task == "ranking":
            check_ranking(suite, source.schema, suite.needed("overall", *suite.slices))
    with collected.step():
        prediction_table(raw, source.schema, roles)
    collected.settle()
    return Request(suite, source, raw, roles, tuple(sets), where, train=train)


def unit_column(suite: Suite) -> str | None:
    """The column of what is resampled together, None for rows: queries of a ranking are units by themselves."""
    return suite.columns.unit or (suite.columns.query if suite.task == "ranking" else None)


def _unit(suite: Suite, schema: pl.Schema) -> pl.Expr | None:
    """What tells units apart; without intervals only whether there is one, for a row must not count by that."""
    name = unit_column(suite)
    if name is None or (suite.columns.unit is None and not names_queries(schema.get(name, pl.Null()))):
        return None
    hashed = unit_hash(pl.col(name), require(schema, name, "unit", ("columns", "unit")))
    return pl.col(name) if suite.uncertainty is None else hashed


def _roles(
    suite: Suite, models: dict[str, Predicted], keys: tuple[SliceKey, ...], unit: pl.Expr | None
) -> RoleColumns:
    needed = suite.needed("overall", *suite.slices)
    probability = any(metric.reads_probability for metric in needed) or any(
        curve.curve == "reliability" for curve in suite.curves
    )
    hard = frozenset(
        name
        for name, model in suite.models.items()
        if suite.task == "binary" and model.prediction is not None
    )
    needs = role_requirements(suite, needed) if suite.task == "ranking" else ()
    if suite.task == "uplift":
        needs = outcome_requirements(suite, needed)
    own = [need.column for need in needs]
    return RoleColumns(
        label=suite.columns.label,
        models=models,
        task=suite.task,
        positive=suite.positive,
        weight=suite.columns.weight,
        unit=unit,
        unit_name=suite.columns.unit,
        probability=frozenset(suite.models) - hard if probability else frozenset(),
        hard=hard,
        missing=suite.data.missing,
        keys=keys,
        columns=tuple(dict.fromkeys([*(name for metric in needed for name in metric.columns()), *own])),
        classes=classes_of(suite, models),
        treatment=suite.columns.treatment if suite.task == "uplift" else None,
        requirements=each_once([*needs, *(need for metric in needed for need in metric.requirements())]),
        made={name: expr for metric in needed for name, expr in metric.made(suite.columns.label).items()},
    )


def _identity(key: SliceKey) -> str:
    return f"{key.kind}|{key.label}|{key.edges!r}|{key.number}|{key.expression.meta.serialize()!r}"


def _keys(name: str, spec: SliceSpec, schema: pl.Schema) -> list[list[SliceKey]]:
    """The keys of a slice set; predicates that may overlap are a set each, all of one name."""
    if spec.where is None:
        return [[_column_key(name, column, spec, schema) for column in spec.columns]]
    if isinstance(spec.where, str):
        return [[_predicate_key(name, spec.where, name, schema, ("slices", name, "where"))]]
    return [
        [_predicate_key(label, text, f"{name}|{label}", schema, ("slices", name, "where", label))]
        for label, text in spec.where.items()
    ]


def _predicate_key(
    label: str, text: str, column: str, schema: pl.Schema, path: tuple[str | int, ...]
) -> SliceKey:
    holds = _predicate(text, schema, path).fill_null(value=False)
    return SliceKey(f"@where|{column}", label, holds, "predicate")


def _column_key(name: str, column: str, spec: SliceSpec, schema: pl.Schema) -> SliceKey:
    path = ("slices", name)
    dtype = require(schema, column, f"slice set '{name}'", path)
    value = pl.col(column).fill_nan(None) if dtype.is_float() else pl.col(column)
    if spec.bins is not None:
        return _binned_key(name, column, value, dtype, tuple(spec.bins))
    if spec.quantiles is not None:
        if not dtype.is_numeric() or dtype.is_decimal():
            msg = f"slice set '{name}': column '{column}' is of type {dtype}, and quantiles need numbers"
            raise DataError(Problem(msg, path))
        label = f"@quantiles|{column}|{spec.quantiles}"
        return SliceKey(label, column, value, "quantiles", number=spec.quantiles)
    if isinstance(dtype, pl.List) and len(spec.columns) == 1 and spec.top is None:
        return _tags_key(name, column, dtype)
    if dtype.is_nested() or dtype in {pl.Binary, pl.Object}:
        msg = f"slice set '{name}': column '{column}' is of type {dtype}, which has no slices"
        hint = (
            "a list of tags stands alone, without other columns or top"
            if isinstance(dtype, pl.List)
            else None
        )
        raise DataError(Problem(msg, path, hint))
    if dtype.is_float():
        value = pl.when(value == 0).then(0.0).otherwise(value)
    if isinstance(dtype, (pl.Categorical, pl.Enum)):
        value = value.cast(pl.String)
    if spec.top is not None:
        own = f"@top|{column}|{spec.top}|{name}" if spec.exclude else f"@top|{column}|{spec.top}"
        return SliceKey(own, column, value, "top", number=spec.top)
    return SliceKey(f"@slice|{column}", column, value, "column")


def _tags_key(name: str, column: str, dtype: pl.List) -> SliceKey:
    inner = dtype.inner
    if (
        not isinstance(inner, (pl.String, pl.Categorical, pl.Enum))
        and not pl.Series([], dtype=inner).dtype.is_integer()
    ):
        msg = f"slice set '{name}': column '{column}' is of type {dtype}, and tags must be texts or whole numbers"
        raise DataError(Problem(msg, ("slices", name)))
    return SliceKey(f"@tags|{column}", column, tag_text(pl.col(column)), "tags")


def _binned_key(
    name: str, column: str, value: pl.Expr, dtype: pl.DataType, edges: tuple[Any, ...]
) -> SliceKey:
    try:
        index = bin_index(value, dtype, edges)
    except ValueError as error:
        msg = f"slice set '{name}': column '{column}' is of type {dtype}, but its bins are {error}"
        raise DataError(Problem(msg, ("slices", name))) from None
    return SliceKey(f"@bins|{column}|{edges}", column, index, "bins", edges)


def _predicate(text: str, schema: pl.Schema, path: tuple[str | int, ...], where: str = "where") -> pl.Expr:
    """A row predicate, checked on zero rows of the source."""
    row = compile_row(text)
    _require_all(row.columns, schema, path, where)
    empty = pl.LazyFrame(schema=schema)
    problem = zero_rows_problem(empty.select(row.expr.alias("holds")))
    if problem is not None:
        types = ", ".join(f"{column} is {schema[column]}" for column in row.columns)
        dates = any(schema[column].is_temporal() for column in row.columns)
        hint = f"{types}; write dates as '2024-01-31'" if dates else types
        raise ConfigError(Problem(f"'{text}' does not fit the columns' types: {problem}", path, hint))
    if empty.select(row.expr.alias("holds")).collect_schema()["holds"] != pl.Boolean:
        raise ConfigError(Problem(f"'{text}' is not a condition: it is neither true nor false", path))
    return row.expr


def _check_fit_on(suite: Suite, schema: pl.Schema) -> None:
    """The conditions on the rows that calibrators are fitted on, checked on zero rows of the source."""
    collected = Collected()
    for place, calibrate in enumerate(suite.calibrate):
        path = ("calibrate", place) if len(suite.calibrate) > 1 else ("calibrate",)
        with collected.step():
            if calibrate.fit_on != BY_FOLD:
                _predicate(calibrate.fit_on, schema, (*path, "fit_on"), "fit_on")
    collected.settle()


def _check_expressions(metric: RowAggregate, schema: pl.Schema) -> None:
    """Check the row expressions of a metric on zero rows of the source."""
    empty = pl.LazyFrame(schema=schema)
    for key, text in metric.expressions().items():
        path = (
            (*metric.path, metric.aggregate, key)
            if metric.aggregate == "ratio" != key
            else (*metric.path, key)
        )
        row = compile_row(text, dict.fromkeys(ROLES, pl.lit(0.0)))
        _require_all(row.columns, schema, path, f"metric '{metric.name}'")
        wanted = row.measure if key not in {"where", "null_share"} else row.expr
        problem = zero_rows_problem(empty.select(wanted.alias("value")))
        if problem is not None:
            types = ", ".join(f"{column} is {schema[column]}" for column in row.columns)
            raise ConfigError(
                Problem(f"'{text}' does not fit the columns' types: {problem}", path, types or None)
            )


def _require_all(
    columns: tuple[str, ...], schema: pl.Schema, path: tuple[str | int, ...], where: str = "where"
) -> None:
    problems = []
    for column in columns:
        if column not in schema:
            nearest = did_you_mean(column, schema, limit=0)
            quoted = f"a text stands in single quotes: '{column}'"
            hint = f"{nearest} Otherwise, {quoted}" if nearest else quoted
            problems.append(Problem(f"column '{column}' (in {where}) is not in the data", path, hint))
    if problems:
        raise DataError(problems)


def zero_rows_problem(frame: pl.LazyFrame) -> str | None:
    """The first line of what Polars says when a plan runs on zero rows, None if nothing."""
    try:
        frame.collect()
    except pl.exceptions.PolarsError as error:
        return str(error).strip().split("\n")[0].split(" (create native")[0]
    return None


def _extra_columns(suite: Suite, schema: pl.Schema) -> None:
    """Columns of roles that nothing needs in this run must exist all the same."""
    collected = Collected()
    columns: dict[str, Any] = suite.columns.model_dump()
    for role, name in columns.items():
        with collected.step():
            if name is not None:
                require(schema, name, role, ("columns", role))
    collected.settle()


__all__ = ["OVERALL", "OWN_BLOCK_LIMIT", "Request", "bind", "zero_rows_problem"]
