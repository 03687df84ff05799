"""First lines of CSV files: whether they name columns, or are a row."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import polars as pl

from plmetrics.core.names import name_list
from plmetrics.table.formats.compression import NOT_UTF8

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_MEASURED = re.compile(r"[+-]?\d*\.\d{4,}([eE][+-]?\d+)?")
"""A number of more digits than names have, such as those of quantiles and classes."""
_SEPARATOR_LINE = re.compile("sep=.?", re.IGNORECASE)


def header_fault(names: Sequence[str]) -> tuple[str, str] | None:
    """Fault of a first line, whatever the columns hold, and the remedy."""
    if not names:
        return "has no header: its first line is empty", "the first line must name the columns"
    if any("\0" in name for name in names):
        return "is not UTF-8 text: it has characters of code 0, as UTF-16 does", NOT_UTF8[1]
    if all(NUMBER.fullmatch(name) for name in names):
        return absent_header(names)
    if _SEPARATOR_LINE.fullmatch(names[0]) and not any(names[1:]):
        message = "begins with a line for spreadsheets that names the separator, before its header"
        return message, "remove the line 'sep=...': what separates the columns is seen from the header"
    return None


def absent_header(names: Sequence[str]) -> tuple[str, str]:
    """Fault of a file that begins with a row, and the remedy."""
    return f"has no header: its first line is {name_list(names)}", "the first line must name the columns"


def has_number_names(names: Sequence[str], types: Sequence[pl.DataType]) -> bool:
    """Whether the first line has a number for each column of numbers, of which there is one."""
    numbers = _names_of_numbers(names, types)
    return bool(numbers) and all(map(NUMBER.fullmatch, numbers))


def _names_of_numbers(names: Sequence[str], types: Sequence[pl.DataType]) -> list[str]:
    return [name for name, dtype in zip(names, types, strict=True) if dtype.is_numeric()]


def is_row(names: Sequence[str], types: Sequence[pl.DataType], rows: Iterable[Sequence[str]]) -> bool:
    """Whether the first line is a row like those below.

    So it is where it has a number for each column of numbers, and one of these is no name, or a text is a value of its
    column. Columns may be called by numbers, such as classes and quantiles, years and months.

    >>> is_row(["1", "b"], [pl.Int64(), pl.String()], [["0", "a"], ["1", "b"]])
    True
    >>> is_row(["species", "0", "1"], [pl.String(), pl.Float64(), pl.Float64()], [["cat", "0.2", "0.8"]])
    False
    """
    numbers = _names_of_numbers(names, types)
    if not has_number_names(names, types):
        return False
    places = [place for place, dtype in enumerate(types) if not dtype.is_numeric()]
    return any(map(_MEASURED.fullmatch, numbers)) or any(
        place < len(row) and row[place] == names[place] != "" for row in rows for place in places
    )
