import pytest
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.layout import Column, align, table, table_in_parts, table_or_stack, wrap
from plmetrics.report.numbers import ValueText

COLUMNS = [Column("metric"), Column("value"), Column("rows", align="right", optional=True)]
ROWS = [
    [Text("recall_at_precision(precision=0.9)"), Text("0.931 [0.925, 0.937]"), Text("1,234")],
    [Text("ks"), Text("0.7"), Text("12")],
    [Text("gini"), Text("0.7"), Text("12")],
    [Text("brier"), Text("0.7"), Text("12")],
]


def plain(lines: list[Text] | None) -> list[str]:
    assert lines is not None
    return [line.plain.rstrip() for line in lines]


def test_a_table_that_fits() -> None:
    assert plain(table(COLUMNS, ROWS, 80)) == [
        "  metric                              value                  rows",
        "  recall_at_precision(precision=0.9)  0.931 [0.925, 0.937]  1,234",
        "  ks                                  0.7                      12",
        "  gini                                0.7                      12",
        "  brier                               0.7                      12",
    ]


def test_a_long_label_stands_above_its_row() -> None:
    assert plain(table(COLUMNS, ROWS, 40)) == [
        "  metric     value                  rows",
        "  recall_at_precision(precision=0.9)",
        "             0.931 [0.925, 0.937]  1,234",
        "  ks         0.7                      12",
        "  gini       0.7                      12",
        "  brier      0.7                      12",
    ]


@pytest.mark.parametrize("width", [24, 10])
def test_a_label_above_its_rows_stands_there_once(width: int) -> None:
    """In a table and, where there is no room for one, in a stack; a label that comes back is written again."""
    long = "label " * 3
    rows = [
        [Text(label.strip()), Text(value)]
        for label, value in ((long, "1"), (long, "2"), ("x", "3"), (long, "4"))
    ]
    lines = plain(table_or_stack([Column("what"), Column("the value")], rows, width))
    places = [[i for i, line in enumerate(lines) if line.strip() == value] for value in "1234"]
    labels = [
        i for i, line in enumerate(lines) if "label" in line and (i == 0 or "label" not in lines[i - 1])
    ]
    assert len(labels) == 2
    assert labels[0] < places[0][0] < places[1][0] < places[2][0] < labels[1] < places[3][0]


def test_optional_columns_go_first_then_the_table() -> None:
    assert plain(table(COLUMNS, ROWS[1:], 16)) == [
        "  metric  value",
        "  ks      0.7",
        "  gini    0.7",
        "  brier   0.7",
    ]
    assert table(COLUMNS, ROWS, 20) is None
    assert plain(table_or_stack(COLUMNS, ROWS[:2], 24)) == [
        "  recall_at_precision(pr",
        "  ecision=0.9)",
        "    0.931 [0.925, 0.937]",
        "    rows 1,234",
        "  ks",
        "    0.7  rows 12",
    ]


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("north", "north"),
        ("a\x1b[31mred", "a\\x1b[31mred"),
        ("two\nlines\t", "two\\x0alines\\x09"),
        ("right\u202eleft", "right\\u202eleft"),
        ("zero\u200bwidth\u2028", "zero\\u200bwidth\\u2028"),
        ("no\u00a0break", "no\\xa0break"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("北京 é ▲", "北京 é ▲"),
    ],
)
def test_printable(text: str, safe: str) -> None:
    assert printable(text) == safe


def test_aligned() -> None:
    cells = align(
        [ValueText("0.927", "[0.921, 0.933]"), ValueText("12", "[1, 2]"), ValueText("-", "(no_rows)")]
    )
    assert [cell.plain for cell in cells] == [" 0.927 [0.921, 0.933]", "12     [1, 2]", " - (no_rows)"]


@pytest.mark.parametrize("width", [20, 33, 47])
def test_wrapped_keeps_every_character(width: int) -> None:
    text = "a slice with a very long value " + "x" * 90 + " 北京" * 12
    lines = wrap(Text(text), width)
    assert all(line.cell_len <= width for line in lines)
    assert "".join("".join(line.plain for line in lines).split()) == "".join(text.split())


@pytest.mark.parametrize("width", [30, 60, 90])
def test_what_does_not_fit_beside_stands_below_its_own_title(width: int) -> None:
    names = [f"measure {number}" for number in range(5)]
    columns = [Column("class"), *map(Column, names)]
    rows = [[Text(label), *(Text(f"{label}{number} [0.1, 0.2]") for number in range(5))] for label in "ab"]
    lines = plain(table_in_parts(columns, rows, width))
    assert max(map(len, lines)) <= width
    values = {}
    for line in lines:
        if line.startswith("  class"):
            starts = [(line.index(name), name) for name in names if name in line]
            continue
        for start, name in starts:
            values[line[2], name] = line[start:].split()[0]
    assert values == {(label, name): f"{label}{name[-1]}" for label in "ab" for name in names}


def test_bare_numbers_below_their_label_have_the_title_of_their_column() -> None:
    columns = [Column("metric"), Column("model"), Column("sd", "right"), Column("range", "right")]
    columns += [Column("rows", "right"), Column("", "right"), Column("value")]
    cells = ["accuracy", "a", "0.02343", "0.67 to 0.75", "1,620 (91.6%)", "12", "0.7"]
    lines = plain(table_or_stack(columns, [[Text(cell) for cell in cells]], 30))
    words = "accuracy a sd 0.02343 range 0.67 to 0.75 1,620 (91.6%) 12 0.7"
    assert " ".join(" ".join(lines).split()) == words
