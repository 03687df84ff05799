"""Rows of a ranking in one pass: all of some queries, by the hash of their names, or by their files."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import DataError, Problem
from plmetrics.core.hashing import key_word, mix_expr

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import TableView

WORD = "@word"
"""The column of the hashes of queries, where these are to be in one file each."""

_PASSES_SALT = 0x71756572
"""Queries are told apart by passes in another way than by blocks."""


def closed_parts(view: TableView, number: int) -> list[TableView]:
    """Views of some files each, for suites with every query within one file."""
    if view.suite.data.partitioned_by is None:
        return [view]
    raws = [
        (part, part.frame if view.where is None else part.frame.filter(view.where))
        for part in view.source.in_parts(number)
    ]
    return [replace(view, source=part, raw=raw) for part, raw in raws] if len(raws) > 1 else [view]


def refuse_shared_queries(view: TableView, words: pl.Series) -> Question[None]:
    """Refuse queries with rows in several parts, by the hashes of their names.

    Raises:
        DataError: there are some.
    """
    divided = words.filter(words.is_duplicated())
    if not len(divided):
        return
    name = str(view.suite.columns.query)
    chosen = view.raw.filter(query_word(view) == divided[0]).select(name).head(1)
    (example,) = yield [chosen]
    number = divided.n_unique()
    subject = "1 query has" if number == 1 else f"{number:,} queries have"
    msg = f"column '{name}' (query): {subject} rows in several files, such as {example.item()!r}; data.partitioned_by"
    hint = "leave partitioned_by out: the files are then read more often, or write each query into one file"
    raise DataError(Problem(f"{msg} says that none has", ("data", "partitioned_by"), hint))


def some_queries(view: TableView, number: int, passes: int) -> pl.LazyFrame:
    """The rows of some of the queries; those without a query are among the first, where they are found to be bad."""
    return view.raw.filter(query_word(view) % passes == number)


def query_word(view: TableView, column: str | None = None) -> pl.Expr:
    """Hash of a row's query, by its column's canonical or raw name."""
    name = str(view.suite.columns.query)
    return mix_expr(key_word(pl.col(column or name), view.schema[name], _PASSES_SALT)).fill_null(0)
