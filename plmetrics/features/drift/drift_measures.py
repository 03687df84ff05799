"""Measures of a column's drift: names with parameters, as `psi` or `quantile(q=0.95)`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from plmetrics.core.names import did_you_mean
from plmetrics.core.text import Call, HintError, TextError, parse_call

NULL_SHARE = "null_share"
"""The measure that every column has, asked for or not."""

_MEASURES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "psi": {"bins": 10, "floor": 1e-4},
        "ks_2samp": {},
        "chi2_2samp": {"bins": 10},
        "wasserstein": {"scale": "unit"},
        "jensen_shannon": {"bins": 10},
        "mean": {},
        "variance": {},
        "quantile": {"q": 0.5},
        NULL_SHARE: {},
    }
)
DEFAULTS = ("psi", "ks_2samp", "chi2_2samp", "wasserstein", "jensen_shannon", "mean")
"""The measures of a suite that names none; of each column those that fit its type."""

_OF_NUMBERS = frozenset({"ks_2samp", "wasserstein", "mean", "variance", "quantile"})
MOST_BINS = 1000


class MeasureError(HintError):
    """A text without a measure."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure with all its parameters.

    >>> measure_of("psi(bins=20)").text, measure_of("psi(bins=10)").text
    ('psi(bins=20)', 'psi')
    """

    name: str
    parameters: Mapping[str, Any]

    @property
    def text(self) -> str:
        """The canonical text: parameters in order, those at their default left out."""
        defaults = _MEASURES[self.name]
        parameters = {key: value for key, value in self.parameters.items() if value != defaults[key]}
        return str(Call(self.name, parameters))

    @property
    def of_numbers(self) -> bool:
        """Whether a column of categories has no such measure."""
        return self.name in _OF_NUMBERS


def measure_of(text: str, shared: Mapping[str, Any] | None = None) -> Measure:
    """Measure from its text; `shared` are default parameters of measures.

    Raises:
        MeasureError: there is no such measure, or a parameter is wrong.
    """
    try:
        call = parse_call(text)
    except TextError as error:
        raise MeasureError(str(error).replace("a metric's", "a measure's"), error.hint) from None
    defaults = _MEASURES.get(call.name)
    if defaults is None:
        msg = f"unknown measure '{call.name}'"
        raise MeasureError(msg, did_you_mean(call.name, _MEASURES))
    for key in call.parameters:
        if key not in defaults:
            msg = f"measure '{call.name}' has no parameter '{key}'"
            hint = did_you_mean(key, defaults) or f"write {call.name}"
            raise MeasureError(msg, hint)
    chosen = {key: (shared or {}).get(key, value) for key, value in defaults.items()}
    parameters = {**chosen, **call.parameters}
    for key, value in parameters.items():
        _check(call.name, key, value)
    return Measure(call.name, parameters)


def _check(name: str, key: str, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits, words = {
        "bins": (isinstance(value, int) and number and 2 <= value <= MOST_BINS, f"2 to {MOST_BINS}, whole"),
        "floor": (number and 0 < value < 1, "greater than 0 and less than 1"),
        "q": (number and 0 < value < 1, "greater than 0 and less than 1"),
        "scale": (value in {"unit", "sd"}, "unit or sd (of the reference)"),
    }[key]
    if not fits:
        msg = f"{key} of {name} must be {words}, not {value!r}"
        raise MeasureError(msg)
