"""Shapes of foreign JSON documents: checked once, before they are read."""

from __future__ import annotations

from typing import Any, TypeAlias

Shape: TypeAlias = "type | tuple[Any, ...] | list[Any] | dict[Any, Any] | None"
"""A type, None, alternatives in a tuple, a list of one shape, or keys with their shapes, `str` for all others.

A key that ends in `!` must be there; without `str`, keys that a shape does not name may hold anything.
"""

NUMBER = (int, float)
TABLE = {"rows!": int, "bytes!": int, "sha256": str}

RECORD: Shape = {
    **dict.fromkeys(("run_id!", "status!", "finished!"), str),
    **dict.fromkeys(("name", "verdict", "message", "fingerprint", "where_identity"), str),
    **dict.fromkeys(("schema_version", "exit_code"), int),
    "run_labels": {str: str},
    "tables": {str: TABLE, "replicates": {**TABLE, "seed!": int, "by_row!": bool}},
    "files": [{"path!": str, "bytes!": int, "rows": (int, None), "digest": (str, None)}],
    "problems": [{"message!": str, "where": (str, None), "hint": (str, None)}],
    "warnings": [str],
    "undelivered": [int],
    "versions": {str: (str, int)},
    "constants": {"blocks": ({"units": (int, None), "modulus": (int, None)}, None)},
    "rows": {str: (int, None, {str: int})},
    "find_slices": {str: object},
    "references": {
        str: {"run": (str, None), "intervals": [str], "passed_over": [{"run!": str, "reason!": str}]}
    },
    "interval": ({"key!": str, "start!": str, "end!": str, "timezone!": str}, None),
    "suite": {
        "task": str,
        "data": {"where": (str, None)},
        "metrics": [object],
        **{key: {str: object} for key in ("models", "slices", "columns")},
        "compare": ({"correction": str, "run": (str, None, {str: object})}, None),
        "uncertainty": ({"level": NUMBER, "replicates": int, "seed": int, "blocks": int}, None),
    },
}
"""run.json of a run that has ended, as far as later runs and reports read it."""

POINTER: Shape = {"folder!": str}
"""latest.json."""

_BY_MODEL = {str: {str: (*NUMBER, None)}}

HEAD: dict[Any, Shape] = {
    **dict.fromkeys(("name!", "fingerprint!", "schema!", "layout!", "queries_schema!"), str),
    "suite!": {str: object},
    "versions!": {str: (str, int), "plmetrics!": str, "polars!": str, "hash!": int},
    "constants!": {
        "centres": _BY_MODEL,
        "moments": {str: {"centres!": [str], "mass!": str, "alone!": [str]}},
        "thresholds": _BY_MODEL,
        "classes": [object],
        "keys": {str: {"label!": str, "kind!": str, "edges!": [object]}},
        "exponents": {str: int},
        "grid": ({"keys!": {str: object}}, None),
    },
    "parts!": [
        {
            **dict.fromkeys(("kind!", "model!", "bins!"), str),
            **{key: [int] for key in ("sets!", "size!")},
            **dict.fromkeys(("rows!", "entries!"), int),
            "columns!": [str],
            "total!": (int, None),
        }
    ],
    "rows!": {
        "read!": int,
        "zero_weight": int,
        "dropped": {str: int},
        "pairs_read": (int, None),
        "units": (int, None),
    },
    "sets!": [[str]],
    "files!": [{"path!": str, "name!": str, "bytes!": int, "rows!": (int, None), "digest!": (str, None)}],
    **dict.fromkeys(("blocks!", "modulus!"), (int, None)),
    **dict.fromkeys(("hashed!", "by_row!", "text_units!"), bool),
    "units!": [int],
    **{key: [str] for key in ("typed!", "states!", "warnings!")},
    "drift!": ({str: object}, None),
    "plan": {"unit": str, "missing": [str], "share": NUMBER, "units": int},
    "format!": int,
}
"""Head of a state; one of the counts of drift alone has no constants."""


def misfit(value: Any, shape: Shape) -> str | None:
    """Description of the first departure of a value from a shape; None without one.

    >>> misfit({"folder": 3}, POINTER)
    'folder is 3'
    >>> misfit({}, POINTER), misfit({"folder": "a", "new": 1}, POINTER)
    ('folder is absent', None)
    """
    words = _departure(value, shape)
    if words is None:
        return None
    return f"it{words}" if words.startswith(" ") else words.removeprefix(".")


def _departure(value: Any, shape: Shape) -> str | None:
    """Words of `misfit`, with the place below the value at their start."""
    kind = type(value)
    if kind is shape or shape is object:
        return None
    if isinstance(shape, tuple):
        if kind in shape:
            return None
        words = [_departure(value, alternative) for alternative in shape]
        return None if None in words else words[0]
    if isinstance(shape, dict) and kind is dict:
        return _departure_of_keys(value, shape)
    if isinstance(shape, list) and kind is list:
        fits = [*map(type, value)].count(shape[0]) == len(value)  # long lists are of numbers or texts
        faults = ((f"[{place}]", _departure(item, shape[0])) for place, item in enumerate(value))
        return None if fits else next((place + words for place, words in faults if words is not None), None)
    fits = isinstance(shape, type) and isinstance(value, shape) and not isinstance(value, bool)
    return None if fits or value is shape is None else f" is {_value_text(value)}"


def _departure_of_keys(value: dict[str, Any], shape: dict[Any, Any]) -> str | None:
    for key in shape:
        if key is not str and key[-1] == "!" and key[:-1] not in value:
            return f".{key[:-1]} is absent"
    every = shape.get(str, object)
    for key, item in value.items():
        expected = shape[key] if key in shape else shape.get(f"{key}!", every)
        words = None if expected is object else _departure(item, expected)
        if words is not None:
            return f".{key}{words}"
    return None


def _value_text(value: Any) -> str:
    match value:
        case dict():
            return "a mapping"
        case list():
            return "a list"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}..."
