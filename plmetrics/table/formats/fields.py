"""Fields of a csv file that Polars reads otherwise: ragged rows, which it pads or truncates, and zeros before numbers.

Separators and line ends are counted over pieces of whole rows, several at a time.
"""

from __future__ import annotations

import csv
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from plmetrics.core.threads import processors

_PIECE = 1 << 18
_LONGEST_ROW = 1 << 28
_LINE_END, _QUOTE, _ZERO = (ord(mark) for mark in '\n"0')

LAST = 0


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """At most so many bytes, none at the end."""


@dataclass(frozen=True, slots=True)
class UnevenRow:
    """A row and its number of fields, None where a quote is not closed; lines count from 1, `LAST` is not counted."""

    line: int
    fields: int | None


def uneven_rows(stream: Readable, fields: int, separator: str = ",") -> list[UnevenRow]:
    """The rows of a file with another number of fields; not of its whole rest, where a quote is not closed."""
    uneven: list[UnevenRow] = []
    waiting: deque[Future[tuple[int, list[UnevenRow]]]] = deque()
    line = 1

    def take() -> None:
        nonlocal line
        lines, rows = waiting.popleft().result()
        uneven.extend(replace(row, line=row.line + line) for row in rows)
        line += lines

    workers = processors()
    with ThreadPoolExecutor(workers) as pool:
        for piece in _pieces(stream):
            waiting.append(pool.submit(_uneven_rows, *piece, fields, separator))
            if len(waiting) > workers:
                take()
        while waiting:
            take()
    return uneven


def code_fields(stream: Readable, rows: int | None, separator: str = ",") -> set[int]:
    """Places of fields where a value of the first rows, or of all, begins with a zero before another digit."""
    places: set[int] = set()
    seen = 0
    for place, (block, length) in enumerate(_pieces(stream)):
        codes = np.frombuffer(b"\n" + block[:length], np.uint8)
        places |= _code_fields(codes, ord(separator), headers=int(place == 0))
        if rows is not None:
            seen += block.count(b"\n", 0, length)
            if seen > rows:
                break
    return places


def _code_fields(codes: NDArray[np.uint8], separator: int, headers: int) -> set[int]:
    """As above, of whole rows with a line end before them, but not of so many headers."""
    padded = (codes[1:-1] == _ZERO) & (codes[2:] - _ZERO < 10)
    values = np.flatnonzero(padded) + 1
    before = codes[values - 1]
    values = values[(before == separator) | (before == _LINE_END) | (before == _QUOTE)]
    if not len(values):
        return set()
    ends = np.flatnonzero(((codes == separator) | (codes == _LINE_END)) & _outside_quotes(codes))
    field, row_ends = np.searchsorted(ends, values), np.flatnonzero(codes[ends] == _LINE_END)
    row = np.searchsorted(row_ends, field)
    is_first = values - 1 - (codes[values - 1] == _QUOTE) == ends[field - 1]
    return set((field - 1 - row_ends[row - 1])[is_first & (row > headers)].tolist())


def _pieces(stream: Readable) -> Iterator[tuple[bytes, int]]:
    """File in pieces: bytes, and the length of whole rows in them. The last row may end within quotes."""
    tail = b""
    while block := stream.read(max(_PIECE, len(tail))):
        block = tail + block
        end = _end_of_rows(block)
        if end:
            yield block, end
        tail = block[end:]
        if len(tail) > _LONGEST_ROW:
            break
    if tail:
        yield tail + b"\n", len(tail) + 1


def _end_of_rows(block: bytes) -> int:
    if _QUOTE not in block:
        return block.rfind(b"\n") + 1
    codes = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(_outside_quotes(codes) & (codes == _LINE_END))
    return int(ends[-1]) + 1 if len(ends) else 0


def _outside_quotes(codes: NDArray[np.uint8]) -> NDArray[np.bool_]:
    outside: NDArray[np.bool_] = np.bitwise_xor.accumulate((codes == _QUOTE).view(np.uint8)) == 0
    return outside


def _uneven_rows(block: bytes, length: int, fields: int, separator: str) -> tuple[int, list[UnevenRow]]:
    """The number of lines at the start of a block, and its uneven rows; lines count from 0."""
    codes = np.frombuffer(block, np.uint8, length)
    separators, line_ends = codes == ord(separator), codes == _LINE_END
    lines = ends = np.flatnonzero(line_ends)
    if _QUOTE in block:
        outside = _outside_quotes(codes)
        separators &= outside
        ends = lines[outside[lines]]
    starts = np.concatenate([[0], ends + 1])
    uneven = []
    for row in _suspects(separators, starts[:-1], fields - 1):
        number = _fields(block[starts[row] : ends[row]], separator)
        if number != fields:
            uneven.append(UnevenRow(int(np.searchsorted(lines, starts[row])), number))
    if starts[-1] < length:
        uneven.append(UnevenRow(int(np.searchsorted(lines, starts[-1])), None))
    return len(lines), uneven


def _suspects(separators: NDArray[np.bool_], starts: NDArray[np.int64], expected: int) -> NDArray[np.int64]:
    """Rows with another number of separators: counts modulo 256 first, exact ones if those disagree."""
    if not len(starts):
        return starts
    small = np.add.reduceat(separators.view(np.uint8), starts, dtype=np.uint8)
    if np.count_nonzero(separators) == expected * len(starts) and (small == expected % 256).all():
        return starts[:0]
    return np.flatnonzero(np.add.reduceat(separators, starts, dtype=np.int64) != expected)


def _fields(row: bytes, separator: str) -> int:
    """The number of fields of a row as Polars has it: only a quote at the start of a field hides separators."""
    try:
        return max(1, len(next(csv.reader([row.decode("utf-8", "replace")], delimiter=separator), [])))
    except csv.Error:  # a value that is too long for the module, or with a line end in it
        return row.count(separator.encode()) + 1
