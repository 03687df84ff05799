import gzip
import math
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from plmetrics.core.errors import DataError, EnvironmentFault
from plmetrics.table.formats import csv
from plmetrics.table.opening import open_source

SAME_COLUMNS = "\n    all CSV files of a table need the same columns"
SEPARATOR = (
    " that names the separator, before its header\n"
    "    remove the line 'sep=...': what separates the columns is seen from the header"
)
HEADER = "\n    the first line must name the columns"


def write(**texts: str | bytes) -> None:
    for name, text in texts.items():
        Path(f"{name}.csv").write_bytes(text if isinstance(text, bytes) else text.encode())


def compressed(text: bytes, name: str) -> bytes:
    if name.endswith(".gz"):
        return gzip.compress(text)
    return pa.compress(text, codec="zstd", asbytes=True) if name.endswith(".zst") else text


def refused() -> str:
    with pytest.raises(DataError) as caught:
        open_source("*.csv")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty (0 bytes)\n    the program that writes it may have stopped halfway"),
        ("\n\n", f"has no header: its first line is empty{HEADER}"),
        ("sep=;\r\ny;p\r\n1;0,9\r\n", f"begins with a line for spreadsheets{SEPARATOR}"),
        ('"sep=,"\ny,p\n1,0.9\n', f"begins with a line for spreadsheets{SEPARATOR}"),
        ("1,0.93\n0,0.5\n", f"has no header: its first line is 1, 0.93{HEADER}"),
        ("y,grün\n1,2\n".encode("latin-1"), "is not UTF-8 text\n    convert it to UTF-8, or to parquet"),
        ("y,g\n1,grün\n".encode("latin-1"), "is not UTF-8 text\n    convert it to UTF-8, or to parquet"),
        ("y,s\r1,2\r0,3\r", "its header cannot be read: y, s\n    lines must end in a line feed"),
        (
            b"\x1f\x8b\x08\0\0\0",
            "is compressed by gzip, but its name does not say so\n    add .gz to its name",
        ),
        (b"PAR1\x15\x04\xff", "is a parquet file, but its name does not say so\n    name it .parquet"),
        ("y,p\n1,0.5\n".encode("utf-16"), "is UTF-16 text\n    convert it to UTF-8"),
        ("y,p\n1,0.5\n".encode("utf-16-le"), "is not UTF-8 text: it has characters of code 0, as UTF-16"),
        ("1,0.25,b\n0,0.5,a\n1,0.75,b\n", f"has no header: its first line is 1, 0.25, b{HEADER}"),
        ("1,1,0.1234,c7\n0,1,0.5,c8\n", f"has no header: its first line is 1, 1, 0.1234, c7{HEADER}"),
        (
            f"{'y' * 200_000},s\n1,2\n",
            "is not a CSV file that can be read: a column name of more than 131,072 characters",
        ),
    ],
)
def test_bad_files_are_named(root, text, words):
    write(bad=text)
    assert refused().startswith(f"bad.csv: {words}")


@pytest.mark.parametrize(
    "text",
    [
        "species,0,1\ncat,0.2,0.8\ndog,1,0\n",
        "y,0.025,0.5,0.975\n1,0.1,0.2,0.3\n",
        "region,2024,2025\nnorth,3,4\n",
        "a,b\na,x\n",
    ],
)
def test_columns_called_by_numbers_or_like_a_value(root, text):
    write(good=text)
    assert open_source("good.csv").schema.names() == text.split("\n")[0].split(",")


def test_all_bad_files_are_in_one_error(root):
    write(a="y,s\n1,0.5\n", b="y\n1\n", c="s,y,z\n0.5,1,2\n", d="y,z\n1,2\n", e="", f="\n")
    assert refused() == (
        "e.csv: is empty (0 bytes)\n    the program that writes it may have stopped halfway\n"
        f"f.csv: has no header: its first line is empty{HEADER}\n"
        f"b.csv: lacks columns that a.csv has: s{SAME_COLUMNS}\n"
        f"c.csv: has columns that a.csv lacks: z{SAME_COLUMNS}\n"
        f"d.csv: lacks columns that a.csv has: s; has columns that a.csv lacks: z{SAME_COLUMNS}"
    )


def test_no_permission(root, monkeypatch):
    write(a="y\n1\n")

    def refuse(path: Path, **_: object) -> None:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(EnvironmentFault, match=r"^a\.csv: no permission to read it$"):
        open_source("a.csv")


def test_columns_may_stand_in_another_order(root):
    write(a="y,s\n1,0.5\n", b="s,y\n0.25,0\n")
    assert open_source("*.csv").frame.collect().rows() == [(1, 0.5), (0, 0.25)]


