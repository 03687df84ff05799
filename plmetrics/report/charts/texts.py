"""Texts of users in charts: no character that a renderer or a reader stumbles over, none too long."""

from __future__ import annotations

import re

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_ILLEGAL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
    "|["
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(1, 17))
    + "]"
)
"""What XML 1.0 forbids or advises against, and marks that turn the direction of what follows."""
_BLANKS = re.compile(r"[\t\n\r\x7f-\x9f\u2028\u2029]+")


def clean(text: str) -> str:
    r"""The text in one line, with U+FFFD for what XML forbids and for marks of direction.

    >>> clean("a\x00b"), clean("two\nlines")
    ('a\ufffdb', 'two lines')
    """
    return _BLANKS.sub(" ", _ILLEGAL.sub(REPLACEMENT, text))


def short(text: str, most: int = 28) -> str:
    """The clean text, cut in the middle where it is too long, so that names with one beginning stay apart.

    >>> short("a very long name of a product", 13)
    'a very…roduct'
    """
    text = clean(text)
    if len(text) <= most:
        return text
    tail = (most - 1) // 2
    return f"{text[: most - 1 - tail]}…{text[-tail:]}"
