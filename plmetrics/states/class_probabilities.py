"""Probabilities of classes as ordering numbers: of one class against the rest, or against one other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations
from typing import Literal

import polars as pl

from plmetrics.core.slice_texts import quote
from plmetrics.states.sums import Rows, RowValue

Kind = Literal["class", "pair", "share"]

_AGAINST = " vs "
_KINDS: dict[tuple[str, int], Kind] = {("one", 1): "class", ("one", 2): "pair", ("share", 2): "share"}


def class_value_kind(key: str | None) -> Kind | None:
    """Kind of probability of a key: of a class, of a class against one other, or its share of the two; else None.

    >>> [class_value_kind(key) for key in ("one|2", "one|2|0", "share|0|2", "confidence", None)]
    ['class', 'pair', 'share', None, None]
    """
    head, *numbers = (key or "").split("|")
    return _KINDS.get((head, len(numbers)))


def class_value_text(key: str, classes: Sequence[str]) -> str:
    """Class of an ordering number, or its pair of classes, the positive one first.

    >>> class_value_text("one|1", ["cat", "dog"]), class_value_text("one|1|0", ["cat", "dog"])
    ('dog', 'dog vs cat')
    """
    names = [classes[int(number)] for number in key.split("|")[1:]]
    if len(names) == 1:
        return names[0]
    return _AGAINST.join(quote(name, *([name] if _AGAINST in name else [])) for name in names)


def class_values(classes: Sequence[str], kind: Kind) -> list[RowValue]:
    """Row values of a kind: of each class, of each in each pair with another one, or of the first in each pair."""
    numbers = range(len(classes))
    if kind == "class":
        return [class_probability(classes, number) for number in numbers]
    if kind == "pair":
        return [pair_probability(classes, *pair) for pair in permutations(numbers, 2)]
    return [pair_share(classes, *pair) for pair in combinations(numbers, 2)]


def class_probability(classes: Sequence[str], number: int) -> RowValue:
    """Probability of a class, with its rows as positives and all others as negatives."""
    part = f"proba|{classes[number]}"
    return RowValue(f"one|{number}", lambda rows: rows.part(part), lambda rows: rows.of_class(number))


def pair_probability(classes: Sequence[str], number: int, other: int) -> RowValue:
    """Probability of a class on its own rows, the positives, and those of one other class."""
    part = f"proba|{classes[number]}"

    def value(rows: Rows) -> pl.Expr:
        return pl.when(_either(rows, number, other)).then(rows.part(part))

    return RowValue(f"one|{number}|{other}", value, lambda rows: rows.of_class(number))


def pair_share(classes: Sequence[str], number: int, other: int) -> RowValue:
    """Probability of the first of two classes, given either: null where both have probability 0.

    Of p and q, those of the two classes, it is p / (p + q).
    """
    parts = [f"proba|{classes[one]}" for one in (number, other)]

    def value(rows: Rows) -> pl.Expr:
        first, second = (rows.part(part) for part in parts)
        member = _either(rows, number, other) & (first + second > 0)
        return pl.when(member).then(first / (first + second))

    return RowValue(f"share|{number}|{other}", value, lambda rows: rows.of_class(number))


def pooled_probabilities(classes: Sequence[str]) -> RowValue:
    """The probabilities of all classes, each a number of its own: positive where the row is of the class."""

    def values(rows: Rows) -> pl.Expr:
        return pl.concat_list(rows.part(f"proba|{name}") for name in classes)

    def positive(rows: Rows) -> pl.Expr:
        return pl.concat_list(rows.of_class(number) for number in range(len(classes)))

    return RowValue("pool", values, positive, width=len(classes))


def _either(rows: Rows, number: int, other: int) -> pl.Expr:
    return rows.of_class(number) | rows.of_class(other)
