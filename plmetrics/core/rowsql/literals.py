"""Values for the variables of a row expression, as literals and nothing else."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from plmetrics.core.rowsql.compiler import parse
from plmetrics.core.rowsql.fault import RowExpressionError

if TYPE_CHECKING:
    from plmetrics.core.rowsql.parts import Node

_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_HINT = "in a condition a variable stands in quotes, as in day = DATE '${DAY}', or for a number"


def with_values(text: str, variable: re.Pattern[str], value: Callable[[re.Match[str]], str]) -> str:
    """A row expression with values in place of variables.

    Raises:
        RowExpressionError: a value would be more, or something else, than one literal or a part of it.

    >>> values = {"DAY": "2026-03-10", "N": "-5"}
    >>> with_values("day = DATE '$DAY' AND n > $N", re.compile("[$]([A-Z]+)"), lambda match: values[match[1]])
    "day = DATE '2026-03-10' AND n > (-5)"
    """
    values: list[str] = []
    shapes: list[str] = []
    end = 0
    for match in variable.finditer(text):
        before = text[end : match.start()]
        quoted = (text[: match.start()].count("'")) % 2 == 1
        content = value(match)
        if not quoted and not _NUMBER.fullmatch(content):
            msg = f"the value of {match[0]} is no number, and {match[0]} does not stand in quotes"
            raise RowExpressionError(msg, hint=_HINT)
        values += [before, f"({content})" if content.startswith("-") and not quoted else content]
        shapes += [before, "0"]
        end = match.end()
    filled, shape = ("".join([*parts, text[end:]]) for parts in (values, shapes))
    try:
        tree = parse(filled)
    except RowExpressionError:
        return filled  # which is said where conditions are checked
    if not _same_but_literals(tree, shape):
        msg = f"a value in {text!r} is more than one literal: it changes the condition"
        raise RowExpressionError(msg, hint=_HINT)
    return filled


def _same_but_literals(tree: Node, shape: str) -> bool:
    try:
        expected = parse(shape)
    except RowExpressionError:
        return False
    return bool(tree.transform(_blank) == expected.transform(_blank))


def _blank(node: Node) -> Node:
    """A literal without its value; a negative number is one, too."""
    from sqlglot import exp

    inner = node.this if isinstance(node, exp.Paren) else node
    inner = inner.this if isinstance(inner, exp.Neg) and isinstance(inner.this, exp.Literal) else inner
    if isinstance(inner, exp.Literal):
        return exp.Literal(this="", is_string=inner.is_string)
    return node
