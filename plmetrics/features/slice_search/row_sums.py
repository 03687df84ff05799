"""Numbers of each row for a search for slices, and dense sums of them by one integer key, batch by batch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plmetrics.catalogue.metric import Metric
from plmetrics.core.exact_sums import PARTS, SplitSums
from plmetrics.engine.aggregate.row_plan import BLOCK
from plmetrics.engine.aggregate.totals import atoms
from plmetrics.engine.run_plan import RunPlan
from plmetrics.states.moments import CENTRE
from plmetrics.states.state_format import BLOCK as COUNTED_BLOCK
from plmetrics.states.state_format import CELL
from plmetrics.table.checks import bad_rows, valid_column
from plmetrics.table.prediction_columns import LABEL

BAD = "bad"
_CODE = "@code|"
_SUM = "@sum|"
_DIGITS = "@searched"
ROWS = "@searched_rows"

Batch = dict[str, "NDArray[Any]"]


def code_column(number: int) -> str:
    """The column of the codes of a searched column."""
    return f"{_CODE}{number}"


def row_values(plan: RunPlan, metric: Metric, models: Iterable[str]) -> list[pl.Expr]:
    """Terms of a row in each sum of a metric's state, of some models, and whether the row is bad."""
    roles, weight = plan.table.roles, plan.table.weight
    apart = roles.missing == "drop_per_model"
    out = [] if apart else list(_counts("", pl.lit(value=True), weight, binary=roles.binary))
    for model in models:
        valid = pl.col(valid_column(model)) if apart else None
        if valid is not None:
            out += _counts(f"{model}|", valid, weight, binary=roles.binary)
        rows = plan.row_of(model)
        for atom in atoms([metric]).values():
            if weight is not None or atom.complement_of is None:
                out.append(atom.of_row(rows, weight, valid).alias(f"{model}|{atom.key}"))
    named = [value.name.prefix(_SUM) for value in out]
    bad = bad_rows(unlabelled=False).alias(BAD)
    return [*named, bad] if roles.missing == "error" else named


def centred_values(plan: RunPlan, metric: Metric, models: Iterable[str]) -> dict[str, pl.Expr]:
    """Terms of a row in each moment of a metric, of some models, about centres in columns; by name."""
    weight, apart = plan.table.weight, plan.table.roles.missing == "drop_per_model"
    out: dict[str, pl.Expr] = {}
    for model in models:
        row = plan.row_of(model)
        rows = replace(row, centres={key: pl.col(f"{CENTRE}{model}|{key}") for key in row.centres})
        valid = pl.col(valid_column(model)) if apart else None
        for atom in atoms([metric]).values():
            if atom.about is not None:
                out[f"{model}|{atom.key}"] = atom.of_row(rows, weight, valid)
    return {name: value.alias(f"{_SUM}{name}") for name, value in out.items()}


def _counts(prefix: str, valid: pl.Expr, weight: pl.Expr | None, *, binary: bool) -> Iterator[pl.Expr]:
    """Rows, their weight, and the weights of both classes; without weights derived ones are left out."""
    if prefix:
        yield valid.alias(f"{prefix}n")
    mass = valid if weight is None else pl.when(valid).then(weight).otherwise(0.0)
    if weight is not None:
        yield mass.alias(f"{prefix}weight")
    for name, label in (("positives", 1), ("negatives", 0)) if binary else ():
        member = pl.col(LABEL) == label
        if weight is not None:
            yield pl.when(member & valid).then(weight).otherwise(0.0).alias(f"{prefix}{name}")
        elif label:
            yield (member & valid).fill_null(value=False).alias(f"{prefix}{name}")


def sum_names(columns: Iterable[str]) -> list[str]:
    """The names of the sums among the columns of a batch."""
    return [name.removeprefix(_SUM) for name in columns if name.startswith(_SUM)]


