"""Numbers as text: as many digits as the uncertainty allows, and never a number where there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from plmetrics.core.names import number_text

Row = dict[str, Any]
"""A row of a result table, by column."""

MISSING = "-"
_DEFAULT_DIGITS = 4
_MOST_DECIMALS = 8
_EXACT_DIGITS = 18
_APART = 5
_NOISE = 1e-6
_LEVELS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2)
"""Levels that p values are compared with."""
_LEAST = 5e-324
"""The smallest number above 0: parts of numbers near it are 0."""
_LARGE = 1e7
_SMALL = 1e-4


@dataclass(frozen=True, slots=True)
class ValueText:
    """A value and its interval as text; `interval` is empty where none was asked for."""

    value: str
    interval: str = ""

    def __str__(self) -> str:
        return f"{self.value} {self.interval}".rstrip()


def estimate(
    value: float | None,
    lower: float | None = None,
    upper: float | None = None,
    *,
    status: str | None = "ok",
    interval_status: str | None = "not_requested",
    signed: bool = False,
    limits: Sequence[float] = (),
) -> ValueText:
    """A value with its interval, to two digits of the interval's width, else to four digits of the value.

    An undefined value is its reason; an interval that was asked for and does not exist is `[-]`. There are more digits
    where a number would be rounded to one of the limits, or across it. A limit of what is signed, a difference, is 0,
    unless an end is next to nothing.

    >>> str(estimate(-0.0097, -0.0191, -0.0003, signed=True))
    '-0.0097 [-0.0191, -0.0003]'
    >>> str(estimate(0.92713, 0.92111, 0.93342)), str(estimate(0.69996)), str(estimate(0.69996, limits=[0.7]))
    ('0.927 [0.921, 0.933]', '0.7000', '0.69996')
    >>> str(estimate(None, status="no_positives"))
    '- (no_positives)'
    """
    if value is None or math.isnan(value):
        return ValueText(MISSING, f"({status})" if status not in (None, "ok") else "")
    sizes = [abs(number) for number in (value, lower, upper) if number]
    if signed and sizes and min(sizes) > _NOISE * max(sizes):
        limits = (*limits, 0.0)
    if lower is None or upper is None:
        absent = "" if interval_status in (None, "ok", "not_requested") else f"[{MISSING}]"
        return ValueText(number(value, signed=signed, limits=limits), absent)
    if not 0 < upper - lower < math.inf:
        ends = ", ".join(number(end, signed=signed, limits=limits) for end in (lower, upper))
        return ValueText(number(value, signed=signed, limits=limits), f"[{ends}]")
    style = _style(max(abs(value), abs(lower), abs(upper)), upper - lower)
    style = _separate(style, (value, lower, upper), limits)
    low, high = (_write(end, style, signed=signed) for end in (lower, upper))
    return ValueText(_write(value, style, signed=signed), f"[{low}, {high}]")


def row_estimate(
    row: Mapping[str, Any], column: str = "value", *, signed: bool = False, limits: Sequence[float] = ()
) -> ValueText:
    """Value of a row of a result table, with its interval or the reason for its absence."""
    why: dict[str, Any] = {"status": row["status"], "interval_status": row.get("interval_status")}
    return estimate(row[column], row["lower"], row["upper"], signed=signed, limits=limits, **why)


def comparison_estimate(row: Mapping[str, Any]) -> ValueText:
    """Comparison of a row with its interval, or the reason for its absence; equal values have a ratio of 1."""
    ratio = row["scale"] == "ratio"
    return row_estimate(row, "difference", signed=not ratio, limits=(1.0,) if ratio else ())


def number(value: float, *, signed: bool = False, limits: Sequence[float] = ()) -> str:
    """One number without an interval: whole numbers in full, others to at most four digits, or as limits need.

    >>> number(48842.0), number(0.92713), number(-0.00002, signed=True), number(-12345.678, limits=[-12345.7])
    ('48,842', '0.9271', '-2e-05', '-12,345.68')
    """
    if math.isinf(value):
        return "-inf" if value < 0 else "+inf" if signed else "inf"
    if value == int(value) and abs(value) < 1e15:
        return _with_sign(str(int(value)), value, signed=signed)
    style = _style(abs(value), max(abs(value) / 10 ** (_DEFAULT_DIGITS - 2), _LEAST))
    rounded = _write(value, _separate(style, (value,), limits), signed=signed)
    exact = _with_sign(number_text(value), value, signed=signed)
    return min(exact, rounded, key=len)


def number_or_missing(value: float | None, *, signed: bool = False) -> str:
    """One number as `number` writes it, or a dash."""
    return MISSING if value is None else number(value, signed=signed)


def level_text(level: float) -> str:
    """Level of intervals as a percentage.

    >>> level_text(0.95), level_text(0.57), level_text(0.999)
    ('95%', '57%', '99.9%')
    """
    return f"{number(round(100 * level, 6))}%"


def count(value: int) -> str:
    """A number of rows, with thousands apart.

    >>> count(48842)
    '48,842'
    """
    return f"{value:,}"


def signed_percent(share: float) -> str:
    """A relative change as a percentage with its sign; with two digits where one decimal would show 0.

    >>> signed_percent(0.0213), signed_percent(-0.00018), signed_percent(0.0)
    ('+2.1%', '-0.018%', '+0.0%')
    """
    text = f"{share:+.1%}"
    return f"{100 * share:+.2g}%" if share and not float(text.removesuffix("%")) else text


def with_thousands(text: str) -> str:
    """A number's text with thousands apart, from five digits before the point on.

    >>> with_thousands("-12345.67"), with_thousands("+9999"), with_thousands("1.234e+09")
    ('-12,345.67', '+9999', '1.234e+09')
    """
    whole, point, decimals = text.partition(".")
    digits = whole.lstrip("+-")
    if len(digits) < _APART or not digits.isdigit():
        return text
    return f"{whole.removesuffix(digits)}{int(digits):,}{point}{decimals}"


def plural(how_many: int, thing: str) -> str:
    """A count of things.

    >>> plural(1, "slice"), plural(1200, "slice"), plural(2, "class"), plural(0, "query")
    ('1 slice', '1,200 slices', '2 classes', '0 queries')
    """
    if how_many == 1:
        return f"1 {thing}"
    stem, ending = (
        (thing[:-1], "ies") if thing.endswith("ry") else (thing, "es" if thing.endswith("s") else "s")
    )
    return f"{count(how_many)} {stem}{ending}"


def omission(number: int, thing: str, table: str) -> tuple[str, ...]:
    """Note on omitted things, and the table with them; none without omissions.

    >>> omission(3, "model", "curves"), omission(0, "model", "curves")
    (('3 more models in the table curves',), ())
    """
    return (f"{plural(number, f'more {thing}')} in the table {table}",) if number > 0 else ()


def left_out(number: int, thing: str, table: str) -> list[str]:
    """Line below a table on things that it leaves out, and the file with them; none without any.

    >>> left_out(3, "model", "curves"), left_out(0, "model", "curves")
    (['and 3 models more in curves.parquet'], [])
    """
    return [f"and {plural(number, thing)} more in {table}.parquet"] if number > 0 else []


def p_value(value: float | None) -> str:
    """A p value with enough digits to compare it with a level, and a floor.

    >>> p_value(0.0321), p_value(0.04999), p_value(0.00001), p_value(None)
    ('0.0321', '0.04999', '<0.001', '-')
    """
    if value is None or math.isnan(value):
        return MISSING
    if value < 0.001:
        return "<0.001"
    return format(value, _separate(".4f" if value < 0.1 else ".2f", (value,), _LEVELS))


def _style(magnitude: float, width: float) -> str:
    """The format of all numbers of one estimate, from the largest of them and the interval's width."""
    decimals = 1 - math.floor(math.log10(width))
    if magnitude >= _LARGE or 0 < magnitude < _SMALL:
        digits = math.floor(math.log10(magnitude)) + decimals
        return f".{min(max(digits, 1), _MOST_DECIMALS)}e"
    return f".{min(max(decimals, 0), _MOST_DECIMALS)}f"


def _separate(style: str, values: Sequence[float], limits: Sequence[float]) -> str:
    """The format with so many digits that no value is rounded to a limit that it is not at, or across one."""
    pairs = [(value, limit) for value in values for limit in limits]
    for digits in range(int(style[1:-1]), _EXACT_DIGITS):
        candidate = f".{digits}{style[-1]}"
        if all(
            _side(float(format(value, candidate)), limit) == _side(value, limit) for value, limit in pairs
        ):
            return candidate
    return style


def _side(value: float, limit: float) -> int:
    return (value > limit) - (value < limit)


def _write(value: float, style: str, *, signed: bool) -> str:
    text = format(value, style)
    if float(text) == 0:
        return text.removeprefix("-")
    return _with_sign(text, value, signed=signed)


def _with_sign(text: str, value: float, *, signed: bool) -> str:
    text = with_thousands(text)
    return f"+{text}" if signed and value > 0 else text
