"""Sizes, means and variances of the arms of an experiment, equal to the last bit in any order of rows.

Means come first, from exact sums, then the squares of what lies around them: two passes with a look at sizes before
each, instead of one whose last digits depend on the order of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import polars as pl

from plmetrics.core.exact_sums import exact_columns, exponent_of, fixed_sums, ordered_sum
from plmetrics.engine.arithmetic import exponents_in, largest
from plmetrics.engine.inquiry import answer
from plmetrics.engine.streaming import collected_frame, collected_frames
from plmetrics.features.experiment.outcomes import COVARIATE, SIZES, VALUE, part_column
from plmetrics.table.joins import inner_join, left_join

Outcomes = Sequence[Mapping[str, pl.Expr]]

_ROWS = "rows"
_ENTRIES, _RATIO, _AROUND, _HAS_VALUE = "@entries", "@ratio", "@around", "@has_value"
_SHARE = "@share"
"""Of a row, or of a unit, in the sizes of its cell."""
_PRODUCTS = {
    "variance": (VALUE, VALUE),
    "covariate_variance": (COVARIATE, COVARIATE),
    "covariance": (VALUE, COVARIATE),
}


def exact_moments(
    rows: pl.LazyFrame,
    outcomes: Outcomes,
    sets: Sequence[Sequence[str]],
    unit: str | None,
    *,
    separate: bool = False,
) -> list[pl.DataFrame]:
    """Moments, as by `moments`, for each set of keys and its cells; `separate` as in `experiment_sums`."""
    rows = rows.with_columns(value for numbers in outcomes for value in numbers.values())
    names = {part_column(part, index) for index, numbers in enumerate(outcomes) for part in numbers}
    most = answer(largest(rows, {name: pl.col(name) for name in sorted(names)}))
    exponents = {name: exponent_of(value) for name, value in most.items()}
    ratios = _ratios(rows, outcomes, sets, exponents, separate=separate)
    sized = {
        index: _averages(numbers, index)[0][2]
        for index, numbers in enumerate(outcomes)
        if unit is not None or SIZES[VALUE] in numbers
    }
    around = [_around(rows, outcomes, keys, frame, sized) for keys, frame in zip(sets, ratios, strict=True)]
    if unit is not None:
        powers = _powers(outcomes, most, ratios) | _share_powers(sized, most, ratios)
        around = [_by_unit(frame, [*keys, unit], powers) for keys, frame in zip(sets, around, strict=True)]
    squares = _squares(around, outcomes, sets, sized)
    return [
        _moments(inner_join(frame, square, keys), keys, outcomes, sized)
        for keys, frame, square in zip(sets, ratios, squares, strict=True)
    ]


def _averages(numbers: Mapping[str, pl.Expr], index: int) -> list[tuple[str, str, str]]:
    """Averages by part: the column, and that of its sizes; numbers of values where there are none."""
    return [
        (
            part,
            part_column(part, index),
            part_column(SIZES[part], index) if SIZES[part] in numbers else f"{_ENTRIES}|{index}",
        )
        for part in SIZES
        if part in numbers
    ]


def _ratios(
    rows: pl.LazyFrame,
    outcomes: Outcomes,
    sets: Sequence[Sequence[str]],
    exponents: Mapping[str, int],
    *,
    separate: bool,
) -> list[pl.DataFrame]:
    """Sums of each number by cell, their numbers of values, and the ratios of outcomes and covariates."""
    summed = [pl.len().cast(pl.Int64).alias(_ROWS)]
    for name, power in exponents.items():
        summed += [pl.col(name).sum(), *fixed_sums(name, pl.col(name), power)]
    summed += [
        pl.col(part_column(VALUE, index)).count().cast(pl.Float64).alias(f"{_ENTRIES}|{index}")
        for index in range(len(outcomes))
    ]
    ratios = [
        pl.when(pl.col(size) != 0).then(pl.col(value) / pl.col(size)).alias(f"{_RATIO}{value}")
        for index, numbers in enumerate(outcomes)
        for _, value, size in _averages(numbers, index)
    ]
    plans = {f"{place}": rows.group_by(keys).agg(summed) for place, keys in enumerate(sets)}
    frames = collected_frames(plans, separate=separate).values()
    return [_exact(frame, exponents).with_columns(ratios) for frame in frames]


def _around(
    rows: pl.LazyFrame,
    outcomes: Outcomes,
    keys: Sequence[str],
    ratios: pl.DataFrame,
    sized: Mapping[int, str],
) -> pl.LazyFrame:
    """Residual of each row about the ratio of its cell, null without one, and whether the row has a value.

    Outcomes with sizes have the row's share of those of its cell as well.
    """
    totals = (pl.col(size).alias(f"{_SHARE}|{index}") for index, size in sized.items())
    joined = left_join(
        rows, ratios.lazy().select(*keys, pl.col(f"^{_RATIO}.*$"), *totals), keys, ordered=False
    )
    shares = []
    for index, size in sized.items():
        whole, value = pl.col(f"{_SHARE}|{index}"), pl.col(part_column(VALUE, index))
        part = value.is_not_null().cast(pl.Float64) if size.startswith(_ENTRIES) else pl.col(size)
        shares.append(pl.when(whole != 0).then(part / whole).alias(f"{_SHARE}|{index}"))
    columns = [
        (
            pl.col(value) - pl.col(f"{_RATIO}{value}") * (pl.col(size) if SIZES[part] in numbers else 1.0)
        ).alias(f"{_AROUND}{value}")
        for index, numbers in enumerate(outcomes)
        for part, value, size in _averages(numbers, index)
    ]
    has_value = (
        pl.col(part_column(VALUE, index)).is_not_null().alias(f"{_HAS_VALUE}|{index}")
        for index in range(len(outcomes))
    )
    return joined.with_columns(*columns, *has_value, *shares)


def _powers(outcomes: Outcomes, most: Mapping[str, float], ratios: Sequence[pl.DataFrame]) -> dict[str, int]:
    """The exponents of the rows' addends other than those of ratios."""
    powers = {}
    for index, numbers in enumerate(outcomes):
        for part, value, size in _averages(numbers, index):
            steepest = max(abs(ratio or 0.0) for frame in ratios for ratio in frame[f"{_RATIO}{value}"])
            largest_size = most[size] if SIZES[part] in numbers else 1.0
            powers[f"{_AROUND}{value}"] = exponent_of(most[value] + steepest * largest_size)
    return powers


