"""Texts in place of times and labels: times must be of one form, labels may be alike, or words for a missing value."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.core.errors import DataError
from plmetrics.core.names import appearance, sql_name
from plmetrics.engine.inquiry import Question, frames_by_name
from plmetrics.table.checks import one_form_problem, time_forms
from plmetrics.table.common_types import is_text

if TYPE_CHECKING:
    from plmetrics.engine.request import TableView

_MOST_VALUES = 1000
_SHOWN = 3
_REMEDY = "if they are the same, write them alike: LOWER(TRIM(...)) in derive does for capitals and blanks"
_ABSENT = frozenset({"NA", "N/A", "n/a", "#N/A", "<NA>", "nan", "NaN", "NaT", "null", "NULL", "None"})
"""Texts that programs write where a value is missing."""


def check_time_forms(view: TableView) -> Question[None]:
    """See that the texts of each column that rows are ordered by are of one form.

    Raises:
        DataError: some are not; each form is counted, with an example.
    """
    ordered = {
        need.column: need
        for need in view.roles.requirements
        if need.needs_order and is_text(view.schema[need.column])
    }
    forms = yield from frames_by_name({name: time_forms(view.raw, name) for name in ordered})
    problems = [
        one_form_problem(forms[name], f"column '{name}' ({need.role})", need.path)
        for name, need in ordered.items()
    ]
    if any(problems):
        raise DataError([problem for problem in problems if problem is not None])


def _is_absent(text: str) -> bool:
    return text in _ABSENT or not text.strip()


def plain_form(text: str) -> str:
    """A text without what people overlook: capitals beside what `appearance` leaves out.

    >>> plain_form(" Yes"), plain_form("STRASSE") == plain_form("Straße "), plain_form("no\u200b  one")
    ('yes', True, 'no one')
    """
    return appearance(text).casefold()


def near_positive_labels(view: TableView) -> Question[list[str]]:
    """Warnings of labels, and of classes that were called, that count as negative and are nearly the positive one."""
    positive, roles = view.suite.positive, view.roles
    if not isinstance(positive, str):
        return []
    named = [roles.label, *(model.label for model in roles.models.values())]
    named += [column for model in roles.hard for column in roles.models[model].columns.values()]
    columns = [name for name in dict.fromkeys(named) if name is not None and is_text(view.schema[name])]
    longest = 2 * len(positive.encode()) + 8
    plans = {}
    for name in columns:
        value = pl.col(name).cast(pl.String)
        other = (value != positive) & (value.str.len_bytes() <= longest)
        plans[name] = view.raw.filter(other).group_by(value.alias("value")).len("rows").head(_MOST_VALUES)
    frames = yield from frames_by_name(plans)
    return [text for name, frame in frames.items() for text in _near(name, positive, frame)]


def _near(name: str, positive: str, frame: pl.DataFrame) -> Iterator[str]:
    meant = plain_form(positive)
    near = {value: rows for value, rows in frame.sort("value").iter_rows() if plain_form(value) == meant}
    if near:
        rows, *values = sum(near.values()), *told_apart([*near, positive])
        holds, counts = ("row holds", "counts") if rows == 1 else ("rows hold", "count")
        yield (
            f"column '{name}': {rows:,} {holds} {', '.join(values[:-1])} and {counts} as negative, as only "
            f"{values[-1]} is positive; {_REMEDY}"
        )
    absent = {value: rows for value, rows in frame.sort("value").iter_rows() if _is_absent(value)}
    if absent:
        rows, words = sum(absent.values()), ", ".join(map(repr, absent))
        holds = "row holds" if rows == 1 else "rows hold"
        yield f"column '{name}': {rows:,} {holds} {words}, a text and thus negative; {_as_null(name, absent)}"


def _as_null(name: str, words: Iterable[str]) -> str:
    """Way to leave out rows with some words for a missing value."""
    condition = f"CASE WHEN {sql_name(name)} NOT IN ({', '.join(map(repr, words))}) THEN {sql_name(name)} END"
    return f"if it stands for no value, derive {condition}, with data.missing: drop"


def near_classes(classes: Sequence[str]) -> list[str]:
    """Warning of classes that are nearly the same; letters in capitals are classes of their own."""
    alike: dict[str, list[str]] = {}
    for name in classes:
        alike.setdefault(plain_form(name), []).append(name)
    sets = [names for text, names in alike.items() if len(names) > 1 and len(text) > 1]
    named = "; ".join(" and ".join(told_apart(names)) for names in sets[:_SHOWN])
    return [f"classes {named} are counted apart; {_REMEDY}"] if sets else []


def absent_classes(column: str, classes: Sequence[str]) -> list[str]:
    """Warning of classes that nobody named and that are words for a missing value; `None` may be a class."""
    words = [name for name in classes if name != "None" and _is_absent(name)]
    verb = "is a class" if len(words) == 1 else "are classes"
    return [f"{', '.join(map(repr, words))} {verb} like others; {_as_null(column, words)}"] if words else []


def told_apart(texts: Sequence[str]) -> list[str]:
    """Quoted texts, with the codes of characters where some look the same."""
    composed = {unicodedata.normalize("NFKC", text) for text in texts}
    return list(map(repr if len(composed) == len(texts) else ascii, texts))
