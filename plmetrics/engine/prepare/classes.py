"""The classes of a label, found in the data where neither the suite nor a model names them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from plmetrics.catalogue.metric import Facts
from plmetrics.core.errors import DataError, Problem
from plmetrics.table.classes import class_text

if TYPE_CHECKING:
    from plmetrics.engine.inquiry import Question
    from plmetrics.engine.request import Request

MAX_CLASSES = 1000


def with_classes(request: Request) -> Question[Request]:
    """The request with the classes that occur in its data, where neither the suite nor a model names them.

    Raises:
        DataError: there are fewer than two classes, or more than 1,000.
    """
    named = dict.fromkeys(
        [
            request.roles.label,
            *(name for model in request.roles.models.values() for name in model.columns.values()),
        ]
    )
    plans = [
        request.raw.select(class_text(pl.col(name)).alias("class")).unique().head(MAX_CLASSES + 1)
        for name in named
    ]
    labels = pl.concat((yield plans))["class"].drop_nulls().unique().to_list()
    path = ("columns", "label")
    if len(labels) > MAX_CLASSES:
        msg = f"column '{request.roles.label}' (label) has more than {MAX_CLASSES:,} classes"
        raise DataError(Problem(msg, path, "name those that count with classes:"))
    if len(labels) < 2:
        msg = (
            f"column '{request.roles.label}' (label) holds {len(labels)} classes, and a comparison needs two"
        )
        raise DataError(Problem(msg, path, "name all that there can be with classes: [a, b]"))
    classes = tuple(sorted(labels, key=_natural))
    suite = request.suite.settled(Facts(classes, unlabelled=request.roles.unlabelled))
    return replace(request, suite=suite, roles=replace(request.roles, classes=classes))


def _natural(name: str) -> tuple[bool, int, str]:
    """Whole numbers by size, before texts."""
    number = name.removeprefix("-").isdecimal()
    return (not number, int(name) if number else 0, name)
