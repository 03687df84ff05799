"""Variables of the environment in the texts of a suite, and the texts as they were written."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, NamedTuple

from plmetrics.core.errors import ConfigError, Problem
from plmetrics.core.names import SuitePath, did_you_mean
from plmetrics.core.rowsql import RowExpressionError
from plmetrics.suite.sections.output import MASKED

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_EXPRESSIONS = frozenset({"metrics", "slices", "gates", "curves", "calibrate", "find_slices"})
"""Sections of metrics and row expressions, in which nothing is replaced."""
_OTHER_EXPRESSIONS = frozenset({"metric", "fit_on", "select_on"})
_DERIVE = """let a derived column read it: derive: {chosen: "region = '${REGION}'"}"""
_CONDITION = "where"


def expand(text: str) -> str | None:
    """A text with ${VAR} replaced; None where one is not set."""
    unset = any(match[1] not in os.environ for match in _VARIABLE.finditer(text))
    return None if unset else _VARIABLE.sub(lambda match: os.environ[match[1]], text)


class Expansion:
    """Variables of a suite's texts: used ones, and unset ones."""

    def __init__(self) -> None:
        self.used: dict[str, str] = {}
        self.templates: list[TextTemplate] = []
        self._problems: list[Problem] = []

    def of_suite(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """A suite with ${VAR} replaced in its texts.

        Raises:
            ConfigError: variables are not set, are more than a literal in a condition, or stand where none is replaced.
        """
        value = {key: self._all_of(item, (key,)) for key, item in content.items()}
        if self._problems:
            raise ConfigError(self._problems)
        return value

    def _all_of(self, node: Any, path: SuitePath) -> Any:
        if isinstance(node, list):
            return [self._all_of(item, (*path, place)) for place, item in enumerate(node)]
        if isinstance(node, dict):
            return {name: self._all_of(item, (*path, name)) for name, item in node.items()}
        if not isinstance(node, str) or not _VARIABLE.search(node):
            return node
        if path[0] in _EXPRESSIONS or not _OTHER_EXPRESSIONS.isdisjoint(path):
            where = path[0] if path[0] in _EXPRESSIONS else next(iter(_OTHER_EXPRESSIONS & {*path}))
            self._problems.append(Problem(f"variables are not replaced in {where}", path, _DERIVE))
            return node
        value = self._condition(node, path) if path[-1] == _CONDITION else self._text(node, path)
        self.templates.append(TextTemplate(path, node, value))
        return value

    def _text(self, text: str, path: SuitePath) -> str:
        return _VARIABLE.sub(partial(self._variable, path), text)

    def _condition(self, text: str, path: SuitePath) -> str:
        from plmetrics.core.rowsql.literals import with_values

        unset = [match for match in _VARIABLE.finditer(text) if match[1] not in os.environ]
        if unset:
            return self._text(text, path)
        try:
            return with_values(text, _VARIABLE, partial(self._variable, path))
        except RowExpressionError as error:
            self._problems.append(Problem(str(error), path, error.hint))
            return text

    def _variable(self, path: SuitePath, match: re.Match[str]) -> str:
        name = match[1]
        if name not in os.environ:
            message = f"the environment variable {name} is not set"
            self._problems.append(Problem(message, path, did_you_mean(name, os.environ)))
            return ""
        self.used[name] = os.environ[name]
        return self.used[name]


class TextTemplate(NamedTuple):
    """One text: its place in the suite, its written form, and its value."""

    path: SuitePath
    text: str
    value: str


def restore_templates(content: Any, texts: Iterable[TextTemplate]) -> Any:
    """Content of a suite with texts as they were written; a short form may have become a mapping or a list.

    >>> restore_templates({"models": {"m": {"score": "p7"}}}, [TextTemplate(("models", "m"), "p${DAY}", "p7")])
    {'models': {'m': {'score': 'p${DAY}'}}}
    """
    for path, text, value in texts:
        content = _restore(content, path, text, value)
    return content


def _restore(node: Any, path: SuitePath, text: str, value: str) -> Any:
    if isinstance(node, str):
        return text if node in (value, MASKED) and not path else node
    step, rest = (path[0], path[1:]) if path else (None, ())
    if isinstance(node, dict):
        if isinstance(step, str):
            return {
                key: _restore(item, rest, text, value) if key == step else item for key, item in node.items()
            }
        return {key: _restore(item, (), text, value) for key, item in node.items()}
    if isinstance(node, (list, tuple)):
        chosen = range(len(node)) if not isinstance(step, int) else (step,)
        return [
            _restore(item, rest, text, value) if place in chosen else item for place, item in enumerate(node)
        ]
    return node
