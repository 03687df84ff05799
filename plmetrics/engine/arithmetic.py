"""Addition of floats: in the order of rows, or reproducible to the last bit in any order.

What the order of rows may change asks here, and nothing else asks whether it may show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.exact_sums import Addition, exponent_of
from plmetrics.engine.streaming import node_aggregates

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Arithmetic of a run: with `any_order` results are the same to the last bit in any order of the rows."""

    any_order: bool

    def addition(self, frame: pl.LazyFrame, values: Mapping[str, pl.Expr]) -> Question[Addition]:
        """Question about the addition of values of rows, with their bounds in reproducible runs."""
        if not self.any_order:
            return Addition()
        return Addition((yield from exponents_in(frame, values)))

    def means(self, frame: pl.LazyFrame, values: Mapping[str, pl.Expr]) -> Question[dict[str, float]]:
        """Means of the finite values; 0 where there are none."""
        if not self.any_order:
            means = [value.filter(value.is_finite()).mean().alias(name) for name, value in values.items()]
            (row,) = yield [frame.select(means)]
            return {name: float(mean or 0.0) for name, mean in row.row(0, named=True).items()}
        addition = yield from self.addition(frame, values)
        finite = {name: pl.when(value.is_finite()).then(value) for name, value in values.items()}
        plans = [
            frame.select(value.count().cast(pl.Int64).alias("n"), *addition.sums({name: value}))
            for name, value in finite.items()
        ]
        sums = [addition.totals(frame).row(0) for frame in (yield plans)]
        return {
            name: total / rows if rows and isfinite(total) else 0.0
            for name, (rows, total) in zip(finite, sums, strict=True)
        }

    def rows(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows in canonical order, for results independent of the order of rows."""
        return frame.sort(frame.columns) if self.any_order else frame

    def sort(self, rows: pl.LazyFrame, by: str) -> pl.LazyFrame:
        """Rows ascending by one of their columns; equal ones in an order of their own."""
        names = rows.collect_schema().names() if self.any_order else ()
        return rows.sort(by, *(name for name in names if name != by))

    def sample(self, rows: pl.LazyFrame, step: int, names: Iterable[str]) -> pl.LazyFrame:
        """Every k-th row; in any order of the rows, about as many by a hash of some columns."""
        from plmetrics.table.sampling import by_content, every_kth

        if step == 1:
            return rows
        return by_content(rows, step, names) if self.any_order else every_kth(rows, step)


def largest(frame: pl.LazyFrame, values: Mapping[str, pl.Expr]) -> Question[dict[str, float]]:
    """Largest absolute value of finite values; 0 without any."""
    aggregates = [
        pl.when(value.is_finite()).then(value.abs()).max().cast(pl.Float64).alias(name)
        for name, value in values.items()
    ]
    maxima: dict[str, float] = {}
    for row in (yield [frame.select(part) for part in node_aggregates(aggregates)]):
        maxima |= {name: most or 0.0 for name, most in row.row(0, named=True).items()}
    return maxima


def exponents_in(frame: pl.LazyFrame, values: Mapping[str, pl.Expr]) -> Question[dict[str, int]]:
    """The exponents of sums of some values."""
    most = yield from largest(frame, values)
    return {name: exponent_of(number) for name, number in most.items()}
