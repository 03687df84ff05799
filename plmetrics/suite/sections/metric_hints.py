"""Corrections of malformed metric texts: a value without a name, or a decimal comma."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plmetrics.catalogue import registry
from plmetrics.catalogue.parameters import ParameterError, normalise, parameters
from plmetrics.core.text import Call, HintError, Value, parse_call

if TYPE_CHECKING:
    import dataclasses

_COMMA = re.compile(r"(=\s*[+-]?\d+|\(\s*0),(\d+)(?=\s*[,)])")


def unnamed_hint(task: str, text: str) -> str:
    """Correction of a text with unnamed values: their parameters, in the order of the metric.

    >>> unnamed_hint("binary", "fbeta(2)"), unnamed_hint("binary", "recall(threshold=0,3)")
    ('write fbeta(beta=2)', 'write recall(threshold=0.3), with a decimal point')

    Raises:
        UnknownMetricError: there is no such metric.
    """
    decimal = decimal_text(text)
    call = parse_call(decimal or text, unnamed=True)
    fields = parameters(registry.find(task, registry.meaning(task, call.name)[0]))
    named: dict[str, Value] = {**call.parameters}
    for value in call.arguments:
        name = _taker(value, {name: field for name, field in fields.items() if name not in named})
        if name is None:
            return _parameters_of(call.name, fields)
        named[name] = value
    return f"write {Call(call.name, named)}{', with a decimal point' if decimal else ''}"


def parts_hint(task: str, name: Any, values: Sequence[Any]) -> str | None:
    """Correction of a name with values behind it; None where it is no such metric.

    >>> parts_hint("binary", "recall", [0.3]), parts_hint("binary", "fbeta", [{"beta": 2}])
    ('write recall(threshold=0.3)', 'write fbeta(beta=2)')
    """
    parts = [part for value in values for part in _argument_texts(value)]
    try:
        return unnamed_hint(task, f"{name}({', '.join(parts)})") if parts else None
    except (ParameterError, HintError):
        return None


def _argument_texts(value: Any) -> list[str]:
    named = value.items() if isinstance(value, Mapping) else [("", value)]
    return [f"{key}={item}" if key else str(item) for key, item in named]


def decimal_text(text: str) -> str | None:
    """A metric's text with points in place of decimal commas; None where it has none.

    >>> decimal_text("recall(threshold=0,3)"), decimal_text("fbeta(beta=2, threshold=1)")
    ('recall(threshold=0.3)', None)
    """
    decimal = _COMMA.sub(r"\1.\2", text)
    return None if decimal == text else decimal


def _taker(value: Value, fields: Mapping[str, dataclasses.Field[Any]]) -> str | None:
    """First parameter for a value: required ones before others."""
    if isinstance(value, Call):
        return "threshold" if "threshold" in fields else None
    required = [name for name, field in fields.items() if field.kw_only]
    return next((name for name in (*required, *fields) if _fits(value, fields[name])), None)


def _fits(value: Value, field: dataclasses.Field[Any]) -> bool:
    try:
        plain = normalise(value, field, "")
    except ParameterError:
        return False
    check = field.metadata["check"]
    return check is None or bool(check(plain))


def _parameters_of(name: str, fields: Mapping[str, object]) -> str:
    if not fields:
        return f"'{name}' has no parameters"
    return f"write name=value; the parameters of '{name}': {', '.join(fields)}"
