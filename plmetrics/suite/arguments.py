"""Keyword arguments as suites: the same checks as for a file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from plmetrics.core.errors import ConfigError, PlmetricsError, Problem
from plmetrics.features.registry import FEATURES, feature
from plmetrics.suite.problems import key_hint, key_word
from plmetrics.suite.reader import SUITE_KEYS, suite_from_mapping
from plmetrics.suite.sections.basics import Columns
from plmetrics.suite.sections.uncertainty import Uncertainty

if TYPE_CHECKING:
    from plmetrics.suite.keywords import Arguments
    from plmetrics.suite.model import Suite

_ROLES = tuple(key for key in Columns.model_fields if key != "label_columns")
_DATA = ("where", "missing", "path")
_SECTIONS = ("columns", "data", "uncertainty", "compare", "output", "notify")
"""Keys of a suite that are no arguments of their own, or are read apart."""

_SUITE = tuple(key for key in SUITE_KEYS if key not in _SECTIONS)
_VALUES = ("positive", "classes", "metrics", "slices", "gates", "curves", "min_rows", "max_slices", "seed")
"""Arguments of values, not of columns or tables."""

_NAMES = ("metrics", "slices", "gates", "curves")
"""Those that name columns or metrics."""

_HEADING = re.compile(r"(\w+: |)(.*)", re.DOTALL)
_KNOWN = (*_ROLES, *_DATA, *_SUITE, *FEATURES, "compare", "uncertainty", "seed")


def suite_from_arguments(data: object = None, **arguments: Unpack[Arguments]) -> Suite:
    """A checked suite from the keyword arguments of `plmetrics.evaluate`.

    `seed` is that of `uncertainty` unless this names one. TREC files as `data` say which columns and models there are.

    Raises:
        ConfigError: all problems at once, in the words of YAML.
    """
    unknown = [key for key in arguments if key not in _KNOWN]
    if unknown:
        raise ConfigError([Problem(f"unknown argument '{key}'", (), _argument_hint(key)) for key in unknown])
    entries = {key: _plain(value, key) for key, value in arguments.items() if value is not None}
    raw: dict[str, object] = {
        "columns": _select(entries, _ROLES),
        "data": _select(entries, _DATA),
        **_select(entries, _SUITE),
    }
    if isinstance(data, Mapping) and "trec" in data:
        from plmetrics.suite.mentions import trec_defaults

        raw |= {key: value for key, value in trec_defaults({**raw, "data": data}).items() if key != "data"}
    raw |= {key: feature(key).argument(entries[key]) for key in FEATURES if key in entries}
    if "compare" in entries:
        from plmetrics.suite.sections.compare import with_result

        raw["compare"] = with_result(entries["compare"])
    uncertainty = {} if entries.get("uncertainty") is True else entries.get("uncertainty")
    seed = entries.get("seed", 0)
    if uncertainty is None and type(seed) is not int:
        uncertainty = {}  # So that the seed is refused, among all problems
    if isinstance(uncertainty, Mapping):
        uncertainty = {"seed": seed, **uncertainty}
    return suite_from_mapping(raw | {"uncertainty": uncertainty})


@contextmanager
def python_words() -> Iterator[None]:
    """Errors with problems in terms of arguments and of values of Python."""
    try:
        yield
    except PlmetricsError as error:
        from plmetrics.suite.python_words import in_python_words

        in_python_words(error)
        raise


def python_warnings(texts: Sequence[str]) -> tuple[str, ...]:
    """Warnings in terms of arguments and of values of Python; a first word such as `leakage:` is a heading."""
    if not texts:
        return ()
    from plmetrics.suite.python_words import python_text

    parts = (_HEADING.match(text) for text in texts)
    return tuple(f"{part[1]}{python_text(part[2])}" for part in parts if part)


def _argument_hint(key: str) -> str | None:
    word = key_word(key)
    return (
        f'write uncertainty={{"{word}": ...}}' if word in Uncertainty.model_fields else key_hint(key, _KNOWN)
    )


def _plain(value: Any, argument: str) -> Any:
    """Values of NumPy, pandas and Polars, such as the classes of an estimator, as those of Python.

    Tables stay as they are; so does a Series where names are due: its values are hardly what was meant.
    """
    if isinstance(value, Mapping):
        return {key: _plain(item, argument) for key, item in value.items()}
    if isinstance(value, np.floating):
        return float(str(value))  # The digits that were meant: 0.9, not those of the nearest float32
    listed = argument in _VALUES
    if listed and type(value) in {list, tuple}:
        return type(value)(_plain(item, argument) for item in value)
    named = argument in _NAMES and type(value).__name__ == "Series"
    arrays = hasattr(value, "__array__") and listed and not named
    array = np.asarray(value) if arrays or isinstance(value, np.generic) else None
    return value if array is None or array.ndim > 1 or array.dtype.kind not in "biufUO" else array.tolist()


def _select(arguments: Mapping[str, object], names: tuple[str, ...]) -> dict[str, object]:
    return {name: arguments[name] for name in names if name in arguments}
