"""Warnings of a result issued as Python warnings, for callers from Python."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar

from plmetrics.core.errors import PlmetricsWarning


class Cautious(Protocol):
    """Result of an entry point, with warnings."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings: no errors, but probably not meant."""


Arguments = ParamSpec("Arguments")
Outcome = TypeVar("Outcome", bound=Cautious)


def issues_warnings(function: Callable[Arguments, Outcome]) -> Callable[Arguments, Outcome]:
    """Entry point with the warnings of its result issued at the place of the call."""

    @wraps(function)
    def entry(*args: Arguments.args, **options: Arguments.kwargs) -> Outcome:
        outcome = function(*args, **options)
        for text in outcome.warnings:
            warnings.warn(text, PlmetricsWarning, stacklevel=2)
        return outcome

    return entry
