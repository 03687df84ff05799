"""YAML files as plain values with their places: YAML 1.2 scalars, without surprises.

Duplicate keys, tags, and files that are too large, too deep or grow by their anchors are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from plmetrics.core.errors import ConfigError, EnvironmentFault, Location, Problem
from plmetrics.core.names import SuitePath, nearest

if TYPE_CHECKING:
    from pathlib import Path

MAX_BYTES = 1_000_000
MAX_DEPTH = 50
MAX_NODES = 50_000

_TABLES = frozenset(
    {".parquet", ".arrow", ".feather", ".ipc", ".gz", ".zst", ".csv", ".tsv", ".ndjson", ".jsonl"}
)
_INTEGER = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), float("inf")),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), float("-inf")),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_PECULIAR = re.compile("[\t?\ufeff]|[|>][-+0-9]*#")
"""Texts that libyaml, forty times as fast, may read in another way than the parser in Python does."""


class _NoResolver:
    """Loader without implicit types: `scalar` gives the type of a text."""

    def resolve(self, *_: Any) -> None:
        """No tag of a node."""

    descend_resolver = ascend_resolver = resolve


class _Loader(_NoResolver, yaml.BaseLoader):
    """The parser in Python."""


_FAST_LOADER: Any = type("FastLoader", (_NoResolver, yaml.CBaseLoader), {}) if yaml.__with_libyaml__ else None
_QUOTES = "text that starts with one of & * ! | > % @ ` [ { or holds ': ' or ' #' needs quotes"
_SYNTAX_HINTS = (
    ("'\\t'", "write blanks in place of the tab"),
    ("<block end>", "the keys of one mapping, and the items of one list, start in the same column"),
    (
        "mapping values are not allowed",
        "a key needs a blank behind its colon; text that holds ': ' needs quotes",
    ),
    ("<stream end>", "something is not closed: a [, a { or a quote"),
    ("flow", "text that holds one of [ ] { } , or ': ' needs quotes inside [ ] and { }"),
)


@dataclass(frozen=True, slots=True)
class Document:
    """Plain values of a YAML file, and the place of each by its path."""

    value: dict[str, Any]
    places: dict[SuitePath, Location]


def parse_document(file: Path) -> Document:
    """The values of a YAML file with their places."""
    try:
        with file.open("rb") as opened:
            raw = opened.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ConfigError(Problem(f"{file}: there is no such file", hint=_file_hint(file))) from None
    except IsADirectoryError:
        raise ConfigError(Problem(f"{file}: this is a folder, not a suite")) from None
    except OSError as error:
        raise EnvironmentFault(Problem(f"{file}: cannot be read: {str(error.strerror).lower()}")) from error
    if file.suffix in _TABLES:
        hint = f"plmetrics init {file} writes a suite for it, plmetrics suggest {file} with reasons"
        raise ConfigError(Problem(f"{file}: this is a table, not a suite", hint=hint))
    if len(raw) > MAX_BYTES:
        raise ConfigError(Problem(f"{file}: a suite may have {MAX_BYTES:,} bytes, this file has more"))
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        where = Location(str(file), before.count(b"\n") + 1, error.start - before.rfind(b"\n"))
        raise ConfigError(Problem("this is not UTF-8 text", where=where)) from error
    return parse(text, str(file))


def _file_hint(file: Path) -> str | None:
    """Suite beside an absent file with the nearest name, apart from its ending."""
    others = sorted(file.parent.glob("*.y*ml")) if file.parent.is_dir() else []
    match = nearest(file.stem, {other.stem for other in others})
    name = next((other.name for other in others if other.stem == match), None)
    return None if name is None else f"did you mean '{name}'?"


def parse(text: str, file: str) -> Document:
    """The values of a YAML text with their places.

    Raises:
        ConfigError: it is no YAML, or uses what is refused.
    """
    if _FAST_LOADER is not None and not _PECULIAR.search(text):
        try:
            return _document(text, file, _FAST_LOADER)
        except (yaml.YAMLError, ConfigError, UnicodeEncodeError):
            pass  # told in the words of the parser in Python, wherever that is the only one
    try:
        return _document(text, file, _Loader)
    except yaml.MarkedYAMLError as error:
        raise ConfigError(_syntax(error, file)) from error
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        where = Location(file, before.count("\n") + 1, error.position - before.rfind("\n"))
        msg = f"this is no YAML: the character {chr(error.character)!r} cannot stand in it"
        raise ConfigError(Problem(msg, where=where)) from error


def _document(text: str, file: str, loader: Any) -> Document:
    _check_events(text, file, loader)
    node = yaml.compose(text, Loader=loader)
    builder = _Builder(file)
    if not isinstance(node, yaml.MappingNode):
        where = Location(file, 1, 1) if node is None else _location(file, node.start_mark)
        hint = "it starts with keys such as name:, data: and columns:"
        raise ConfigError(Problem("a suite is a mapping of keys to values", hint=hint, where=where))
    value = builder.build(node, ())
    if builder.problems:
        raise ConfigError(builder.problems)
    return Document(value, builder.places)


def scalar(text: str) -> Any:
    """A plain scalar by the rules of YAML 1.2.

    >>> scalar("1e-3"), scalar("no"), scalar("0o14"), scalar("2020-01-01")
    (0.001, 'no', 12, '2020-01-01')
    """
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        return int(text) if len(text) < 400 else text
    if _BASED.fullmatch(text):
        return int(text, 0) if len(text) < 400 else text
    return float(text) if _FLOAT.fullmatch(text) else text


def _check_events(text: str, file: str, loader: Any) -> None:
    """Refuse tags and depth before anything recursive sees the text."""
    depth = 0
    documents = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
            if depth > MAX_DEPTH:
                where = _location(file, event.start_mark)
                raise ConfigError(Problem(f"values are nested deeper than {MAX_DEPTH} levels", where=where))
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                where = _location(file, event.start_mark)
                raise ConfigError(Problem("a suite is one YAML document, here a second begins", where=where))
        tag = getattr(event, "tag", None)
        if tag is not None:
            where = _location(file, event.start_mark)
            tag_text = tag.replace("tag:yaml.org,2002:", "!!")
            raise ConfigError(Problem(f"tags such as {tag_text} are not allowed in a suite", where=where))


class _Builder:
    """Plain values from YAML nodes, with the place of each; problems are collected."""

    def __init__(self, file: str) -> None:
        self.places: dict[SuitePath, Location] = {}
        self.problems: list[Problem] = []
        self._file = file
        self._nodes = 0

    def build(self, node: yaml.Node, path: SuitePath) -> Any:
        """The value of a node."""
        self._nodes += 1
        if self._nodes > MAX_NODES:
            where = _location(self._file, node.start_mark)
            raise ConfigError(
                Problem(f"the suite has more than {MAX_NODES:,} values: its anchors multiply", where=where)
            )
        if len(path) > MAX_DEPTH:
            where = _location(self._file, node.start_mark)
            raise ConfigError(Problem(f"anchors nest values deeper than {MAX_DEPTH} levels", where=where))
        if path not in self.places:  # a value has its key's place
            self.places[path] = _location(self._file, node.start_mark)
        if isinstance(node, yaml.MappingNode):
            return dict(self._pairs(node, path))
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        quoted = bool(getattr(node, "style", None))
        return node.value if quoted else scalar(node.value)

    def _pairs(self, node: yaml.MappingNode, path: SuitePath) -> Iterator[tuple[str, Any]]:
        places: dict[Any, Location] = {}
        for key_node, value_node in node.value:
            where = _location(self._file, key_node.start_mark)
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.append(Problem("a key must be a word, not a list or a mapping", where=where))
                continue
            key = key_node.value
            if key == "<<":
                msg = "merge keys (<<) are not supported"
                self.problems.append(Problem(msg, hint="write the keys out", where=where))
                continue
            if key in places:
                msg = f"the key '{key}' stands here a second time, the first is in line {places[key].line}"
                self.problems.append(Problem(msg, where=where))
                continue
            places[key] = where
            self.places[*path, key] = where
            yield key, self.build(value_node, (*path, key))


def _location(file: str, mark: Any) -> Location:
    return Location(file, mark.line + 1, mark.column + 1)


def _syntax(error: yaml.MarkedYAMLError, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    where = Location(file, 1, 1) if mark is None else _location(file, mark)
    words = ", ".join(part for part in (error.context, error.problem) if part)
    hint = next((hint for sign, hint in _SYNTAX_HINTS if sign in words), _QUOTES)
    start = error.context_mark
    if mark is not None and start is not None and "flow" in words and start.line < mark.line:
        bracket = "{" if "mapping" in words else "["
        hint = f"is the {bracket} of line {start.line + 1} closed? {hint}"
    return Problem(f"this is no YAML: {words}", hint=hint, where=where)
