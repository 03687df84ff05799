"""Degree of an expression in its columns of totals: whether its value grows with the number of rows."""

from __future__ import annotations

from functools import lru_cache

from plmetrics.core.rowsql.compiler import parse


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
