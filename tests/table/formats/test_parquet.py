import re
from pathlib import Path

import polars as pl
import pytest

from plmetrics.core.errors import DataError, EnvironmentFault
from plmetrics.table.formats.parquet import common_type
from plmetrics.table.opening import open_source

HALFWAY = "\n    the program that writes it may have stopped halfway; write it again"
ONE_TYPE = "\n    write the column with one type in all files"


def write(name: str, **columns: object) -> None:
    pl.DataFrame(columns).write_parquet(name)


def refused() -> str:
    with pytest.raises(DataError) as caught:
        open_source("*.parquet")
    return str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data[:10],
        lambda data: b"y,s\n1,0.5\n",
        lambda data: data[:-40] + b"\x33" * 32 + data[-8:],
        lambda data: data[:4] + bytes(100) + b"\x40\0\0\0PAR1",
    ],
)
def test_damaged_files_are_named(root, damage):
    write("a.parquet", y=[0, 1])
    write("b.parquet", y=[0, 1])
    path = root / "b.parquet"
    path.write_bytes(damage(path.read_bytes()))
    assert refused() == f"b.parquet: truncated or not a parquet file{HALFWAY}"


def test_an_empty_file_is_not_skipped(root):
    write("a.parquet", y=[0, 1])
    (root / "b.parquet").touch()
    assert refused().startswith("b.parquet: is empty (0 bytes)\n")


def test_no_permission(root, monkeypatch):
    write("a.parquet", y=[0, 1])

    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(EnvironmentFault, match=r"^a\.parquet: no permission to read it$"):
        open_source("a.parquet")


def test_a_missing_column(root):
    write("a.parquet", y=[0], s=[0.5])
    write("b.parquet", y=[0])
    assert refused() == "b.parquet: column 's' is missing; a.parquet has it"


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        (pl.Series([0.5]), pl.Series(["x"]), "String, but Float64"),
        (pl.Series([1]), pl.Series([True]), "Boolean, but Int64"),
        (
            pl.Series([0], dtype=pl.Datetime("us", "UTC")),
            pl.Series([0], dtype=pl.Datetime("us")),
            "Datetime(time_unit='us', time_zone=None), but Datetime(time_unit='us', time_zone='UTC')",
        ),
    ],
)
def test_a_column_of_another_type(root, first, second, words):
    write("a.parquet", y=[0], s=first)
    write("b.parquet", y=[0], s=second)
    assert refused() == f"b.parquet: column 's' is {words} in a.parquet{ONE_TYPE}"


def test_decimals_of_more_digits_than_polars_has(root):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    for name, kind in (("a", arrow.decimal256(50, 2)), ("b", arrow.decimal128(38, 2))):
        parquet.write_table(arrow.table({"y": [0.5], name: arrow.array([1], kind)}), f"{name}.parquet")
    with pytest.raises(DataError, match=r"^a\.parquet: column 'a' has decimals of 50 digits\n.*38 digits"):
        open_source("a.parquet")
    assert open_source("b.parquet").schema["b"] == pl.Decimal(38, 2)


def test_decimals_of_more_digits_in_later_files(root):
    for name, digits in (("a", 5), ("b", 20), ("c", 9)):
        pl.DataFrame({"d": ["1.25"]}).cast(pl.Decimal(digits, 2)).write_parquet(f"{name}.parquet")
    table = open_source("?.parquet").frame.collect()
    assert table.equals(pl.DataFrame({"d": ["1.25"] * 3}).cast(pl.Decimal(20, 2)))
    pl.DataFrame({"d": ["1.250"]}).cast(pl.Decimal(20, 3)).write_parquet("d.parquet")
    words = (
        r"'d' is Decimal\(precision=20, scale=3\), but Decimal\(precision=20, scale=2\) in the files before"
    )
    with pytest.raises(DataError, match=words):
        open_source("?.parquet")


def test_everything_that_is_wrong_is_in_one_error(root):
    write("a.parquet", y=[0], s=[0.5])
    write("b.parquet", y=["no"], z=[1])
    (root / "c.parquet").write_text("PAR1")
    assert refused() == (
        f"b.parquet: column 'y' is String, but Int64 in a.parquet{ONE_TYPE}\n"
        "b.parquet: column 's' is missing; a.parquet has it\n"
        f"c.parquet: truncated or not a parquet file{HALFWAY}"
    )


