"""Layout of text in a given number of terminal columns: tables if they fit, and stacks otherwise."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from plmetrics.core.names import printable

if TYPE_CHECKING:
    from plmetrics.report.numbers import ValueText

INDENT = 2
GAP = 2
WIDEST = 160
_NUMBER = r"[-+<]?\d[\d,]*(\.\d+)?(e[-+]?\d+)?%?"
_BARE = re.compile(rf"{_NUMBER}( to {_NUMBER})?")
_PLAIN = frozenset({"", "value", "difference"})
"""Titles of what a table is about: such a number needs none beside it."""

HEADING = "bold"
FAINT = "dim"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; an optional one is left out where the table would not fit otherwise."""

    title: str
    align: Literal["left", "right"] = "left"
    optional: bool = False


def terminal_width() -> int:
    """Columns for a report: the terminal's or COLUMNS, 100 where there is no terminal."""
    return min(shutil.get_terminal_size((100, 24)).columns, WIDEST)


def filled_places(rows: Sequence[Sequence[object]]) -> list[int]:
    """Places of the columns with some text."""
    return [place for place, column in enumerate(zip(*rows, strict=True)) if any(column)]


def align(estimates: Sequence[ValueText]) -> list[Text]:
    """Values under each other by their decimal point, intervals behind them."""
    parts = [estimate.value.partition(".") for estimate in estimates]
    digits = max((len(before) for before, _, _ in parts), default=0)
    fraction = max((len(point + after) for _, point, after in parts), default=0)
    cells = []
    for (before, point, after), estimate in zip(parts, estimates, strict=True):
        number = before.rjust(digits) + point + after
        bracketed = estimate.interval.startswith("[")
        padding = " " * (digits + fraction - len(number)) if bracketed else ""
        cells.append(Text.assemble(number + padding, (" " + estimate.interval, FAINT)))
        cells[-1].rstrip()
    return cells


def table(
    columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int, *, least: int = INDENT
) -> list[Text] | None:
    """A header and a line a row, nothing cut, or None where they do not fit.

    The first column may be narrower than its labels, down to `least` cells: a label that is too long then
    stands on a line of its own above the rest of its row; so do all of them where many would.
    """
    columns, rows = fitting(columns, rows, width, least=least)
    widths = _natural_widths(columns, rows)
    rest = _space(widths[1:])
    if min(widths[0], least) + rest > width - INDENT:
        return None
    widths[0] = min(widths[0], width - INDENT - rest)
    labels = [row[0].cell_len for row in rows if row[0].plain]
    above = sum(length > widths[0] for length in labels) * 3 > len(labels)
    if above:
        widths[0] = 0
    titles = ["" if above else columns[0].title, *(column.title for column in columns[1:])]
    lines = _table_line(columns, [Text(title, FAINT) for title in titles], widths, width)
    for row in _labelled_once(rows) if above else rows:
        lines += _table_line(columns, row, widths, width)
    return lines


def fitting(
    columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int, *, least: int = INDENT
) -> tuple[Sequence[Column], Sequence[Sequence[Text]]]:
    """The columns and rows without the last optional columns that have no room."""
    widths = _natural_widths(columns, rows)
    for i in reversed(range(1, len(columns))):
        if columns[i].optional and least + _space(widths[1:]) > width - INDENT:
            remaining = [k for k in range(len(columns)) if k != i]
            fewer = [[row[k] for k in remaining] for row in rows]
            return fitting([columns[k] for k in remaining], fewer, width, least=least)
    return columns, rows


def table_or_stack(columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int) -> list[Text]:
    """The table, or each label with the other cells of its rows below it, bare numbers behind their column's title."""
    lines = table(columns, rows, width)
    if lines is not None:
        return lines
    lines = []
    for label, *cells in _labelled_once(rows):
        lines += stack(label, map(_with_title, columns[1:], cells), width)
    return lines


def _with_title(column: Column, cell: Text) -> Text:
    bare = column.title not in _PLAIN and _BARE.fullmatch(cell.plain.strip())
    return Text(f"{column.title} ", FAINT).append_text(_strip(cell)) if bare else cell


def table_in_parts(columns: Sequence[Column], rows: Sequence[Sequence[Text]], width: int) -> list[Text]:
    """The table, or several with the same labels and as many of the other columns as fit, each below its title."""
    for last in range(len(columns), 1, -1):
        part = columns[:last], [row[:last] for row in rows], width
        lines = table_or_stack(*part) if last == 2 else table(*part)
        if lines is None:
            continue
        if last < len(columns):
            others = [[row[0], *row[last:]] for row in rows]
            lines += table_in_parts([columns[0], *columns[last:]], others, width)
        return lines
    return []


