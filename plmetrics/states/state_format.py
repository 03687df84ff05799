"""Format of stored states: one table, and a head with a description of its rows and the conditions of addition.

The rows of a table belong to *parts*. Those of the part `cells` name the values of the keys of each cell, those of
`sums` are the sums of a cell and a block, both of a group of slice sets; those of `slices` name the slices of a set.
A row of `scores` holds counts of one slice by block and place, of one model, set and kind of bins, see
`features.stored.sparse_counts`; `blocks` are the blocks that they are of. All parts of `scores` lie one after another.
`units` and `queries` are lists of hashes. `cuts` say where the coarse bins of a slice lie.

Cells and slices are numbered anew in every state and told apart by their values, so that one may have what another has
not. Blocks are the hashes of units, or these modulo a number: the former fold into the latter. `drift_cells` and
`drift` are cells and counts of what drift compares.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.exact_sums import join_parts
from plmetrics.core.ops import Array
from plmetrics.table.joins import left_join

if TYPE_CHECKING:
    from pathlib import Path


FORMAT = 3
"""The version of what is written."""

READ = (2, 3)
"""The versions that are read. In the first of them, moments of all cells are about the centres in the constants."""

PART, CELL, BLOCK = "@part", "@cell", "@block"
BLOCKS, PLACES, SUMS = "@blocks", "@places", "@sums"
LISTS: dict[str, pl.DataType] = {
    BLOCKS: pl.List(pl.UInt64),
    PLACES: pl.List(pl.UInt32),
    SUMS: pl.List(pl.Float64),
}
_NUMBERS: dict[str, Any] = {PART: pl.UInt16, CELL: pl.UInt32, BLOCK: pl.UInt64}


@dataclass(frozen=True, slots=True)
class Part:
    """Description of some rows of a table.

    `sets` are the numbers of the slice sets they are of, `bins` says of which kind those are that scores are counted
    on, `size` how many of them and of the numbers in each there are. `columns` are those that the rows fill, `rows`
    how many there are. `entries` is how many counts they hold, `total` what these come to where all are whole numbers.
    With an `exponent` counts are in parts that add to the same in any order; see `core.exact_sums.integer_parts`.
    """

    kind: str
    sets: tuple[int, ...] = ()
    model: str = ""
    bins: str = ""
    size: tuple[int, int] = (0, 0)
    columns: tuple[str, ...] = ()
    rows: int = 0
    entries: int = 0
    total: int | None = None
    exponent: int | None = None

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Part:
        """The part from its JSON."""
        fields: dict[str, Any] = {key: tuple(v) if isinstance(v, list) else v for key, v in content.items()}
        return cls(**fields)

    def content(self) -> dict[str, Any]:
        """Content of a file about it."""
        content = asdict(self)
        if self.exponent is None:
            del content["exponent"]
        return content

    def totals(self, counts: Array) -> Array:
        """Counts `[..., number]` of its rows, or of several such parts, put together where they are in parts."""
        return counts if self.exponent is None else join_parts(counts, self.exponent)

    @property
    def name(self) -> tuple[str, tuple[int, ...], str, str]:
        """Identity in any state."""
        return self.kind, self.sets, self.model, self.bins


@dataclass(frozen=True, slots=True)
class Head:
    """Description of a state.

    `constants` are those that states must share to add. `sets` are the columns that tell the slices of each set apart.
    `modulus` is None where each unit is a block of its own; `hashed` says whether the part `units` holds the hashes of
    all units; if not, `units` says how many are in each block. `typed` are the columns whose type must be the same.
    `layout` is the same for states whose cells and slices have the same numbers. `states` are the content hashes of
    those that it was merged from, `text_units` says whether the hashes are those of texts. `drift` says what its counts
    for drift are about, where it has some. `plan` says which unit of a planned table it is of, or which are missing.
    """

    name: str
    suite: Mapping[str, Any]
    fingerprint: str
    versions: Mapping[str, Any]
    schema: str
    constants: Mapping[str, Any]
    parts: tuple[Part, ...]
    layout: str
    rows: Mapping[str, Any]
    sets: tuple[tuple[str, ...], ...]
    files: tuple[Mapping[str, Any], ...] = ()
    blocks: int | None = None
    modulus: int | None = None
    hashed: bool = False
    units: tuple[int, ...] = ()
    by_row: bool = False
    text_units: bool = False
    typed: tuple[str, ...] = ()
    queries_schema: str = ""
    states: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    drift: Mapping[str, Any] | None = None
    plan: Mapping[str, Any] | None = None
    format: int = FORMAT

    def text(self) -> str:
        """The head as JSON."""
        content = {item.name: getattr(self, item.name) for item in fields(self)}
        content["parts"] = [part.content() for part in self.parts]
        if self.plan is None:
            del content["plan"]
        return json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    @classmethod
    def read(cls, content: Mapping[str, Any]) -> Head:
        """The head from its JSON."""
        parts = tuple(Part.read(part) for part in content["parts"])
        tuples: dict[str, Any] = {
            key: tuple(content[key]) for key in ("files", "states", "warnings", "typed", "units")
        }
        tuples["sets"] = tuple(map(tuple, content["sets"]))
        return cls(**{**content, **tuples, "parts": parts})

    def numbers(self, *kinds: str) -> dict[int, Part]:
        """The parts of some kinds, by their number in the table."""
        return {number: part for number, part in enumerate(self.parts) if part.kind in kinds}

    def number(self, kind: str, sets: Sequence[int] = (), model: str = "", bins: str = "") -> int | None:
        """The number of a part, None where there is none."""
        name = (kind, tuple(sets), model, bins)
        return next((number for number, part in enumerate(self.parts) if part.name == name), None)

    def place(self, kind: str, sets: Sequence[int] = (), bins: str = "") -> int:
        """The number of a part that every such state has."""
        number = self.number(kind, sets, bins=bins)
        assert number is not None
        return number

    def cells_of(self, index: int) -> int:
        """The number of the part with the cells of a slice set."""
        return next(number for number, part in self.numbers("cells").items() if index in part.sets)


@dataclass(frozen=True, slots=True)
class SavedState:
    """A state: its head, its table, its name for people, and the hash of its content."""

    head: Head
    table: pl.DataFrame
    place: str = "a state"
    content: str = ""

    def of(self, number: int) -> pl.DataFrame:
        """Rows of one part, with its columns."""
        return self.table.filter(pl.col(PART) == number).select(self.head.parts[number].columns)

    def values(self, number: int) -> pl.DataFrame:
        """Key values of a part's cells, in the order of their numbers."""
        return self.of(number).sort(CELL).drop(CELL)


