import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from plmetrics.core.errors import DataError
from plmetrics.features.splits.split_files import write_split

ARGUMENTS = {"folds": 2, "key": "id", "exact": False}


@pytest.fixture
def table(tmp_path: Path) -> str:
    pl.DataFrame({"id": range(50_000)}).write_parquet(tmp_path / "table.parquet")
    return str(tmp_path / "table.parquet")


def test_threads_that_write_one_file_leave_a_complete_one(table: str, tmp_path: Path) -> None:
    output = tmp_path / "folds" / "out.parquet"
    with ThreadPoolExecutor(8) as pool:
        for outcome in [pool.submit(write_split, table, output, "k_fold", ARGUMENTS) for _ in range(16)]:
            outcome.result()
    assert pl.read_parquet(output).height == 50_000
    assert [path.name for path in output.parent.iterdir()] == ["out.parquet"]


def test_a_link_at_a_name_that_can_be_told_is_not_followed(table: str, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f".out.csv.{os.getpid()}.tmp").symlink_to(victim)
    write_split(table, tmp_path / "out.csv", "k_fold", ARGUMENTS)
    assert victim.read_text() == "precious"
    assert not (tmp_path / "out.csv").is_symlink()


def test_what_cannot_be_read_leaves_the_file_as_it_was(table: str, tmp_path: Path) -> None:
    output = tmp_path / "folds" / "out.parquet"
    write_split(table, output, "k_fold", ARGUMENTS)
    content = output.read_bytes()
    damaged = tmp_path / "damaged.parquet"
    rows = bytearray((tmp_path / "table.parquet").read_bytes())
    rows[100:200] = bytes(100)
    damaged.write_bytes(bytes(rows))
    with pytest.raises(DataError):
        write_split(str(damaged), output, "k_fold", ARGUMENTS)
    assert output.read_bytes() == content
    assert [path.name for path in output.parent.iterdir()] == ["out.parquet"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("k_fold", {"folds": 2, "key": "id"}),
        ("k_fold", {"folds": 2}),
        ("grouped", {"folds": 2, "group": "zip"}),
        ("repeated", {"folds": 2, "repeats": 2, "key": "id"}),
        ("time_ordered", {"splits": 1, "time": "id", "long": True}),
    ],
)
def test_what_stands_in_csv_files_stands_there_again(
    tmp_path: Path, method: str, arguments: dict[str, object]
) -> None:
    """Signs of numbers, digits of prices and words of booleans are no longer there once they are values."""
    columns = {"id": ["3", "1", "+2"], "zip": ["00501", "01234", ""], "price": ["1.10", "2", "1e2"]}
    rows = pl.DataFrame({**columns, "flag": ["TRUE", "false", "True"], "note": ['a,"b"\nc', None, "d"]})
    rows = rows.with_columns(pl.col("zip").replace("", "7"))
    (tmp_path / "rows").mkdir()
    for number in range(3):
        rows.slice(number, 1).write_csv(tmp_path / "rows" / f"{number}.csv")
    write_split(str(tmp_path / "rows"), tmp_path / "out.csv", method, arguments)
    found = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert found.columns[:5] == rows.columns
    assert_frame_equal(found.select(rows.columns).unique(maintain_order=True), rows)
    write_split(str(tmp_path / "rows"), tmp_path / "out.parquet", method, arguments)
    typed = pl.read_parquet(tmp_path / "out.parquet")
    assert typed.schema["id"] == pl.Int64
    assert_frame_equal(typed.select(typed.columns[5:]).cast(pl.String), found.select(found.columns[5:]))


def test_a_column_of_folder_names_is_that_of_the_folders(tmp_path: Path) -> None:
    for day, code in (("1", "07"), ("2", "08")):
        (tmp_path / "rows" / f"day={day}").mkdir(parents=True)
        pl.DataFrame({"code": [code], "day": ["9"]}).write_csv(tmp_path / "rows" / f"day={day}" / "a.csv")
    write_split(str(tmp_path / "rows"), tmp_path / "out.csv", "k_fold", {"folds": 2, "key": "code"})
    found = pl.read_csv(tmp_path / "out.csv", infer_schema=False)
    assert found.select("code", "day").sort("day").rows() == [("07", "1"), ("08", "2")]
