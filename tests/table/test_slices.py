"""Slices as they stand in results."""

from __future__ import annotations

import datetime

import polars as pl
import pytest

from plmetrics.core.results import SLICE_VALUES
from plmetrics.table.slice_keys import SliceKey
from plmetrics.table.slices import Slices, SliceSet

VALUES = {
    "text": pl.Series(["x, y", "x=y", None, "x, y"]),
    "number": pl.Series([1.0, 2.5, None, float("nan")]),
    "flag": pl.Series([True, None, False, True]),
    "day": pl.Series([datetime.date(2026, 1, 1), None, datetime.date(2026, 1, 2), datetime.date(2026, 1, 1)]),
}


def slices(*names, height=4):
    keys = tuple(SliceKey(f"@slice|{name}", name, pl.col(name), "column") for name in names)
    return Slices(
        SliceSet("set", keys), pl.DataFrame({f"@slice|{name}": VALUES[name][:height] for name in names})
    )


@pytest.mark.parametrize("names", [("text",), ("number", "flag"), ("day", "text", "number")])
@pytest.mark.parametrize("height", [4, 0])
def test_the_column_of_values_holds_what_the_list_does(names, height):
    made = slices(*names, height=height)
    column = made.pair_lists()
    assert column.dtype == SLICE_VALUES
    assert column.to_list() == made.pairs()
    assert len(made.pairs()) == len(made.texts()) == height


def test_texts_name_columns_and_values_in_order():
    assert slices("number", "flag").texts() == [
        "number=1, flag=true",
        "number=2.5, flag=null",
        "number=null, flag=false",
        "number=nan, flag=true",
    ]


@pytest.mark.parametrize(
    ("made", "pairs"),
    [
        (Slices(SliceSet("overall", ()), pl.DataFrame(height=1)), [[]]),
        (
            Slices(
                SliceSet("vip", (SliceKey("@p", "vip", pl.col("p"), "predicate"),)),
                pl.DataFrame({"@p": [True]}),
            ),
            [[{"column": "vip", "value": "true"}]],
        ),
    ],
)
def test_all_rows_and_a_predicate_are_one_slice(made, pairs):
    assert made.pairs() == made.pair_lists().to_list() == pairs
    assert made.pair_lists().dtype == SLICE_VALUES
