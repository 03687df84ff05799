"""Tables of sums by bins of numbers of rows: which ones curves of labels and predictions are drawn from.

A table has a row for each slice and combination of bins. Its keys name sets of bins, such as `score` and
`label histogram`: the first word is the number of a row that bins are of, the others say which of its edges are meant.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

CONFUSION = "classes"
EFFECTS, EFFECT_BLOCKS = "effects", "effects by block"


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
        """The numbers of a row that are added about a centre."""
        return tuple(dict.fromkeys(name.removesuffix(SQUARE) for name in self.sums if name not in ARM_SUMS))


SQUARE = " squared"
ARM_SUMS = ("treated", "treated outcome", "control outcome")
_BY_SCORE = BinTable("by score", ("score",))
_CONDITIONAL = ("score", "label", "label squared")

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