def test_quotes_byte_order_mark_and_windows_line_ends(root):
    write(a='\ufeff"y","a, b"\r\n1,"x\ny"\r\n0,"say ""no"""\r\n')
    assert open_source("a.csv").frame.collect().rows(named=True) == [
        {"y": 1, "a, b": "x\ny"},
        {"y": 0, "a, b": 'say "no"'},
    ]


@pytest.mark.parametrize(
    ("columns", "dtype"),
    [
        (["1 2", "3"], pl.Int64),
        (["1 2", "0.5"], pl.Float64),
        (["0.5", "1 2"], pl.Float64),
        (["1" + " 2" * 500 + " 2.5"], pl.Float64),
        (["1" + " 2" * 500, "2 2" + " 2" * 500 + " x"], pl.String),
        (["1 2", "x"], pl.String),
        (["true false", "true"], pl.Boolean),
        (["2026-01-31 2026-02-28"], pl.String),
        (["0.5 nan inf -inf NaN Infinity 1e-3"], pl.Float64),
        (["1 2", "nan"], pl.Float64),
        (["nan x"], pl.String),
        (["1 NA"], pl.String),
        (["- -", "0.5 -"], pl.Float64),
        (["0.5 -", "- -"], pl.Float64),
        (["1 -", "- -", "2 3"], pl.Int64),
        (["- -", "x -"], pl.String),
        (["- -"], pl.String),
        (["", "1 2"], pl.Int64),
        ([""], pl.String),
        (["1 2", "12345678901234567890"], pl.Int128),
        (["007 7"], pl.String),
        (["7 8", "007"], pl.String),
        (["1" + " 2" * 500 + " 02138"], pl.String),
        (["012345678901234567890 7", "1"], pl.String),
        (["0 10 -0"], pl.Int64),
        (["1 2", "340282366920938463463374607431768211455"], pl.String),
        (["1 99999999999999999999999999999999999999"], pl.Int128),
        (["0.5 00.5"], pl.Float64),
    ],
)
def test_types_fit_all_rows_of_all_files(root, columns, dtype):
    """Each text is the column of one file, `-` a missing value."""
    cells = [[cell.replace("-", "", cell == "-") for cell in column.split()] for column in columns]
    for number, column in enumerate(cells):
        write(**{f"f{number}": "\n".join(["y,s", *(f"1,{cell}" for cell in column)]) + "\n"})
    source = open_source("*.csv")
    assert source.schema == {"y": pl.Int64 if any(cells) else pl.String, "s": dtype}
    found = source.frame.collect()["s"].to_list()
    expected = [cell or None for column in cells for cell in column]
    if dtype == pl.Boolean:
        expected = [cell == "true" for cell in expected]
    elif dtype != pl.String:
        read = float if dtype == pl.Float64 else int
        expected = [None if cell is None else read(cell) for cell in expected]
    assert len(found) == len(expected)
    assert all(a == b or (math.isnan(a) and math.isnan(b)) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("separator", [";", "\t", "|"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_fields_between_other_marks_than_commas(root, separator, decimal):
    rows = [
        ["y", "s", "code", "day", "words", "none", "word", "count"],
        ["1", "0.5", "007", "2026-01-31", "a, b", "", "-2.5e-3", "12"],
        ["0", "1", "12", "2026-02-01", f'"x{separator}y"', "", "nan", "-3"],
    ]
    lines = "\n".join(separator.join(row) for row in rows).replace(".", decimal)
    write(a=lines + "\n", b=lines + separator + "\n")
    source = open_source("a.csv")
    assert source.check_rows() == []
    assert source.frame.collect().rows()[0] == (1, 0.5, "007", "2026-01-31", "a, b", None, -0.0025, 12)
    assert source.frame.collect().rows()[1][:5] == (0, 1.0, "12", "2026-02-01", f"x{separator}y")
    assert source.frame.collect()["word"].is_nan().to_list() == [False, True]
    with pytest.raises(DataError, match=r"b\.csv: line 3 has 9 fields, but the header names 8"):
        open_source("b.csv").check_rows()


def test_marks_of_decimals_beside_each_other_are_texts(root):
    write(a="y;s\n1;0,5\n0;0.5\n", b='y,s\n1,"0,5"\n0,"0,25"\n')
    assert open_source("a.csv").schema == open_source("b.csv").schema == {"y": pl.Int64, "s": pl.String}


def test_files_with_marks_of_their_own(root):
    write(a="y,s\n1,0.5\n", b="y\ts\n1\t0.5\n", c="y;s\n1;0.5\n")
    assert refused() == (
        f"b.csv: separates columns with tabs, a.csv with commas{SAME_COLUMNS}\n"
        f"c.csv: separates columns with semicolons, a.csv with commas{SAME_COLUMNS}"
    )
    (root / "d.tsv.gz").write_bytes(compressed(b"y\ts\n1\t0.5\n", "d.tsv.gz"))
    assert open_source("d.tsv.gz").frame.collect().rows() == [(1, 0.5)]


def test_a_name_may_be_empty_where_it_is_quoted(root):
    write(a='""\n0.5\n')
    assert open_source("a.csv").frame.collect().rows(named=True) == [{"": 0.5}]


def test_kinds_of_values_that_do_not_go_together(root):
    write(a="y\ntrue\n", b="y\n1\n")
    assert refused() == (
        "b.csv: column 'y' is Int64, but Boolean in the files before it\n"
        "    write the column in one way in all files"
    )


def test_types_of_large_files_come_from_their_first_rows(root, monkeypatch):
    monkeypatch.setattr(csv, "_SMALL", 100)
    monkeypatch.setattr(csv, "_FEWEST_ROWS", 3)
    monkeypatch.setattr(csv, "_SAMPLED_ROWS", 8)
    write(a="s,t\n" + "1,\n" * 4 + "2,x\n" + "1,\n" * 100, b="s,t\n" + "1,\n" * 4 + "2.5,\n")
    source = open_source("*.csv")
    assert source.schema == {"s": pl.Int64, "t": pl.String}
    with pytest.raises(pl.exceptions.ComputeError, match=r"could not parse `2\.5`"):
        source.frame.collect()


def test_values_may_be_longer_than_the_module_csv_takes(root):
    long = "x" * 200_000
    write(a=f"y,g,h,n\n1,{long},,nan\n0,b,,-2.5\n")
    source = open_source("a.csv")
    assert source.schema == {"y": pl.Int64, "g": pl.String, "h": pl.String, "n": pl.Float64}
    assert source.frame.collect()["g"].to_list() == [long, "b"]
    assert source.check_rows() == []


def test_repeated_names_are_told_apart(root):
    write(a="y,s,g,s,s\n1,0.5,a,nan,7\n0,0.25,b,x,8\n", b="s,y,s,s,g\n0.125,1,z,9,c\n")
    rows = open_source("*.csv").frame.collect()
    assert rows.schema == {
        "y": pl.Int64,
        "s (repeated, 1)": pl.Float64,
        "g": pl.String,
        "s (repeated, 2)": pl.String,
        "s (repeated, 3)": pl.Int64,
    }
    assert rows.rows() == [(1, 0.5, "a", "nan", 7), (0, 0.25, "b", "x", 8), (1, 0.125, "c", "z", 9)]


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.csv.zst"])
@pytest.mark.parametrize("ends", [False, True])
def test_a_last_line_without_its_end_may_be_cut_off(root, name, end, ends):
    """Also where it was compressed afterwards."""
    (root / name).write_bytes(compressed(f"y,g\n1,north\n0,sou{end}".encode(), name))
    (root / "b.csv").write_bytes(b"y,g\n1,north\n")
    warnings = open_source([name, "b.csv"]).check_rows(ends=ends)
    assert len(warnings) == (end == "")
    assert all(
        warning.startswith(f"{name}: the last line does not end in a line break") for warning in warnings
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("1,a,2\n0,b", "the last line has 2 fields, but the header names 3"),
        ("1,a,2\n0,b,3,4\n", "the last line has 4 fields, but the header names 3"),
        ("1,a\n0,b,3\n", None),
        ('1,a,2\n0,"b', None),
        ('1,a,2\n0,"b,c",3\n', None),
    ],
    ids=["cut", "more", "not the last", "an open quote", "a quote"],
)
def test_of_large_files_the_end_is_looked_at(root, monkeypatch, text, told):
    monkeypatch.setattr(csv, "_SMALL", 10)
    monkeypatch.setattr(csv, "_TAIL", 30)
    write(a="y,g,z\n" + "1,a,0\n" * 100 + text)
    (root / "b.csv.gz").write_bytes(compressed(b"y,g,z\n1,a,0\n0,b", "b.csv.gz"))
    source = open_source(["b.csv.gz", "a.csv"])
    if told is None:
        assert source.check_rows(ends=True) in ([], [f"a.csv: {csv._NO_LINE_END}"])
        return
    with pytest.raises(DataError, match=rf"^a\.csv: {told}\n"):
        source.check_rows(ends=True)


@pytest.mark.parametrize(("header", "times"), [("y,p", 1), ("y,y", 1), ("2024,0.5th", 1), ("2024,25", 2)])
def test_a_header_is_read_again_where_it_may_be_a_row(
    root, monkeypatch: pytest.MonkeyPatch, header: str, times: int
) -> None:
    write(a=f"g,{header}\na,1,0.5\n")
    records, reads = csv._records, []
    monkeypatch.setattr(csv, "_word_types", lambda *_: {})
    monkeypatch.setattr(csv, "_records", lambda file: reads.append(file) or records(file))
    open_source("*.csv")
    assert len(reads) == times
