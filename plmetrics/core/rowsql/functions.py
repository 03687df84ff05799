"""Functions, CASE and casts of row expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.rowsql.casts import TARGETS, cast, decimal_type
from plmetrics.core.rowsql.dtypes import as_moment, iso_date
from plmetrics.core.rowsql.operators import CHAINS
from plmetrics.core.rowsql.parts import (
    Node,
    NodeRule,
    Term,
    TermBuilder,
    common_kind,
    condition,
    derived_part,
    number,
    refuse,
    term,
    text,
)
from plmetrics.core.rowsql.unions import union

if TYPE_CHECKING:
    from polars.datatypes import DataType

_FIELDS = {
    "YEAR": lambda date: date.dt.year(),
    "QUARTER": lambda date: date.dt.quarter(),
    "MONTH": lambda date: date.dt.month(),
    "WEEK": lambda date: date.dt.week(),
    "DAY": lambda date: date.dt.day(),
    "DOY": lambda date: date.dt.ordinal_day(),
    "DOW": lambda date: date.dt.weekday() % 7,
    "ISODOW": lambda date: date.dt.weekday(),
    "HOUR": lambda date: date.dt.hour(),
    "MINUTE": lambda date: date.dt.minute(),
}


def _numeric(function: Callable[[pl.Expr], pl.Expr], build: TermBuilder, node: Node) -> Term:
    part = build(node.this)
    return derived_part("number", function(number(part, node.this)), part)


def absolute(build: TermBuilder, node: Node) -> Term:
    """ABS: the smallest integer of a type has none in it."""
    part = build(node.this)
    return derived_part("number", term(part, node.this, part.bits).abs(), part)


def _positive(function: Callable[[pl.Expr], pl.Expr], build: TermBuilder, node: Node) -> Term:
    """The number, or null below the domain of the function."""
    part = build(node.this)
    value = number(part, node.this)
    defined = value > 0 if node.key == "ln" else value >= 0
    return derived_part("number", pl.when(defined).then(function(value)), part, copies=2)


def power(build: TermBuilder, node: Node) -> Term:
    """POWER; null where the result is no real number."""
    base, exponent = build(node.this), build(node.expression)
    first = number(base, node.this).cast(pl.Float64)
    second = number(exponent, node.expression).cast(pl.Float64)
    defined = (first > 0) | ((first == 0) & (second >= 0)) | ((first < 0) & (second == second.floor()))
    return derived_part("number", pl.when(defined).then(first.pow(second)), base, exponent, copies=4)


def round_half_up(build: TermBuilder, node: Node) -> Term:
    """ROUND, halves away from zero."""
    part = build(node.this)
    digits = 0
    if node.args.get("decimals") is not None:
        digits = _integer(build(node.args["decimals"]), node.args["decimals"], 0, 15)
    return derived_part("number", number(part, node.this).round(digits, mode="half_away_from_zero"), part)


def _integer(part: Term, node: Node, low: int, high: int) -> int:
    if not isinstance(part.literal, int) or not low <= part.literal <= high:
        refuse(node, f"a whole number from {low} to {high} is needed here")
    return part.literal


def horizontal(function: Callable[[list[pl.Expr]], pl.Expr], build: TermBuilder, node: Node) -> Term:
    """COALESCE, GREATEST, LEAST. Nulls are passed over, and the result is null where all are."""
    nodes = [node.this, *node.expressions]
    parts = [build(member) for member in nodes]
    kind = common_kind(parts, node)
    return derived_part(kind, union(parts, function), *parts)


def _greatest(values: list[pl.Expr]) -> pl.Expr:
    """The largest value, NaN above all numbers, as in comparisons; Polars' own passes it over."""
    return pl.max_horizontal(values).pipe_with_dtype(partial(_nan_above, values=values))


def _nan_above(largest: pl.Expr, dtype: DataType, *, values: list[pl.Expr]) -> pl.Expr:
    if not dtype.is_float():
        return largest
    any_nan = pl.any_horizontal(value.cast(pl.Float64).is_nan() for value in values)
    return pl.when(any_nan).then(float("nan")).otherwise(largest)


