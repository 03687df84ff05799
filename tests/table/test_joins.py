"""Joins by values, whatever the order of keys and the engine."""

from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest

from plmetrics.table.joins import inner_join, left_join

NAN = float("nan")
ROWS = {"key": [1.0, NAN, None, -0.0, NAN, 2.0], "other": [0, 0, 1, 0, 0, 0]}
PLACES = {"key": [NAN, 1.0, 0.0, None], "other": [0, 0, 0, 1], "place": [30, 10, 0, 40]}
PLACE_OF_KEY = {"1.0": 10, "nan": 30, "None": 40, "-0.0": 0, "2.0": None}


@pytest.mark.exhaustive
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
@pytest.mark.parametrize("dtype", [pl.Float64, pl.Float32])
@pytest.mark.parametrize("on", ["key", ["key"], ["key", "other"]])
@pytest.mark.parametrize("ascending", [None, True, False])
@pytest.mark.parametrize("nulls", [True, False])
def test_nan_null_and_zero_find_their_like(
    engine: Any, dtype: Any, on: str | Sequence[str], ascending: bool | None, nulls: bool
) -> None:
    frame, other = (pl.DataFrame(values).cast({"key": dtype}) for values in (ROWS, PLACES))
    if not nulls:
        frame, other = (each.filter(pl.col("key").is_not_null()) for each in (frame, other))
    if ascending is not None:
        frame, other = (
            each.sort("key", descending=not ascending, nulls_last=True) for each in (frame, other)
        )
    expected = [PLACE_OF_KEY[str(key)] for key in frame["key"].to_list()]
    for left, right in ((frame, other), (frame.lazy(), other.lazy())):
        joined = left_join(left, right, on).lazy().collect(engine=engine)  # type: ignore[type-var]
        assert joined["place"].to_list() == expected
        inner = inner_join(left, right, on).lazy().collect(engine=engine)  # type: ignore[type-var]
        assert inner["place"].to_list() == [place for place in expected if place is not None]
        assert "@@constant" not in joined.columns + inner.columns


def test_other_keys_are_joined_as_they_are() -> None:
    frame = pl.DataFrame({"key": ["b", None, "a"]})
    other = pl.DataFrame({"key": ["a", None], "place": [0, 1]})
    assert left_join(frame, other, "key")["place"].to_list() == [None, 1, 0]
    assert inner_join(frame, other, "key", ordered=False)["place"].sort().to_list() == [0, 1]
