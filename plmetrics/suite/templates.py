"""Texts of a suite as they were written, where variables stood for something else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from plmetrics.suite.sections.output import MASKED

if TYPE_CHECKING:
    from collections.abc import Iterable

    from plmetrics.core.names import SuitePath


class TextTemplate(NamedTuple):
    """One text: its place in the suite, how it was written, and what it stood for."""

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
