"""Row expressions: SQL text such as `balance > 1000 AND region IN ('north', 'south')` as Polars expressions.

The text is parsed (by sqlglot, DuckDB's dialect), every node of the tree is looked up in a table of what is
allowed, and the Polars expression is built from the tree. Neither the text nor a part of it is run as SQL.

Semantics are SQL's: a comparison with null is null, and a filter keeps only what is true. `/` divides as
floating point numbers. What has no number (division by zero, the root of a negative number) is null.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from plmetrics.core.rowsql.fault import RowExpressionError, not_a_condition

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.core.rowsql.compiler import RowExpression

__all__ = ["MAX_LENGTH", "RowExpressionError", "compile_row", "conjuncts", "not_a_condition"]

MAX_LENGTH = 10_000


def compile_row(
    text: str, roles: Mapping[str, pl.Expr] | None = None, column: Callable[[str], pl.Expr] | None = None
) -> RowExpression:
    """Compile a row expression; the compiler is imported by the first one.

    Args:
        text: SQL.
        roles: names that are no columns but stand for a number of their own.
        column: where a column is found, by its name.

    >>> compile_row("balance > 1000 AND region <> 'north'").columns
    ('balance', 'region')

    Raises:
        RowExpressionError: the text is not one expression, or uses what is not allowed.
    """
    from plmetrics.core.rowsql.compiler import row_expression

    if len(text) > MAX_LENGTH:
        msg = f"a row expression may have {MAX_LENGTH} characters, not {len(text)}"
        raise RowExpressionError(msg)
    return row_expression(text, roles, column)


def conjuncts(text: str) -> list[RowExpression]:
    """Conjuncts of a condition, each compiled by itself.

    >>> [part.columns for part in conjuncts("day = 3 AND (region = 'north' OR vip) AND balance > 0")]
    [('day',), ('region', 'vip'), ('balance',)]

    Raises:
        RowExpressionError: the text is not one expression, or uses what is not allowed.
    """
    from plmetrics.core.rowsql import compiler

    return compiler.conjuncts(text)
