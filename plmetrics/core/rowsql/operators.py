"""Operators, constants and columns of row expressions."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Sequence
from datetime import date
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from plmetrics.core.rowsql.dtypes import alike, comparison_operand, constant_like, kind_of
from plmetrics.core.rowsql.parts import (
    Node,
    NodeRule,
    Term,
    TermBuilder,
    comparable,
    condition,
    derived_part,
    follows_column,
    number,
    refuse,
    term,
    text,
)

if TYPE_CHECKING:
    from polars.datatypes import DataType

_DECIMAL = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MAX_PATTERN = 500
_EQUALITIES = (operator.eq, operator.ne)
_INTEGERS = range(-(2**63), 2**63)


def column(build: TermBuilder, node: Node) -> Term:
    """A column of the table."""
    if node.args.get("table") is not None:
        refuse(node, f"'{node.sql()}' names a table", 'write a name with a dot in double quotes: "a.b"')
    name = node.name
    if node.this.key != "identifier" or name == "*" or (name.startswith("^") and name.endswith("$")):
        refuse(node, f"'{name}' cannot be used as a column's name in a row expression")
    if name in build.roles:
        return Term(build.roles[name], "number")
    build.columns[name] = None
    return Term(build.column(name), "unknown")


def constant(_: TermBuilder, node: Node) -> Term:
    """A number or a quoted text."""
    if node.is_string:
        return Term(pl.lit(node.this), "text", literal=node.this)
    return _number_constant(node, node.this, sign=1)


def _number_constant(node: Node, digits: str, sign: int) -> Term:
    if re.fullmatch(r"\d{1,19}", digits) and sign * int(digits) in _INTEGERS:
        integer = sign * int(digits)
        return Term(pl.lit(integer, dtype=pl.Int64), "number", literal=integer, bits=integer.bit_length())
    if not _DECIMAL.fullmatch(digits):
        refuse(node, f"'{digits}' is not a number")
    value = sign * float(digits)
    if math.isinf(value) or re.fullmatch(r"\d+", digits):
        refuse(node, f"the number {digits[:30]} is too large")
    return Term(pl.lit(value, dtype=pl.Float64), "number", literal=value)


def boolean(_: TermBuilder, node: Node) -> Term:
    """TRUE or FALSE."""
    return Term(pl.lit(bool(node.this)), "condition", literal=bool(node.this))


def null(_: TermBuilder, node: Node) -> Term:  # noqa: ARG001
    """NULL."""
    return Term(pl.lit(None), "null")


def paren(build: TermBuilder, node: Node) -> Term:
    """Content of parentheses."""
    return build(node.this)


def negative(build: TermBuilder, node: Node) -> Term:
    """Minus a number: unsigned integers have no negation of their own in Polars, and the smallest has none."""
    if node.this.key == "literal" and not node.this.is_string:
        return _number_constant(node.this, node.this.this, sign=-1)
    part = build(node.this)
    bits = part.bits + 2
    return derived_part("number", pl.lit(0, dtype=pl.Int64) - term(part, node.this, bits), part, bits=bits)


def negation(build: TermBuilder, node: Node) -> Term:
    """NOT."""
    part = build(node.this)
    return derived_part("condition", ~condition(part, node.this), part)


def _sum(operation: Callable[[pl.Expr, pl.Expr], pl.Expr], left: Term, right: Term, node: Node) -> Term:
    bits = max(left.bits, right.bits) + 2
    sides = term(left, node.this, bits), term(right, node.expression, bits)
    return derived_part("number", operation(*sides), left, right, bits=bits)


def _product(left: Term, right: Term, node: Node) -> Term:
    bits = left.bits + right.bits
    sides = term(left, node.this, bits, factor=True), term(right, node.expression, bits, factor=True)
    return derived_part("number", sides[0] * sides[1], left, right, bits=bits)


def _quotient(left: Term, right: Term, node: Node) -> Term:
    """Floating point; null where the divisor is 0. Polars' own of decimals has their few digits."""
    dividend, divisor = (
        number(side, of).cast(pl.Float64) for side, of in ((left, node.this), (right, node.expression))
    )
    if right.literal:
        return derived_part("number", dividend / divisor, left, right)
    return derived_part("number", pl.when(divisor != 0).then(dividend / divisor), left, right, copies=2)


def _remainder(left: Term, right: Term, node: Node) -> Term:
    """With the dividend's sign, as in SQL; Polars' own has the divisor's, and of decimals stops at a divisor of 0."""
    dividend, by = number(left, node.this), number(right, node.expression)
    divisor = pl.when(by != 0).then(by)
    remainder = dividend - dividend.truncdiv(divisor) * divisor
    remainder = remainder.pipe_with_dtype(partial(_remainder_of_floats, dividend=dividend, divisor=divisor))
    return derived_part("number", remainder, left, right, copies=4)


