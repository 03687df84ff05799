"""Row expressions of a suite, checked as far as their text says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from plmetrics.core.rowsql import RowExpressionError, compile_row, not_a_condition

if TYPE_CHECKING:
    from collections.abc import Callable

    from plmetrics.core.names import SuitePath
    from plmetrics.core.rowsql.compiler import RowExpression
    from plmetrics.suite.problems import Findings


def read_expression(
    text: str,
    path: SuitePath,
    findings: Findings,
    compiler: Callable[[str], RowExpression] = compile_row,
) -> RowExpression | None:
    """The expression of a text; None, with the problem noted, if it is none."""
    try:
        return compiler(text)
    except RowExpressionError as error:
        findings.add(f"'{text}': {error}", path, error.hint)
        return None


def check_predicate(text: Any, path: SuitePath, findings: Findings) -> None:
    """Note what is wrong with a row condition."""
    if isinstance(text, str) and text:
        row = read_expression(text, path, findings)
        if row is not None and row.kind not in {"condition", "unknown"}:
            findings.add(not_a_condition(text), path)


def check_expression(text: str, path: SuitePath, findings: Findings) -> None:
    """Note what is wrong with the expression of a column."""
    row = read_expression(text, path, findings)
    if row is not None and not row.columns:
        findings.add(f"'{text}' reads no column", path, "name the columns it is computed from")
