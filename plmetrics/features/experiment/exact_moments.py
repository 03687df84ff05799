"""Sizes, means and variances of the arms of an experiment that are the same, to the last bit, in any order of rows.

Means come first, from exact sums, then the squares of what lies around them: two passes with a look at sizes before
each, instead of one whose last digits depend on the order of the rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.exact_sums import exact_columns, exponent_of, fixed_sums, ordered_sum
from plmetrics.engine.arithmetic import exponents_in, largest
from plmetrics.engine.inquiry import answer
from plmetrics.engine.streaming import collected_frame, collected_frames

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_ROWS = "rows"
_MEAN, _AROUND, _SIZE = "@mean|", "@around|", "@size|"


def exact_moments(
    rows: pl.LazyFrame, values: Sequence[pl.Expr], sets: Sequence[Sequence[str]], unit: str | None
) -> list[pl.DataFrame]:
    """For each set of keys and its groups: `n|i`, `units|i`, `mean|i` and `variance|i` of the i-th value.

    Args:
        rows: with the keys and the unit.
        values: numbers of a row, null where it has none.
        sets: names of keys.
        unit: the column of units; rows are units without one. The variance of the mean is then that of a ratio of two
            sums over units, by the delta method.
    """
    numbers = {f"{number}": value for number, value in enumerate(values)}
    most = answer(largest(rows, numbers))
    means = _means(rows, numbers, sets, {name: exponent_of(value) for name, value in most.items()})
    around = [_around(rows, numbers, keys, mean) for keys, mean in zip(sets, means, strict=True)]
    if unit is not None:
        powers = {name: exponent_of(2 * value) for name, value in most.items()}
        around = [_by_unit(frame, [*keys, unit], powers) for keys, frame in zip(sets, around, strict=True)]
    squares = _squares(around, list(numbers), sets)
    return [
        _moments(
            mean.join(square, on=keys, nulls_equal=True), keys, list(numbers), clustered=unit is not None
        )
        for keys, mean, square in zip(sets, means, squares, strict=True)
    ]


def _means(
    rows: pl.LazyFrame,
    numbers: Mapping[str, pl.Expr],
    sets: Sequence[Sequence[str]],
    exponents: Mapping[str, int],
) -> list[pl.DataFrame]:
    """The mean of each value by group, and of how many."""
    staged = rows.with_columns(value.alias(f"{_AROUND}{name}") for name, value in numbers.items())
    summed = [pl.len().cast(pl.Int64).alias(_ROWS)]
    for name, power in exponents.items():
        value = pl.col(f"{_AROUND}{name}")
        size = value.count().cast(pl.Int64).alias(f"{_SIZE}{name}")
        summed += [size, value.sum().alias(name), *fixed_sums(name, value, power)]
    plans = {f"{place}": staged.group_by(keys).agg(summed) for place, keys in enumerate(sets)}
    return [
        _exact(frame, exponents).with_columns(
            pl.when(pl.col(f"{_SIZE}{name}") > 0).then(pl.col(name) / pl.col(f"{_SIZE}{name}")).alias(name)
            for name in numbers
        )
        for frame in collected_frames(plans).values()
    ]


def _around(
    rows: pl.LazyFrame, numbers: Mapping[str, pl.Expr], keys: Sequence[str], means: pl.DataFrame
) -> pl.LazyFrame:
    """How far each value lies above the mean of its group."""
    means_of_groups = means.select(*keys, *(pl.col(name).alias(f"{_MEAN}{name}") for name in numbers)).lazy()
    joined = rows.join(means_of_groups, on=keys, how="left", nulls_equal=True)
    return joined.with_columns(
        (value - pl.col(f"{_MEAN}{name}")).alias(f"{_AROUND}{name}") for name, value in numbers.items()
    )


def _by_unit(frame: pl.LazyFrame, keys: Sequence[str], exponents: Mapping[str, int]) -> pl.LazyFrame:
    """The sums of each unit; null where it has no value."""
    totals = []
    for name, power in exponents.items():
        value = pl.col(f"{_AROUND}{name}")
        totals.append(pl.when(value.count() > 0).then(ordered_sum(value, power)).alias(f"{_AROUND}{name}"))
    return frame.group_by(keys).agg(totals)


def _squares(
    around: Sequence[pl.LazyFrame], names: Sequence[str], sets: Sequence[Sequence[str]]
) -> Iterator[pl.DataFrame]:
    """The sums of squares by group, and of how many."""
    squares = {name: pl.col(f"{_AROUND}{name}") ** 2 for name in names}
    for keys, frame in zip(sets, around, strict=True):
        exponents = answer(exponents_in(frame, squares))
        summed = [pl.len().cast(pl.Int64).alias(_ROWS)]
        for name in names:
            column = f"{_AROUND}{name}"
            staged = pl.col(column)
            summed += [staged.count().cast(pl.Int64).alias(f"units|{name}"), staged.sum().alias(column)]
            summed += fixed_sums(column, staged, exponents[name])
        squared = frame.with_columns(square.alias(f"{_AROUND}{name}") for name, square in squares.items())
        sums = collected_frame(squared.group_by(keys).agg(summed))
        yield _exact(sums, {f"{_AROUND}{name}": power for name, power in exponents.items()}).drop(_ROWS)


def _exact(frame: pl.DataFrame, exponents: Mapping[str, int]) -> pl.DataFrame:
    return pl.DataFrame([column for _, column in exact_columns(frame, exponents)])


def _moments(
    frame: pl.DataFrame, keys: Sequence[str], names: Sequence[str], *, clustered: bool
) -> pl.DataFrame:
    """What a readout reads, from means and sums of squares around them."""
    out = []
    for name in names:
        size, units = (pl.col(f"{kind}{name}").cast(pl.Float64) for kind in (_SIZE, "units|"))
        square, some = pl.col(f"{_AROUND}{name}"), pl.col(f"units|{name}") > 1
        variance = units / (units - 1) * square / (size * size) if clustered else square / (size - 1) / size
        out += [
            size.alias(f"n|{name}"),
            units.alias(f"units|{name}"),
            pl.col(name).alias(f"mean|{name}"),
            pl.when(some).then(variance).alias(f"variance|{name}"),
        ]
    return frame.select(*keys, *out)
