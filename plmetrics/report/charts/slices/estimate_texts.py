"""Numbers of a column of a chart: with one count of decimals, as far as their intervals allow, and a true minus."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import median_high
from typing import Any

from plmetrics.report.numbers import estimate, with_thousands

MINUS = "\N{MINUS SIGN}"
_SIGN = re.compile(r"(?<![\w.])-(?=[\d.])|(?<=e)-(?=\d)")
_PLAIN = re.compile(r"[-+]?[\d,]+(\.\d+)?(?![\w.])")


def minus(text: str) -> str:
    r"""The text with a true minus before numbers.

    >>> minus("-0.1 [-0.2, 0.1]").encode("unicode_escape").decode()
    '\\u22120.1 [\\u22120.2, 0.1]'
    """
    return _SIGN.sub(MINUS, text)


def estimate_texts(
    rows: Sequence[Mapping[str, Any]], column: str = "value", *, signed: bool = False
) -> list[str]:
    """Value of each row with its interval, or the reason for its absence.

    All of a metric have the decimals that most of them deserve, and more where their interval is narrower.
    """
    plain = [_text(row, column, signed=signed) for row in rows]
    decimals: dict[object, list[int]] = {}
    for row, text in zip(rows, plain, strict=True):
        decimals.setdefault(row.get("metric"), []).extend([_decimals(text)] if _is_plain(text) else [])
    usual = {metric: median_high(found) if found else 0 for metric, found in decimals.items()}
    return [
        minus(_pad(row, text, column, usual[row.get("metric")], signed=signed))
        for row, text in zip(rows, plain, strict=True)
    ]


def _text(row: Mapping[str, Any], column: str, *, signed: bool) -> str:
    if row[column] is None:
        return f"undefined: {(row['status'] or 'unknown').replace('_', ' ')}"
    why = {"status": row["status"], "interval_status": row.get("interval_status")}
    return str(estimate(row[column], row["lower"], row["upper"], signed=signed, **why))


def _is_plain(text: str) -> bool:
    return _PLAIN.match(text) is not None and "e" not in text and "inf" not in text


def _decimals(text: str) -> int:
    _, point, digits = text.partition(" ")[0].partition(".")
    return len(digits) if point else 0


def _pad(row: Mapping[str, Any], text: str, column: str, decimals: int, *, signed: bool) -> str:
    """The text with as many decimals as the others have, where it has fewer."""
    if not _is_plain(text) or _decimals(text) >= decimals:
        return text
    numbers = [row[column], row["lower"], row["upper"]]
    value, *ends = [
        _fixed_decimals(number, decimals, signed=signed) for number in numbers if number is not None
    ]
    return f"{value} [{', '.join(ends)}]" if ends else value + text[len(text.partition(" ")[0]) :]


def _fixed_decimals(number: float, decimals: int, *, signed: bool) -> str:
    text = f"{number:+.{decimals}f}" if signed else f"{number:.{decimals}f}"
    return with_thousands(text) if float(text) else text.lstrip("+-")
