"""Names: their places in a suite, suggestions for misspelt ones, and the texts of values."""

from __future__ import annotations

import difflib
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import TypeAlias

SuitePath: TypeAlias = tuple[str | int, ...]

_LONGEST_PATH, _LONGEST_PART = 4000, 255
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(/|$)")
_DIGITS = re.compile(r"[0-9]{1,100}")
_SUITE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
SUITE_NAMES = "it names a folder: use letters, digits, dots, hyphens and underscores, at most 100"
"""Hint at the form of a suite's name."""

RESERVED_PREFIX = "@@"
"""Beginning of the names of columns that are added beside those of the data, which no column of the data may have."""
RESERVED_SLICE_SETS = frozenset({"overall", "all", "other"})
_SQL_WORDS = (
    " alter analyze and any array as between call case cluster create cross current_catalog current_date "
    "current_time current_timestamp current_user distinct distribute drop else end except execute exists "
    "explain false fetch for force from glob grant group having if ilike in inner insert install intersect "
    "interval into join lateral like limit list localtime localtimestamp map not notnull null nullable object "
    "offset on only optimize or order outer partitioned_by positional prepare qualify range regexp release "
    "rename reset returning revoke rlike rollback row savepoint select session_user sort struct summarize "
    "tablesample then trim true uncache union user using vacuum values view when where with xor "
)
"""Words that row expressions, or Polars' SQL, do not read as a column's name without quotes."""
WITHIN = "within"
"""Prefix of a slice set that crosses groups with the levels within which they are compared."""


