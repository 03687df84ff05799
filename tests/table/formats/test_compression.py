import gzip
import sys
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal

from plmetrics.core.errors import DataError, EnvironmentFault
from plmetrics.table.opening import open_source

ROWS = pl.DataFrame({"y": [0, 1, 1] * 50, "s": [0.1, 0.9, 0.5] * 50, "g": ["a", "b", None] * 50})


pytestmark = pytest.mark.usefixtures("root")


def compressed(name: str) -> bytes:
    text = (ROWS.write_csv() if ".csv" in name else ROWS.write_ndjson()).encode()
    data = gzip.compress(text) if name.endswith(".gz") else pa.compress(text, codec="zstd", asbytes=True)
    return bytes(data)


NAMES = ["a.csv.gz", "a.csv.zst", "a.CSV.GZ", "a.ndjson.gz", "a.jsonl.zst"]


@pytest.mark.parametrize("name", NAMES)
def test_a_compressed_file(name):
    Path(name).write_bytes(compressed(name.lower()))
    source = open_source(name)
    assert source.rows is None
    assert_frame_equal(source.frame.collect(), ROWS)


@pytest.mark.parametrize("name", [name.lower() for name in NAMES])
def test_a_truncated_file(name):
    Path(name).write_bytes(compressed(name)[:-12])
    with pytest.raises(DataError) as caught:
        open_source(name)
    assert str(caught.value) == (
        f"{name}: is damaged: it cannot be decompressed\n"
        "    the program that writes it may have stopped halfway; write it again"
    )


@pytest.mark.parametrize("name", ["a.csv.gz", "a.csv.zst"])
def test_a_file_that_is_not_compressed(name):
    Path(name).write_text(ROWS.write_csv())
    with pytest.raises(DataError, match=f"^{name}: is damaged: it cannot be decompressed"):
        open_source(name)


@pytest.mark.parametrize("name", ["a.gz", "a.parquet.gz", "a.csv.bz2"])
def test_other_compressed_files_are_refused(name):
    Path(name).write_bytes(compressed("a.csv.gz"))
    with pytest.raises(DataError, match=f"^{name}: the ending '{Path(name).suffix}' is not known"):
        open_source(name)


def test_zstd_without_pyarrow(monkeypatch):
    Path("a.csv.zst").write_bytes(compressed("a.csv.zst"))
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(EnvironmentFault, match=r"pip install 'plmetrics\[arrow\]'"):
        open_source("a.csv.zst")
