"""Row expressions of a suite, checked on zero rows of its source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue.custom import ROLES
from plmetrics.catalogue.metric import Metric
from plmetrics.core.errors import Collected, ConfigError, DataError, Problem
from plmetrics.core.names import SuitePath, did_you_mean, sql_name
from plmetrics.core.rowsql import compile_row, not_a_condition
from plmetrics.table.prediction_columns import require
from plmetrics.table.source import Source, check_column_names

if TYPE_CHECKING:
    from plmetrics.engine.request import TableView


def predicate(text: str, schema: pl.Schema, path: tuple[str | int, ...], where: str = "where") -> pl.Expr:
    """A row predicate, checked on zero rows of the source."""
    row = compile_row(text)
    _require_columns(row.columns, schema, path, where)
    holds = _zero_rows(row.columns, schema).select(row.expr.alias("holds"))
    _check_types(holds, text, row.columns, schema, path)
    if holds.collect_schema()["holds"] != pl.Boolean:
        raise ConfigError(Problem(not_a_condition(text), path))
    return row.expr


def derived_columns(derived: Mapping[SuitePath, str], source: Source) -> Source:
    """Table with the derived columns of a suite, each checked on zero rows of those before it.

    Raises:
        DataError: a column of that name is there already, or those that it reads are not.
        ConfigError: an expression does not fit their types.
    """
    collected, schema = Collected(), pl.Schema(source.schema)
    values: dict[str, pl.Expr] = {}
    for path, text in derived.items():
        name = str(path[-1])
        if name in source.derived or name in values:
            continue
        with collected.step():
            if name in schema:
                msg = f"column '{name}' is in the data, and cannot be derived as well"
                raise DataError(Problem(msg, path, "use another name"))
            check_column_names([name], path)
            row = compile_row(text)
            _require_columns(row.columns, schema, path, f"derived column '{name}'")
            value = _zero_rows(row.columns, schema).select(row.expr.alias("value"))
            _check_types(value, text, row.columns, schema, path)
            values[name], schema[name] = row.expr, value.collect_schema()["value"]
    collected.settle()
    return source.with_columns(values, schema)


def derivable_columns(expressions: Mapping[SuitePath, str], table: Source) -> Source:
    """Feature's table beside the rows, with the derived columns of available inputs."""
    available = set(table.schema)
    derivable = {}
    for path, text in expressions.items():
        section, name = path[0], str(path[-1])
        if section == "derive" and name in available:
            continue
        if available.issuperset(compile_row(text).columns):
            derivable[path] = text
            if section == "derive":
                available.add(name)
    return derived_columns(derivable, table)


def _zero_rows(columns: tuple[str, ...], schema: pl.Schema) -> pl.LazyFrame:
    """Zero rows of the columns of an expression alone, at least one: tables may have hundreds of others."""
    return pl.LazyFrame(schema={column: schema[column] for column in columns or schema.names()[:1]})


def _check_types(
    value: pl.LazyFrame, text: str, columns: tuple[str, ...], schema: pl.Schema, path: tuple[str | int, ...]
) -> None:
    """Check an expression on zero rows."""
    problem = zero_rows_problem(value)
    if problem is not None:
        types = ", ".join(f"{column} is {schema[column]}" for column in columns)
        dates = any(schema[column].is_temporal() for column in columns)
        hint = f"{types}; write dates as DATE '2024-01-31'" if dates else types
        raise ConfigError(Problem(f"'{text}' does not fit the columns' types: {problem}", path, hint or None))


def check_expressions(metric: Metric, schema: pl.Schema) -> None:
    """Check the row expressions of a metric on zero rows of the source."""
    for path, text in metric.row_expressions().items():
        row = compile_row(text, dict.fromkeys(ROLES, pl.lit(0.0)))
        _require_columns(row.columns, schema, path, f"metric '{metric.name}'")
        expression = row.measure if path[-1] not in {"where", "null_share"} else row.expr
        value = _zero_rows(row.columns, schema).select(expression.alias("value"))
        _check_types(value, text, row.columns, schema, path)


def _require_columns(
    columns: tuple[str, ...], schema: pl.Schema, path: tuple[str | int, ...], where: str = "where"
) -> None:
    problems = []
    for column in columns:
        if column not in schema:
            nearest = did_you_mean(column, map(sql_name, schema), limit=0)
            quoted = f"a text stands in single quotes: '{column}'"
            hint = f"{nearest} Otherwise, {quoted}" if nearest else quoted
            problems.append(Problem(f"column '{column}' (in {where}) is not in the data", path, hint))
        elif isinstance(schema[column], pl.BaseExtension):
            require(schema, column, f"in {where}", path)
    if problems:
        raise DataError(problems)


def zero_rows_problem(frame: pl.LazyFrame) -> str | None:
    """First line of Polars' error for a plan on zero rows, None without an error."""
    try:
        frame.collect()
    except pl.exceptions.PolarsError as error:
        return str(error).strip().split("\n")[0].split(" (create native")[0]
    return None


def hidden_columns(view: TableView) -> list[str]:
    """Warnings of columns with the name of a role, in expressions of metrics: these read the role."""
    texts = {metric.text: [*metric.row_expressions().values()] for metric in view.suite.metrics}
    columns_of_roles = {view.roles.label, view.roles.weight}
    for model in view.roles.models.values():
        columns_of_roles |= {*model.columns.values(), model.label, model.weight or None}
    read = {
        name: {column for text in of_one for column in compile_row(text).columns}
        for name, of_one in texts.items()
    }
    return [
        f"metric '{name}' reads the role {role}, not the column '{role}' of the table: to read the column, derive one "
        f"of another name from it"
        for name, columns in read.items()
        for role in ROLES
        if role in columns & set(view.schema) - columns_of_roles
    ]
