"""Slices of a figure: at most so many, the largest of each set, by set and value, with short names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import polars as pl

from plmetrics.core.errors import Problem
from plmetrics.core.names import number_duplicates
from plmetrics.core.results import first_word
from plmetrics.report.charts.selection import NothingToDraw, Selection, check_names
from plmetrics.report.charts.slices.rows import header
from plmetrics.report.charts.texts import clean, short, width
from plmetrics.report.numbers import count, plural

KEYS = ["slice_set", "slice", "class"]
MOST_ROWS = 40
FEW_UNITS = 30
"""Slices of fewer independent units, or rows where those are not known, are drawn small."""
MOST_LETTERS, ROOM = 30, 156
"""The most letters of a name, and the pixels that it may take: room is left for a number that tells names apart."""


def slice_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Rows of slices: neither of all rows, nor of metrics across the slices of a set."""
    return table.filter(pl.col("slice_set") != "overall", pl.col("slice_values").list.len() > 0)


def chosen_slices(selection: Selection, table: pl.DataFrame) -> pl.DataFrame:
    """Rows of slices, of the set and of the slices asked for; of all sets if none is.

    Raises:
        NothingToDraw: there are none.
        ConfigError: there is no such set or slice.
    """
    rows = slice_rows(table)
    if rows.is_empty():
        raise NothingToDraw(
            Problem(
                "the result has no slices", hint="name columns when you evaluate: slices={'region': 'region'}"
            )
        )
    for column, asked in (("slice_set", selection.slice_set), ("slice", selection.slices)):
        if asked is None:
            continue
        names = [asked] if isinstance(asked, str) else list(asked)
        check_names(column.replace("_", " "), names, rows[column])
        rows = rows.filter(pl.col(column).is_in(names))
    if rows.is_empty():
        raise NothingToDraw(Problem("no slice is of that set"))
    return rows


def look_of_slices(value: str, units: str) -> pl.Expr:
    """Style of a slice's row: undefined, worse, small or plain; `units` is the column of independent units."""
    small = pl.coalesce(units, "n") < FEW_UNITS
    cases = {"undefined": pl.col(value).is_null(), "worse": pl.col("reading") == "worse", "small": small}
    return first_word(cases, "plain")


def largest(slices: pl.DataFrame, most: int = MOST_ROWS) -> pl.DataFrame:
    """At most so many slices, the largest of each set, in the order they came in; each set has as many as another.

    `slices` has a row for each slice, with `slice_set` and `n`.
    """
    if slices.height <= most:
        return slices
    n = pl.col("n").fill_null(0)
    ranks = slices.with_columns(
        place=pl.int_range(pl.len()), size=n, rank=n.rank("ordinal", descending=True).over("slice_set")
    )
    first = ranks.sort("rank", "size", "place", descending=[False, True, False]).head(most)
    return first.sort("place").drop("place", "size", "rank")


def group_by_set(slices: pl.DataFrame, column: str) -> pl.DataFrame:
    """The slices by set, the largest value of a column first, the undefined last, with a header before each set.

    Only their keys, names `t` and `look` are left.
    """
    parts = []
    for name in slices["slice_set"].unique(maintain_order=True):
        part = slices.filter(slice_set=name).sort(
            column, descending=True, nulls_last=True, maintain_order=True
        )
        parts += [header(short(name, 60)), part.select(*KEYS, "t")]
    return pl.concat(parts, how="diagonal")


def with_slice_labels(slices: pl.DataFrame) -> pl.DataFrame:
    """The slices with `t`, their values where all of a set are of the same columns, else their texts."""
    columns = pl.col("slice_values").list.eval(pl.element().struct.field("column")).list.join(", ")
    same_columns = columns.n_unique().over("slice_set") == 1
    shorter = slices.select("slice", "slice_values", alike=same_columns).rows()
    whole = [_values(values) if same else text for text, values, same in shorter]
    texts = [_fitting(text, whole) for text in whole]
    named = slices.with_columns(t=pl.Series(_cut_texts_apart(texts), dtype=pl.String))
    return with_classes(named) if "class" in slices.columns else named


def with_classes(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with their class, where they are of one, behind their name."""
    classes = [None if label is None else f" [{short(label, 10)}]" for label in rows["class"]]
    return rows.with_columns(t=pl.col("t") + pl.Series(classes, dtype=pl.String).fill_null(""))


def _values(values: Iterable[dict[str, Any]]) -> str:
    return ", ".join(_value(pair["value"]) for pair in values)


def _fitting(text: str, among: Sequence[str]) -> str:
    """Text cut in the middle to the width of names, so that no two are confused by a common start."""
    letters = MOST_LETTERS
    while letters > 3 and width(short(text, letters)) > ROOM:
        letters -= 1
    return short(text, letters, among)


def _value(text: str | None) -> str:
    if text is None:
        return "(missing)"
    return clean(text) if text.strip() else "(empty)"


def _cut_texts_apart(texts: Sequence[str]) -> list[str]:
    """Texts, with a number where cut ones are the same and could be taken for each other."""
    apart = number_duplicates(texts)
    return [numbered if "…" in text else text for text, numbered in zip(texts, apart, strict=True)]


def shown_words(shown: int, there: int) -> str:
    """The number of slices shown, in words.

    >>> shown_words(40, 5000)
    '40 of 5,000 slices shown, the largest of each set'
    """
    if shown == there:
        return plural(there, "slice")
    return f"{count(shown)} of {count(there)} slices shown, the largest of each set"
