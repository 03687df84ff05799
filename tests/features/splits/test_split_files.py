from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import polars as pl
import pytest

from plmetrics.core.errors import DataError
from plmetrics.features.splits.split_files import write_split

if TYPE_CHECKING:
    from pathlib import Path

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
