"""What all entry points of Python have in common: warnings, arithmetic, and the process that they run in."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from inspect import signature
from typing import ParamSpec, Protocol, TypeVar

import numpy as np

from plmetrics.core.errors import ConfigError, PlmetricsWarning, Problem
from plmetrics.core.names import did_you_mean
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
    forked is refused where it would wait for ever. An unknown argument is told with the nearest known one.
    """
    parameters = signature(function).parameters
    names = () if any(one.kind is one.VAR_KEYWORD for one in parameters.values()) else tuple(parameters)

    @wraps(function)
    def entry(*args: Arguments.args, **options: Arguments.kwargs) -> Outcome:
        refuse_fork()
        _refuse_unknown(options, names)
        with np.errstate(under="ignore"):
            outcome = function(*args, **options)
        for text in outcome.warnings:
            warnings.warn(text, PlmetricsWarning, stacklevel=2)
        return outcome

    return entry


def _refuse_unknown(options: Mapping[str, object], names: Sequence[str]) -> None:
    unknown = [key for key in options if key not in names] if names else []
    if unknown:
        raise ConfigError(
            [Problem(f"unknown argument '{key}'", (), did_you_mean(key, names)) for key in unknown]
        )
