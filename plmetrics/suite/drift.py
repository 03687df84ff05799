"""The section `drift` of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plmetrics.suite.findings import shown
from plmetrics.suite.sections import Strict

if TYPE_CHECKING:
    from collections.abc import Callable

    from plmetrics.suite.findings import Findings

_PATH = ("drift",)
_FORM = "write drift: {reference: last_month.parquet, columns: [age]}"


class Drift(Strict):
    """Whether scores, labels and attributes are as they were in a reference window."""


def read_drift(value: Any, found: Findings) -> Drift | None:
    """The section; None where there is none, or where it is wrong."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        found.add(f"drift must be a mapping, not {shown(value)}", _PATH, _FORM)
        return None
    return found.model(Drift, value, _PATH)


def check_drift(fields: Mapping[str, Any], add: Callable[..., None]) -> None:
    """Note what is asked for without what it needs."""
