"""Parameters of metrics: their defaults, names and domains, and the base of threshold rules."""

from __future__ import annotations

import dataclasses
import math
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from plmetrics.core.text import Call, value_text

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MOST_BINS = 10_000
_FLOAT_LIMIT = 1 << 1023


@dataclass(frozen=True, slots=True)
class ThresholdRule:
    """Rule of a threshold. `select_on` is an SQL condition on the rows to choose it on, None for all rows.

    Rules are equal when their texts are.
    """

    select_on: str | None = None

    @property
    def text(self) -> str:
        """The rule as it stands in a metric's text."""
        call = self._call()
        if self.select_on is None:
            return str(call)
        return str(Call(call.name, {**call.parameters, "select_on": self.select_on}, call.arguments))

    def __str__(self) -> str:
        return self.text

    @property
    def constant(self) -> float | None:
        """The threshold, where it follows from the rule alone."""
        return None

    def _call(self) -> Call:
        raise NotImplementedError

    def choose(self, points: Any) -> float:
        """Threshold on some rows; NaN where none fulfils the rule.

        Args:
            points: the confusion table `tp fp fn tn` at each candidate, ascending by threshold, whose last calls
                nothing positive; with `threshold`, and the totals `positives negatives weight n`.
        """
        raise NotImplementedError


class ParameterHolder:
    """Object of parameters: its content for pickle lacks cached properties, as the reader computes its own."""

    def __getstate__(self) -> dict[str, object]:
        return {
            name: value
            for name, value in vars(self).items()
            if not isinstance(getattr(type(self), name, None), cached_property)
        }


PARAMETER_TYPES: dict[str, type] = {
    "float": float,
    "int": int,
    "bool": bool,
    "str": str,
    "None": type(None),
    "ThresholdRule": ThresholdRule,
}


class ParameterError(ValueError):
    """A metric's parameter is unknown, missing or outside its domain; `parameter` is its name, if it is there."""

    def __init__(self, message: str, parameter: str | None = None) -> None:
        super().__init__(message)
        self.parameter = parameter


def parameter(
    default: Any = dataclasses.MISSING,
    *,
    doc: str,
    check: Callable[[Any], bool] | None = None,
    domain: str = "",
    options: Sequence[str] = (),
    name: str | None = None,
    unnamed: bool = False,
) -> Any:
    """Parameter of a metric: its default, its meaning, its domain, and its name if unlike the field's.

    The domain is what a `check` accepts, or one of some `options`. An `unnamed` one stands first in texts, without its
    name.
    """
    if options:
        check, domain = options.__contains__, f"{', '.join(options[:-1])} or {options[-1]}"
    texts = {"doc": doc, "domain": domain, "name": name}
    metadata = texts | {"check": check, "options": tuple(options), "unnamed": unnamed}
    return dataclasses.field(default=default, metadata=metadata, kw_only=default is dataclasses.MISSING)


def parameter_name(field: dataclasses.Field[Any]) -> str:
    """Name of a parameter in texts: its `name`, else the field's."""
    return field.metadata.get("name") or field.name


def parameters(metric: DataclassInstance | type[DataclassInstance]) -> dict[str, dataclasses.Field[Any]]:
    """The parameters of a metric by name, in catalogue order; one without a name in texts comes first."""
    fields = sorted(dataclasses.fields(metric), key=lambda field: not field.metadata.get("unnamed"))
    return {parameter_name(field): field for field in fields}


def unnamed_parameter(metric: type[DataclassInstance]) -> str | None:
    """Parameter without its name in texts, if there is one."""
    fields = parameters(metric).items()
    return next((name for name, field in fields if field.metadata.get("unnamed")), None)


def normalise(value: Any, field: dataclasses.Field[Any], metric: str) -> Any:
    """The value of a parameter of a metric, as its field declares it.

    Raises:
        ParameterError: it is of another type.
    """
    value = _plain(value)
    declared = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
    allowed = str(declared).split(" | ")
    if type(value) is int and "float" in allowed and "int" not in allowed and abs(value) < _FLOAT_LIMIT:
        value = float(value)
    fits = isinstance(value, tuple(PARAMETER_TYPES[name] for name in allowed))
    if not fits or (isinstance(value, bool) and "bool" not in allowed):
        name = parameter_name(field)
        msg = f"{metric}: {name} must be {field.metadata['domain'] or field.type}, not {value!r}"
        raise ParameterError(msg, name)
    return value


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's."""
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return int(value)
    return float(value) if isinstance(value, numbers.Real) and not isinstance(value, int) else value


def parameter_text(value: Any) -> str:
    """The value of a parameter in the text of a metric."""
    return value_text(value) if isinstance(value, (int, float, str)) else str(value)


def finite(value: float) -> bool:
    """Domain check: any finite number."""
    return math.isfinite(value)


def positive(value: float) -> bool:
    """Domain check: finite and above 0."""
    return math.isfinite(value) and value > 0


def squarable(value: float) -> bool:
    """Domain check: above 0, and its square is no overflow."""
    return 0 < value <= 1e100


def share(value: float) -> bool:
    """Domain check: strictly between 0 and 1."""
    return 0 < value < 1


def nonnegative(value: float) -> bool:
    """Domain check: finite and not below 0."""
    return math.isfinite(value) and value >= 0


def bins_parameter(default: int, doc: str, least: int = 1) -> Any:
    """The number of bins or groups of a metric: each takes memory in every slice and block."""
    domain = f"a whole number from {least} to {MOST_BINS:,}"
    return parameter(default, doc=doc, check=lambda value: least <= value <= MOST_BINS, domain=domain)


def fact_of(path: str) -> Any:
    """A fact delegated to another metric by the path of the attribute: `inner.range`."""
    return property(attrgetter(path))
