import warnings

import polars as pl
import pyarrow as pa
import pytest
from polars.testing import assert_frame_equal
from pyarrow import feather

from plmetrics.core.errors import DataError
from plmetrics.table.opening import open_source

ROWS = pl.DataFrame({"y": [0, 1, 1], "s": [0.1, 0.9, None], "g": ["a", None, "b"]})
UPSTREAM = "\n    the program that writes it may have stopped halfway; write it again"
ONE_SCHEMA = "\n    all Arrow files of a table need the same columns with the same types; parquet files may differ more"


pytestmark = pytest.mark.usefixtures("root")


def refused(data: str = "*.arrow") -> str:
    with pytest.raises(DataError) as caught:
        open_source(data)
    return str(caught.value)


@pytest.mark.parametrize("ending", ["arrow", "ipc", "feather", "ARROW"])
@pytest.mark.parametrize("compression", ["uncompressed", "lz4", "zstd"])
def test_a_file(ending, compression):
    ROWS.write_ipc(f"a.{ending}", compression=compression)
    source = open_source(f"a.{ending}")
    assert (source.kind, source.rows, source.schema) == ("ipc", 3, ROWS.schema)
    assert_frame_equal(source.frame.collect(), ROWS)


def test_a_file_of_pyarrow():
    feather.write_feather(ROWS.to_arrow(), "a.feather", chunksize=2)
    source = open_source("a.feather")
    assert source.rows == 3
    assert_frame_equal(source.frame.collect(), ROWS)


def test_a_file_without_rows():
    ROWS.clear().write_ipc("a.arrow")
    assert (open_source("a.arrow").rows, open_source("a.arrow").schema) == (0, ROWS.schema)


def test_columns_may_stand_in_another_order():
    ROWS.write_ipc("a.arrow")
    ROWS.select("g", "y", "s").write_ipc("b.arrow")
    assert_frame_equal(open_source("*.arrow").frame.collect(), pl.concat([ROWS, ROWS]))


def test_files_with_other_columns_are_all_named():
    ROWS.write_ipc("a.arrow")
    ROWS.drop("g").write_ipc("b.arrow")
    ROWS.with_columns(z=1).write_ipc("c.arrow")
    ROWS.with_columns(pl.col("y").cast(pl.Int32)).write_ipc("d.arrow")
    assert refused() == (
        f"b.arrow: lacks columns that a.arrow has: g{ONE_SCHEMA}\n"
        f"c.arrow: has columns that a.arrow lacks: z{ONE_SCHEMA}\n"
        f"d.arrow: column 'y' is Int32, but Int64 in a.arrow{ONE_SCHEMA}"
    )


@pytest.mark.parametrize("kept", [1, 10, 100, 300, -1])
def test_a_truncated_file(root, kept):
    ROWS.write_ipc("a.arrow")
    path = root / "a.arrow"
    path.write_bytes(path.read_bytes()[:kept])
    assert refused() == f"a.arrow: truncated or not an Arrow file{UPSTREAM}"


@pytest.mark.parametrize("text", [b"y,s\n1,2\n", b"PAR1" * 10, b"ARROW1" * 8])
def test_a_file_of_another_format(root, text):
    (root / "a.arrow").write_bytes(text)
    assert refused() == f"a.arrow: truncated or not an Arrow file{UPSTREAM}"


@pytest.mark.slow
def test_every_single_damaged_byte_of_the_footer_is_survived(root):
    """Each is an error that names the file, or no damage that the footer shows."""
    ROWS.write_ipc("a.arrow")
    whole = (root / "a.arrow").read_bytes()
    for place in range(len(whole) - 10 - int.from_bytes(whole[-10:-6], "little"), len(whole)):
        (root / "a.arrow").write_bytes(whole[:place] + b"\xff" + whole[place + 1 :])
        try:
            open_source("a.arrow")
        except DataError as error:
            assert str(error).startswith(("a.arrow: ", "the table cannot be read: ")), place  # noqa: PT017


def test_places_that_lead_out_of_the_file_are_survived(root):
    """Of batches and of dictionaries: Polars panics there."""
    ROWS.with_columns(pl.col("g").cast(pl.Categorical)).write_ipc("a.arrow")
    whole = (root / "a.arrow").read_bytes()
    ends = refusals = 0
    for place in range(len(whole) - 10 - int.from_bytes(whole[-10:-6], "little"), len(whole) - 17):
        if 0 < int.from_bytes(whole[place : place + 8], "little") < len(whole):
            ends += 1
            forged = whole[:place] + (1 << 50).to_bytes(8, "little") + whole[place + 8 :]
            (root / "a.arrow").write_bytes(forged)
            try:
                open_source("a.arrow").frame.collect()
            except (DataError, pl.exceptions.ComputeError):
                refusals += 1
    assert refusals >= 4, ends


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
@pytest.mark.parametrize(("dtype", "width"), [(pl.Int64, 8), (pl.Categorical, 16)])
def test_compressed_values_that_claim_more_bytes_than_they_can_hold(root, compression, dtype, width):
    """Of batches and of dictionaries: Polars takes the memory before it looks, and ends the process without it."""
    texts = [f"{number:05}" for number in range(2000)]
    values = pl.Series("v", range(2000) if dtype == pl.Int64 else texts, dtype=dtype)
    values.to_frame().write_ipc("a.arrow", compression=compression)
    assert open_source("a.arrow").frame.collect().to_series().equals(values)
    whole = (root / "a.arrow").read_bytes()
    claim = (width * 2000).to_bytes(8, "little")
    assert claim in whole
    (root / "a.arrow").write_bytes(whole.replace(claim, (10**17).to_bytes(8, "little")))
    assert refused() == f"a.arrow: truncated or not an Arrow file{UPSTREAM}"


def test_a_stream_is_not_a_file():
    ROWS.write_ipc_stream("a.arrow")
    assert refused() == "a.arrow: an Arrow stream, which has no footer; write it as an Arrow file"


def test_feather_of_version_1():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        feather.write_feather(pa.table({"y": [1, 0]}), "a.feather", version=1)
    assert refused("a.feather").startswith("a.feather: a Feather file of version 1; write it as version 2")


def test_only_the_folders_that_a_filter_asks_for_are_read(root):
    for name in ("g=a", "g=b"):
        (root / "t" / name).mkdir(parents=True)
        ROWS.drop("g").write_ipc(root / "t" / name / "1.arrow", compression="lz4")
    source = open_source("t")
    path = root / "t" / "g=a" / "1.arrow"
    path.write_bytes(bytes(300) + path.read_bytes()[300:])
    with pytest.raises((pl.exceptions.PolarsError, OSError)):
        source.frame.collect()
    assert source.frame.filter(pl.col("g") == "b").select(pl.len()).collect().item() == 3
