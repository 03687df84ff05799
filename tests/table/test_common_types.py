"""Types of two tables that compare as what they mean."""

import polars as pl
import pytest

from plmetrics.table.common_types import common_type

BERLIN, UTC = pl.Datetime("ns", "Europe/Berlin"), pl.Datetime("us", "UTC")


@pytest.mark.parametrize(
    ("left", "right", "common"),
    [
        (pl.Int8, pl.UInt32, pl.Int64),
        (pl.Int64, pl.UInt64, pl.Int128),
        (pl.Float32, pl.Float64, pl.Float64),
        (pl.String, pl.Categorical(), pl.String),
        (pl.Categorical(), pl.Categorical(), pl.String),
        (pl.Enum(["a"]), pl.Enum(["b", "a"]), pl.String),
        (pl.Null, pl.Date, pl.Date),
        (BERLIN, UTC, UTC),
        (pl.Datetime("ms"), pl.Datetime("ns"), pl.Datetime("us")),
        (pl.Boolean, pl.Boolean, pl.Boolean),
        (pl.Int64, pl.Float64, None),
        (pl.Int64, pl.String, None),
        (pl.Date, pl.Datetime("us"), None),
        (pl.Datetime("us"), UTC, None),
        (pl.Boolean, pl.Int8, None),
        (pl.List(pl.Int8), pl.List(pl.Int8), None),
        (pl.Binary, pl.Binary, None),
    ],
)
def test_common_types(left: pl.DataType, right: pl.DataType, common: pl.DataType | None) -> None:
    for one, other in ((left, right), (right, left)):
        found = common_type(*pl.Schema({"a": one, "b": other}).values())
        assert found == common if common is not None else found is None
