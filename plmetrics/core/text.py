"""Metric text: `precision(threshold=0.3)` taken apart, and put together again.

    call      := name [ "(" pair { "," pair } ")" ]
    pair      := name "=" value
    value     := number | true | false | word | quoted text | nested call

Ranks may stand behind an @: `ndcg@10`, also nested, and `ndcg@[5, 10]` for two metrics (see `at_ranks`).
Only nested calls, such as the `max(f1)` in `precision(threshold=max(f1))`, may have values without a name.
Python's `ast` does not read this language: it refuses words such as `in`, takes `1_000` and escapes, and knows no
position of what is wrong.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn, TypeAlias, Union

from plmetrics.core.names import number_text

MAX_LENGTH = 1000
MAX_DEPTH = 16

Value: TypeAlias = Union[bool, int, float, str, "Call"]

_EXAMPLE = "write it as precision(threshold=0.3)"
_ONE_EACH = "names have no blanks; several metrics are a list: [roc_auc, brier], or each behind a dash"
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    |(?P<word>[^\W\d]\w*(?:-\w+)*)
    |(?P<quoted>'[^']*'|"[^"]*")
    |(?P<sign>[(),=@])
    )""",
    re.VERBOSE,
)
_AT_RANKS = re.compile(
    r"\s*(?P<name>[^\W\d]\w*)\s*(?:\((?P<first>[^@]*)\))?@(?P<ranks>all|\d+|\[\s*\d+(?:\s*,\s*\d+)*\s*\])\s*(?:\((?P<others>.*)\))?\s*"
)
_WORD = re.compile(r"[^\W\d]\w*(?:-\w+)*")


class HintError(ValueError):
    """Error of a text without a place; `hint` is the advice."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class TextError(HintError):
    """Syntax error of a text other than a metric's."""


@dataclass(frozen=True, slots=True)
class Call:
    """A name with parameters. `arguments` are the values without a name; only nested calls have them.

    >>> str(Call("precision", {"threshold": 0.3}))
    'precision(threshold=0.3)'
    """

    name: str
    parameters: Mapping[str, Value] = field(default_factory=dict)
    arguments: tuple[Value, ...] = ()

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        parts = [value_text(value) for value in self.arguments]
        parts += [f"{name}={value_text(value)}" for name, value in self.parameters.items()]
        return f"{self.name}({', '.join(parts)})" if parts else self.name