def case(build: TermBuilder, node: Node) -> Term:
    """CASE in both forms; null where nothing holds and there is no ELSE."""
    subject = build(node.this) if node.this is not None else None
    tests: list[pl.Expr] = []
    results: list[Term] = []
    sources: list[Term] = []
    for branch in node.args["ifs"]:
        test = build(branch.this)
        if subject is None:
            tests.append(condition(test, branch.this))
        else:
            tests.append(CHAINS["eq"](subject, test, branch).expr)
            sources.append(subject)
        results.append(build(branch.args["true"]))
        sources += [test, results[-1]]
    default = node.args.get("default")
    otherwise = build(default) if default is not None else Term(pl.lit(None), "null")
    kind = common_kind([*results, otherwise], node)
    return derived_part(kind, union([*results, otherwise], _first_of, tests), otherwise, *sources)


def _first_of(expressions: list[pl.Expr]) -> pl.Expr:
    """The value of the first test that is true; as many tests as values come first, and one more value last."""
    *pairs, chosen = expressions
    count = len(pairs) // 2
    for test, value in reversed(list(zip(pairs[:count], pairs[count:], strict=True))):
        chosen = pl.when(test).then(value).otherwise(chosen)
    return chosen


def length(build: TermBuilder, node: Node) -> Term:
    """LENGTH in characters."""
    part = build(node.this)
    return derived_part("number", text(part, node.this).str.len_chars().cast(pl.Int64), part)


def _textual(function: Callable[[pl.Expr], pl.Expr], build: TermBuilder, node: Node) -> Term:
    part = build(node.this)
    return derived_part("text", function(text(part, node.this)), part)


def substring(build: TermBuilder, node: Node) -> Term:
    """SUBSTRING(text, start, length), the first character being 1."""
    part = build(node.this)
    start, size = node.args.get("start"), node.args.get("length")
    if start is None:
        refuse(node, "SUBSTRING needs a start", "write SUBSTRING(name, 1, 3)")
    first = _integer(build(start), start, 1, 1_000_000)
    count = None if size is None else _integer(build(size), size, 0, 1_000_000)
    return derived_part("text", text(part, node.this).str.slice(first - 1, count), part)


def replace(build: TermBuilder, node: Node) -> Term:
    """REPLACE(text, 'a', 'b') of every place where the first text stands; the empty one stands nowhere."""
    part = build(node.this)
    old, new = (
        None if side is None else build(side).literal
        for side in (node.args.get("expression"), node.args.get("replacement"))
    )
    if not isinstance(old, str) or not isinstance(new, str):
        refuse(node, "REPLACE takes two texts in single quotes", "write REPLACE(amount, ',', '.')")
    value = text(part, node.this)
    return derived_part("text", value.str.replace_all(old, new, literal=True) if old else value, part)


def trim(build: TermBuilder, node: Node) -> Term:
    """TRIM, LTRIM and RTRIM of blanks, or of given characters."""
    part = build(node.this)
    value = text(part, node.this).str
    argument = node.args.get("expression")
    characters = " " if argument is None else build(argument).literal
    if not isinstance(characters, str):
        refuse(node, "TRIM takes its characters in single quotes")
    strip = {"LEADING": value.strip_chars_start, "TRAILING": value.strip_chars_end}
    trimmed = strip.get(str(node.args.get("position")).upper(), value.strip_chars)(characters)
    return derived_part("text", trimmed, part)


def extract(build: TermBuilder, node: Node) -> Term:
    """EXTRACT(field FROM date); a week begins on Monday, DOW counts from Sunday = 0."""
    field = node.name.upper()
    if field not in _FIELDS:
        refuse(node, f"EXTRACT does not know '{field}'", "known: " + ", ".join(_FIELDS))
    return _field(field, build, node, node.expression)


def _named_field(build: TermBuilder, node: Node) -> Term:
    return _field(node.key.upper(), build, node, node.this)


def _field(field: str, build: TermBuilder, node: Node, source: Node) -> Term:
    part = build(source)
    if part.kind not in {"date", "unknown"}:
        refuse(node, f"{field} needs a date", "write CAST(x AS DATE)")
    value = part.expr if part.kind == "date" else part.expr.pipe_with_dtype(as_moment)
    return derived_part("number", _FIELDS[field](value).cast(pl.Int64), part)


