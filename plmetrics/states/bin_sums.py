"""Sums by bins of row numbers for curves: by model and slice set, slice by slice.

A table has a row for each slice and combination of bins. Its keys name sets of bins, such as `score` and
`label histogram`: the first word is the number of a row that bins are of, the others say which of its edges are meant.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.ops import Array, Codes
from plmetrics.states.state_format import BLOCK, CELL, Builder, Part, SavedState

CONFUSION = "classes"
EFFECTS, EFFECT_BLOCKS = "effects", "effects by block"

SQUARE = " squared"
ARM_SUMS = ("treated", "treated outcome", "control outcome")
_CONDITIONAL = ("score", "label", "label squared")
Edges = dict[str, Array]
KIND = "bins"
"""The kind of their parts in a state."""
BINS = ("@bin", "@second_bin")
ROWS = "n"
WEIGHT, SQUARED_WEIGHT = "weight", "weight squared"
QUERY = "@query"
"""The name of a query that has a row of its own."""
LOW, LOW_QUERY, HIGH, HIGH_QUERY = "@low", "@low_query", "@high", "@high_query"
"""The lowest and the highest number of a bin, and the first of the queries that have it."""
KEYS = (CELL, *BINS, BLOCK, QUERY)
BY_QUERY = "queries"
"""Stand-in for edges where each query has a row of its own."""
Name = tuple[str, str, int]
"""The model, the table, and the number of the slice set."""


@dataclass(frozen=True, slots=True)
class BinTable:
    """Sums of rows by some bins; with `blocks` by the block of a row as well.

    With `queries` rows are queries whose names are there: of all, or of those with the ends of a bin.

    `sums` are numbers of a row, or their products, of which each row adds one: see `engine.aggregate.bin_sums`.
    """

    name: str
    keys: tuple[str, ...]
    sums: tuple[str, ...] = ()
    blocks: bool = False
    queries: bool = False

    @property
    def numbers(self) -> tuple[str, ...]:
        """Summed numbers of a row, added about a centre."""
        return tuple(dict.fromkeys(name.removesuffix(SQUARE) for name in self.sums if name not in ARM_SUMS))


_BY_SCORE = BinTable("by score", ("score",))

TABLES: dict[str, tuple[BinTable, ...]] = {
    "confusion": (BinTable(CONFUSION, ("label class", "score class")),),
    "residual_histogram": (BinTable("error histogram", ("error histogram",)),),
    "label_histogram": (BinTable("label histogram", ("label histogram",)),),
    "residual_qq": (BinTable("by error", ("error",), ("error", "error squared")),),
    "conditional_label": (replace(_BY_SCORE, sums=_CONDITIONAL),),
    "residual_prediction": (replace(_BY_SCORE, sums=("score", "error", "error squared")),),
    "conditional_prediction": (BinTable("by label", ("label",), ("label", "score", "score squared")),),
    "conditional_recall": (BinTable("scores by label", ("label joint", "score by label"), ("label",)),),
    "residual_quantiles": (BinTable("errors by score", ("score joint", "error joint"), ("score", "error")),),
    "effect_calibration": (
        BinTable(EFFECTS, ("score",), ("score", *ARM_SUMS)),
        BinTable(EFFECT_BLOCKS, ("score block",), ARM_SUMS, blocks=True),
    ),
    "query_differences": (BinTable("differences", ("difference",), ("difference",), queries=True),),
}
"""The tables of each curve."""


def tables_of(curves: Iterable[str], *, blocks: bool) -> tuple[BinTable, ...]:
    """The tables of some curves, each once with all sums; those by block only where there are blocks."""
    tables: dict[str, BinTable] = {}
    for curve in curves:
        for table in TABLES[curve]:
            if table.blocks and not blocks:
                continue
            there = tables.setdefault(table.name, table)
            tables[table.name] = replace(there, sums=tuple(dict.fromkeys([*there.sums, *table.sums])))
    return tuple(tables.values())


def sum_name(model: str, table: str, name: str) -> str:
    """The column of a sum.

    >>> sum_name("m", "by score", "label")
    'm|by score|label'
    """
    return f"{model}|{table}|{name}"


def edges_of(edges: Mapping[str, Array], model: str, key: str) -> Array:
    """The edges of a set of bins of a model's rows; those of all bins of the number where a set has none.

    Bins end with their upper edges, and one more lies above the last.
    """
    bins = edges.get(f"{model}|{key}")
    return edges[f"{model}|{key.split(maxsplit=1)[0]}"] if bins is None else bins


def centre_of(edges: Mapping[str, Array], model: str, number: str) -> float:
    """Centre of the summed numbers, against lost digits at large offsets."""
    return float(edges[f"{model}|{number} centre"][0])


def edges_text(edges: Mapping[str, Array]) -> dict[str, str]:
    """Edges as texts of the same bits.

    >>> edges_from(edges_text({"m|score": np.array([0.1, 2.0])}))
    {'m|score': array([0.1, 2. ])}
    """
    return {name: base64.b64encode(values.astype("<f8").tobytes()).decode() for name, values in edges.items()}


def edges_from(texts: Mapping[str, str]) -> Edges:
    """Edges from their texts."""
    return {name: np.frombuffer(base64.b64decode(text), dtype="<f8") for name, text in texts.items()}


def add_frames(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Tables of the same columns, added by their keys."""
    every = pl.concat(frames)
    keys = [name for name in KEYS if name in every.columns]
    ends = end_expressions(LOW, HIGH, LOW_QUERY, HIGH_QUERY) if LOW in every.columns else []
    others = (name for name in every.columns if name not in {*keys, LOW, LOW_QUERY, HIGH, HIGH_QUERY})
    return every.group_by(keys).agg(*(pl.col(name).sum() for name in others), *ends).sort(keys)


