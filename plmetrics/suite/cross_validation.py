"""The section `cross_validation` of a suite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from plmetrics.suite.findings import shown
from plmetrics.suite.sections import Strict

if TYPE_CHECKING:
    from collections.abc import Callable

    from plmetrics.suite.findings import Findings

_PATH = ("cross_validation",)
_FORM = "write cross_validation: {fold: fold}"


class CrossValidation(Strict):
    """Estimates fold by fold, next to the pooled ones."""


def read_cross_validation(value: Any, found: Findings) -> CrossValidation | None:
    """The section; None where there is none, or where it is wrong."""
    if value is None:
        return None
    if not isinstance(value, Mapping):
        found.add(f"cross_validation must be a mapping, not {shown(value)}", _PATH, _FORM)
        return None
    return found.model(CrossValidation, value, _PATH)


def check_cross_validation(fields: Mapping[str, Any], add: Callable[..., None]) -> None:
    """Note what is asked for without what it needs."""