def _remainder_of_floats(
    remainder: pl.Expr, dtype: DataType, *, dividend: pl.Expr, divisor: pl.Expr
) -> pl.Expr:
    """Exact remainder of floats by C's fmod, free of the rounding of a quotient."""
    if not dtype.is_float():
        return remainder
    sides = [dividend.cast(pl.Float64), divisor.cast(pl.Float64)]
    return pl.map_batches(sides, _float_remainders, return_dtype=pl.Float64, is_elementwise=True)


def _float_remainders(sides: Sequence[pl.Series]) -> pl.Series:
    """Remainders of a batch; that of infinity is no number, and null."""
    dividend, divisor = sides
    with np.errstate(invalid="ignore"):
        remainder = pl.Series(dividend.name, np.fmod(dividend.to_numpy(), divisor.to_numpy()))
    return remainder.set(dividend.is_null() | divisor.is_null() | dividend.is_infinite(), None)


def _concatenation(left: Term, right: Term, node: Node) -> Term:
    """One text after another; null where one of them is."""
    return derived_part("text", text(left, node.this) + text(right, node.expression), left, right)


def _logic(operation: Callable[[pl.Expr, pl.Expr], pl.Expr], left: Term, right: Term, node: Node) -> Term:
    both = operation(condition(left, node.this), condition(right, node.expression))
    return derived_part("condition", both, left, right)


def balanced_tree(parts: list[Term], combine: Callable[[Term, Term, Node], Term], node: Node) -> Term:
    """AND or OR of many as a balanced tree: the time Polars takes to resolve a plan grows with its depth."""
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=False)
        left_over = parts[-1:] if len(parts) % 2 else []
        parts = [combine(left, right, node) for left, right in pairs] + left_over
    return parts[0]


def _comparison(
    operation: Callable[[pl.Expr, pl.Expr], pl.Expr], left: Term, right: Term, node: Node
) -> Term:
    comparable(left, right, node)
    first, second = _cast_constant(left, right), _cast_constant(right, left)
    if left.kind == right.kind == "unknown" or _are_moments(left, right):
        expression = first.pipe_with_dtype(partial(_of_columns, other=second, operation=operation))
        return derived_part("condition", expression, left, right)
    ordered = operation not in _EQUALITIES
    sides = (
        _comparable(first, left, right, ordered=ordered),
        _comparable(second, right, left, ordered=ordered),
    )
    expression = operation(*sides)
    return derived_part("condition", expression, left, right)


def _are_moments(left: Term, right: Term) -> bool:
    """Whether a date or time that is no constant is compared with a column."""
    return {left.kind, right.kind} == {"unknown", "date"} and left.literal is None and right.literal is None


def _comparable(value: pl.Expr, part: Term, other: Term, *, ordered: bool = False) -> pl.Expr:
    """The value of a part, refused where its type has nothing to compare with the other's kind."""
    if part.kind != "unknown":
        return value
    return value.pipe_with_dtype(
        partial(comparison_operand, other=other.kind, constant=other.literal, ordered=ordered)
    )


def _of_columns(
    value: pl.Expr, dtype: DataType, *, other: pl.Expr, operation: Callable[[pl.Expr, pl.Expr], pl.Expr]
) -> pl.Expr:
    """A comparison of two columns, once the types of both are known."""

    def comparison(second: pl.Expr, of: DataType) -> pl.Expr:
        return operation(
            comparison_operand(alike(value, dtype, of), dtype, other=kind_of(of)),
            comparison_operand(alike(second, of, dtype), of, other=kind_of(dtype)),
        )

    return other.pipe_with_dtype(comparison)


def _cast_constant(part: Term, other: Term) -> pl.Expr:
    """A constant in the type of the column it is compared with."""
    value = part.literal
    if other.kind == "unknown" and follows_column(part) and isinstance(value, (str, bool, float, date)):
        return other.expr.pipe_with_dtype(partial(constant_like, value=value))
    return part.expr


def between(build: TermBuilder, node: Node) -> Term:
    """BETWEEN, both ends included."""
    value, low, high = (build(node.args[name]) for name in ("this", "low", "high"))
    above = _comparison(operator.ge, value, low, node)
    below = _comparison(operator.le, value, high, node)
    return derived_part("condition", above.expr & below.expr, above, below)


def in_list(build: TermBuilder, node: Node) -> Term:
    """IN with a list. As in SQL, a NULL in the list makes an absent value unknown."""
    if not node.expressions:
        refuse(node, "IN needs a list of values", "write x IN ('a', 'b')")
    value = build(node.this)
    members = [build(member) for member in node.expressions]
    values = [item for item in members if item.kind != "null"]
    membership = _membership(value, values, node)
    if len(values) < len(members):
        membership = derived_part("condition", membership.expr | pl.lit(None, dtype=pl.Boolean), membership)
    return membership


