"""Columns that say the same in other words: one of them is a slice."""

from typing import Any

import numpy as np
import polars as pl
import pytest

from plmetrics.features.advice.column_roles import _without_synonyms


def test_columns_are_synonyms_where_their_values_are_one_to_one() -> None:
    sample = pl.DataFrame(
        {
            "kind": ["a", "b", "c", None, "a", "b"],
            "renamed": ["cat", "dog", None, "cow", "cat", "dog"],
            "number": [3, 1, 2, 0, 3, 1],
            "coarse": ["a", "b", "b", None, "a", "b"],
            "crossed": ["a", "b", "c", None, "b", "a"],
            "flag": [True, False, False, None, True, False],
        }
    )
    assert _without_synonyms(sample, sample.columns) == ["kind", "coarse", "crossed"]


def test_reads_of_columns_grow_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[int] = []
    select = pl.DataFrame.select

    def counted(frame: pl.DataFrame, *arguments: Any, **options: Any) -> pl.DataFrame:
        reads[-1] += 1
        return select(frame, *arguments, **options)

    monkeypatch.setattr(pl.DataFrame, "select", counted)
    draw = np.random.default_rng(3)
    for number in (10, 40):
        reads.append(0)
        sample = pl.DataFrame({f"c{place}": draw.integers(0, 4, 200) for place in range(number)})
        assert _without_synonyms(sample, sample.columns) == sample.columns
    few, many = reads
    assert 0 < many <= 4 * few
