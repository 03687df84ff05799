"""Numbers and weights of rows for tables of sums by bins, and the bins of these numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.core.ops import Array
from plmetrics.engine.prepare.bin_edges import number_of
from plmetrics.states.bin_sums import (
    ARM_SUMS,
    SQUARE,
    SQUARED_WEIGHT,
    WEIGHT,
    BinTable,
    centre_of,
    edges_of,
    sum_name,
    tables_of,
)
from plmetrics.states.scores.bin_lookup import FixedBins, Keys

if TYPE_CHECKING:
    from plmetrics.engine.run_plan import RunPlan
    from plmetrics.states.sums import Rows
    from plmetrics.table.slices import Slices


class Job(NamedTuple):
    """Table of a model and some slices: the number of their set, and that of the first of them in it."""

    model: str
    table: BinTable
    number: int
    first: int
    slices: Slices


class NumberBins:
    """Bins of a number: each up to its upper edge, inclusive; in a histogram from its lower edge.

    >>> NumberBins(np.array([0.0, 1.0])).places(np.array([-1.0, 0.0, 0.5, 1.5])).tolist()
    [0, 0, 1, 2]
    >>> NumberBins(np.array([0.0, 1.0, 2.0]), histogram=True).places(np.array([0.0, 1.0, 2.0])).tolist()
    [0, 1, 1]
    """

    def __init__(self, edges: Array, *, histogram: bool = False) -> None:
        self._edges = np.nextafter(edges[1:-1], -np.inf) if histogram else edges
        self._keys = Keys.of(self._edges, even_first=True)
        self._fixed = FixedBins.at(self._edges, self._keys)

    @property
    def size(self) -> int:
        """Number of bins."""
        return len(self._edges) + 1

    def places(self, numbers: Array) -> NDArray[np.uint16]:
        """The bin of each number; above all edges where it is NaN."""
        numbers = np.where(np.isnan(numbers), np.inf, numbers)
        return self._fixed.bins(numbers, self._keys(numbers))

    def expression(self, number: pl.Expr) -> pl.Expr:
        """The bin of a number of each row."""
        return number.map_batches(
            lambda numbers: pl.Series(self.places(numbers.to_numpy())),
            return_dtype=pl.UInt16,
            is_elementwise=True,
        )


def bins_of(edges: Mapping[str, Array], model: str, key: str) -> NumberBins:
    """The bins of a key of a table."""
    return NumberBins(edges_of(edges, model, key), histogram=key.endswith("histogram"))


def is_class(key: str) -> bool:
    """Whether the bins of a key are classes."""
    return key.endswith("class")


def number_column(model: str, key: str) -> str:
    """Column of the binned number of a key."""
    return f"@{'class' if is_class(key) else 'number'}|{model}|{key.split(maxsplit=1)[0]}"


def key_number(plan: RunPlan, model: str, key: str) -> pl.Expr:
    """Values of the binned number of a key; 0 for no class, as rows without one are refused after the scan."""
    number = number_of(plan.row_of(model), key.split(maxsplit=1)[0], plan.request.suite)
    return number.cast(pl.UInt32, strict=False).fill_null(0) if is_class(key) else number.cast(pl.Float64)


def run_tables(plan: RunPlan) -> tuple[BinTable, ...]:
    """The tables of a run."""
    curves = (curve.curve for curve in plan.request.suite.bin_curves)
    return tables_of(curves, blocks=plan.blocks is not None)


def set_places(plan: RunPlan) -> Iterator[tuple[int, int, Slices]]:
    """Slices of a run, with the number of their set and that of the first of them in it."""
    offset: dict[int, int] = {}
    for slices in plan.slices:
        number = plan.number_of(slices)
        yield number, offset.get(number, 0), slices
        offset[number] = offset.get(number, 0) + len(slices)


def bin_values(plan: RunPlan, model: str, table: BinTable) -> dict[str, pl.Expr]:
    """Terms of each row in the sums of a table, by column."""
    row = plan.row_of(model)
    values: dict[str, pl.Expr] = {}
    if row.weight is not None:
        values = {WEIGHT: row.weight, SQUARED_WEIGHT: row.weight * row.weight}
    for name in table.sums:
        value = _value(plan, model, row, name)
        values[name] = value if row.weight is None else value * row.weight
    return {sum_name(model, table.name, name): value.cast(pl.Float64) for name, value in values.items()}


def _value(plan: RunPlan, model: str, row: Rows, name: str) -> pl.Expr:
    if name in ARM_SUMS:
        arm = row.treated if name.startswith("treated") else ~row.treated
        return arm.cast(pl.Float64) if name == "treated" else pl.when(arm).then(row.label).otherwise(0.0)
    number = name.removesuffix(SQUARE)
    value = number_of(row, number, plan.request.suite) - centre_of(plan.bin_edges, model, number)
    return value * value if name.endswith(SQUARE) else value


def table_sizes(plan: RunPlan) -> Iterator[tuple[int, int]]:
    """Upper bound of the rows of each table, and its columns: the number of rows, or of bins in slices, if smaller."""
    rows, classes = plan.rows.read, len(plan.request.classes)
    for model, table, _, _, slices in table_jobs(plan):
        places = len(slices)
        for key in table.keys:
            places *= classes if is_class(key) else len(edges_of(plan.bin_edges, model, key)) + 1
        yield min(rows, places if not table.blocks else rows), len(table.keys) + len(table.sums) + 2


def table_jobs(plan: RunPlan) -> Iterator[Job]:
    """Tables of sums by bins, by model and slices."""
    suite = plan.request.suite
    drawn: dict[str, set[str]] = {}
    for curve in suite.bin_curves:
        for table in tables_of([curve.curve], blocks=True):
            drawn.setdefault(table.name, {"overall"}).update(curve.slices)
    baseline = None if suite.compare is None else suite.compare.baseline
    for number, first, slices in set_places(plan):
        for model in plan.request.models:
            for table in run_tables(plan):
                if slices.slice_set.name in drawn[table.name] and not (table.queries and model == baseline):
                    yield Job(model, table, number, first, slices)