def is_word_in(name: str, text: str) -> bool:
    """Whether a name stands in a text by itself, and not within a longer word.

    >>> is_word_in("rate", "rate < 0.5"), is_word_in("rate", "separate")
    (True, False)
    """
    return name in text and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def nearest(name: str, names: Iterable[str]) -> str | None:
    """Nearest known name in any case of letters, or None.

    >>> nearest("roc_acu", ["roc_auc", "recall"])
    'roc_auc'
    >>> nearest("sex=male", ["sex=Female", "sex=Male"])
    'sex=Male'
    """
    folded = {other.lower(): other for other in sorted(names)}
    matches = difflib.get_close_matches(str(name).lower(), folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None


def name_list(names: Sequence[str], limit: int = 10) -> str:
    """Names in one line, shortened where there are many.

    >>> name_list(["a", "b", "c"], limit=2)
    'a, b and 1 more'
    """
    more = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {more} more" if more > 0 else "")


def file_hint(name: str, names: Iterable[str]) -> str | None:
    """Hint for an absent file or folder, by its neighbours.

    Of a name with a date or number only the nearest before and after are said: another one is not what was meant.

    >>> file_hint("day=2026-03-10", ["day=2026-03-02", "day=2026-03-30", "day=2026-02-28"])
    'the nearest that are there: day=2026-03-02 before it, day=2026-03-30 after it'
    >>> file_hint("scroes_1.csv", ["scores_1.csv", "scores_2.csv"])
    "did you mean 'scores_1.csv'?"
    """
    names = list(names)
    numbers = _numbers(name)
    if not numbers:
        match = nearest(name, names)
        return f"did you mean '{match}'?" if match else None
    words = _DIGITS.sub("#", name)
    siblings = sorted(
        (_numbers(other), other) for other in names if _DIGITS.sub("#", other) == words and other != name
    )
    before = [other for values, other in siblings if values < numbers][-1:]
    after = [other for values, other in siblings if values > numbers][:1]
    if before or after:
        parts = [f"{other} before it" for other in before] + [f"{other} after it" for other in after]
        return f"the nearest that are there: {', '.join(parts)}"
    match = nearest(name, [other for other in names if _numbers(other) == numbers])
    return f"did you mean '{match}'?" if match else None


def _numbers(name: str) -> list[int]:
    return [int(digits) for digits in _DIGITS.findall(name)]


def is_path(text: str) -> bool:
    r"""Whether a file system accepts a text as a path, by the length and characters of its parts.

    >>> is_path("runs/nightly"), is_path("runs\0"), is_path("a" * 300)
    (True, False, False)
    """
    parts = text.encode(errors="replace").split(b"/")
    return "\0" not in text and max(map(len, parts)) <= _LONGEST_PART and len(text) <= _LONGEST_PATH


def is_suite_name(text: str) -> bool:
    """Whether a text can be the name of a suite, and so of its folders and states."""
    return _SUITE_NAME.fullmatch(text) is not None


def is_address(path: object) -> bool:
    """Whether a text is an address such as `s3://bucket/key`, not a path on a local disk; a Path of `s3://` is `s3:`.

    >>> is_address("s3://bucket/day.parquet"), is_address("scores/day.parquet")
    (True, False)
    """
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def appearance(text: str) -> str:
    """A text as people see it: without blanks around it, characters without a width, and forms of composed ones.

    >>> appearance(" e\u0301\ufeff ") == "\u00e9", appearance("a\u00a0 b")
    (True, 'a b')
    """
    shown = (letter for letter in unicodedata.normalize("NFKC", text) if unicodedata.category(letter) != "Cf")
    return " ".join("".join(shown).split())


def did_you_mean(name: str, names: Iterable[str], *, limit: int = 12) -> str | None:
    """A hint for an unknown name: the nearest one, else the whole list where it is short.

    One that looks the same is shown with the codes of its characters.

    >>> did_you_mean("prescision", ["precision", "recall"])
    "did you mean 'precision'?"
    """
    names = list(names)
    same = [other for other in names if appearance(other) == appearance(str(name))]
    match = same[0] if same else nearest(name, names)
    if match is not None:
        return f"did you mean {match!a}?" if same else f"did you mean '{match}'?"
    if names and len(names) <= limit:
        return "known: " + ", ".join(names)
    return None


def function_of(place: str) -> Callable[..., object]:
    """Function or class of a name such as `package.module:function`; its module is imported now.

    >>> function_of("json:loads")("[1]")
    [1]
    """
    module, _, name = place.partition(":")
    function: Callable[..., object] = getattr(import_module(module), name)
    return function


def sql_name(column: str) -> str:
    """A column as an SQL expression names it, in quotes where it needs them.

    >>> sql_name("label"), sql_name("is good"), sql_name("case")
    ('label', '"is good"', '"case"')
    """
    plain = column.isidentifier() and column.isascii() and f" {column.lower()} " not in _SQL_WORDS
    return column if plain else quoted_name(column)


def quoted_name(column: str) -> str:
    """A column as any SQL expression can name it: in quotes.

    >>> quoted_name('the "real" one')
    '"the ""real"" one"'
    """
    return '"' + column.replace('"', '""') + '"'


def number_text(value: float) -> str:
    """Shortest text that reads back as the same number.

    >>> number_text(2.0), number_text(0.1), number_text(1e-16)
    ('2', '0.1', '1e-16')
    """
    if isinstance(value, int):
        return str(int(value))
    if math.isfinite(value) and value == int(value) and abs(value) < 1e16:
        return str(int(value))
    return repr(float(value))


def plain_text(value: object) -> str:
    """A plain value as a text, as suites have it and a cast of its column gives it.

    >>> plain_text(True), plain_text(2.0), plain_text("a")
    ('true', '2', 'a')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return number_text(value) if isinstance(value, (int, float)) else str(value)


def data_text(value: object) -> str:
    """A value of the data in a sentence: texts in quotes, times and decimals as they are written.

    >>> import datetime
    >>> data_text("a"), data_text(0.5), data_text(datetime.date(2026, 3, 1))
    ("'a'", '0.5', '2026-03-01')
    """
    return repr(value) if isinstance(value, str) else str(value)


def number_duplicates(texts: Sequence[str], form: str = "{} ({})") -> list[str]:
    """Texts where those that occur several times have their number among them.

    >>> number_duplicates(["a", "b", "a"])
    ['a (1)', 'b', 'a (2)']
    """
    total, counts = Counter(texts), Counter[str]()
    apart = []
    for text in texts:
        counts[text] += 1
        apart.append(form.format(text, counts[text]) if total[text] > 1 else text)
    return apart


def is_pattern(name: str) -> bool:
    """Whether Polars takes the name of a column for a pattern of names: such a column can be read, not be named."""
    return name == "*" or (name.startswith("^") and name.endswith("$"))


def printable(text: str, keep: str = "") -> str:
    r"""Names and values are data: control, format and separator characters become visible escapes.

    >>> printable("north\x1b[2J")
    'north\\x1b[2J'
    """
    if text.isprintable():
        return text
    return "".join(c if c in keep or c == " " else _escape(c) for c in text)


def _escape(character: str) -> str:
    if unicodedata.category(character)[0] not in "CZ":
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