def _labelled_once(rows: Sequence[Sequence[Text]]) -> Iterator[Sequence[Text]]:
    """Rows for labels on lines of their own: without the label of the row before."""
    before = None
    for label, *cells in rows:
        yield [Text() if label == before else label, *cells]
        before = label


def stack(label: Text, pieces: Iterable[Text], width: int) -> list[Text]:
    """A label on its own line, if it is not empty, and pieces below it, as many on a line as fit."""
    lines = wrap(label, width) if label.plain else []
    return lines + flow(pieces, width, indent=2 * INDENT)


def definition_list(pairs: Sequence[tuple[str, str]], width: int) -> list[Text]:
    """Names in a column, each with its description beside it, wrapped below itself."""
    start = INDENT + max(cell_len(name) for name, _ in pairs) + GAP
    lines = []
    for name, description in pairs:
        first, *more = wrap(Text(description), width, indent=start)
        label = Text(" " * INDENT).append(name, FAINT)
        lines += [label + first[label.cell_len :], *more]
    return lines


def flow(pieces: Iterable[Text], width: int, *, indent: int = INDENT, gap: int = GAP) -> list[Text]:
    """Pieces one after the other, broken between them, and inside one only if it is longer than a line."""
    lines: list[Text] = []
    for piece in map(_strip, pieces):
        if not piece.plain:
            continue
        if lines and lines[-1].cell_len + gap + piece.cell_len <= width:
            lines[-1].append(" " * gap).append_text(piece)
        else:
            lines += wrap(piece, width, indent=indent)
    return lines


def wrap(text: Text, width: int, *, indent: int = INDENT) -> list[Text]:
    """Lines of at most `width` cells, broken between words if possible."""
    lines = text.wrap(_console(width, color=False), max(width - indent, 1), overflow="fold")
    return [Text(" " * indent).append_text(line) for line in lines]


def remarks(texts: Iterable[str], width: int, style: str = FAINT, *, indent: int = INDENT) -> list[Text]:
    """Remarks, each on lines of its own, with nonprintable characters escaped."""
    return [line for text in texts for line in wrap(Text(printable(text), style), width, indent=indent)]


def heading(title: str, remark: str = "", width: int = 80) -> list[Text]:
    """A section's title, and a remark in brackets."""
    line = Text(title, HEADING)
    return wrap(line.append(f" ({remark})", f"not bold {FAINT}") if remark else line, width, indent=0)


def join_blocks(blocks: Iterable[list[Text]]) -> list[Text]:
    """Lines of all nonempty blocks, with an empty line between two blocks."""
    lines: list[Text] = []
    for block in filter(None, blocks):
        lines += [Text(), *block] if lines else block
    return lines


def to_text(lines: Iterable[Text], width: int, *, color: bool) -> str:
    """The lines as one string, with ANSI codes if `color`."""
    console = _console(width, color=color)
    for line in lines:
        line.rstrip()
        console.print(line, no_wrap=True, overflow="ignore", crop=False)
    file = console.file
    assert isinstance(file, StringIO)
    return file.getvalue()


def _natural_widths(columns: Sequence[Column], rows: Sequence[Sequence[Text]]) -> list[int]:
    cells = [[cell_len(column.title), *(row[i].cell_len for row in rows)] for i, column in enumerate(columns)]
    return [max(lengths) for lengths in cells]


def _space(widths: Sequence[int]) -> int:
    return sum(widths) + GAP * len(widths)


def _table_line(
    columns: Sequence[Column], cells: Sequence[Text], widths: Sequence[int], width: int
) -> list[Text]:
    label, *rest = cells
    above: list[Text] = []
    if label.cell_len > widths[0]:
        above = wrap(label, width)
        label = Text()
    line = Text(" " * INDENT).append_text(label).append(" " * (widths[0] - label.cell_len))
    for column, cell, cells_wide in zip(columns[1:], rest, widths[1:], strict=True):
        padding = Text(" " * (cells_wide - cell.cell_len))
        line.append(" " * GAP).append_text(padding + cell if column.align == "right" else cell + padding)
    return [*above, line]


def _strip(text: Text) -> Text:
    start = len(text.plain) - len(text.plain.lstrip())
    short = text[start:]
    short.rstrip()
    return short


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
