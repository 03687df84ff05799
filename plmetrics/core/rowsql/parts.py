"""Parts of row expressions: the values between builders, with their types and bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import Any, NoReturn, TypeAlias

import polars as pl

from plmetrics.core.rowsql.dtypes import (
    TRUTHS,
    WORDS,
    Kind,
    as_condition,
    as_number,
    as_term,
    as_text,
    iso_date,
)
from plmetrics.core.rowsql.fault import RowExpressionError

Node: TypeAlias = Any  # of sqlglot's tree; its classes differ between versions

COLUMN_BITS = 63
_EXACT_BITS = 126
_KINDS = {**WORDS, "null": "NULL", "unknown": "a column"}


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a row expression: its Polars expression, the kind of its value, and its size.

    A column's kind is unknown: Polars checks it against the data. `literal` is the value of a constant, and
    `size` the number of nodes in `expr`, counting those that occur twice twice; `depth` is its nesting. A value that
    is a whole number lies below 2^`bits` in size; a column may be unsigned, and then has one bit more.
    """

    expr: pl.Expr
    kind: Kind
    size: int = 1
    depth: int = 1
    literal: str | float | date | None = None
    bits: int = COLUMN_BITS


@dataclass(frozen=True, slots=True)
class NodeRule:
    """Rule of one kind of node: its builder, and its admissible arguments."""

    build: Callable[[TermBuilder, Node], Term]
    arguments: frozenset[str]


class TermBuilder:
    """Builds the parts of one expression and collects the columns it reads.

    `roles` are names that stand for a number of their own, `column` says where any other column is found. `tests_null`
    says that IS NULL or IS NOT NULL occurs.
    """

    def __init__(
        self,
        build: Callable[[TermBuilder, Node], Term],
        roles: Mapping[str, pl.Expr],
        column: Callable[[str], pl.Expr],
    ) -> None:
        self._build = build
        self.roles = roles
        self.column = column
        self.columns: dict[str, None] = {}
        self.tests_null = False
        self.depth = 0

    def __call__(self, node: Node) -> Term:
        """Part of a node, checked first."""
        return self._build(self, node)


def position(node: Node) -> int | None:
    """Position of a node in the text, in characters from 1."""
    starts = [part.meta["start"] for part in node.walk() if "start" in part.meta]
    return min(starts) + 1 if starts else None


def refuse(node: Node, message: str, hint: str | None = None) -> NoReturn:
    """Raise for a node.

    Raises:
        RowExpressionError: always.
    """
    raise RowExpressionError(message, position(node), hint)


def derived_part(kind: Kind, expr: pl.Expr, *sources: Term, copies: int = 1, bits: int | None = None) -> Term:
    """Part of others, each with `copies` occurrences; no larger than they are, without `bits`."""
    size = 1 + copies * sum(source.size for source in sources)
    if bits is None:
        bits = max(COLUMN_BITS + 1, *(source.bits for source in sources))
    return Term(expr, kind, size, 1 + max(source.depth for source in sources), bits=bits)


def condition(part: Term, node: Node) -> pl.Expr:
    """Boolean expression, true, false or null per row; a column of another type is refused on resolution."""
    if part.kind == "condition":
        return part.expr
    if part.kind == "null":
        return pl.lit(None, dtype=pl.Boolean)
    if part.kind == "unknown":
        return part.expr.pipe_with_dtype(as_condition)
    refuse(node, f"a condition is needed here, and this is {_KINDS[part.kind]}", "write a comparison")


def number(part: Term, node: Node, unsigned: pl.DataType | None = None) -> pl.Expr:
    """Numeric expression, a number per row; a column of another type is refused on resolution.

    Columns of `unsigned` 64-bit integers become that type, Int128 if None.
    """
    if part.kind == "number":
        return part.expr
    if part.kind == "null":
        return pl.lit(None, dtype=pl.Float64)
    if part.kind == "unknown":
        return part.expr.pipe_with_dtype(partial(as_number, unsigned=unsigned))
    hint = "write CASE WHEN ... THEN 1 ELSE 0 END" if part.kind == "condition" else None
    refuse(node, f"a number is needed here, and this is {_KINDS[part.kind]}", hint)


def term(part: Term, node: Node, bits: int, *, factor: bool = False) -> pl.Expr:
    """Number to add or multiply, without overflow of a result of so many `bits`.

    Whole numbers stay whole in 128 bits as long as the result is sure to fit, and are Float64 else.
    """
    value = number(part, node, pl.Float64() if factor and part.bits == COLUMN_BITS else None)
    return value.cast(pl.Float64) if bits > _EXACT_BITS else value.pipe_with_dtype(as_term)


def text(part: Term, node: Node) -> pl.Expr:
    """A text per row; categories become their names."""
    if part.kind in {"text", "unknown", "null"}:
        return part.expr if part.kind == "text" else part.expr.pipe_with_dtype(as_text)
    refuse(node, f"a text is needed here, and this is {_KINDS[part.kind]}", "write CAST(x AS VARCHAR)")


def common_kind(parts: Iterable[Term], node: Node) -> Kind:
    """Kind of a value of one of several kinds."""
    kinds = {part.kind for part in parts}
    definite = kinds - {"unknown", "null"}
    if len(definite) > 1:
        first, second = sorted(_KINDS[kind] for kind in definite)[:2]
        refuse(node, f"the values must be of one type, and here are {first} and {second}")
    if "unknown" in kinds or not definite:
        return "unknown"
    return definite.pop()


def comparable(left: Term, right: Term, node: Node) -> None:
    """Refuse values of incomparable kinds."""
    if "null" in {left.kind, right.kind}:
        refuse(node, "a comparison with NULL is never true", "write IS NULL or IS NOT NULL")
    if "unknown" in {left.kind, right.kind} or left.kind == right.kind:
        return
    hint = None
    if {left.kind, right.kind} == {"condition", "number"}:
        hint = "write 0 < x AND x < 1 for 0 < x < 1, and flag instead of flag = 1"
    refuse(node, f"{_KINDS[left.kind]} cannot be compared with {_KINDS[right.kind]}", hint)


def follows_column(part: Term) -> bool:
    """Whether a constant must be fitted to the type of the column it is compared with."""
    if isinstance(part.literal, str):
        return part.literal.lower() in TRUTHS or iso_date(part.literal) is not None
    return isinstance(part.literal, (bool, float, date))
