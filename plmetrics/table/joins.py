"""Joins by values, where null and NaN are keys like others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

import polars as pl

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)

_CONSTANT = "@@constant"


def left_join(frame: Frame, other: Frame, on: str | Sequence[str], *, ordered: bool = True) -> Frame:
    """Rows of a frame with the columns of another, which has each key once; in their order, if `ordered`.

    >>> frame = pl.DataFrame({"key": [1.0, float("nan")]}).sort("key")
    >>> left_join(frame, frame.with_row_index("place"), "key")["place"].to_list()
    [0, 1]
    """
    return _join(frame, other, on, "left", "left" if ordered else "none")


def inner_join(frame: Frame, other: Frame, on: str | Sequence[str], *, ordered: bool = True) -> Frame:
    """Rows of a frame whose keys another has, with its columns; in their order, if `ordered`."""
    return _join(frame, other, on, "inner", "left" if ordered else "none")


def with_types(frames: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    """Frames whose columns of nulls alone have the type that the column has in the first of the others that has one.

    >>> with_types([pl.DataFrame({"key": [None]}), pl.DataFrame({"key": ["a"]})])[0].dtypes
    [String]
    """
    types: dict[str, pl.DataType] = {}
    for frame in frames:
        types |= {
            name: dtype for name, dtype in frame.schema.items() if types.get(name, pl.Null()) == pl.Null
        }
    return [
        frame.cast({name: types[name] for name, dtype in frame.schema.items() if dtype == pl.Null})
        for frame in frames
    ]


def _join(
    frame: Frame,
    other: Frame,
    on: str | Sequence[str],
    how: Literal["left", "inner"],
    order: Literal["left", "none"],
) -> Frame:
    """Join of two frames.

    Where a single key is sorted, the in-memory engine of Polars merges the frames by `==`, and so finds no NaN: of two
    keys, one of them constant, it does not.
    """
    keys: list[str] = [on] if isinstance(on, str) else list(on)
    if len(keys) > 1 or not frame.collect_schema()[keys[0]].is_float():
        return frame.join(other, on=keys, how=how, nulls_equal=True, maintain_order=order)
    constant = pl.lit(0, dtype=pl.Int8).alias(_CONSTANT)
    keyed, other_keyed = frame.with_columns(constant), other.with_columns(constant)
    joined = keyed.join(other_keyed, on=[*keys, _CONSTANT], how=how, nulls_equal=True, maintain_order=order)
    return joined.drop(_CONSTANT)
