import csv
import io
import random

import pytest

from plmetrics.table.formats import fields
from plmetrics.table.formats.fields import UnevenRow, uneven_rows


def uneven(text: str, names: int = 3) -> list[tuple[int, int | None]]:
    return [(row.line, row.fields) for row in uneven_rows(io.BytesIO(text.encode()), names)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b,c\n1,x,2\n3,y,\n,,\n", []),
        ("a,b,c\n1,x,2", []),
        ("a,b,c\r\n1,x,2\r\n3,y,4\r\n", []),
        ("a,b,c\n1,x,2\n3,y\n4,z,5\n6", [(3, 2), (5, 1)]),
        ("a,b,c\r\n1,x\r\n", [(2, 2)]),
        ("a,b,c\n1,x,2,9\n3,y\n", [(2, 4), (3, 2)]),
        ("a,b,c\n1,x3,y,4\n,2\n", [(2, 4), (3, 2)]),
        ("a,b,c\n1,x,2\n\n", [(3, 1)]),
        ("a,b,c\r\n\r\n1,x,2\r\n", [(2, 1)]),
        ('a,b,c\n1,"x,y\nz",2\n3,"x"",",4\n5,y\n', [(5, 2)]),
        ('a,"b\nb",c\n1,x,2\n5,y\n', [(4, 2)]),
        ('a,b,c\n5" x, 6" y,7\n1,y,2\n', []),
        ('a,b,c\n1,x,2\n3,"open,4\n5,y,6\n', [(3, None)]),
        ('a,b,c\n1,x,2\n3,"cut', [(3, None)]),
    ],
)
def test_rows_with_another_number_of_fields(text, expected):
    assert uneven(text) == expected


def test_one_column_may_have_blank_lines():
    assert uneven("a\n1\n\n2\n", names=1) == []
    assert uneven("a\n1\n2,3\n", names=1) == [(3, 2)]


def test_many_fields_are_counted_in_full():
    """Counts that differ by 256 look alike in a byte."""
    assert uneven("a,b,c\n" + "," * 258 + "\n") == [(2, 259)]


@pytest.mark.exhaustive
@pytest.mark.parametrize("piece", [1, 7, 64, 1 << 18])
def test_any_file_is_taken_apart_as_the_module_csv_does(monkeypatch, piece):
    monkeypatch.setattr(fields, "_PIECE", piece)
    draw = random.Random(0)
    for _ in range(30):
        stream = io.StringIO()
        writer = csv.writer(stream, quoting=draw.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
        rows = [
            [
                "".join(draw.choices('ab ,"\n', k=draw.randint(0, 4)))
                for _ in range(draw.choice([3] * 9 + [2, 4]))
            ]
            for _ in range(40)
        ]
        writer.writerows(rows)
        text = stream.getvalue()
        reader, line, expected = csv.reader(io.StringIO(text, newline="")), 1, []
        for row in reader:
            expected += [UnevenRow(line, len(row))] if len(row) != 3 else []
            line = reader.line_num + 1
        assert uneven_rows(io.BytesIO(text.encode()), 3) == expected


def test_a_quote_that_is_never_closed_does_not_take_all_memory(monkeypatch):
    monkeypatch.setattr(fields, "_LONGEST_ROW", 1000)
    monkeypatch.setattr(fields, "_PIECE", 100)
    stream = io.BytesIO(b'a,b\n1,2\n3,"4\n' + b"5,6\n" * 10_000)
    assert uneven_rows(stream, 2) == [UnevenRow(3, None)]
    assert stream.tell() < 4000


VALUES = [
    "0",
    "00",
    "007",
    "7",
    "0.5",
    "00.5",
    "",
    '"0,07"',
    '"007"',
    '"a ""b"", 01"',
    '"x\n01,02"',
    "-07",
    "01",
]


@pytest.mark.exhaustive
@pytest.mark.parametrize("piece", [16, 1 << 18])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fields_that_begin_with_a_zero(monkeypatch: pytest.MonkeyPatch, piece: int, end: str) -> None:
    """By the module csv; headers are no values."""
    monkeypatch.setattr(fields, "_PIECE", piece)
    chance = random.Random(1)
    for _ in range(200):
        width, share = chance.randint(1, 5), chance.random()
        rows = [
            [chance.choice(VALUES) if chance.random() < share else "5" for _ in range(width)]
            for _ in range(chance.randint(0, 20))
        ]
        text = end.join(",".join(row) for row in (["01", "a", '"00"', "b", "0"][:width], *rows))
        text += chance.choice(["", end])
        read = list(csv.reader(io.StringIO(text, newline="")))[1:]
        expected = {
            place
            for row in read
            for place, value in enumerate(row)
            if value[:1] == "0" and value[1:2].isdigit()
        }
        assert fields.code_fields(io.BytesIO(text.encode()), None) == expected


def test_fields_of_the_first_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fields, "_PIECE", 8)
    text = b"a,b\n" + b"1,2\n" * 10 + b"01,2\n"
    assert fields.code_fields(io.BytesIO(text), 5) == set()
    assert fields.code_fields(io.BytesIO(text), 11) == {0}
