from io import BytesIO

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plmetrics.table.formats.footer import FooterError, footer_rows, read_footer


def written(rows: int, columns: int = 1) -> bytes:
    buffer = BytesIO()
    numbers = pl.int_range(rows, eager=True)
    pl.DataFrame({f"column {place}": numbers for place in range(columns)}).write_parquet(buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("rows", "columns"), [(0, 1), (1, 1), (63, 3), (64, 14), (8192, 15), (100_000, 1), (5, 300)]
)
def test_rows_of_files_by_polars(rows, columns):
    assert footer_rows(read_footer(BytesIO(written(rows, columns)))) == rows


@pytest.mark.parametrize("version", ["1.0", "2.4", "2.6"])
def test_rows_of_files_by_another_writer(version):
    table = pa.table(
        {
            "name": pa.array(["a", None, "b"]).dictionary_encode(),
            "time": pa.array([1, 2, 3], pa.timestamp("us", tz="UTC")),
            "list": pa.array([[1], [], None], pa.list_(pa.int8())),
            "price": pa.array([1, 2, 3], pa.decimal128(12, 2)),
            "parts": pa.array([{"x": 1.5, "y": True}] * 3),
        }
    )
    buffer = BytesIO()
    pq.write_table(table, buffer, version=version)
    assert footer_rows(read_footer(buffer)) == 3


@pytest.mark.parametrize(
    "data",
    [
        b"P",
        b"PAR1",
        b"y,s\n1,0.5\n0,0.25\n",
        written(5)[:-1],
        written(5)[:-300],
        written(5)[:-8] + b"\xff\xff\xff\x7fPAR1",
    ],
)
def test_what_has_no_footer(data):
    with pytest.raises(FooterError, match=r"^truncated or not a parquet file$"):
        read_footer(BytesIO(data))


def test_an_encrypted_footer():
    with pytest.raises(FooterError, match=r"^encrypted; write it without encryption$"):
        read_footer(BytesIO(written(5)[:-4] + b"PARE"))


@pytest.mark.parametrize(
    "footer", [b"", b"\0", b"\x15\x02", bytes([0x19, 0xFC]) + b"\xff" * 9, b"\x1c" * 100_000]
)
def test_bytes_that_are_no_footer(footer):
    with pytest.raises(FooterError):
        footer_rows(footer)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.binary(max_size=80))
def test_no_bytes_lead_to_another_error(footer):
    try:
        rows = footer_rows(footer)
    except FooterError:
        return
    assert isinstance(rows, int)
