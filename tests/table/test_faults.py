import gzip
import os
from pathlib import Path

import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import DataError
from plmetrics.core.rowsql import compile_row
from plmetrics.engine.faults import reading
from plmetrics.table.faults import explain_polars_error
from plmetrics.table.formats import csv
from plmetrics.table.opening import open_source
from plmetrics.table.source import Source

ONE_WAY = (
    "\n    write the column in one way in all rows, or convert the table to parquet: it states its types"
)


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(csv, "_SMALL", 0)
    monkeypatch.setattr(csv, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(csv, "_SAMPLED_ROWS", 1)
    return tmp_path


def explained(source: Source) -> str:
    """What is said of the error that reading the source ends in."""
    with pytest.raises(Exception) as caught:  # noqa: PT011
        source.frame.select(pl.all().max()).collect()
    fault = explain_polars_error(caught.value, source)
    assert isinstance(fault, DataError)
    return str(fault)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "s\n1\n2.5\n",
            f"column 's': '2.5' is not a whole number, as the rows that were looked at are{ONE_WAY}",
        ),
        ("s\n1.5\nx\n", f"column 's': 'x' is not a number, as the rows that were looked at are{ONE_WAY}"),
        (
            "s\ntrue\n{}\n",
            f"column 's': '{{}}' is not true or false, as the rows that were looked at are{ONE_WAY}",
        ),
        ("s,t\n1,2\n1,2,3\n", "a row has more fields than the header\n    quote values that contain commas"),
        (
            b"s\n" + b"a\n" * 10_000 + b"\xff\n",
            "a row is not UTF-8 text\n    convert the file to UTF-8, or to parquet",
        ),
    ],
)
def test_rows_of_a_csv_file(root, text, words):
    (root / "a.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    assert explained(open_source("a.csv")) == f"a.csv: {words}"


@pytest.mark.parametrize(
    ("column", "value", "to", "words"),
    [
        ("s", "x", "DOUBLE", "column 's': a CAST to a number fails for \"x\"\n"),
        ("@column|s", "x", "DOUBLE", "column 's': a CAST to a number fails for \"x\"\n"),
        ("s", "x", "BOOLEAN", "column 's': a CAST to true or false fails for \"x\"\n"),
        ("s", "31.1.2026", "DATE", "column 's': a CAST to a date fails for \"31.1.2026\"\n"),
        ("s", "31.1.2026", "TIMESTAMP", "column 's': a CAST to a time fails for \"31.1.2026\"\n"),
        ("s", "2026-01-31T10:00:00+02:00", "TIMESTAMP", "CAST(... AS TIMESTAMPTZ) reads times with offsets"),
        ("s", "31.1.2026", "TIMESTAMPTZ", "column 's': a CAST to a time fails for \"31.1.2026"),
        ("s", "31.1.2026", "DATE", "SUBSTRING and || put ISO texts together"),
        ("s", "x" * 5000, "INT", 'fails for "' + "x" * 56 + "...\n"),
    ],
)
def test_a_cast_that_fails_names_the_column_and_the_value(root, column, value, to, words):
    pl.DataFrame({column: [value]}).write_parquet("a.parquet")
    source = open_source("a.parquet")
    with pytest.raises(pl.exceptions.PolarsError) as caught:
        source.frame.select(compile_row(f'CAST("{column}" AS {to}) IS NULL').expr).collect()
    assert words in str(explain_polars_error(caught.value, source))


def test_files_that_may_be_to_blame_are_listed(root):
    for name in "abc":
        (root / f"{name}.csv").write_text("s\n1\n" + ("x\n" if name == "b" else "2\n"))
    assert explained(open_source("*.csv")).startswith(
        "one of 3 files (a.csv, b.csv, c.csv): column 's': 'x' is not"
    )


def damage(path: Path) -> None:
    data = path.read_bytes()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    path.write_bytes(data[:4] + b"\xff" * (len(data) - footer - 4) + data[-footer:])


def write_parquet(*names: str) -> None:
    for name in names:
        pl.DataFrame({"s": [0.5, 0.25], "g": ["x", "y"]}).write_parquet(name)


def test_a_damaged_parquet_file(root):
    write_parquet("a.parquet", "b.parquet")
    damage(root / "b.parquet")
    assert explained(open_source("b.parquet")) == "b.parquet: the data are damaged\n    write the file again"
    assert explained(open_source("*.parquet")).startswith(
        "one of 2 files (a.parquet, b.parquet): the data are"
    )


def replace(path: Path, content: bytes) -> None:
    """Another file under the name, of the same size and time."""
    times = path.stat()
    path.with_suffix(".new").write_bytes(content)
    os.utime(path.with_suffix(".new"), ns=(times.st_atime_ns, times.st_mtime_ns))
    path.with_suffix(".new").replace(path)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", "csv.gz", "ndjson"])
@pytest.mark.parametrize(
    "change",
    [
        lambda path: replace(path, path.read_bytes()),
        lambda path: path.write_bytes(path.read_bytes()),
        lambda path: os.truncate(path, path.stat().st_size - 9),
        Path.unlink,
    ],
    ids=["renamed over", "written over", "cut", "removed"],
)
def test_a_file_that_changed_is_the_one(root, ending, change):
    frame = pl.DataFrame({"s": [0.5, 0.25], "g": ["x", "y"]})
    write = {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "ndjson": frame.write_ndjson}
    for name in "ab":
        if ending == "csv.gz":
            Path(f"{name}.{ending}").write_bytes(gzip.compress(frame.write_csv().encode()))
        else:
            write.get(ending, frame.write_csv)(f"{name}.{ending}")
    source = open_source(f"*.{ending}")

    def read_twice() -> None:
        with reading(source):
            source.frame.select(pl.all().max()).collect()
            change(root / f"b.{ending}")
            source.frame.select(pl.all().min()).collect()

    with pytest.raises(DataError) as caught:
        read_twice()
    assert str(caught.value) == (
        f"b.{ending} changed while it was read: it was replaced, written to or removed\n"
        "    run again when no program writes to the files"
    )


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_bytes(b"\x1f\x8b damaged")])
def test_a_file_that_changed_while_it_was_opened_is_the_one(root, monkeypatch, change):
    path = root / "a.csv.gz"
    path.write_bytes(gzip.compress(b"s,g\n0.5,x\n"))
    types = csv._types

    def types_before_a_change(*arguments):
        found = types(*arguments)
        change(path)
        return found

    monkeypatch.setattr(csv, "_types", types_before_a_change)
    with pytest.raises(DataError, match=r"a\.csv\.gz changed while it was read"):
        open_source("a.csv.gz")


