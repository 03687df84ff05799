"""Rows of two runs, side by side."""

from __future__ import annotations

import polars as pl

from plmetrics.inference.across_runs.alignment import align


def table(keys: list[str | None], values: list[int]) -> pl.DataFrame:
    return pl.DataFrame({"key": keys, "value": values}, schema={"key": pl.String, "value": pl.Int64})


def test_rows_of_either_run_once_the_later_one_first() -> None:
    both = align(table(["b", None, "new"], [1, 2, 3]), table(["gone", None, "b"], [4, 5, 6]), ["key"])
    assert both.select("key", "value", "value|b", "here", "here|b").rows() == [
        ("b", 1, 6, True, True),
        (None, 2, 5, True, True),
        ("new", 3, None, True, None),
        ("gone", None, 4, None, True),
    ]


def test_rows_of_one_key_are_matched_in_order_where_both_runs_have_as_many() -> None:
    alike = align(table(["a", "a"], [1, 2]), table(["a", "a"], [3, 4]), ["key"])
    assert alike.select("value", "value|b").rows() == [(1, 3), (2, 4)]
    other = align(table(["a"], [1]), table(["a", "a"], [3, 4]), ["key"])
    assert other.select("value", "value|b").rows() == [(1, None), (None, 3), (None, 4)]