def _membership(value: Term, members: list[Term], node: Node) -> Term:
    if all(isinstance(member.literal, str) and not follows_column(member) for member in members):
        for member in members:
            comparable(value, member, node)
        tested = _comparable(value.expr, value, members[0]) if members else value.expr
        expr = tested.is_in([member.literal for member in members])
        return Term(expr, "condition", value.size + len(members))
    tests = [_comparison(operator.eq, value, member, node) for member in members]
    return balanced_tree(tests, CHAINS["or"], node)


def is_value(build: TermBuilder, node: Node) -> Term:
    """IS NULL, IS TRUE, IS FALSE; never null itself."""
    part = build(node.this)
    operand = node.expression
    if operand.key == "null":
        build.tests_null = True
        return derived_part("condition", part.expr.is_null(), part)
    if operand.key != "boolean":
        refuse(node, "IS compares with NULL, TRUE or FALSE only", "write = instead of IS")
    truth = condition(part, node.this)
    return derived_part("condition", truth.eq_missing(pl.lit(bool(operand.this))), part)


def like(build: TermBuilder, node: Node, escape: str | None = None) -> Term:
    """LIKE and ILIKE with a quoted pattern."""
    pattern = node.expression
    if pattern.key != "literal" or not pattern.is_string:
        refuse(node, f"{node.key.upper()} needs a pattern in single quotes", "write name LIKE 'A%'")
    if len(pattern.this) > _MAX_PATTERN:
        refuse(pattern, f"the pattern may have {_MAX_PATTERN} characters, not {len(pattern.this)}")
    part = build(node.this)
    flags = "(?is)" if node.key == "ilike" else "(?s)"
    regex = flags + "^" + _pattern(pattern, escape) + "$"
    matches = text(part, node.this).str.contains(regex)
    return derived_part("condition", ~matches if node.args.get("negate") else matches, part)


def like_escape(build: TermBuilder, node: Node) -> Term:
    """LIKE ... ESCAPE."""
    mark = node.expression
    if node.this.key not in {"like", "ilike"} or not mark.is_string or len(mark.this) != 1:
        refuse(node, "ESCAPE needs one character in single quotes")
    return like(build, node.this, escape=mark.this)


def _pattern(node: Node, escape: str | None) -> str:
    """A LIKE pattern as a regular expression."""
    parts = []
    characters = iter(node.this)
    for character in characters:
        if character == escape:
            literal = next(characters, None)
            if literal is None:
                refuse(node, "the pattern ends in the escape character")
            parts.append(_plain(literal))
        else:
            parts.append({"%": ".*", "_": "."}.get(character) or _plain(character))
    return "".join(parts)


def _plain(character: str) -> str:
    return f"\\{character}" if character in r"\.+*?()|[]{}^$#&-~" else character


OPERATORS: dict[str, NodeRule] = {
    "column": NodeRule(column, frozenset({"this", "table", "db", "catalog"})),
    "literal": NodeRule(constant, frozenset({"this", "is_string"})),
    "boolean": NodeRule(boolean, frozenset({"this"})),
    "null": NodeRule(null, frozenset()),
    "paren": NodeRule(paren, frozenset({"this"})),
    "neg": NodeRule(negative, frozenset({"this"})),
    "not": NodeRule(negation, frozenset({"this"})),
    "between": NodeRule(between, frozenset({"this", "low", "high"})),
    "in": NodeRule(in_list, frozenset({"this", "expressions"})),
    "is": NodeRule(is_value, frozenset({"this", "expression"})),
    "like": NodeRule(like, frozenset({"this", "expression", "negate"})),
    "ilike": NodeRule(like, frozenset({"this", "expression", "negate"})),
    "escape": NodeRule(like_escape, frozenset({"this", "expression"})),
}

# Operators of two sides: the compiler walks down their left sides, since a long chain is no deep nesting.
CHAINS: dict[str, Callable[[Term, Term, Node], Term]] = {
    "and": partial(_logic, operator.and_),
    "or": partial(_logic, operator.or_),
    "eq": partial(_comparison, operator.eq),
    "neq": partial(_comparison, operator.ne),
    "gt": partial(_comparison, operator.gt),
    "gte": partial(_comparison, operator.ge),
    "lt": partial(_comparison, operator.lt),
    "lte": partial(_comparison, operator.le),
    "add": partial(_sum, operator.add),
    "sub": partial(_sum, operator.sub),
    "mul": _product,
    "div": _quotient,
    "mod": _remainder,
    "dpipe": _concatenation,
}
