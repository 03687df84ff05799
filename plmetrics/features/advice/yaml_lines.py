"""Lines of a commented YAML file."""

from __future__ import annotations

import json
import re
from typing import Any

_SPECIAL = frozenset(["true", "false", "null", "yes", "no", "on", "off", "y", "n"])
_PLAIN = re.compile(r"(?:\.{0,2}/)*[A-Za-z_][A-Za-z0-9_]*(?:[./=-][A-Za-z0-9_*]+)*")
REASON_COLUMN = 34
"""Where reasons begin."""


def yaml_scalar(value: Any) -> str:
    """A value as YAML reads it back, also inside [ ] and { }.

    >>> yaml_scalar("region"), yaml_scalar("yes"), yaml_scalar("a, b"), yaml_scalar(1.0)
    ('region', '"yes"', '"a, b"', '1.0')
    """
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _SPECIAL:
        return value
    return json.dumps(value, ensure_ascii=False)


def yaml_list(values: Any) -> str:
    """A list in one line."""
    return f"[{', '.join(map(yaml_scalar, values))}]"


def printable(text: str) -> str:
    """A text for a comment: names of columns stand there, and may hold anything."""
    return "".join(c if c.isprintable() else "?" for c in text)


def line(text: str, reason: str = "", indent: int = 0, width: int = REASON_COLUMN) -> str:
    """A line with its reason as a comment."""
    start = " " * indent + text
    return f"{start:<{width}}  # {printable(reason)}" if reason else start


def model_name(column: str) -> str:
    """A model's name: its column, without what a name may not hold."""
    return re.sub(r"[\x00-\x1f/\\|]+", "_", column).strip() or "model"