def test_columns_in_another_order_and_extra_columns(root):
    write("a.parquet", y=[0], s=[0.5])
    write("b.parquet", s=[0.25], more=["x"], y=[1])
    source = open_source("*.parquet")
    assert source.frame.collect().to_dict(as_series=False) == {"y": [0, 1], "s": [0.5, 0.25]}


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        ((pl.Int32, pl.Int64), pl.Int64),
        ((pl.Int64, pl.Int8), pl.Int64),
        ((pl.UInt8, pl.Int8), pl.Int16),
        ((pl.UInt32, pl.Int32), pl.Int64),
        ((pl.Float32, pl.Float64), pl.Float64),
        ((pl.Int32, pl.Float32), pl.Float64),
        ((pl.Float64, pl.UInt32, pl.Int8), pl.Float64),
        ((pl.Null, pl.Int16, pl.Int32), pl.Int32),
        ((pl.Float64, pl.Null), pl.Float64),
        ((pl.Float16, pl.Float64, pl.Int8), pl.Float64),
        ((pl.Null, pl.Null), pl.Null),
    ],
)
def test_numeric_types_are_widened_without_loss(root, types, expected):
    for number, dtype in enumerate(types):
        values = pl.Series([None, None] if dtype == pl.Null else [number, None], dtype=dtype)
        write(f"{number}.parquet", s=values)
    source = open_source("*.parquet")
    assert source.schema == {"s": expected}
    found = source.frame.collect()
    assert found.schema == source.schema
    values = [
        value for number, dtype in enumerate(types) for value in (None if dtype == pl.Null else number, None)
    ]
    assert found["s"].to_list() == values
    assert source.with_row_key().select("s").collect_schema() == source.schema


def test_categories_and_text_are_text(root):
    write("a.parquet", g=pl.Series(["x", None], dtype=pl.Categorical))
    write("b.parquet", g=["y", "z"])
    source = open_source("*.parquet")
    assert source.schema == {"g": pl.String}
    assert source.frame.collect()["g"].to_list() == ["x", None, "y", "z"]


@pytest.mark.parametrize("first", [[], [1]])
def test_lists_without_items(root, first):
    write("a.parquet", g=[first, None])
    write("b.parquet", g=[[], [0.5]])
    write("c.parquet", g=[[]])
    assert open_source("*.parquet").frame.collect()["g"].to_list() == [first, None, [], [0.5], []]


INTEGERS = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)


@pytest.mark.parametrize("other", [*INTEGERS, pl.Float32, pl.Float64])
@pytest.mark.parametrize("one", INTEGERS)
def test_the_common_type_holds_the_largest_whole_numbers_of_both(one, other):
    common = common_type(one(), other())
    assert common == common_type(other(), one())
    if common == pl.Float64 and {one, other} & {pl.Int64, pl.UInt64}:
        assert {one, other} & {pl.Float32, pl.Float64}
        return
    for dtype in {one, other} - {pl.Float32, pl.Float64}:
        limit = dtype.max()
        largest = pl.select(limit).item()
        for value in (largest, pl.select(dtype.min()).item()):
            wide = pl.Series([value], dtype=dtype).cast(common)
            assert re.sub(r"\.0$", "", str(wide.item())) == str(value)


@pytest.mark.parametrize("order", ["abc", "acb", "cba"])
def test_whole_numbers_and_others_in_one_column(root, order):
    values = [pl.Series([2**62 + 1]), pl.Series([2**64 - 1], dtype=pl.UInt64), pl.Series([0.5])]
    for name, numbers in zip(order, values, strict=True):
        write(f"{name}.parquet", y=[0], s=numbers)
    rows = open_source("*.parquet").frame.collect()["s"]
    assert rows.dtype == pl.Float64
    assert sorted(rows) == [0.5, 2.0**62, 2.0**64]
    (root / f"{order[2]}.parquet").unlink()
    assert sorted(open_source("*.parquet").frame.collect()["s"]) == [2**62 + 1, 2**64 - 1]