def test_a_lazy_frame_over_files_of_several_types(root):
    write_parquet("a.parquet")
    pl.DataFrame({"s": ["no", "no"], "g": ["x", "y"]}).write_parquet("b.parquet")
    assert explained(open_source(pl.scan_parquet("*.parquet"))) == (
        "column 's' is String in one file, not Float64\n    write the column with one type in all files"
    )


def test_a_lazy_frame_over_a_damaged_file(root):
    write_parquet("a.parquet")
    damage(root / "a.parquet")
    assert (
        explained(open_source(pl.scan_parquet("a.parquet")))
        == "the data are damaged\n    write the file again"
    )


@pytest.mark.parametrize(
    "error", [pl.exceptions.ColumnNotFoundError("x"), ValueError("empty"), KeyError("s")]
)
def test_errors_that_are_not_the_data_s(error):
    assert explain_polars_error(error, open_source(pl.DataFrame({"s": [1]}))) is None


@pytest.mark.parametrize(
    ("dtype", "number"),
    [(pl.Date(), 2_932_897), (pl.Date(), 2**31 - 1), (pl.Datetime("us"), 2**62), (pl.Datetime("ms"), 2**62)],
)
def test_times_outside_the_calendar(root, dtype, number, capfd):
    """As damage makes them: `datetime` ends with the year 9999, and Polars panics a good while later."""
    whole = pl.Int32 if dtype == pl.Date() else pl.Int64
    pl.DataFrame({"t": pl.Series([0, number], dtype=whole).cast(dtype)}).write_parquet("a.parquet")
    source = open_source("a.parquet")
    with (
        pytest.raises(DataError, match=r"^a\.parquet: a date or time is outside the years 1 to 9999\n"),
        reading(source),
    ):
        source.frame.collect()["t"].to_list()
    capfd.readouterr()


def test_a_cast_of_a_metric_that_fails_names_the_column_of_the_table():
    rows = pl.DataFrame({"y": [0, 1], "p": [0.1, 0.9], "amount": [1.5, float("inf")]})
    metric = {"name": "whole", "mean": "CAST(amount AS INT)"}
    with pytest.raises(plm.DataError, match=r"column 'amount': a CAST to a whole number fails for inf"):
        plm.evaluate(rows, label="y", models="p", metrics=[metric])
