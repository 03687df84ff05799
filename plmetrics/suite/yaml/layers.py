"""Layers of a suite: `--set` over the suite over the files of its defaults.

Mappings are merged key by key, at every depth; anything else, lists too, is replaced whole. So is a mapping by a text,
a number or null. Paths in a file of defaults are relative to the suite, as if they stood there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from plmetrics.core.errors import ConfigError, EnvironmentFault, Location, Problem
from plmetrics.core.names import SuitePath, did_you_mean, is_path
from plmetrics.suite.problems import message_text
from plmetrics.suite.reader import suite_keys
from plmetrics.suite.sections.models import only_column
from plmetrics.suite.yaml.document import Document, parse, parse_document, scalar

if TYPE_CHECKING:
    from pathlib import Path

DEFAULTS = "defaults"


@dataclass(frozen=True, slots=True)
class MergedDocument:
    """Merged values, the place of each in the file it comes from, and the files of defaults as the suite names them."""

    value: dict[str, Any]
    places: dict[SuitePath, Location]
    defaults: tuple[str, ...]


def with_defaults(document: Document, folder: Path, chosen: Any = None) -> MergedDocument:
    """Suite over the files of its defaults; later ones win.

    Names of files are relative to the folder; `chosen` files, in place of those that the suite names, may lie anywhere.

    Raises:
        ConfigError: a file is absent, outside of the folder, not a suite's YAML, or has defaults itself.
        EnvironmentFault: a file cannot be read.
    """
    value = {key: item for key, item in document.value.items() if key != DEFAULTS}
    names = _names(document.value.get(DEFAULTS) if chosen is None else chosen)
    merged = Document({}, {})
    for index, name in enumerate(names):
        path = (DEFAULTS, index) if (DEFAULTS, index) in document.places else (DEFAULTS,)
        if chosen is None:
            _check_inside(folder, name, path)
        merged = merge(merged, _load_defaults(folder / name, path))
    merged = merge(merged, Document(value, document.places))
    return MergedDocument(merged.value, merged.places, tuple(names))


def merge(low: Document, high: Document) -> Document:
    """One document over another: mappings key by key, anything else replaced.

    >>> merge(Document({"a": {"x": 1, "y": 2}}, {}), Document({"a": {"y": 3}}, {})).value
    {'a': {'x': 1, 'y': 3}}
    """
    replaced = set(_replacements(low.value, high.value, ()))
    lower = {
        path: place
        for path, place in low.places.items()
        if not any(path[:depth] in replaced for depth in range(1, len(path) + 1))
    }
    return Document(_merge(low.value, high.value), {**lower, **high.places})


def _merge(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    out = dict(low)
    for key, item in high.items():
        below = low.get(key)
        out[key] = _merge(below, item) if isinstance(below, dict) and isinstance(item, dict) else item
    return out


def _replacements(low: Mapping[str, Any], high: Mapping[str, Any], above: SuitePath) -> Iterator[SuitePath]:
    """Paths of higher values in place of lower ones."""
    for key in low.keys() & high.keys():
        if isinstance(low[key], dict) and isinstance(high[key], dict):
            yield from _replacements(low[key], high[key], (*above, key))
        else:
            yield (*above, key)


def override(
    value: dict[str, Any],
    steps: tuple[str, ...],
    replacement: Any,
    above: tuple[str, ...] = (),
    task: str | None = None,
) -> dict[str, Any]:
    """Copy with one key, or a key below it, replaced; shorthands on the way are written out, as the `task` reads them.

    Raises:
        ConfigError: what is above the key is not a mapping, or the text is no YAML.

    >>> override({"uncertainty": True}, ("uncertainty", "replicates"), "200")
    {'uncertainty': {'replicates': 200}}
    """
    head, *rest = steps
    task = task or str(value.get("task"))
    if not rest:
        return {
            **value,
            head: flow(replacement, (*above, head)) if isinstance(replacement, str) else replacement,
        }
    inner = _written_out(value.get(head), (*above, head), task)
    if not isinstance(inner, dict):
        sections = [key for key in suite_keys() if isinstance(value.get(key), dict)]
        hint = did_you_mean(head, sections) if not above else None
        if isinstance(inner, list):
            hint = f"a list is replaced whole: --set '{'.'.join((*above, head))}=[...]'"
        raise ConfigError(Problem(f"'{head}' is not a mapping", (*above, *steps), hint))
    return {**value, head: override(inner, tuple(rest), replacement, (*above, head), task)}


def flow(text: str, path: SuitePath) -> Any:
    """The value of `--set`: a YAML scalar, list or mapping.

    Raises:
        ConfigError: it is no YAML.
    """
    if not text.lstrip().startswith(("[", "{", '"', "'")):
        return scalar(text.strip())
    try:
        return parse(f"value: {text}", "--set").value["value"]
    except ConfigError as error:
        raise ConfigError([replace(problem, path=path, where=None) for problem in error.problems]) from error


def _written_out(value: Any, path: tuple[str, ...], task: str) -> Any:
    """Shorthand as its mapping; other values as they are."""
    if value is None or isinstance(value, bool):  # a switch: on stands for its defaults
        return {}
    texts = [value] if isinstance(value, str) else value
    columns = isinstance(texts, list) and all(isinstance(text, str) for text in texts)
    match path:
        case ("compare",) if isinstance(value, str):
            value = {"baseline": value}
        case ("engine",) if isinstance(value, str):
            value = {"on": value}
        case ("models",) | ("slices",) if columns:
            value = {text: text for text in texts}
        case ("models", _) if isinstance(value, str):
            value = {only_column(task): value}
        case ("slices", _) if columns:
            value = {"columns": texts}
    return value


def _names(value: Any) -> list[str]:
    if value is None:
        return []
    names = value if isinstance(value, list) else [value]
    if not all(isinstance(name, str) and name.strip() for name in names):
        message = f"defaults must be a file or a list of files, not {message_text(value)}"
        raise ConfigError(Problem(message, (DEFAULTS,), "write defaults: common.yaml"))
    for name in names:
        if not is_path(name):
            message = f"{message_text(name)} cannot be the name of a file"
            raise ConfigError(Problem(message, (DEFAULTS,), "write defaults: common.yaml"))
    return names


def _check_inside(folder: Path, name: str, path: SuitePath) -> None:
    """Refuse a file outside of the suite's folder, links followed: whoever writes a suite may not read all we may."""
    if not (folder / name).resolve().is_relative_to(folder.resolve()):
        hint = "put it in the suite's folder, or name it by --set defaults=FILE, which may lie anywhere"
        raise ConfigError(
            Problem(f"the file of defaults {message_text(name)} is outside of the suite's folder", path, hint)
        )


def _load_defaults(file: Path, path: SuitePath) -> Document:
    """File of defaults; problems of the file as such are located at its name in the suite."""
    if file.exists() and not file.is_dir() and not file.is_file():
        raise ConfigError(Problem(f"{file}: this is a device or a pipe, not a file", path))
    try:
        document = parse_document(file)
    except (ConfigError, EnvironmentFault) as error:
        problems = [replace(problem, path=() if problem.where else path) for problem in error.problems]
        raise type(error)(problems) from error
    if DEFAULTS in document.value:
        hint = "name all files in the suite: defaults: [first.yaml, second.yaml]"
        where = document.places[DEFAULTS,]
        raise ConfigError(Problem("a file of defaults cannot have defaults itself", hint=hint, where=where))
    return document
