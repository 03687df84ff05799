"""Blocks of a page: words, tables, pictures and definitions, and their sections."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from plmetrics.report.numbers import ValueText, count, row_estimate

MINUS, UNDEFINED = "\N{MINUS SIGN}", "\N{EN DASH}"


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table: its text, an interval in quieter ink, and the number in full for programs.

    `kind` is the class that says how it looks; `number` is whether it is aligned as one; `mark` refers to a footnote.
    """

    text: str
    interval: str = ""
    value: float | None = None
    kind: str = ""
    number: bool = False
    mark: str = ""


class Footnotes:
    """Notes of rows of result tables, for a place below the table of their numbers."""

    def __init__(self) -> None:
        self._marks: dict[str, str] = {}

    def of(self, row: Mapping[str, Any] | None) -> str:
        """The mark of the row's note; empty without one."""
        note = None if row is None else row.get("note")
        return self.mark(note) if note else ""

    def mark(self, text: str) -> str:
        """The mark of a text, the same for the same text."""
        return self._marks.setdefault(text, _letters(len(self._marks)))

    @property
    def lines(self) -> list[str]:
        """The notes, each with its mark."""
        return [f"{mark}: {note}" for note, mark in self._marks.items()]


def _letters(number: int) -> str:
    """The mark of a number: a, b, ..., z, aa, ab, ..."""
    head, last = divmod(number, 26)
    return (_letters(head - 1) if head else "") + chr(ord("a") + last)


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a caption. The first column names the row; rows beyond `first` can be folded away."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    first: int = 20
    block: ClassVar[str] = "table"


@dataclass(frozen=True, slots=True)
class Picture:
    """Chart as SVG, with its title and its finding in words."""

    svg: str
    title: str
    description: str
    block: ClassVar[str] = "picture"


@dataclass(frozen=True, slots=True)
class Words:
    """Paragraphs; `kind` is warning, note or nothing."""

    lines: Sequence[str]
    kind: str = ""
    block: ClassVar[str] = "words"


@dataclass(frozen=True, slots=True)
class Definitions:
    """Names, each with its meaning."""

    pairs: Sequence[tuple[str, str]]
    block: ClassVar[str] = "definitions"


Block = Table | Picture | Words | Definitions
"""A part of a section; `block` is the name of its template."""


@dataclass(frozen=True, slots=True)
class PageSection:
    """Part of the page; one without blocks is named among the absent ones."""

    title: str
    blocks: Sequence[Block] = field(default=())

    @property
    def key(self) -> str:
        """Stable id, without names of users."""
        return "s" + hashlib.sha256(self.title.encode()).hexdigest()[:8]


@dataclass(frozen=True, slots=True)
class PageHead:
    """The head of a page: a word with a shape, the title, lines below it, and warnings."""

    word: str
    shape: str
    kind: str
    title: str
    lines: Sequence[str]
    warnings: Sequence[str] = ()


def words(value: object, kind: str = "") -> Cell:
    """A cell of text."""
    return Cell("" if value is None else str(value), kind=kind)


def rows_cell(value: int | None) -> Cell:
    """A cell of a number of rows."""
    return Cell("" if value is None else count(value), value=value, number=True)


def estimate_cell(estimate: ValueText, value: float | None) -> Cell:
    """Cell of a value with its interval, or the reason for its absence; minus signs as in print."""
    text, interval = (part.replace("-", MINUS) for part in (estimate.value, estimate.interval))
    if value is None:
        return Cell(UNDEFINED, estimate.interval, kind="undefined", number=True)
    return Cell(text, interval, value=value, number=True)


def value_cell(
    row: Mapping[str, Any] | None,
    column: str = "value",
    footnotes: Footnotes | None = None,
    *,
    signed: bool = False,
) -> Cell:
    """The cell of a row of a result table; empty without the row."""
    if row is None:
        return Cell("", number=True)
    cell = estimate_cell(row_estimate(row, column, signed=signed), row[column])
    return cell if footnotes is None else replace(cell, mark=footnotes.of(row))
