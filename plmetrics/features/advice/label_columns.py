"""Labels of several classes a row in an undescribed table: a column of 0 and 1 and a score for each class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from plmetrics.features.advice.column_names import is_score_name
from plmetrics.features.advice.column_roles import attribute_roles
from plmetrics.features.advice.prediction_columns import model_names
from plmetrics.features.advice.table_roles import Roles, Wishes

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.features.advice.column_roles import Facts

    Families = dict[tuple[str, str], dict[str, tuple[str, str]]]

_FEWEST = 2
_MOST_COLUMNS = 400


def label_set_roles(sample: pl.DataFrame, facts: Facts, wishes: Wishes) -> Roles | None:
    """Roles of a table with several columns of 0 and 1, and a column of numbers for each.

    With a label that is named the other labels are those that are called likewise.
    """
    labels = [name for name, column in facts.items() if column.zero_one and not is_score_name(name)]
    scores = [
        name
        for name, column in facts.items()
        if column.numeric and not column.zero_one and (not wishes.scores or name in wishes.scores)
    ]
    if not _FEWEST <= len(labels) <= _MOST_COLUMNS or not _FEWEST <= len(scores) <= _MOST_COLUMNS:
        return None
    families = _families(labels, scores)
    if wishes.label is not None:
        named = {
            stems: pairs
            for stems, pairs in families.items()
            if wishes.label in [label for label, _ in pairs.values()]
        }
        families = named if wishes.task == "multilabel" else {}
    most = max(map(len, families.values()), default=0)
    if most < _FEWEST:
        return None
    first = next(pairs for pairs in families.values() if len(pairs) == most)
    chosen = {name: label for name, (label, _) in first.items()}
    models = {
        stem: {f"proba|{name}": score for name, (_, score) in pairs.items()}
        for (_, stem), pairs in families.items()
        if {name: label for name, (label, _) in pairs.items()} == chosen
    }
    columns = tuple(column for model in models.values() for column in model.values())
    label = next(iter(chosen.values()))
    reason = f"{len(chosen)} columns of 0 and 1 have a column of scores each"
    others = attribute_roles(sample, facts, label, (*chosen.values(), *columns))
    return Roles(
        label=label,
        scores=columns,
        task="multilabel",
        models=model_names(models),
        classes=tuple(chosen),
        labels=chosen,
        reasons={"task": reason, "scores": reason, "label": "a column of 0 and 1 for each class"},
        **others,
    )


def shared_prefix(columns: Mapping[str, str], names: Sequence[str]) -> str | None:
    """Prefix of the columns of all classes, before the class, and of no other column.

    >>> shared_prefix({"a": "is_a", "b": "is_b"}, ["is_a", "is_b", "id"])
    'is_'
    """
    name, column = next(iter(columns.items()))
    prefix = column.removesuffix(name)
    fits = prefix and all(column == prefix + name for name, column in columns.items())
    others = {other for other in names if other.startswith(prefix)} - {*columns.values()}
    return prefix if fits and not others else None


def _families(labels: Sequence[str], scores: Sequence[str]) -> Families:
    """Pairs of label and score by class, by the prefixes and suffixes of the class in both names."""
    families: Families = {}
    for label in labels:
        for score in scores:
            for name, stems in _shared_names(label, score):
                families.setdefault(stems, {})[name] = (label, score)
    return families


def _shared_names(label: str, score: str) -> Iterator[tuple[str, tuple[str, str]]]:
    """Possible common classes in the names of a label and a score, with the remainders of the names."""
    for name, stem in ((_suffix(label, score), "{}*"), (_suffix(label[::-1], score[::-1])[::-1], "*{}")):
        if not name:
            continue
        cut = (len(label) - len(name), len(score) - len(name))
        rests = (
            (label[: cut[0]], score[: cut[1]]) if stem == "{}*" else (label[len(name) :], score[len(name) :])
        )
        yield name, (stem.format(rests[0]), stem.format(rests[1]))


def _suffix(first: str, second: str) -> str:
    """Longest common suffix of two names from a word boundary of both, and no whole score name."""
    size = 0
    while size < min(len(first), len(second)) and first[-1 - size] == second[-1 - size]:
        size += 1
    while size and not (_begins_word(first, size) and _begins_word(second, size)):
        size -= 1
    return first[len(first) - size :] if size else ""


def _begins_word(name: str, size: int) -> bool:
    """Whether the last characters of a name are words of their own."""
    if size == len(name):
        return True
    before, first = name[-size - 1], name[-size]
    camel = before.islower() and first.isupper()
    return first.isalnum() and (not before.isalnum() or camel or (before.isalpha() and first.isdigit()))
