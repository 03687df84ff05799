"""Keys as words: one instant is one key in every unit and time zone, and instants differ."""

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.core.hashing import BLOCK_SALT, key_word, mix_int, same_words, unit_hash

FACTORS = {"ns": 1_000_000, "us": 1_000, "ms": 1}
MOMENTS = st.lists(st.one_of(st.none(), st.integers(-(10**12), 9 * 10**12)), min_size=1, max_size=20)


def words(numbers: list[int | None], dtype: Any) -> list[int | None]:
    column = pl.Series("t", numbers, dtype=pl.Int64).cast(dtype)
    return column.to_frame().select(key_word(pl.col("t"), dtype, BLOCK_SALT)).to_series().to_list()


@pytest.mark.parametrize("kind", [pl.Datetime, pl.Duration])
@given(milliseconds=MOMENTS)
def test_a_time_is_its_microseconds_in_every_unit(kind: Any, milliseconds: list[int | None]) -> None:
    expected = [None if number is None else number * 1000 % 2**64 for number in milliseconds]
    for unit, factor in FACTORS.items():
        numbers = [None if number is None else number * factor for number in milliseconds]
        assert words(numbers, kind(unit)) == expected


def test_an_instant_is_one_key_in_every_time_zone() -> None:
    numbers: list[int | None] = [0, 1, 10**15]
    assert words(numbers, pl.Datetime("us", "Asia/Tokyo")) == words(numbers, pl.Datetime("us"))


@given(st.sets(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=50))
def test_nanoseconds_tell_instants_apart(numbers: set[int]) -> None:
    near = sorted(numbers | {min(number + 1, 2**63 - 1) for number in numbers})
    found = words(list(near), pl.Datetime("ns"))
    assert len(set(found)) == len(near)
    assert found == [number // 1000 % 2**64 ^ mix_int(number % 1000) for number in near]


def test_hashes_of_microseconds_are_those_of_the_first_version() -> None:
    hashed = unit_hash(pl.col("t"), pl.Datetime("us"))
    first = pl.Series("t", [5], dtype=pl.Int64).cast(pl.Datetime("us")).to_frame().select(hashed).item()
    assert first == mix_int(5 ^ BLOCK_SALT)


@pytest.mark.parametrize("kind", [pl.Datetime, pl.Duration])
def test_versions_that_agree_on_a_type(kind: Any) -> None:
    assert same_words(pl.Int64(), [1, 2])
    assert same_words(kind("us"), [1, 2])
    assert not same_words(kind("ms"), [1, 2])
    assert not same_words(kind("ns"), [1, 2])
    assert same_words(kind("ns"), [1, 1])
    assert not same_words(pl.Int64(), [2, 3])
