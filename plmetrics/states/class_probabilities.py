"""The probability of one class as a number that rows are ordered by, with its rows as the positive ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.states.sums import RowValue

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from plmetrics.states.sums import Rows


_CLASS = "one|"


def class_key(number: int) -> str:
    """The key of the probability of a class, by its number."""
    return f"{_CLASS}{number}"


def is_class_key(key: str) -> bool:
    """Whether a key is that of the probability of a class, over all rows.

    >>> [is_class_key(key) for key in ("one|2", "one|2|0", "confidence")]
    [True, False, False]
    """
    return key.removeprefix(_CLASS).isdecimal() and key.startswith(_CLASS)


def class_probability(classes: Sequence[str], number: int) -> RowValue:
    """The probability of a class, whose rows are positive and those of all others negative."""
    part = f"proba|{classes[number]}"

    def value(rows: Rows) -> pl.Expr:
        return rows.part(part)

    def positive(rows: Rows) -> pl.Expr:
        return rows.of_class(number)

    return RowValue(class_key(number), value, positive)
