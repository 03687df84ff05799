"""Texts of slices: what is in quotes, and which slice a text of an older version stands for."""

import polars as pl
import pytest

from plmetrics.core.slice_texts import only_value, quote, rename_slices, slice_place, unquote


@pytest.mark.parametrize(
    "text", ["", "north", "a,b", 'say "x"', "null", "[25, 40)", "a=1", '"a"', '"', 'x, "y"']
)
def test_quotes_are_taken_off_again(text: str) -> None:
    assert unquote(quote(text, "null")) == text
    assert (quote(text, "null") == text) == (text in {"", "north", "a,b", 'say "x"'})


@pytest.mark.parametrize(
    ("asked", "place"),
    [
        ("g=null", 0),
        ('g="null"', 1),
        ("g=a, b", 2),
        ('g="a, b"', 2),
        ("g=a=b", 3),
        ("g=none", None),
        ("g=x, y=1", None),
    ],
)
def test_a_slice_is_asked_for_with_or_without_quotes(asked: str, place: int | None) -> None:
    texts = ["g=null", 'g="null"', 'g="a, b"', 'g="a=b"', 'g="x, y"=1', 'g=x, y="1"']
    assert slice_place(asked, texts) == place


def test_the_value_of_one_column() -> None:
    assert [only_value(text) for text in ('"a=b"=x', 'g="a, b"', "g=", "g=1, h=2", "g=[25, 40)")] == [
        "x",
        '"a, b"',
        "",
        "g=1, h=2",
        "g=[25, 40)",
    ]


def table(*texts: str) -> pl.DataFrame:
    return pl.DataFrame({"slice_set": ["s"] * len(texts), "slice": texts, "value": range(len(texts))})


@pytest.mark.parametrize(
    ("earlier", "now", "expected"),
    [
        (["g=a, b", "g=c"], ['g="a, b"', "g=c"], ['g="a, b"', "g=c"]),
        (["g=null"], ['g="null"'], ["g=null"]),
        (["g=null"], ["g=null", 'g="null"'], ["g=null"]),
        (["a=x, b=p, b=q"], ['a=x, b="p, b=q"', 'a="x, b=p", b=q'], ["a=x, b=p, b=q"]),
        (["a=x, b=p, b=q"], ['a=x, b="p, b=q"', "a=y, b=q"], ['a=x, b="p, b=q"']),
        (["c=other"], ['c="other"'], ["c=other"]),
    ],
)
def test_texts_of_older_versions_where_they_mean_one_slice(
    earlier: list[str], now: list[str], expected: list[str]
) -> None:
    made = rename_slices(table(*earlier), table(*now))
    assert made.columns == ["slice_set", "slice", "value"]
    assert made["slice"].to_list() == expected
    assert made["value"].to_list() == list(range(len(earlier)))