def by_block(rows: pl.DataFrame) -> Batch:
    """Columns of a batch, in the order of its blocks, for sums near each other in memory."""
    order = np.argsort(rows[BLOCK].to_numpy(), kind="stable")
    return {name: rows[name].to_numpy()[order] for name in rows.columns if name != BAD}


class GroupingSums:
    """The sums of the cells of some columns by block, as dense arrays `[block, cell]`.

    Those that have exponents are the same in any order of the rows. Sums of a name are there without any row, too.
    """

    def __init__(
        self,
        columns: Sequence[int],
        sizes: Sequence[int],
        blocks: int,
        exponents: Mapping[str, int],
        names: Iterable[str] = (),
    ) -> None:
        self._columns = columns
        self._sizes = sizes
        self._cells = math.prod(sizes)
        self._blocks = blocks
        self._rows = np.zeros(self._cells * blocks, dtype=np.int64)
        self._sums: dict[str, NDArray[np.float64]] = {}
        self._exponents = exponents
        self._parts: dict[str, SplitSums] = {}
        for name in names:
            self._target(name)

    def add(self, batch: Mapping[str, NDArray[Any]]) -> None:
        """Add the rows of a batch."""
        key = batch[BLOCK].astype(np.int64)
        for number, size in zip(self._columns, self._sizes, strict=True):
            key *= size
            key += batch[code_column(number)]
        self._rows += np.bincount(key, minlength=len(self._rows))
        for name in sum_names(batch):
            for target, part in self._accumulators(name, batch[f"{_SUM}{name}"]):
                np.add(target, np.bincount(key, weights=part, minlength=len(target)), out=target)

    def counts(self) -> pl.DataFrame:
        """Counts by cell and block, in additive form; see `add_counts`."""
        place = np.flatnonzero(self._rows)
        block, cell = np.divmod(place, self._cells)
        columns = {CELL: cell, COUNTED_BLOCK: block, ROWS: self._rows[place]}
        for name, sums in self._sums.items():
            digits = self._parts[name].digits() if name in self._parts else (sums,)
            columns |= {f"{_DIGITS}{number}|{name}": part[place] for number, part in enumerate(digits)}
        return pl.DataFrame(columns)

    def add_counts(self, counted: pl.DataFrame) -> None:
        """Add the counts of other rows with the same cells and blocks."""
        columns = {name: counted[name].to_numpy() for name in counted.columns}
        place = columns[COUNTED_BLOCK].astype(np.int64) * self._cells + columns[CELL].astype(np.int64)
        self._rows[place] += columns[ROWS]
        first = f"{_DIGITS}0|"
        for name in (name.removeprefix(first) for name in columns if name.startswith(first)):
            sums, digits = self._target(name), [columns[f"{first}{name}"]]
            if name in self._parts:
                digits += [columns[f"{_DIGITS}{number}|{name}"] for number in range(1, PARTS)]
                self._parts[name].add(place, digits)
            else:
                sums[place] += digits[0]

    def _target(self, name: str) -> NDArray[np.float64]:
        if name not in self._sums:
            self._sums[name] = np.zeros(len(self._rows))
            if name in self._exponents:
                self._parts[name] = SplitSums(self._sums[name], self._exponents[name])
        return self._sums[name]

    def _accumulators(
        self, name: str, values: NDArray[Any]
    ) -> Iterable[tuple[NDArray[np.float64], NDArray[Any]]]:
        """Accumulator arrays, with their summands."""
        self._target(name)
        return self._parts[name].cut(values) if name in self._parts else [(self._sums[name], values)]

    def nonempty_entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64], pl.DataFrame]:
        """Cell, block and sums of nonempty entries; `n` counts all rows unless models have rows of their own."""
        for parts in self._parts.values():
            parts.join()
        place = np.flatnonzero(self._rows)
        sums = pl.DataFrame({name: column[place] for name, column in self._sums.items()})
        if not any(name.endswith("|n") for name in sums.columns):
            sums = sums.with_columns(pl.Series("n", self._rows[place]))
        block, cell = np.divmod(place, self._cells)
        return cell, block, sums
