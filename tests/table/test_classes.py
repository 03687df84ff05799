"""Classes as numbers: exact in columns of any width."""

from typing import Any

import polars as pl
import pytest

from plmetrics.core.errors import DataError
from plmetrics.table.classes import class_number, positive_class

NEAR = 2**63


@pytest.mark.parametrize(
    ("dtype", "values", "classes"),
    [
        (pl.UInt64, [NEAR + 1, NEAR + 2, 5, None, 2**64 - 1], [NEAR + 1, NEAR + 2]),
        (pl.UInt64, [0, 1, 2, None, 2**64 - 1], [0, 1]),
        (pl.Int64, [NEAR - 1, NEAR - 2, -NEAR, None], [NEAR - 2, NEAR - 1]),
        (pl.Int64, [-NEAR, 1 - NEAR, NEAR - 1], [-NEAR, 1 - NEAR]),
        (pl.Int64, [2**53, 2**53 + 1], [2**53 + 1, 2**53 + 2]),
        (pl.Int128, [2**100, 2**100 + 1, 0, -(2**100)], [2**100, 2**100 + 1]),
        (pl.UInt64, [NEAR + 1, 7, 8], [7, NEAR + 1]),
    ],
)
def test_whole_numbers_are_compared_exactly(dtype: Any, values: list[int | None], classes: list[int]) -> None:
    table = pl.DataFrame({"c": pl.Series(values, dtype=dtype)})
    number = class_number(pl.col("c"), dtype(), [str(name) for name in classes])
    expected = [
        None if value is None else classes.index(value) if value in classes else -1 for value in values
    ]
    assert table.select(number).to_series().to_list() == expected


@pytest.mark.parametrize(
    ("dtype", "positive", "hint"),
    [
        (pl.UInt64(), "9223372036854775818", "positive: 9223372036854775818, without quotes"),
        (pl.Int64(), "yes", "positive: 1, without quotes"),
        (pl.String(), 1, "positive: '1', in quotes"),
        (pl.String(), 2.0, "positive: '2', in quotes"),
        (pl.String(), True, "positive: 'true', in quotes"),
        (pl.Boolean(), 1, "positive: true, or false"),
        (pl.Date(), 1, "classes are texts, numbers or booleans"),
    ],
)
def test_a_positive_of_another_type_is_given_as_it_must_be_written(
    dtype: Any, positive: Any, hint: str
) -> None:
    with pytest.raises(DataError, match=f"which cannot equal positive: {positive!r}") as caught:
        positive_class("y", dtype, "label", ("columns", "label"), positive=positive, unlabelled=False)
    assert hint in str(caught.value.problems[0].hint)
