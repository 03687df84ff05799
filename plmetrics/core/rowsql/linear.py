"""Growth and linearity of row expressions: their degree in columns of totals, and linear functions of one column."""

from __future__ import annotations

from functools import lru_cache
from math import isfinite

from plmetrics.core.rowsql.compiler import parse

Line = tuple[str | None, float, float]


@lru_cache(maxsize=256)
def linear_function(text: str) -> tuple[str, float, float] | None:
    """Column, slope and intercept of an expression that is linear in one column; None for others.

    >>> [linear_function(text) for text in ("1 - recall", "100 * (recall + 0.5)", "recall / fpr", "recall - recall")]
    [('recall', -1.0, 1.0), ('recall', 100.0, 50.0), None, None]
    """
    from sqlglot import exp

    lines: dict[int, Line | None] = {}
    tree = parse(text)
    for node in reversed(list(tree.dfs())):
        parts = [lines[id(child)] for child in node.iter_expressions()]
        line: Line | None = None
        if isinstance(node, exp.Column):
            line = node.name, 1.0, 0.0
        elif isinstance(node, exp.Literal) and not node.is_string:
            line = None, 0.0, float(node.this)
        elif all(part is not None for part in parts):
            line = _combination(type(node).__name__, *parts)  # type: ignore[arg-type]
        lines[id(node)] = line
    column, slope, intercept = lines[id(tree)] or (None, 0.0, 0.0)
    if column is None or slope == 0.0 or not (isfinite(slope) and isfinite(intercept)):
        return None
    return column, slope, intercept


def _combination(operator: str, *parts: Line) -> Line | None:
    """Line of an operator over one or two of them; None where it is none."""
    if len(parts) == 1 and operator in {"Paren", "Neg"}:
        return parts[0] if operator == "Paren" else _multiple(parts[0], -1.0)
    if len(parts) != 2:
        return None
    first, second = parts
    if operator == "Mul" and None in (first[0], second[0]):
        return _multiple(first, second[2]) if second[0] is None else _multiple(second, first[2])
    if operator == "Div" and second[0] is None and second[2] != 0.0:
        return first[0], first[1] / second[2], first[2] / second[2]
    if operator in {"Add", "Sub"} and (None in (first[0], second[0]) or first[0] == second[0]):
        sign = -1.0 if operator == "Sub" else 1.0
        return first[0] or second[0], first[1] + sign * second[1], first[2] + sign * second[2]
    return None


def _multiple(line: Line, factor: float) -> Line:
    return line[0], line[1] * factor, line[2] * factor


@lru_cache(maxsize=256)
def degree(text: str, totals: frozenset[str]) -> float:
    """Power of the number of rows in the growth of an expression, with totals among its columns.

    >>> totals = frozenset({"fp", "fn", "rows"})
    >>> [degree(text, totals) for text in ("50 * fp + 2000 * fn", "fp / rows", "sqrt(fp)", "precision - 0.5")]
    [1.0, 0.0, 0.5, 0.0]
    """
    from sqlglot import exp

    tree = parse(text)
    degrees: dict[int, float] = {}
    for node in reversed(list(tree.dfs())):
        parts = [degrees[id(child)] for child in node.iter_expressions()]
        if isinstance(node, exp.Column):
            power = float(node.name in totals)
        elif isinstance(node, exp.Mul):
            power = sum(parts)
        elif isinstance(node, exp.Div):
            power = degrees[id(node.this)] - degrees[id(node.expression)]
        elif isinstance(node, exp.Sqrt):
            power = degrees[id(node.this)] / 2
        elif isinstance(node, exp.Predicate):
            power = 0.0
        else:
            power = max(parts, default=0.0)
        degrees[id(node)] = power
    return degrees[id(tree)]
