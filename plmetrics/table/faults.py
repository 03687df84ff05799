"""Errors of row reading, in the words of the data's owner."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.names import name_list
from plmetrics.table.files import SourceFile, Stamp, shown_path

if TYPE_CHECKING:
    from plmetrics.table.source import Source

_PARSE = r"could not parse `(?P<value>.*?)` as dtype `(?P<dtype>\w+)` at column '(?P<column>[^']*)'"
_MISMATCH = r"mismatch for column (?P<column>.*?): incoming: (?P<found>.*?) != target: (?P<dtype>[^,]+)"
_CAST = r"conversion from `\w+` to `(?P<dtype>[^`]+)` failed in column '(?P<column>[^']*)'.*?: \[(?P<value>[^\]]*)"
_CAST_OF_DATE = _CAST.replace("[^`]+", "date[^`]*", 1)
_CAST_OF_OFFSET = (
    r"to `(?P<dtype>datetime\[μs\])` failed in column '(?P<column>[^']*)'.*?"
    r": \[(?P<value>\"[\d-]{10} [\d:.]+ ?[+-]\d[^\]]*)"
)
_DAMAGED = (
    r"^parquet: |File out of specification|out-of-spec|^view index out of bounds"
    r"|unexpected end of file|incomplete frame|corrupt deflate|[Dd]ata corruption|LZ4 error"
)
_AS_PARQUET = "write the column in one way in all rows, or convert the table to parquet: it states its types"
_UPSTREAM = "write the file again"
_FAULTS: tuple[tuple[re.Pattern[str], str, str], ...] = (
    (
        re.compile(_PARSE, re.DOTALL),
        "column '{column}': '{value}' is not {dtype}, as the rows that were looked at are",
        _AS_PARQUET,
    ),
    (
        re.compile(_CAST_OF_OFFSET, re.DOTALL),
        "column '{column}': a CAST to {dtype} without a zone fails for {value}",
        "CAST(... AS TIMESTAMPTZ) reads times with offsets",
    ),
    (
        re.compile(_CAST_OF_DATE, re.DOTALL),
        "column '{column}': a CAST to {dtype} fails for {value}",
        "TRY_CAST makes such values null; SUBSTRING and || put ISO texts together, such as 2026-01-31",
    ),
    (
        re.compile(_CAST, re.DOTALL),
        "column '{column}': a CAST to {dtype} fails for {value}",
        "TRY_CAST makes such values null",
    ),
    (
        re.compile(r"found more fields than defined"),
        "a row has more fields than the header",
        "quote values that contain commas",
    ),
    (
        re.compile(r"cannot parse '(?P<value>.*?)' \([^)]*\) as (?P<dtype>\w+)", re.DOTALL),
        "a value '{value}' is not {dtype}, as the lines that were looked at have",
        _AS_PARQUET,
    ),
    (
        re.compile(r"invalid utf-?8|InvalidUtf8"),
        "a row is not UTF-8 text",
        "convert the file to UTF-8, or to parquet",
    ),
    (
        re.compile(_MISMATCH),
        "column '{column}' is {found} in one file, not {dtype}",
        "write the column with one type in all files",
    ),
    (
        re.compile(r"error parsing line|NDJSON line expected"),
        "a line is not a JSON object",
        "every line must hold one JSON object; NaN and Infinity are not JSON, null is",
    ),
    (re.compile(_DAMAGED), "the data are damaged", _UPSTREAM),
    (
        re.compile(r"out-of-range date|`NaiveDateTime \+ TimeDelta` overflowed|^year -?\d+ is out of range"),
        "a date or time is outside the years 1 to 9999",
        "the column is damaged or has another unit of time",
    ),
    (re.compile(r"empty CSV"), "the file became empty while it was read", _UPSTREAM),
)
_WORDS = {
    **dict.fromkeys(("i8", "i16", "i32", "i64", "i128"), "a whole number"),
    "f64": "a number",
    "bool": "true or false",
    "Int64": "a whole number",
    "Int128": "a whole number",
    "Float64": "a number",
    "Boolean": "true or false",
    "enum": "true or false",
    "date": "a date",
    "datetime[μs]": "a time",
    "datetime[μs, UTC]": "a time",
}
_LONGEST = 60
_STAGED = re.compile(r"^@+\w+\|")
"""Prefix of a column whose rows are staged for an aggregation."""


def stamps_of(*sources: Source | None) -> dict[str, Stamp | None]:
    """By path the stamps of all files of some sources."""
    files = (file for source in sources if source is not None for file in source.files)
    return {file.path: file.stamp for file in files if file.stamp is not None}


def explain_polars_error(error: BaseException, source: Source) -> DataError | None:
    """The data error behind an error of Polars; None where the data are not to blame.

    The message names the file where the error tells which one it is, else the files that it may be.
    """
    text = str(error)
    for pattern, message, hint in _FAULTS:
        match = pattern.search(text)
        if match:
            return _fault(message.format(**_fields(match)), hint, text, source)
    if isinstance(error, OSError):
        return _fault(f"a file cannot be read any more: {error.strerror or text}", _UPSTREAM, text, source)
    return None


def _fields(match: re.Match[str]) -> dict[str, str]:
    groups = match.groupdict()
    groups |= {"column": _STAGED.sub("", groups["column"])} if "column" in groups else {}
    if "value" not in groups:
        return groups
    value, dtype = groups["value"], groups.get("dtype", "")
    text = value if len(value) <= _LONGEST else f"{value[: _LONGEST - 3]}..."
    return groups | {"value": text, "dtype": _WORDS.get(dtype, dtype)}


def _fault(message: str, hint: str, text: str, source: Source) -> DataError:
    files = [file for file in source.files if file.path in text]
    files = files or list(source.files)
    if not files or source.kind == "query":
        return DataError(Problem(message, hint=hint))
    return DataError(Problem(f"{_place(files)}: {message}", hint=hint))


def _place(files: Sequence[SourceFile]) -> str:
    names = [shown_path(file.path) for file in files]
    return names[0] if len(names) == 1 else f"one of {len(names)} files ({name_list(names)})"
