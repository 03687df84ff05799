"""Names: where they stand in a suite, which one was meant, how values are written."""

from __future__ import annotations

import difflib
import math
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

SuitePath: TypeAlias = tuple[str | int, ...]

_LONGEST_PATH, _LONGEST_PART = 4000, 255

RESERVED_SLICE_SETS = frozenset({"overall", "all", "other"})


def nearest(name: str, names: Iterable[str]) -> str | None:
    """The known name that was probably meant, or None.

    >>> nearest("roc_acu", ["roc_auc", "recall"])
    'roc_auc'
    """
    matches = difflib.get_close_matches(str(name).lower(), sorted(names), n=1, cutoff=0.6)
    return matches[0] if matches else None


def is_path(text: str) -> bool:
    r"""Whether a file system can have a file of that name, by its length and characters.

    >>> is_path("runs/nightly"), is_path("runs\0"), is_path("a" * 300)
    (True, False, False)
    """
    parts = text.encode(errors="replace").split(b"/")
    return "\0" not in text and max(map(len, parts)) <= _LONGEST_PART and len(text) <= _LONGEST_PATH


def did_you_mean(name: str, names: Iterable[str], *, limit: int = 12) -> str | None:
    """A hint for an unknown name: the nearest one, else the whole list where it is short.

    >>> did_you_mean("prescision", ["precision", "recall"])
    "did you mean 'precision'?"
    """
    names = list(names)
    match = nearest(name, names)
    if match is not None:
        return f"did you mean '{match}'?"
    if names and len(names) <= limit:
        return "known: " + ", ".join(names)
    return None


def number_text(value: float) -> str:
    """The shortest text that reads back as the same number.

    >>> number_text(2.0), number_text(0.1), number_text(1e-16)
    ('2', '0.1', '1e-16')
    """
    if isinstance(value, int):
        return str(int(value))
    if math.isfinite(value) and value == int(value) and abs(value) < 1e16:
        return str(int(value))
    return repr(float(value))


def is_pattern(name: str) -> bool:
    """Whether Polars takes the name of a column for a pattern of names: such a column can be read, not be named."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))
