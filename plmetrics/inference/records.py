"""Records of arrays with an entry for each slice along their last axis: selection of slices, and concatenation.

Arrays may stand in lists and tuples, and in records within a record; what is no array stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import numpy as np

from plmetrics.core.ops import Codes

Record = TypeVar("Record")


def entries_of(record: Record, index: slice | Codes) -> Record:
    """The record of some of the slices.

    >>> entries_of((np.array([[1, 2, 3]]), [("ok", np.array([4, 5, 6]))], None), np.array([2, 0]))
    (array([[3, 1]]), [('ok', array([6, 4]))], None)
    """
    part: Record = _combine([record], lambda arrays: arrays[0][..., index])
    return part


def end_to_end(records: Sequence[Record]) -> Record:
    """Slices of several records, one after another; None for a field absent in one of them.

    >>> end_to_end([(np.array([1, 2]), None, "t"), (np.array([3]), np.array([0]), "t")])
    (array([1, 2, 3]), None, 't')
    """
    whole: Record = _combine(
        records, lambda arrays: np.concatenate(list(map(np.atleast_1d, arrays)), axis=-1)
    )
    return whole


def _combine(values: Sequence[Any], combine: Callable[[Sequence[Any]], Any]) -> Any:
    first = values[0]
    if any(value is None for value in values):
        return None
    if isinstance(first, np.ndarray):
        return combine(values)
    if isinstance(first, (list, tuple)):
        return type(first)(_combine(parts, combine) for parts in zip(*values, strict=True))
    if is_dataclass(first) and not isinstance(first, type):
        parts = {
            field.name: _combine([getattr(value, field.name) for value in values], combine)
            for field in fields(first)
        }
        return replace(first, **parts)
    return first
