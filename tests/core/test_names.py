"""Hints for unknown names: one that looks the same is shown with the codes of its characters. Names in SQL."""

import ast

import polars as pl
import pytest
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.dialects.postgres import Postgres

from plmetrics.core.names import did_you_mean, quoted_name, sql_name
from plmetrics.core.rowsql import compile_row

_OTHERS = ["a b", "größe", 'the "real" one', "1st", "a.b", "a-b", "it's", "Case", "p"]
_WORDS = sorted({word.lower() for dialect in (DuckDB, Postgres) for word in dialect.Tokenizer.KEYWORDS})


@pytest.mark.parametrize("name", ["s\u00a0", "\ufeffs", "s ", "\u017f"])
def test_a_name_that_looks_the_same_is_told_apart(name: str) -> None:
    hint = did_you_mean("s", ["y", name])
    assert hint is not None
    assert hint.isascii()
    assert ast.literal_eval(hint.removeprefix("did you mean ").removesuffix("?")) == name


@pytest.mark.exhaustive
@pytest.mark.parametrize("spelling", [sql_name, quoted_name])
@pytest.mark.parametrize(
    "form", ["{}", "{} > 1", "{} < 3", "CASE WHEN {0} IN (0, 1) THEN {0} END", "TRY_CAST({} AS DOUBLE)"]
)
def test_any_column_can_be_named_in_sql(spelling, form) -> None:  # type: ignore[no-untyped-def]
    """Every word of two dialects, in our own row expressions and in Polars' SQL."""
    names = [*filter(str.isidentifier, _WORDS), *_OTHERS]
    texts = [form.format(spelling(name)) for name in names]
    assert [compile_row(text).columns for text in texts] == [(name,) for name in names]
    assert [set(pl.sql_expr(text).meta.root_names()) for text in texts] == [{name} for name in names]
