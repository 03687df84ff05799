from pathlib import Path

import polars as pl
import pytest

from plmetrics.core.errors import DataError, EnvironmentFault
from plmetrics.table.faults import explain_polars_error
from plmetrics.table.formats import csv
from plmetrics.table.opening import open_source

OBJECT = "every line must hold one JSON object"
ONE_WAY = "write the column in one way in all rows, or convert the table to parquet: it states its types"


pytestmark = pytest.mark.usefixtures("root")


def write(**texts: str | bytes) -> None:
    for name, text in texts.items():
        Path(f"{name}.ndjson").write_bytes(text if isinstance(text, bytes) else text.encode())


def refused() -> str:
    with pytest.raises(DataError) as caught:
        open_source("*.ndjson")
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ('{"s": 1}\n{"s": 2}', [1, 2]),
        ('{"s": 1}\r\n\r\n{"s": 0.5}\r\n', [1.0, 0.5]),
        ('{"s": 1}\n{}\n{"s": null}\n', [1, None, None]),
        ('{"t": 0}\n{"s": true}\n', [None, True]),
        ('{"s": "2026-01-02"}\n', ["2026-01-02"]),
        ('{"s": "a"}\n{"s": 1}\n', ["a", "1"]),
        ('{"s": null}\n', [None]),
    ],
)
def test_values(text, values):
    write(a=text)
    assert open_source("a.ndjson").frame.collect()["s"].to_list() == values


@pytest.mark.parametrize(
    ("one", "other", "values"),
    [
        ('{"s": 1}', '{"s": 0.5}', [1.0, 0.5]),
        ('{"s": null}', '{"s": 0.5}', [None, 0.5]),
        ('{"s": 1}', '{"s": null, "t": 2}', [1, None]),
        ('{"s": 1}', '{"s": "x"}', ["1", "x"]),
        ('{"s": 1}', '{"s": 100000000000000000000}', [1, 10**20]),
        ('{"s": []}', '{"s": ["x"]}', [[], ["x"]]),
        ('{"s": [1]}', '{"s": [0.5]}', [[1.0], [0.5]]),
    ],
)
def test_types_fit_all_files(one, other, values):
    write(a=one, b=other)
    assert open_source("*.ndjson").frame.collect()["s"].to_list() == values


@pytest.mark.parametrize("name", ["a[1]", "a*", "?b"])
def test_names_are_no_globs(root, name):
    write(**{name: '{"s": 1}', "ab": '{"s": 2}'})
    assert open_source([f"{name}.ndjson"]).frame.collect()["s"].to_list() == [1]
    assert sorted(open_source(str(root)).frame.collect()["s"]) == [1, 2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty (0 bytes)"),
        ("{}\n", f"no line has a key\n    {OBJECT}"),
        (
            '{"s": 1}\n{"s":',
            f"line 2 is not JSON\n    {OBJECT}; the program that writes the file may have stopped halfway",
        ),
        ('[{"s": 1}]', f"line 1 is not a JSON object\n    {OBJECT}"),
        ('{"s": 1}\n\n{"s": NaN}\n', "line 3 holds NaN, which JSON does not have\n    write null"),
        ('{"s": 1}\n{"s": -Infinity}\n', "line 2 holds -Infinity, which JSON does not have"),
        ("y,s\n1,2\n", "line 1 is not JSON"),
        (b'{"s": "gr\xfcn"}\n', "is not UTF-8 text"),
        (
            b'\xef\xbb\xbf{"s": 1}\n',
            "line 1 begins with a byte order mark\n    write the file as UTF-8 without one",
        ),
    ],
)
def test_bad_files_are_named(text, words):
    write(bad=text)
    assert refused().startswith(f"bad.ndjson: {words}")


def test_files_with_other_columns_are_named():
    write(a='{"s": 1, "t": true}', b='{"s": 2}', c='{"s": 3, "t": 5, "u": 6}')
    assert refused() == (
        "b.ndjson: column 't' is missing; a.ndjson has it\n    write null, not nothing\n"
        "c.ndjson: column 't' is Int64, but Boolean in a.ndjson\n    write the column in one way in all files"
    )


def test_no_permission(monkeypatch):
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    write(a='{"s": 1}')
    monkeypatch.setattr(pl, "scan_ndjson", refuse)
    with pytest.raises(EnvironmentFault, match=r"^a\.ndjson: no permission to read it$"):
        open_source("a.ndjson")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (
            '{"s": 0.5}',
            f"a value '0.5' is not a whole number, as the lines that were looked at have\n    {ONE_WAY}",
        ),
        (
            '{"s": "x"}',
            f"a value 'x' is not a whole number, as the lines that were looked at have\n    {ONE_WAY}",
        ),
        ('{"s": NaN}', f"a line is not a JSON object\n    {OBJECT}; NaN and Infinity are not JSON, null is"),
        ("[1]", "a line is not a JSON object"),
        ('{"s":', "a line is not a JSON object"),
    ],
)
def test_bad_lines_behind_those_that_were_looked_at(monkeypatch, line, words):
    monkeypatch.setattr(csv, "_SMALL", 0)
    monkeypatch.setattr(csv, "_FEWEST_ROWS", 1)
    monkeypatch.setattr(csv, "_SAMPLED_ROWS", 1)
    write(a='{"s": 1}\n' * 3 + line)
    source = open_source("a.ndjson")
    with pytest.raises(pl.exceptions.ComputeError) as caught:
        source.frame.select(pl.all().max()).collect()
    assert str(explain_polars_error(caught.value, source)).startswith(f"a.ndjson: {words}")