def end_expressions(low: str, high: str, low_query: str, high_query: str) -> list[pl.Expr]:
    """The ends of a group, from those of its rows, and the first by name of the queries at each."""
    least, most = pl.col(low).min(), pl.col(high).max()
    return [
        least.alias(LOW),
        pl.col(low_query).filter(pl.col(low) == least).min().alias(LOW_QUERY),
        most.alias(HIGH),
        pl.col(high_query).filter(pl.col(high) == most).min().alias(HIGH_QUERY),
    ]


@dataclass(frozen=True, slots=True)
class SliceBins:
    """Sums of one slice: an entry for each nonempty combination of bins, ascending.

    `places` are the numbers of its bins by key, and `edges` those of the keys. `sums` of numbers are about `centres`.
    `queries` are the columns with names of queries, where there are some.
    """

    places: tuple[Codes, ...]
    edges: tuple[Array, ...]
    rows: Array
    weight: Array
    squared_weight: Array
    sums: Mapping[str, Array]
    centres: Mapping[str, float]
    block: NDArray[np.uint64] | None = None
    queries: pl.DataFrame | None = None

    def upper(self, key: int = 0) -> Array:
        """The upper edge of each entry's bin; infinite above the last edge."""
        return np.append(self.edges[key], np.inf)[self.places[key]]

    def mean(self, number: str, groups: Codes | None = None, size: int = 0) -> Array:
        """The mean of a number by entry, or by group of entries."""
        groups, size = (np.arange(len(self.rows)), len(self.rows)) if groups is None else (groups, size)
        mass, total = (
            np.bincount(groups, weights=each, minlength=size) for each in (self.weight, self.sums[number])
        )
        return self.centres[number] + np.divide(total, mass, out=np.zeros(size), where=mass > 0)


@dataclass(slots=True)
class BinSums:
    """Tables by model, name of the table and slice set; slices are numbered within their set.

    `exact_totals` turns a table of a state into one of totals.
    """

    tables: Mapping[str, BinTable] = field(default_factory=dict)
    frames: dict[Name, pl.DataFrame] = field(default_factory=dict)
    edges: Mapping[str, Array] = field(default_factory=dict)

    def slices(self, model: str, table: str, number: int, first: int, size: int) -> Iterator[SliceBins]:
        """The sums of the slices of a set, from the first one on so many."""
        frame, columns = self.frames[model, table, number], self.tables[table]
        cells = frame[CELL].to_numpy()
        ends = np.searchsorted(cells, np.arange(first, first + size + 1))
        edges = tuple(
            np.zeros(0) if key.endswith("class") else edges_of(self.edges, model, key) for key in columns.keys
        )
        centres = {name: centre_of(self.edges, model, name) for name in columns.numbers}
        for low, high in pairwise(ends.tolist()):
            part = frame[low:high]
            rows = part[ROWS].to_numpy().astype(np.float64)
            sums = {
                name: part[sum_name(model, table, name)].to_numpy()
                for name in (*columns.sums, WEIGHT, SQUARED_WEIGHT)
                if sum_name(model, table, name) in part.columns
            }
            yield SliceBins(
                tuple(part[BINS[key]].to_numpy().astype(np.int64) for key in range(len(columns.keys))),
                edges,
                rows,
                sums.pop(WEIGHT, rows),
                sums.pop(SQUARED_WEIGHT, rows),
                sums,
                centres,
                part[BLOCK].to_numpy() if columns.blocks else None,
                part if columns.queries else None,
            )


def write_bins(builder: Builder, frames: Mapping[Name, pl.DataFrame]) -> None:
    """Add the parts of bin tables to a state."""
    for (model, table, number), frame in frames.items():
        builder.add(Part(KIND, (number,), model, table), frame)


def read_bins(saved: SavedState) -> dict[Name, pl.DataFrame]:
    """Bin tables of a state."""
    return {
        (part.model, part.bins, part.sets[0]): saved.of(number)
        for number, part in saved.head.numbers(KIND).items()
    }