@dataclass(slots=True)
class Builder:
    """Builder of a table, part by part."""

    parts: list[Part] = field(default_factory=list)
    frames: list[pl.DataFrame] = field(default_factory=list)

    def add(self, part: Part, frame: pl.DataFrame) -> None:
        """Add the rows of a part."""
        number = pl.lit(len(self.parts), pl.UInt16).alias(PART)
        types = {**_NUMBERS, **LISTS}
        columns = [pl.col(name).cast(types[name]) if name in types else name for name in frame.columns]
        self.parts.append(replace(part, columns=tuple(frame.columns), rows=frame.height))
        self.frames.append(frame.select(number, *columns))

    def table(self) -> pl.DataFrame:
        """All rows."""
        return pl.concat(self.frames, how="diagonal")

    def layout(self) -> str:
        """Hash of the meaning of the numbers of parts, cells and slices."""
        digest = hashlib.sha256()
        for part, frame in zip(self.parts, self.frames, strict=True):
            digest.update(repr((part.name, part.size, part.columns)).encode())
            if part.kind in {"cells", "slices", "drift_cells"}:
                digest.update(frame_text(frame).encode())
        return digest.hexdigest()[:32]


def number_cells(frame: pl.DataFrame, cells: pl.DataFrame) -> pl.DataFrame:
    """Rows with the number of their cell in place of its keys; cell 0 where cells have no keys."""
    keys = [name for name in cells.columns if name != CELL]
    if keys:
        return left_join(frame, cells, keys, ordered=False).drop(keys)
    return frame.with_columns(pl.lit(0, dtype=pl.UInt32).alias(CELL))


def frame_text(frame: pl.DataFrame) -> str:
    """Text of a small frame, such as an empty one in place of a schema; without Python objects, which no file holds."""
    buffer = io.BytesIO()
    frame.select(pl.exclude(pl.Object)).rechunk().write_ipc(buffer)
    return base64.b64encode(buffer.getvalue()).decode()


def frame_of(text: str) -> pl.DataFrame:
    """The frame of a text.

    Raises:
        ValueError: it is the text of no frame.
    """
    try:
        return pl.read_ipc(io.BytesIO(base64.b64decode(text)))
    except OSError as error:  # of offsets that lead nowhere
        raise ValueError(str(error)) from error


@dataclass(frozen=True, slots=True)
class State:
    """Stored state: its head, its rows, and its file or the address of its object.

    `content` is the hash of what it holds: the same rows, suite and constants give the same, but for what drift adds
    within bins, which is rounded as it comes.
    """

    head: Head
    table: pl.DataFrame
    content: str
    path: Path | str | None = None

    @property
    def rows(self) -> int:
        """Number of rows behind the state."""
        total: int = self.head.rows["read"]
        return total

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings: no errors, but probably not meant."""
        return self.head.warnings

    def __repr__(self) -> str:
        return f"State({self.head.name!r}, rows={self.rows}, path={self.path})"
