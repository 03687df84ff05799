"""Texts of slices: one for each slice of a set, and the look-up of a slice by its text."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

NULL, OTHER = "null", "other"
_PLACE = ["slice_set", "slice"]
_NAME = re.compile(r'(?:"(?:[^"]|"")*"|[^="][^=]*)=(?P<value>"(?:[^"]|"")*"|(?!.*, ).*)', re.DOTALL)
_QUOTED = re.compile(r'(^|, |=)"((?:[^"]|"")*)"(?=$|, |=)')


def quote(text: str, *reserved: str) -> str:
    """A name or value in the text of a slice: in quotes where it holds a separator, or reads like something else.

    >>> quote("north"), quote("a, b"), quote("a=1"), quote("null", "null")
    ('north', '"a, b"', '"a=1"', '"null"')
    """
    if ", " in text or "=" in text or text.startswith('"') or text in reserved:
        return '"' + text.replace('"', '""') + '"'
    return text


def unquote(text: str) -> str:
    """The text of a slice without quotes, as it was written before there were any; several may be written alike.

    >>> unquote('a=x, b="p, b=q"'), unquote('a="null"')
    ('a=x, b=p, b=q', 'a=null')
    """
    return _QUOTED.sub(lambda match: match[1] + match[2].replace('""', '"'), text)


def slice_place(slice_text: str, texts: Sequence[str]) -> int | None:
    """The place of the slice with a text; one written without quotes counts where only one slice can be meant.

    >>> slice_place("a=x, y", ['a="x, y"', "a=z"]), slice_place("a=w", ["a=z"])
    (0, None)
    """
    if slice_text in texts:
        return texts.index(slice_text)
    matches = [place for place, text in enumerate(texts) if '"' in text and unquote(text) == slice_text]
    return matches[0] if len(matches) == 1 else None


def only_value(text: str) -> str:
    """The value in the text of a slice of one column, as it is written there; other texts as they are.

    >>> only_value("region=north"), only_value('region="a, b"'), only_value("a=1, b=2")
    ('north', '"a, b"', 'a=1, b=2')
    """
    match = _NAME.fullmatch(text)
    return text if match is None else match["value"]


def rename_slices(earlier: pl.DataFrame, now: pl.DataFrame) -> pl.DataFrame:
    """Rows of an earlier run with their slices called as in a later one.

    Older versions wrote no quotes. Their texts stand for the slice that is written so without its quotes, if it is the
    only one; not for one that reads `null` or `other` then, which are slices of their own.
    """
    texts = now.select(_PLACE).unique()
    here = texts.filter(pl.col("slice").str.contains('"', literal=True))
    if here.is_empty():
        return earlier
    older = here.with_columns(pl.Series("@older", [_older(text) for text in here["slice"]], dtype=pl.String))
    older = older.drop_nulls().filter(pl.struct("slice_set", "@older").is_unique())
    older = older.join(texts, left_on=["slice_set", "@older"], right_on=_PLACE, how="anti")
    joined = earlier.join(
        older.rename({"slice": "@now"}),
        left_on=_PLACE,
        right_on=["slice_set", "@older"],
        how="left",
        maintain_order="left",
    )
    return joined.with_columns(slice=pl.coalesce("@now", "slice")).drop("@now")


def _older(text: str) -> str | None:
    """The text as older versions wrote it, None where theirs may mean another slice now."""
    return None if any(match[2] in {NULL, OTHER} for match in _QUOTED.finditer(text)) else unquote(text)
