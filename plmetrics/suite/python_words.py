"""Problems of a suite in the words of Python's callers: `query=...` where YAML has `columns: {query: ...}`."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache

from plmetrics.core.errors import PlmetricsError, Problem, message_of
from plmetrics.core.names import SuitePath
from plmetrics.suite import keywords, python_types, section_keywords
from plmetrics.suite.yaml.document import parse, scalar

_FLAT = ("columns", "data")
"""Sections of a suite whose keys are arguments by themselves."""

_DOTTED = re.compile(rf"\b({'|'.join(_FLAT)})\.(\w+)")
_FLOW = re.compile(r"(?:\b(\w+): )?(?=[{\[])")
_SCALAR = r"""\b({}): ("[^"]*"|'[^']*'|\.\.\.|[\w.-]*\w)"""
_PLACEHOLDER = re.compile(r"[A-Z_]+|\.\.\.")
_CLOSING = {"{": "}", "[": "]"}
_PYTHON = re.compile(r"""\{["']""")
"""Beginning of a mapping with names of variables, as calls of Python have it."""


def in_python_words(error: PlmetricsError) -> None:
    """Translate the problems of an error in place."""
    error.problems = tuple(map(_problem, error.problems))
    error.args = (message_of(error.problems),)


def python_text(text: str, path: SuitePath = ()) -> str:
    """Text with its keys and values in the form of Python; `path` is its subject.

    >>> python_text("name its column: columns: {query: ...}; or leave columns.unit out")
    'name its column: query=...; or leave unit out'
    >>> python_text("add compare: {slices: {region: rest}}, or exact: false")
    'add compare={"slices": {"region": "rest"}}, or exact=False'
    >>> python_text("write slices: [region]", ("gates", 0))
    'write "slices": ["region"]'
    """
    return "".join(_parts(_DOTTED.sub(_argument, text), path))


def _problem(problem: Problem) -> Problem:
    path = problem.path
    hint = problem.hint and python_text(problem.hint, path)
    flat = path[1:] if path[:1] == ("columns",) or (path[:1] == ("data",) and len(path) > 1) else path
    flat = ("data",) if path == ("data", "path") else flat
    return replace(problem, message=python_text(problem.message, path), hint=hint, path=flat)


def _argument(dotted: re.Match[str]) -> str:
    """`columns.unit` is the argument `unit`, `data.path` is `data`."""
    name = "data" if dotted[0] == "data.path" else dotted[2]
    return name if name in {*_arguments(), "data"} else dotted[0]


def _parts(text: str, path: SuitePath) -> Iterator[str]:
    """Text in parts: mappings and lists with the key before them, and the text between."""
    place = 0
    for match in _FLOW.finditer(text):
        end = _end(text, match.end())
        key = match[1] if match[1] in {*_keys(), *_FLAT} else None
        value = (
            _value(text[match.end() : end], keyed=key is not None) if match.start() >= place and end else None
        )
        if value is not None and end:
            yield _scalars(text[place : match.start() if key else match.end()], path)
            yield _argument_text(key, value, path) if key else _literal(value)
            place = end
    yield _scalars(text[place:], path)


def _end(text: str, start: int) -> int | None:
    """Position behind the closing bracket of the one at a place."""
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] in _CLOSING) - (text[place] in _CLOSING.values())
        if depth == 0:
            return place + 1
    return None


def _value(text: str, *, keyed: bool) -> object:
    """Value of a mapping or list in YAML; None for other text, or for Python without a key before it."""
    try:
        value: object = ast.literal_eval(text)
    except SyntaxError:
        pass
    except ValueError:
        if _PYTHON.match(text):
            return None
    else:
        return value if keyed else None
    try:
        return parse(f"value: {text}", "").value["value"]
    except PlmetricsError:
        return None


def _scalars(text: str, path: SuitePath) -> str:
    """Text with each key and its possible value in the form of Python."""

    def one(match: re.Match[str]) -> str:
        key, word = match[1], match[2]
        quoted = word[0] in "\"'"
        value = word[1:-1] if quoted else scalar(word)
        may_be = quoted or not isinstance(value, str) or word[0].isdigit() or _PLACEHOLDER.fullmatch(word)
        return _argument_text(key, value, path) if may_be or word in _keys()[key] else match[0]

    return re.sub(_SCALAR.format("|".join(_keys())), one, text)


def _argument_text(key: str, value: object, path: SuitePath) -> str:
    """Form of a key and its value: as an argument, or in the mapping of a section."""
    if key in _FLAT and isinstance(value, dict):
        return ", ".join(f"{name}={_literal(item)}" for name, item in value.items())
    section = str(path[0]) if path else ""
    if key in _arguments() and key not in _within(section):
        return f"{key}={_literal(value)}"
    return f'"{key}": {_literal(value)}'


def _literal(value: object) -> str:
    if value in ({...}, {"...": None}):  # as Python and as YAML read it
        return "{...}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_literal(key)}: {_literal(item)}' for key, item in value.items())}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str):
        return value if value == "..." else json.dumps(value, ensure_ascii=False)
    return repr(value)


def _arguments() -> Mapping[str, object]:
    return keywords.Arguments.__annotations__


@cache
def _types() -> dict[str, object]:
    return {**vars(python_types), **vars(section_keywords), **vars(keywords)}


@cache
def _keys() -> dict[str, set[str]]:
    """All keys of arguments and sections, with their possible words."""
    keys: dict[str, set[str]] = {}
    for part in _types().values():
        for key, annotation in getattr(part, "__annotations__", {}).items():
            kind = str(getattr(annotation, "__forward_arg__", annotation))
            named = _types().get(kind.partition(" ")[0], "")
            keys.setdefault(key, set()).update(re.findall(r"['\"](\w+)['\"]", f"{kind} {named}"))
    return keys


@cache
def _within(argument: str) -> frozenset[str]:
    """Keys of the mappings behind an argument."""
    annotation = _arguments().get(argument, "")
    names = re.findall(r"\w+", str(getattr(annotation, "__forward_arg__", annotation)))
    parts = (getattr(keywords, name, None) for name in names)
    return frozenset(key for part in parts for key in getattr(part, "__annotations__", {}))
