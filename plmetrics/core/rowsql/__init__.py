"""Row expressions: SQL text such as `balance > 1000 AND region IN ('north', 'south')` as Polars expressions.

The text is parsed (by sqlglot, DuckDB's dialect), every node of the tree is looked up in a table of what is
allowed, and the Polars expression is built from the tree. Neither the text nor a part of it is run as SQL.

Semantics are SQL's: a comparison with null is null, and a filter keeps only what is true. `/` divides as
floating point numbers. What has no number (division by zero, the root of a negative number) is null.
"""

from plmetrics.core.rowsql.compiler import MAX_LENGTH, RowExpression, compile_row, conjuncts
from plmetrics.core.rowsql.parts import RowExpressionError

__all__ = ["MAX_LENGTH", "RowExpression", "RowExpressionError", "compile_row", "conjuncts"]