def value_text(value: Value) -> str:
    """A parameter's value as it is written in metric text.

    >>> value_text(True), value_text(2.0), value_text("lower_trapezoid"), value_text("two words")
    ('true', '2', 'lower_trapezoid', "'two words'")
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, Call):
        return str(value) if value.parameters or value.arguments else f"{value.name}()"
    if _WORD.fullmatch(value) and value not in {"true", "false"}:
        return value
    return f'"{value}"' if "'" in value else f"'{value}'"


def parse_call(text: str, *, unnamed: bool = False) -> Call:
    """Take a metric's text apart. Values without a name are refused unless `unnamed`.

    >>> parse_call("fbeta(beta=2, threshold=1e-3)").parameters
    {'beta': 2, 'threshold': 0.001}

    Raises:
        TextError: the text is not of that form, too long or too deeply nested.
    """
    if len(text) > MAX_LENGTH:
        msg = f"a metric's text may have {MAX_LENGTH} characters, not {len(text)}"
        raise TextError(msg)
    parser = _Parser(text, _tokens(text))
    name = parser.take("word")
    if name is None:
        parser.fail("a metric's name", hint=_EXAMPLE)
    parameters, arguments = parser.arguments(depth=0)
    if not parser.at_end:
        hints = {r"[\w\s,]+": _ONE_EACH, ".*@.*": f"a whole number stands behind @: {name}@10"}
        parser.fail("the end", hint=next((hints[form] for form in hints if re.fullmatch(form, text)), None))
    if arguments and not unnamed:
        refuse_nameless(name, arguments[0], text)
    return Call(name, parameters, tuple(arguments))


def refuse_nameless(name: str, value: Value, text: str, hint: str | None = None) -> NoReturn:
    """Refuse a value without a name; `hint` is the advice.

    Raises:
        TextError: always.
    """
    first = value_text(value)
    msg = f"the value {first} in {text!r} has no name"
    raise TextError(msg, hint or f"write name=value: {name}(name={first})")


def at_ranks(text: str) -> tuple[str, ...]:
    """Texts of one with ranks behind an @: `ndcg@10` is `ndcg(k=10)`. Any other text as it is.

    >>> at_ranks("ndcg@[5, 10]"), at_ranks("ndcg@5(gain=exponential)"), at_ranks("mrr")
    (('ndcg(k=5)', 'ndcg(k=10)'), ('ndcg(k=5, gain=exponential)',), ('mrr',))
    >>> at_ranks("ndcg(ties=worst)@[5, 10]")
    ('ndcg(k=5, ties=worst)', 'ndcg(k=10, ties=worst)')
    """
    match = _AT_RANKS.fullmatch(text)
    if match is None:
        return (text,)
    name, ranks = match["name"], match["ranks"].strip("[]").split(",")
    others = [(match[part] or "").strip() for part in ("first", "others")]
    behind = "".join(f", {part}" for part in others if part)
    return tuple(f"{name}(k={rank.strip()}{behind})" for rank in ranks)


def join_torn(pieces: Sequence[object]) -> tuple[str, int] | None:
    """Text split by YAML at its commas, and the number of pieces; None if the first piece is whole.

    >>> join_torn(["fbeta(beta=2", "threshold=0.3)", "roc_auc"])
    ('fbeta(beta=2, threshold=0.3)', 2)
    """
    opened = 0
    for count, piece in enumerate(pieces, start=1):
        if not isinstance(piece, (str, int, float)):
            return None
        opened += _open(str(piece))
        if opened <= 0:
            text = ", ".join(str(part) for part in pieces[:count])
            return (text, count) if count > 1 and opened == 0 else None
    return None


def _open(text: str) -> int:
    """Parentheses opened and not closed."""
    return text.count("(") - text.count(")")


def _tokens(text: str) -> list[tuple[str, str, int]]:
    """Kind, text and position of every token."""
    tokens = []
    position = 0
    end = len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            start = position + len(text[position:]) - len(text[position:].lstrip())
            msg = f"character {text[start]!r} at position {start + 1} of {text!r} cannot stand here"
            raise TextError(msg, _EXAMPLE)
        kind = str(match.lastgroup)
        tokens.append((kind, match[kind], match.start(kind) + 1))
        position = match.end()
    return tokens


class _Parser:
    """Reads tokens from left to right."""

    def __init__(self, text: str, tokens: Sequence[tuple[str, str, int]]) -> None:
        self._text = text
        self._tokens = tokens
        self._next = 0

    @property
    def at_end(self) -> bool:
        return self._next == len(self._tokens)

    def take(self, kind: str, text: str | None = None) -> str | None:
        """Next token, of a required kind and text."""
        if self.at_end:
            return None
        token_kind, value, _ = self._tokens[self._next]
        if token_kind != kind or text not in {None, value}:
            return None
        self._next += 1
        return value

    def fail(self, expected: str, hint: str | None = None) -> NoReturn:
        """Error of a wrong or missing token."""
        if not self.at_end:
            _, value, position = self._tokens[self._next]
            msg = f"{value!r} at position {position} of {self._text!r}: {expected} was expected"
        elif _open(self._text) > 0:
            msg = f"a parenthesis in {self._text!r} is not closed"
        else:
            msg = f"{self._text!r} ends where {expected} was expected"
        raise TextError(msg, hint)

    def arguments(self, depth: int) -> tuple[dict[str, Value], tuple[Value, ...]]:
        """Content of the parentheses behind a name, if there are any."""
        parameters: dict[str, Value] = {}
        unnamed: list[Value] = []
        if self.take("sign", "(") is None or self.take("sign", ")") is not None:
            return parameters, ()
        while True:
            value = self._value(depth)
            if self.take("sign", "=") is None:
                unnamed.append(value)
            elif not isinstance(value, str):
                self._next -= 1
                self.fail("',' or ')'", hint="a parameter's name is a word: write name=value")
            elif value in parameters:
                msg = f"parameter '{value}' is given twice in {self._text!r}"
                raise TextError(msg)
            else:
                parameters[value] = self._value(depth)
            if self.take("sign", ")") is not None:
                return parameters, tuple(unnamed)
            if self.take("sign", ",") is None:
                self.fail("',' or ')'")

    def _value(self, depth: int) -> Value:
        number = self.take("number")
        if number is not None:
            return self._number(number)
        quoted = self.take("quoted")
        if quoted is not None:
            return quoted[1:-1]
        word = self.take("word")
        if word is None:
            self.fail("a value", hint=_EXAMPLE)
        if not self.at_end and self._tokens[self._next][1] in {"(", "@"}:
            return self._inner_call(word, depth + 1)
        return {"true": True, "false": False}.get(word, word)

    def _inner_call(self, name: str, depth: int) -> Call:
        if depth > MAX_DEPTH:
            msg = f"{self._text[:40]!r}... is nested too deeply"
            raise TextError(msg)
        ranks: dict[str, Value] = {}
        if self.take("sign", "@") is not None:
            ranks["k"] = self._value(depth)
        parameters, arguments = self.arguments(depth)
        if ranks and "k" in parameters:
            msg = f"parameter 'k' is given twice in {self._text!r}"
            raise TextError(msg)
        return Call(name, ranks | parameters, arguments)

    def _number(self, text: str) -> float:
        if re.fullmatch(r"[+-]?\d+", text):
            return int(text)
        value = float(text)
        if math.isinf(value):
            msg = f"{text} in {self._text!r} is too large a number"
            raise TextError(msg)
        return value