def cast_part(build: TermBuilder, node: Node) -> Term:
    """CAST, TRY_CAST, and constants such as DATE '2024-01-31'."""
    name = node.args["to"].this
    name = getattr(name, "name", str(name))
    if name not in TARGETS or node.args["to"].args.get("nested"):
        refuse(node, f"a cast to {name} is not allowed", _CASTS)
    kind, target = TARGETS[name]
    if target.is_decimal() and node.args["to"].expressions:
        target = _decimal_of(node)
    part = build(node.this)
    if name == "TIMESTAMPTZ" and part.literal is not None:
        refuse(node, "no constant is a TIMESTAMPTZ", "write the text alone, '2024-01-31T12:00:00+02:00'")
    if kind == "date" and isinstance(part.literal, str):
        return _date_constant(node, part.literal, is_date=target == pl.Date)
    conversion = partial(cast, target=target, strict=node.key == "cast")
    copies = 6 if target.is_integer() or target.is_decimal() else 1
    if part.kind in _CERTAIN:
        return derived_part(kind, conversion(part.expr, _CERTAIN[part.kind]), part, copies=copies)
    return derived_part(kind, part.expr.pipe_with_dtype(conversion), part, copies=copies)


def _decimal_of(node: Node) -> pl.DataType:
    """DECIMAL(10, 2), or DECIMAL(10) without digits after the point."""
    sizes = [str(size.this) for size in node.args["to"].expressions]
    digits = [int(size) for size in sizes if size.isdecimal()]
    target = decimal_type(*digits) if 1 <= len(digits) == len(sizes) <= 2 else None
    if target is None:
        refuse(node, f"there is no DECIMAL({', '.join(sizes)})", "write DECIMAL(10, 2)")
    return target


def _date_constant(node: Node, value: str, *, is_date: bool) -> Term:
    from datetime import datetime

    moment = iso_date(value)
    timed = isinstance(moment, datetime)
    if moment is None or (timed and is_date):
        shape = (
            "DATE '2024-01-31'"
            if is_date
            else "TIMESTAMP '2024-01-31 12:00:00', of at most six digits of a second"
        )
        refuse(node, f"'{value[:40]}' is not a {'date' if is_date else 'time'}", f"write {shape}")
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        refuse(node, f"'{value}' has a time zone", "write the time in the column's own zone, without one")
    if not is_date and not timed:
        moment = datetime.combine(moment, datetime.min.time())
    return Term(pl.lit(moment), "date", literal=moment)


_CERTAIN: dict[str, pl.DataType] = {"condition": pl.Boolean(), "text": pl.String()}
_CASTS = "known: BOOLEAN, BIGINT, DOUBLE, DECIMAL, VARCHAR, DATE, TIMESTAMP, TIMESTAMPTZ"
_THIS = frozenset({"this"})
_ALL = frozenset({"this", "expressions", "ignore_nulls"})

FUNCTIONS: dict[str, NodeRule] = {
    "abs": NodeRule(absolute, _THIS),
    "exp": NodeRule(partial(_numeric, lambda x: x.exp()), _THIS),
    "floor": NodeRule(partial(_numeric, lambda x: x.floor()), _THIS),
    "ceil": NodeRule(partial(_numeric, lambda x: x.ceil()), _THIS),
    "ln": NodeRule(partial(_positive, lambda x: x.log()), _THIS),
    "sqrt": NodeRule(partial(_positive, lambda x: x.sqrt()), _THIS),
    "pow": NodeRule(power, frozenset({"this", "expression"})),
    "round": NodeRule(round_half_up, frozenset({"this", "decimals"})),
    "coalesce": NodeRule(partial(horizontal, pl.coalesce), _ALL),
    "greatest": NodeRule(partial(horizontal, _greatest), _ALL),
    "least": NodeRule(partial(horizontal, pl.min_horizontal), _ALL),
    "length": NodeRule(length, _THIS),
    "lower": NodeRule(partial(_textual, lambda x: x.str.to_lowercase()), _THIS),
    "upper": NodeRule(partial(_textual, lambda x: x.str.to_uppercase()), _THIS),
    "substring": NodeRule(substring, frozenset({"this", "start", "length"})),
    "replace": NodeRule(replace, frozenset({"this", "expression", "replacement"})),
    "trim": NodeRule(trim, frozenset({"this", "position", "expression"})),
    "extract": NodeRule(extract, frozenset({"this", "expression"})),
    "year": NodeRule(_named_field, _THIS),
    "month": NodeRule(_named_field, _THIS),
    "case": NodeRule(case, frozenset({"this", "ifs", "default"})),
    "cast": NodeRule(cast_part, frozenset({"this", "to"})),
    "trycast": NodeRule(cast_part, frozenset({"this", "to", "safe"})),
}

_SPELLED = {"pow": "power", "trycast": "try_cast"}
FUNCTION_NAMES = tuple(sorted(_SPELLED.get(key, key) for key in FUNCTIONS))
