from __future__ import annotations

import datetime

import polars as pl
import pytest

from plmetrics.core.errors import DataError
from plmetrics.table.splits.keys import fold_hash
from plmetrics.table.units import unit_hash

PINNED = [7_049_960_387_482_146_938, 15_341_628_177_053_006_955, 268_659_573_921_794_545]
IDS = pl.DataFrame({"id": range(5000)})


def hashes(frame: pl.DataFrame, columns: list[str], seed: int = 0) -> pl.Series:
    return frame.select(fold_hash(columns, frame.schema, seed).alias("hash"))["hash"]


def test_the_hash_of_numbers_is_pinned() -> None:
    assert hashes(pl.DataFrame({"id": [0, 1, -1]}), ["id"]).to_list() == PINNED


@pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt16, pl.UInt64, pl.Int64])
def test_whole_numbers_of_any_width_are_one_key(dtype: type[pl.DataType]) -> None:
    frame = pl.DataFrame({"id": [0, 1, 100]})
    assert hashes(frame.cast(dtype), ["id"]).equals(hashes(frame, ["id"]))


def test_seeds_and_blocks_are_unrelated() -> None:
    zero, one = hashes(IDS, ["id"]) % 5, hashes(IDS, ["id"], seed=1) % 5
    blocks = IDS.select(unit_hash(pl.col("id"), pl.Int64()))["id"] % 5
    for other in (one, blocks):
        same = (zero == other).mean()
        assert isinstance(same, float)
        assert 0.17 < same < 0.23


def test_nulls_are_a_value_and_columns_have_an_order() -> None:
    frame = pl.DataFrame({"a": [1, None, 2, None], "b": [2, 2, 1, 2]})
    held = hashes(frame, ["a", "b"])
    assert held.null_count() == 0
    assert held[1] == held[3]
    assert held[0] != held[2]


@pytest.mark.parametrize(
    "values",
    [["a", "b"], [True, False], [datetime.date(2026, 1, 1), datetime.date(2026, 1, 2)]],
    ids=["text", "boolean", "date"],
)
def test_other_keys(values: list[object]) -> None:
    assert hashes(pl.DataFrame({"id": values}), ["id"]).n_unique() == 2


@pytest.mark.parametrize("values", [[0.5], [[1]], [b"x"]], ids=["float", "list", "binary"])
def test_what_is_no_key_is_refused(values: list[object]) -> None:
    with pytest.raises(DataError, match="a key must be a whole number, text, date or boolean"):
        hashes(pl.DataFrame({"id": values}), ["id"])
