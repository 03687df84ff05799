"""Laying text out in a given number of terminal columns: tables that fit, and stacks where they do not."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from plmetrics.report.numbers import Estimate

INDENT = 2
GAP = 2
HEADING = "bold"
FAINT = "dim"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. A flexible one may be cut, down to `least` cells, for the table to fit."""

    title: str
    align: Literal["left", "right"] = "left"
    flexible: bool = False
    least: int = 24


def printable(text: str, keep: str = "") -> str:
    r"""Names and values are data: control, format and separator characters become visible escapes.

    >>> printable("north\x1b[2J")
    'north\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c in keep or c == " " else _escaped(c) for c in text)


def clip(text: Text, width: int) -> Text:
    """The text in at most `width` cells, with an ellipsis where it was cut."""
    short = text.copy()
    short.truncate(width, overflow="ellipsis")
    return short


def aligned(estimates: Sequence[Estimate]) -> list[Text]:
    """Values under each other by their decimal point, intervals behind them."""
    parts = [estimate.value.partition(".") for estimate in estimates]
    whole = max((len(before) for before, _, _ in parts), default=0)
    fraction = max((len(point + after) for _, point, after in parts), default=0)
    cells = []
    for (before, point, after), estimate in zip(parts, estimates, strict=True):
        number = before.rjust(whole) + point + after
        bracketed = estimate.interval.startswith("[")
        padding = " " * (whole + fraction - len(number)) if bracketed else ""
        cells.append(Text.assemble(number + padding, (" " + estimate.interval, FAINT)))
        cells[-1].rstrip()
    return cells


def table(columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int) -> list[Text] | None:
    """A header and a line a row, or None where they do not fit. Only flexible columns are cut, never numbers."""
    widths = [
        max([cell_len(column.title), *(row[i].cell_len for row in rows)]) for i, column in enumerate(columns)
    ]
    room = width - INDENT - GAP * (len(columns) - 1)
    for i, column in enumerate(columns):
        excess = sum(widths) - room
        if excess > 0 and column.flexible:
            widths[i] = max(min(widths[i], column.least), widths[i] - excess)
    if sum(widths) > room:
        return None
    header = [Text(column.title, FAINT) for column in columns]
    return [_line(columns, row, widths) for row in (header, *rows)]


def stack(label: Text, pieces: Iterable[Text], width: int, *, indent: int = INDENT) -> list[Text]:
    """A label on its own line, and pieces below it, as many on a line as fit."""
    lines = wrapped(label, width, indent=indent)
    return lines + flow(pieces, width, indent=indent + INDENT)


def flow(pieces: Iterable[Text], width: int, *, indent: int = INDENT) -> list[Text]:
    """Pieces one after the other, two blanks apart, broken between them, and inside one only if it is too long."""
    lines: list[Text] = []
    for piece in pieces:
        if not piece.plain:
            continue
        if lines and lines[-1].cell_len + GAP + piece.cell_len <= width:
            lines[-1].append(" " * GAP).append_text(piece)
        else:
            lines += wrapped(piece, width, indent=indent)
    return lines


def wrapped(text: Text, width: int, *, indent: int = INDENT) -> list[Text]:
    """Lines of at most `width` cells, broken between words where that is possible."""
    lines = text.wrap(_console(width, color=False), max(width - indent, 1), overflow="fold")
    return [Text(" " * indent).append_text(line) for line in lines]


def heading(title: str, remark: str = "", width: int = 80) -> list[Text]:
    """A section's title, and a remark behind it, or below where it does not fit."""
    line = Text(title, HEADING)
    if not remark:
        return wrapped(line, width, indent=0)
    if line.cell_len + GAP + cell_len(remark) <= width:
        return [line.append(" " * GAP).append(remark, FAINT)]
    return wrapped(line, width, indent=0) + wrapped(Text(remark, FAINT), width)


def to_text(lines: Iterable[Text], width: int, *, color: bool) -> str:
    """The lines as one string, with ANSI codes if `color`."""
    console = _console(width, color=color)
    for line in lines:
        line.rstrip()
        console.print(line, no_wrap=True, overflow="ignore", crop=False)
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def _line(columns: Sequence[Column], cells: Sequence[Text], widths: Sequence[int]) -> Text:
    line = Text(" " * INDENT)
    for i, (column, cell, cells_wide) in enumerate(zip(columns, cells, widths, strict=True)):
        short = clip(cell, cells_wide)
        padding = " " * (cells_wide - short.cell_len)
        line.append(" " * GAP if i else "")
        line.append_text(Text(padding) + short if column.align == "right" else short + Text(padding))
    return line


def _console(width: int, *, color: bool) -> Console:
    return Console(
        file=StringIO(),
        width=width,
        force_terminal=color,
        force_jupyter=False,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def _escaped(character: str) -> str:
    if unicodedata.category(character)[0] not in "CZ":
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
