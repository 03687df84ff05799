"""Compilation of row expressions: from text to tree to expression, with every check on the way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.names import did_you_mean, sql_name
from plmetrics.core.ops import each_row
from plmetrics.core.rowsql.dtypes import Kind, as_measure, is_absent
from plmetrics.core.rowsql.fault import RowExpressionError
from plmetrics.core.rowsql.functions import FUNCTION_NAMES, FUNCTIONS
from plmetrics.core.rowsql.operators import CHAINS, OPERATORS, balanced_tree
from plmetrics.core.rowsql.parts import Node, Term, TermBuilder, condition, derived_part, position, refuse

if TYPE_CHECKING:
    from sqlglot.dialects.dialect import Dialect

    from plmetrics.core.segments import Values

MAX_DEPTH = 20
MAX_SIZE = 10_000
MAX_EXPANDED_DEPTH = 250

_RULES = {**OPERATORS, **FUNCTIONS}
_SIDES = frozenset({"this", "expression", "safe"})
_QUOTES = 'a name with a blank, or of a word such as {0}, stands in double quotes: "{0}"'
_LISTS = "write lists in parentheses: x IN (1, 2)"
_REFUSED = {
    **dict.fromkeys(("L_BRACKET", "R_BRACKET", "L_BRACE", "R_BRACE"), ("'{}' is not allowed", _LISTS)),
    **dict.fromkeys(
        ("PARAMETER", "PLACEHOLDER", "COLON", "DAT"), ("parameters ('{}') are not allowed", None)
    ),
    "DAMP": ("'{}' is not allowed", "write AND"),
    "SEMICOLON": ("only one expression is allowed, without '{}'", None),
}
_CHANGING = frozenset(
    {
        *("RANDOM", "RAND", "SETSEED", "UUID", "GEN_RANDOM_UUID", "NEXTVAL", "NOW", "TODAY"),
        *("CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "GET_CURRENT_TIMESTAMP"),
        *("LOCALTIME", "LOCALTIMESTAMP", "CURRENT_LOCALTIMESTAMP"),
    }
)
"""Functions that give another value at each call, or each day."""

_ISO_TEXT = "put an ISO text together: CAST(SUBSTRING(a, 7, 4) || '-' || ... AS DATE)"
_INSTEAD = {
    **dict.fromkeys(("STRPTIME", "TO_DATE", "STR_TO_DATE", "TO_TIMESTAMP"), _ISO_TEXT),
    **{field: f"write EXTRACT({field} FROM a)" for field in ("DAY", "WEEK", "QUARTER", "HOUR", "MINUTE")},
    **dict.fromkeys(("CONCAT", "CONCAT_WS"), "write a || '-' || b"),
    **dict.fromkeys(("IF", "IIF"), "write CASE WHEN a > 1 THEN b ELSE c END"),
    "ISNULL": "write a IS NULL",
    "LEFT": "write SUBSTRING(a, 1, 3)",
    "LOG10": "write LN(a) / LN(10)",
    "LOG": "write LN(a), or LN(a) / LN(10)",
    "NULLIF": "write CASE WHEN a <> b THEN a END",
}
"""What to write in place of some functions."""

_SIGNS = {
    "intdiv": "// (write FLOOR(a / b))",
    "bitwiseand": "& (write AND)",
    "bitwiseor": "| (write OR)",
    "bitwisexor": "XOR",
    "bitwisenot": "~",
    "regexplike": "~",
    "command": "a statement",
    "star": "*",
    "tuple": "a list outside of IN",
    "similarto": "SIMILAR TO",
    "attimezone": "AT TIME ZONE",
    "nullsafeeq": "IS NOT DISTINCT FROM",
    "nullsafeneq": "IS DISTINCT FROM",
}


@dataclass(frozen=True, slots=True)
class RowExpression:
    """A compiled row expression, the columns it reads in order of appearance, and the kind of its value.

    `kind` is "condition", "number", "text", "date", or "unknown" where it depends on a column's type. Without
    columns `expr` is a constant, as long as the table it is applied to.
    """

    expr: pl.Expr
    columns: tuple[str, ...]
    kind: Kind = "unknown"
    tests_null: bool = False

    @property
    def measure(self) -> pl.Expr:
        """Its value as Float64: of a condition 1 where it holds and 0 where not. Other types are refused."""
        return self.expr.pipe_with_dtype(as_measure)

    @property
    def is_absent(self) -> pl.Expr:
        """Whether a row has no value: it is null, or NaN."""
        return self.expr.pipe_with_dtype(is_absent)

    def on_arrays(self, columns: Mapping[str, Values]) -> NDArray[np.float64]:
        """Values on arrays of any shapes that broadcast; NaN is null, in and out.

        >>> row_expression("a / b", None, None).on_arrays({"a": np.array([[1.0], [3.0]]), "b": np.array([2.0, 0.0])})
        array([[0.5, nan],
               [1.5, nan]])
        """
        arrays = np.broadcast_arrays(*columns.values())
        flat = {name: array.ravel() for name, array in zip(columns, arrays, strict=True)}
        frame = pl.DataFrame(flat, nan_to_null=True)
        values = frame.select(self.measure.alias("value"))["value"].fill_null(float("nan"))
        return values.to_numpy().reshape(arrays[0].shape)


def row_expression(
    text: str, roles: Mapping[str, pl.Expr] | None, column: Callable[[str], pl.Expr] | None
) -> RowExpression:
    """The expression of a text, as `compile_row` has it."""
    if not text.strip():
        msg = "a row expression is empty"
        raise RowExpressionError(msg, hint="write a condition such as balance > 1000")
    builder = TermBuilder(_build, roles or {}, column or pl.col)
    try:
        part = builder(_tree(text))
    except RecursionError:
        raise _too_deep(None) from None
    return RowExpression(each_row(part.expr), tuple(builder.columns), part.kind, builder.tests_null)


def conjuncts(text: str) -> list[RowExpression]:
    """The conditions of a conjunction, as `plmetrics.core.rowsql.conjuncts` has them."""
    from sqlglot import exp

    tree = parse(text)
    parts = tree.flatten() if isinstance(tree, exp.And) else [tree]
    compiled = []
    for part in parts:
        builder = TermBuilder(_build, {}, pl.col)
        built = builder(part)
        compiled.append(RowExpression(each_row(built.expr), tuple(builder.columns), built.kind))
    return compiled


@lru_cache(maxsize=1024)
def _tree(text: str) -> Node:
    """The tree of a text that sums, checks and their plans compile again and again; it is only read."""
    return parse(text)


def parse(text: str) -> Node:
    """The tree of the one expression in the text."""
    from sqlglot import exp
    from sqlglot.dialects.dialect import Dialect
    from sqlglot.errors import ParseError, SqlglotError

    dialect = Dialect.get_or_raise("duckdb")
    _check_tokens(_tokens(dialect, text))
    try:
        trees = dialect.parse_into(exp.Condition, text)
    except ParseError as error:
        raise _unreadable(text, error.errors) from None
    except SqlglotError as error:
        raise RowExpressionError(str(error).split("\n")[0]) from None
    if len(trees) != 1 or trees[0] is None:
        msg = "the text is not one expression"
        raise RowExpressionError(msg)
    trees[0].meta["text"] = text
    return trees[0]


def _tokens(dialect: Dialect, text: str) -> list[Node]:
    from sqlglot.errors import TokenError

    try:
        return dialect.tokenize(text)
    except TokenError:
        msg = "the text cannot be read: a quote or a comment is not closed"
        raise RowExpressionError(msg, hint="quote texts with ' and column names with \"") from None


def _check_tokens(tokens: Sequence[Node]) -> None:
    """Refuse invalid tokens before the parse, and too deep nesting."""
    depth = run = opened = 0
    for token in tokens:
        kind, place = token.token_type.name, token.start + 1
        if token.comments:
            msg = "comments are not allowed"
            raise RowExpressionError(
                msg, place, "'--' begins a comment: write - -1 for minus a negative number"
            )
        if kind in _REFUSED:
            message, hint = _REFUSED[kind]
            raise RowExpressionError(message.format(token.text), place, hint)
        depth += (kind in {"L_PAREN", "CASE"}) - (kind in {"R_PAREN", "END"})
        opened += (kind == "L_PAREN") - (kind == "R_PAREN")
        run = run + 1 if kind in {"NOT", "DASH", "PLUS", "TILDE"} else 0
        if max(depth, run) > MAX_DEPTH:
            raise _too_deep(place)
    if opened:
        msg = "a parenthesis is not " + ("closed" if opened > 0 else "opened")
        raise RowExpressionError(msg)


def _too_deep(place: int | None) -> RowExpressionError:
    return RowExpressionError(f"the expression is nested deeper than {MAX_DEPTH} levels", place)


def _unreadable(text: str, errors: Sequence[Mapping[str, Node]]) -> RowExpressionError:
    """Error of the parser, and its place."""
    first = errors[0] if errors else {}
    word = str(first.get("highlight") or "")
    line, column = first.get("line"), first.get("col")
    if line is None or column is None:
        return RowExpressionError("the text is not an expression", None, _QUOTES.format("case"))
    before = sum(len(row) + 1 for row in text.split("\n")[: line - 1])
    place = before + column - len(word) + 1
    last = re.search(r"([a-z]\w*)\W*$", text[: place - 1], re.IGNORECASE)
    quotes = _QUOTES.format(last[1] if last is not None and sql_name(last[1]) != last[1] else "case")
    if word.upper() in {"SELECT", "WITH", "FROM"}:
        return RowExpressionError("a query is not allowed, only an expression", place)
    if "arguments" in str(first.get("description")):
        return RowExpressionError("a function has too many arguments", place)
    if "Required keyword" in str(first.get("description")):
        return RowExpressionError(f"something is missing at '{word}'", place, quotes)
    return RowExpressionError(f"'{word}' was not expected here", place, quotes)


def _build(builder: TermBuilder, node: Node) -> Term:
    """Check a node and build its part; long chains of operators are walked, not nested."""
    builder.depth += 1
    if builder.depth > 3 * MAX_DEPTH:
        refuse(node, f"the expression is nested deeper than {MAX_DEPTH} levels")
    chain: list[Node] = []
    while node.key in CHAINS:
        _check_arguments(node, _SIDES)
        chain.append(node)
        node = node.this
    part = _single(builder, node)
    for key, links in groupby(reversed(chain), key=lambda link: str(link.key)):
        part = _chain(builder, part, key, list(links))
    if part.size > MAX_SIZE or part.depth > MAX_EXPANDED_DEPTH:
        refuse(
            node, "the expression is too large once it is expanded", "use fewer operators in one expression"
        )
    builder.depth -= 1
    return part


def _chain(builder: TermBuilder, part: Term, key: str, links: list[Node]) -> Term:
    """Part with its successors, joined by one and the same operator."""
    combine = CHAINS[key]
    if key in {"and", "or"} and len(links) > 1:
        nodes = [links[0].this, *(link.expression for link in links)]
        parts = [part, *(builder(link.expression) for link in links)]
        tests = [
            derived_part("condition", condition(*pair), pair[0]) for pair in zip(parts, nodes, strict=True)
        ]
        return balanced_tree(tests, combine, links[0])
    for link in links:
        part = combine(part, builder(link.expression), link)
    return part


def _single(builder: TermBuilder, node: Node) -> Term:
    rule = _RULES.get(node.key)
    if rule is None:
        raise _unsupported_node(node)
    _check_arguments(node, rule.arguments)
    return rule.build(builder, node)


def _check_arguments(node: Node, allowed: frozenset[str]) -> None:
    for name, value in node.args.items():
        if value and name in {"query", "unnest", "field"}:
            refuse(node, "a subquery is not allowed")
        if value and name not in allowed:
            refuse(node, f"{node.key.upper()} with '{name}' is not allowed")


def _unsupported_node(node: Node) -> RowExpressionError:
    """Error for a node outside the table, in the words of its kind."""
    from sqlglot import exp

    place = position(node)
    if isinstance(node, (exp.Query, exp.Subquery, exp.Exists, exp.Any, exp.All)):
        return RowExpressionError("a subquery is not allowed", place)
    if isinstance(node, exp.Window):
        return RowExpressionError("a window function (OVER) is not allowed", place)
    if isinstance(node, (exp.Placeholder, exp.Parameter, exp.SessionParameter)):
        return RowExpressionError("parameters are not allowed", place)
    if isinstance(node, (exp.AggFunc, exp.Filter)):
        name = node.sql_name() if isinstance(node, exp.AggFunc) else "FILTER"
        hint = "a row expression looks at one row at a time"
        return RowExpressionError(f"the aggregate {name} is not allowed", place, hint)
    if isinstance(node, exp.Func) and node.key not in _SIGNS:
        name = _name_in_text(node) or (str(node.this) if isinstance(node, exp.Anonymous) else node.sql_name())
        return _unsupported_function(name.upper(), place)
    return RowExpressionError(f"{_SIGNS.get(node.key, node.key.upper())} is not allowed", place)


def _name_in_text(node: Node) -> str:
    """The name of a function as the text has it; the parser's own is that of another dialect for some."""
    text: str = node.root().meta["text"]
    return text[node.meta["start"] : node.meta["end"] + 1] if "start" in node.meta else ""


def _unsupported_function(name: str, place: int | None) -> RowExpressionError:
    msg = f"the function {name} is not allowed"
    if name in _CHANGING:
        hint = "write what it gives as a constant, such as DATE '2024-01-31', or as a column of the table"
        return RowExpressionError(f"{msg}: a row must have the same value whenever it is read", place, hint)
    hint = _INSTEAD.get(name) or did_you_mean(name, FUNCTION_NAMES) or "known: " + ", ".join(FUNCTION_NAMES)
    return RowExpressionError(msg, place, hint)
