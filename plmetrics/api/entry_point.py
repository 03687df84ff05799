"""What all entry points of Python have in common: warnings, arithmetic, and the process that they run in."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, Protocol, TypeVar

import numpy as np

from plmetrics.core.errors import PlmetricsWarning
from plmetrics.core.process import refuse_fork


class Cautious(Protocol):
    """Result of an entry point, with warnings."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings: no errors, but probably not meant."""


Arguments = ParamSpec("Arguments")
Outcome = TypeVar("Outcome", bound=Cautious)


def entry_point(function: Callable[Arguments, Outcome]) -> Callable[Arguments, Outcome]:
    """Entry point with the warnings of its result issued at the place of the call.

    A number too small for its type is 0 in it, also where NumPy is told to raise an error then. A process that was
    forked is refused where it would wait for ever.
    """

    @wraps(function)
    def entry(*args: Arguments.args, **options: Arguments.kwargs) -> Outcome:
        refuse_fork()
        with np.errstate(under="ignore"):
            outcome = function(*args, **options)
        for text in outcome.warnings:
            warnings.warn(text, PlmetricsWarning, stacklevel=2)
        return outcome

    return entry