def _share_powers(
    sized: Mapping[int, str], most: Mapping[str, float], ratios: Sequence[pl.DataFrame]
) -> dict[str, int]:
    """The exponents of the rows' shares of sizes."""
    powers = {}
    for index, size in sized.items():
        least = min((abs(total) for frame in ratios for total in frame[size] if total), default=1.0)
        powers[f"{_SHARE}|{index}"] = exponent_of(most.get(size, 1.0) / least)
    return powers


def _by_unit(frame: pl.LazyFrame, keys: Sequence[str], exponents: Mapping[str, int]) -> pl.LazyFrame:
    """The sums of each unit, null where it has no value, and whether it has one."""
    return frame.group_by(keys).agg(
        pl.col(f"^{_HAS_VALUE}.*$").any(),
        *(
            pl.when(pl.col(name).count() > 0).then(ordered_sum(pl.col(name), power)).alias(name)
            for name, power in exponents.items()
        ),
    )


def _squares(
    around: Sequence[pl.LazyFrame],
    outcomes: Outcomes,
    sets: Sequence[Sequence[str]],
    sized: Mapping[int, str],
) -> Iterator[pl.DataFrame]:
    """The sums of squares and products by cell, and the units."""
    products = {
        f"{name}|{index}": pl.col(f"{_AROUND}{part_column(one, index)}")
        * pl.col(f"{_AROUND}{part_column(other, index)}")
        for index, numbers in enumerate(outcomes)
        for name, (one, other) in _PRODUCTS.items()
        if one in numbers and other in numbers
    }
    for index in sized:
        share = pl.col(f"{_SHARE}|{index}")
        products |= {f"squares|{index}": share * share, f"cubes|{index}": share * share * share}
    for keys, frame in zip(sets, around, strict=True):
        exponents = answer(exponents_in(frame, products))
        summed = [pl.len().cast(pl.Int64).alias(_ROWS)]
        for name in products:
            summed += [pl.col(name).sum(), *fixed_sums(name, pl.col(name), exponents[name])]
        summed += [
            pl.col(f"{_HAS_VALUE}|{index}").sum().cast(pl.Float64).alias(f"units|{index}")
            for index in range(len(outcomes))
        ]
        squared = frame.with_columns(square.alias(name) for name, square in products.items())
        yield _exact(collected_frame(squared.group_by(keys).agg(summed)), exponents).drop(_ROWS)


def _exact(frame: pl.DataFrame, exponents: Mapping[str, int]) -> pl.DataFrame:
    return pl.DataFrame([column for _, column in exact_columns(frame, exponents)])


def _moments(
    frame: pl.DataFrame, keys: Sequence[str], outcomes: Outcomes, sized: Mapping[int, str]
) -> pl.DataFrame:
    """Moments for a readout, from ratios and sums of squares around them."""
    out = [pl.col(f"{name}|{index}") for index in sized for name in ("squares", "cubes")]
    for index, numbers in enumerate(outcomes):
        units, sizes = pl.col(f"units|{index}"), {}
        out += [pl.col(f"{_ENTRIES}|{index}").alias(f"n|{index}"), units]
        for part, value, size in _averages(numbers, index):
            sizes[part] = pl.col(size)
            name = "mean" if part == VALUE else "covariate"
            out.append(pl.col(f"{_RATIO}{value}").alias(f"{name}|{index}"))
        for name, (one, other) in _PRODUCTS.items():
            if one in sizes and other in sizes:
                both_sizes = sizes[one] * sizes[other]
                scale = pl.when((units > 1) & (both_sizes != 0)).then(units / (units - 1) / both_sizes)
                out.append((scale * pl.col(f"{name}|{index}")).alias(f"{name}|{index}"))
        if COVARIATE in sizes:
            out.append(sizes[COVARIATE].alias(f"covariate_size|{index}"))
    return frame.select(*keys, *out)
