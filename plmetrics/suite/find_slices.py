"""The section `find_slices` of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plmetrics.suite.findings import shown
from plmetrics.suite.sections import Strict

if TYPE_CHECKING:
    from collections.abc import Callable

    from plmetrics.suite.findings import Findings

_PATH = ("find_slices",)
_FORM = "write find_slices: {columns: [region, device], metric: log_loss}"


class FindSlices(Strict):
    """A search for slices that are worse than the rest."""


def read_find_slices(value: Any, found: Findings) -> FindSlices | None:
    """The section; None where there is none, or where it is wrong."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        found.add(f"find_slices must be a mapping, not {shown(value)}", _PATH, _FORM)
        return None
    return found.model(FindSlices, value, _PATH)


def check_find_slices(fields: Mapping[str, Any], add: Callable[..., None]) -> None:
    """Note what is asked for without what it needs."""
