"""Pushdown of row conditions to a database: never a row less than the condition holds for.

A condition is of this library, and is looked at again in all rows that come. A database may leave out those for which
it is surely not true: comparisons of columns with constants of their type, where both mean the same. Whatever else a
condition says, such as an order of texts, is not asked of the database.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from plmetrics.core.rowsql import RowExpressionError
from plmetrics.core.rowsql.compiler import parse
from plmetrics.table.database.drivers import mysql_type, postgresql_type

if TYPE_CHECKING:
    import pyarrow as pa

_DIALECTS = {"postgresql": "postgres", "mysql": "mysql", "sqlite": "sqlite", "duckdb": "duckdb"}

_DIGITS = 15
_WHOLE, _NUMBER, _EXACT, _TEXT, _DATE, _TIME, _INSTANT, _TRUTH = range(8)
_POSTGRESQL = {
    "int2": _WHOLE,
    "int4": _WHOLE,
    "int8": _WHOLE,
    "float8": _NUMBER,
    "numeric": _EXACT,
    "text": _TEXT,
    "varchar": _TEXT,
    "bpchar": _TEXT,
    "date": _DATE,
    "timestamp": _TIME,
    "timestamptz": _INSTANT,
    "bool": _TRUTH,
}
_OTHERS = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"), _WHOLE),
    "double": _NUMBER,
    **dict.fromkeys(("string", "large_string", "string_view"), _TEXT),
    "date32[day]": _DATE,
    "timestamp[us]": _TIME,
    "bool": _TRUTH,
}
_SURE = {
    "sqlite": (_WHOLE, _NUMBER, _TEXT),
    "mysql": (_WHOLE, _NUMBER, _DATE, _TIME),
    "duckdb": tuple(range(8)),
}
"""The types whose values a database compares as this library does; MySQL takes texts in capitals for the same."""

_ORDERED = (_WHOLE, _NUMBER, _EXACT, _DATE, _TIME, _INSTANT)


def database_condition(where: str, schema: pa.Schema, kind: str) -> str | None:
    """Part of a condition in the database's SQL; None without a translatable one.

    The schema is that of the query, as the driver tells it; kinds are `postgresql`, `mysql`, `sqlite` and `duckdb`.
    """
    try:
        tree = parse(where)
    except RowExpressionError:  # which is said where conditions are checked
        return None
    types = {field.name: _type_of(field, kind) for field in schema}
    condition = _Translation({name: of for name, of in types.items() if of is not None}, kind).of(tree)
    return None if condition is None else str(condition.sql(dialect=_DIALECTS[kind]))


def _type_of(field: pa.Field, kind: str) -> int | None:
    if kind == "postgresql":
        return _POSTGRESQL.get(postgresql_type(field))
    if mysql_type(field) == "year":  # beside which 24 is 2024
        return None
    of = _OTHERS.get(str(field.type))
    return of if of in _SURE[kind] else None


class _Translation:
    """Conditions of a database from trees of row expressions, by the types of its columns."""

    def __init__(self, types: Mapping[str, int], kind: str) -> None:
        self._types = types
        self._kind = kind

    def of(self, tree: Any) -> Any:
        """The condition, or a weaker one; None where there is none."""
        if isinstance(tree, exp.Paren):
            return self.of(tree.this)
        if isinstance(tree, (exp.And, exp.Or)):
            parts = [self.of(part) for part in tree.flatten()]
            present = [part for part in parts if part is not None]
            if isinstance(tree, exp.And):
                return exp.and_(*present, copy=False) if present else None
            return exp.or_(*present, copy=False) if len(present) == len(parts) else None
        if isinstance(tree, exp.Between) and not tree.args.get("symmetric"):
            bounds = (
                exp.GTE(this=tree.this, expression=tree.args["low"]),
                exp.LTE(this=tree.this, expression=tree.args["high"]),
            )
            sides = list(map(self.of, bounds))
            return None if None in sides else exp.and_(*sides, copy=False)
        return self._of_column(tree)

    def _of_column(self, tree: Any) -> Any:
        """A condition on one column."""
        test = tree.this if isinstance(tree, exp.Not) else tree
        if isinstance(test, (exp.Column, exp.Is)):
            same = self._test(test)
            return exp.Not(this=same) if same is not None and test is not tree else same
        if isinstance(tree, exp.In) and tree.args.get("expressions"):
            parts = [self.of(exp.EQ(this=tree.this, expression=value)) for value in tree.expressions]
            return None if None in parts else exp.or_(*parts, copy=False)
        if type(tree) in {exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE}:
            return self._comparison(tree)
        return None

    def _test(self, test: Any) -> Any:
        """Whether a column is true, or null: the same everywhere, and so is the contrary."""
        if isinstance(test, exp.Column):
            return self._column(test) if self._type(test) == _TRUTH else None
        if self._type(test.this) is None or not isinstance(test.expression, exp.Null):
            return None
        return exp.Is(this=self._column(test.this), expression=exp.Null())

    def _comparison(self, tree: Any) -> Any:
        mirrored: dict[Any, Any] = {exp.GT: exp.LT, exp.LT: exp.GT, exp.GTE: exp.LTE, exp.LTE: exp.GTE}
        kind: Any = type(tree)
        column, value = tree.this, tree.expression
        if not isinstance(_operand(column), exp.Column):
            kind, column, value = mirrored.get(kind, kind), value, column
        of = self._type(_operand(column))
        is_cast = isinstance(column, exp.Cast)
        if of is None or (is_cast and not (of == _INSTANT and _is_timestamp(column))):
            return None
        if of == _INSTANT and is_cast == bool(value.is_string):
            return None  # the clock is compared with a time, the instant with a text that names its offset
        if of not in _ORDERED and kind is not exp.EQ:
            return None
        constant = self._constant(of, value)
        if constant is None:
            return None
        side = self._column(_operand(column))
        if of == _EXACT:
            side = exp.cast(side, "double")
        return self._or_foreign_type(kind(this=side, expression=constant), _operand(column), of)

    def _or_foreign_type(self, condition: Any, column: Any, of: int) -> Any:
        """Condition or another type of value: columns of SQLite may mix types."""
        if self._kind != "sqlite":
            return condition
        types = ("text", "null") if of == _TEXT else ("integer", "real", "null")
        is_other = exp.Not(this=exp.func("typeof", self._column(column)).isin(*types))
        return exp.or_(condition, is_other, copy=False)

    def _constant(self, of: int, value: Any) -> Any:
        text = _literal(value)
        if text is None:
            return None
        if of == _TEXT and isinstance(text, str) and value.is_string and not {"\0", "\\"} & set(text):
            return exp.Literal.string(text)
        number = _number(value, text)
        if of == _WHOLE and number is not None and number.lstrip("-").isdigit():
            return exp.Literal.number(number) if len(number.lstrip("-")) <= _DIGITS else None
        if of in {_NUMBER, _EXACT} and number is not None:
            return exp.cast(exp.Literal.number(number), "double") if _is_short(number) else None
        if of in {_DATE, _TIME, _INSTANT} and (isinstance(value, exp.Cast) or of == _INSTANT):
            moment = _moment(of, value, text)
            # a cast of MySQL would leave out fractions of a second
            return moment.this if moment is not None and self._kind == "mysql" else moment
        return None

    def _type(self, column: Any) -> int | None:
        return self._types.get(column.name) if isinstance(column, exp.Column) else None

    def _column(self, column: Any) -> Any:
        return exp.column(exp.to_identifier(column.name, quoted=True))


def _operand(node: Any) -> Any:
    return node.this if isinstance(node, exp.Cast) else node


def _literal(value: Any) -> str | None:
    """SQL text of a constant: a number, a quoted text, or a cast of one."""
    while isinstance(value, (exp.Paren, exp.Neg, exp.Cast)):
        value = value.this
    return str(value.this) if isinstance(value, exp.Literal) else None


def _number(value: Any, text: str) -> str | None:
    sign = ""
    while isinstance(value, (exp.Paren, exp.Neg)):
        if isinstance(value, exp.Neg):
            sign = "" if sign else "-"
        value = value.this
    return f"{sign}{text}" if isinstance(value, exp.Literal) and not value.is_string else None


def _is_short(number: str) -> bool:
    """Whether each database reads a number as the same one of 64 bits."""
    digits = number.lower().partition("e")[0].replace(".", "").lstrip("-0")
    return len(digits) <= _DIGITS and "e" not in number.lower()


def _moment(of: int, value: Any, text: str) -> Any:
    try:
        moment = date.fromisoformat(text) if of == _DATE else datetime.fromisoformat(text)
    except ValueError:
        return None
    if of == _INSTANT and value.is_string:
        named = isinstance(moment, datetime) and moment.tzinfo is not None
        return exp.cast(exp.Literal.string(str(moment)), "timestamptz") if named else None
    if isinstance(moment, datetime) and (moment.tzinfo is not None or not _is_timestamp(value)):
        return None
    if not isinstance(moment, datetime) and not value.is_type("date"):
        return None
    if of == _INSTANT:
        return exp.cast(exp.Literal.string(f"{moment.isoformat(sep=' ')}+00"), "timestamptz")  # type: ignore[call-arg]
    return exp.cast(exp.Literal.string(str(moment)), "date" if of == _DATE else "timestamp")


def _is_timestamp(cast: Any) -> bool:
    return type(cast).__name__ == "Cast" and cast.to.this.name in {"TIMESTAMP", "TIMESTAMPNTZ"}
