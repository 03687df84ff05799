from datetime import date
from pathlib import Path
from urllib.parse import quote

import polars as pl
import pytest

from plmetrics.core.errors import DataError
from plmetrics.table.opening import open_source


def write(name: str, frame: pl.DataFrame) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)


# Below a folder that looks like a partition itself the scan cannot find the columns, so both ways are tested.
pytestmark = [
    pytest.mark.parametrize("ending", ["parquet", "csv"]),
    pytest.mark.parametrize("top", ["data", "run=7/data"]),
]


def rows_of(data: str) -> list[tuple[object, ...]]:
    return sorted(open_source(data).frame.collect().rows(), key=lambda row: row[0])


def test_folders_are_columns(root, top, ending):
    for number, folder in enumerate(["region=DE/month=01", "region=DE/month=12", "region=FR/month=01"]):
        write(f"{top}/{folder}/part-0.{ending}", pl.DataFrame({"y": [number]}))
    assert rows_of(top) == [(0, "DE", 1), (1, "DE", 12), (2, "FR", 1)]
    assert rows_of(f"{top}/region=DE") == [(0, "DE", 1), (1, "DE", 12)]
    assert rows_of(f"{top}/*/month=01/*") == [(0, "DE", 1), (2, "FR", 1)]
    assert rows_of(f"{top}/region=FR/month=01/part-0.{ending}") == [(2, "FR", 1)]
    source = open_source(top)
    assert source.schema == {"y": pl.Int64, "region": pl.String, "month": pl.Int64}
    assert source.with_row_key().filter(pl.col("region") == "FR").select("y", "month").collect().rows() == [
        (2, 1)
    ]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("texts", "dtype", "values"),
    [
        (["1", "-20", "007"], pl.Int64, [1, -20, 7]),
        (["1", "0.5", "1e3"], pl.Float64, [1.0, 0.5, 1000.0]),
        (["2026-01-31", "2026-02-28"], pl.Date, [date(2026, 1, 31), date(2026, 2, 28)]),
        (["2026-01-31", "2026-02-31"], pl.String, ["2026-01-31", "2026-02-31"]),
        (["true", "false"], pl.Boolean, [True, False]),
        (["1", "x"], pl.String, ["1", "x"]),
        (
            ["12345678901234567890", "12345678901234567891"],
            pl.Int128,
            [12345678901234567890, 12345678901234567891],
        ),
        (["7" * 38, "-" + "7" * 38], pl.Int128, [int("7" * 38), -int("7" * 38)]),
        (["7" * 39, "1"], pl.String, ["7" * 39, "1"]),
        (["a b", "c/d", "e=f", "ü", "g+h", "50%"], pl.String, ["a b", "c/d", "e=f", "ü", "g+h", "50%"]),
        (["a*", "[b]?"], pl.String, ["a*", "[b]?"]),
    ],
)
def test_types_and_null(root, top, ending, texts, dtype, values):
    for number, text in enumerate(texts):
        write(f"{top}/k={quote(text, safe=' *[]?')}/a.{ending}", pl.DataFrame({"y": [number]}))
    write(f"{top}/k=__HIVE_DEFAULT_PARTITION__/a.{ending}", pl.DataFrame({"y": [99]}))
    assert open_source(top).schema["k"] == dtype
    assert rows_of(top) == [*enumerate(values), (99, None)]


def test_only_null(root, top, ending):
    write(f"{top}/k=__HIVE_DEFAULT_PARTITION__/a.{ending}", pl.DataFrame({"y": [0]}))
    assert open_source(top).schema["k"] == pl.String
    assert rows_of(top) == [(0, None)]


def test_the_folder_wins_over_the_file(root, top, ending):
    write(f"{top}/g=a/1.{ending}", pl.DataFrame({"y": [0], "g": ["x"]}))
    write(f"{top}/g=b/1.{ending}", pl.DataFrame({"y": [1], "g": ["x"]}))
    assert rows_of(top) == [(0, "a"), (1, "b")]


def test_folders_must_agree(root, top, ending):
    write(f"{top}/g=a/1.{ending}", pl.DataFrame({"y": [0]}))
    write(f"{top}/g=a/h=b/1.{ending}", pl.DataFrame({"y": [0]}))
    write(f"{top}/1.{ending}", pl.DataFrame({"y": [0]}))
    with pytest.raises(DataError) as caught:
        open_source(top)
    assert str(caught.value) == (
        f"{top}/g=a/1.{ending}: the key=value folders are g=..., but none for 1.{ending}\n"
        f"{top}/g=a/h=b/1.{ending}: the key=value folders are g=..., h=..., but none for 1.{ending}"
    )


def test_a_filter_on_a_folder_reads_no_other_file(root, top, ending):
    write(f"{top}/g=a/1.{ending}", pl.DataFrame({"y": [0]}))
    write(f"{top}/g=b/1.{ending}", pl.DataFrame({"y": [1]}))
    source = open_source(top)
    Path(f"{top}/g=a/1.{ending}").unlink()
    filtered = source.frame.filter(pl.col("g") == "b")
    if ending == "parquet" and top == "data":
        assert filtered.collect().rows() == [(1, "b")]
    else:
        with pytest.raises(FileNotFoundError):
            filtered.collect()


def test_folders_of_one_number_are_told(root, top, ending):
    for folder in ("p=007", "p=7", "p=8"):
        write(f"{top}/{folder}/a.{ending}", pl.DataFrame({"y": [1]}))
    (words,) = open_source(top).check_rows()
    assert words == "folders p=007 and p=7 are one value of column 'p', 7: rename them if it is two"
    write(f"{top}/p=x/a.{ending}", pl.DataFrame({"y": [1]}))  # then they are texts, and apart
    assert open_source(top).check_rows() == []
