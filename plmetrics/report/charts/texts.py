"""User texts in charts: without invalid characters, and of limited length."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_ILLEGAL = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
    "|["
    + "".join(f"{chr(plane * 0x10000 + 0xFFFE)}{chr(plane * 0x10000 + 0xFFFF)}" for plane in range(1, 17))
    + "]"
)
"""Characters that XML 1.0 forbids or advises against, and marks that turn the direction of what follows."""
_LEFT_TO_RIGHT = "\N{LEFT-TO-RIGHT MARK}"
_BLANKS = re.compile(r"[\t\n\r\x7f-\x9f\u2028\u2029]+")


def clean(text: str) -> str:
    r"""Text in one line, with U+FFFD for characters invalid in XML and for marks of direction.

    >>> clean("a\x00b"), clean("two\nlines")
    ('a\ufffdb', 'two lines')
    """
    return _BLANKS.sub(" ", _ILLEGAL.sub(REPLACEMENT, text))


def short(text: str, most: int = 28, among: Iterable[str] = ()) -> str:
    """Clean text, cut in the middle if it is too long, so that names with one beginning stay apart.

    Where another one `among` is the same when it is cut, the part is left in which the two differ.

    >>> short("a very long name of a product", 13)
    'a very…roduct'
    >>> short("a very long name of a product", 13, ["a very long name of a product", "a very long case of a product"])
    '…ng name of …'
    """
    text = clean(text)
    if len(text) <= most:
        return text
    cut = _without_middle(text, most)
    alike = [other for other in map(clean, among) if other != text and _without_middle(other, most) == cut]
    if not alike:
        return cut
    places = [_first_difference(text, other) for other in alike]
    first, last = min(places), max(places)
    place = first if last - first < most // 2 else last
    begin = max(min(place - most // 4, len(text) - most + 1), 0)
    end = begin + most - 2
    return f"…{text[begin:]}" if end >= len(text) - 1 else f"…{text[begin:end]}…"


def _first_difference(text: str, other: str) -> int:
    pairs = enumerate(zip(text, other, strict=False))
    return next((place for place, (one, two) in pairs if one != two), min(len(text), len(other)))


def _without_middle(text: str, most: int) -> str:
    tail = (most - 1) // 2
    return text if len(text) <= most else f"{text[: most - 1 - tail]}…{text[-tail:]}"


def in_line(text: str) -> str:
    r"""Text with marks of direction around it if it runs leftwards, against reordering of later text.

    >>> in_line("plain"), in_line("\u05d0").encode("unicode_escape")
    ('plain', b'\\u200e\\u05d0\\u200e')
    """
    leftwards = any(unicodedata.bidirectional(character) in {"R", "AL"} for character in text)
    return f"{_LEFT_TO_RIGHT}{text}{_LEFT_TO_RIGHT}" if leftwards else text


_WIDTHS: Mapping[str, int] = {
    character: width
    for width, characters in {
        191: "'",
        222: "ijl",
        278: " !,./:;I[\\]ft|",
        333: "()-`r{}",
        370: '"*^',
        500: "Jcksvxyz",
        584: "+<=>~",
        611: "FTZ",
        667: "&ABEKPSVXY",
        722: "CDHNRUw",
        778: "GOQ",
        833: "Mm",
        889: "%",
        944: "W",
        1015: "@",
    }.items()
    for character in characters
}
"""Advances of the theme's font in thousandths of its size, where they are not those of figures."""
_FIGURE, _WIDE = 556, 1000


def width(text: str, size: float = 11) -> float:
    """Width of a text in the theme's font, in pixels.

    >>> round(width("0.82 [0.81, 0.83]"), 1)
    79.5
    """
    return sum(map(_advance, text)) * size / 1000


def _advance(character: str) -> int:
    if character == _LEFT_TO_RIGHT:
        return 0
    if character in _WIDTHS:
        return _WIDTHS[character]
    return _WIDE if unicodedata.east_asian_width(character) in "WF" else _FIGURE


def wrap_words(text: str, most: float, size: float = 11.5) -> list[str]:
    """The text in lines of at most `most` pixels, broken between words.

    >>> wrap_words("bands of recall, pointwise; n = 6,000", 120)
    ['bands of recall,', 'pointwise; n = 6,000']
    """
    lines: list[str] = []
    for word in text.split(" "):
        if lines and width(f"{lines[-1]} {word}", size) <= most:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
