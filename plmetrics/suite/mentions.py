"""Plain values of a suite before they are checked: mentioned names, and defaults on TREC files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_COLUMNS = {"label": "relevance", "query": "query", "document": "document"}
_SCORE = "score"


@dataclass(frozen=True, slots=True)
class SuiteMentions:
    """Mentions of a suite, be it wrong in itself: names of models and slice sets, and intervals."""

    models: tuple[str, ...]
    slices: tuple[str, ...]
    intervals: bool

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> SuiteMentions:
        """Find the names in plain values."""
        intervals = raw.get("uncertainty") not in (None, False)
        models = _names(raw.get("models"))
        evaluated = tuple(name for name in models if not _gives_margins(raw.get("models"), name))
        return cls((*evaluated, *_model_additions(raw, models)), _names(raw.get("slices")), intervals)


def _gives_margins(models: Any, name: str) -> bool:
    """Whether a model is there to be calibrated alone."""
    columns = models.get(name) if isinstance(models, Mapping) else None
    return isinstance(columns, Mapping) and "margin" in columns


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        return tuple(name for item in value for name in _item_names(item))
    return (
        (value,) if isinstance(value, str) else tuple(map(str, value if isinstance(value, Mapping) else ()))
    )


def _item_names(item: Any) -> tuple[str, ...]:
    if isinstance(item, Mapping):
        return tuple(map(str, item))
    return ("_".join(map(str, item)) if isinstance(item, (list, tuple)) else str(item),)


def _model_additions(raw: Mapping[str, Any], models: tuple[str, ...]) -> tuple[str, ...]:
    if not (raw.get("calibrate") or raw.get("baseline")):
        return ()
    from plmetrics.suite.sections.calibrate import added_names

    return added_names(raw, models)


def trec_defaults(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The suite with columns and models filled in, where its rows come from TREC files.

    >>> trec_defaults({"data": {"trec": {"qrels": "q.txt", "run": {"bm25": "r.txt"}}}})["models"]
    {'bm25': 'bm25'}
    """
    data = raw.get("data")
    files = data.get("trec") if isinstance(data, Mapping) else None
    if not isinstance(files, Mapping):
        return raw
    roles = raw.get("columns") or {}
    columns = {**_COLUMNS, **roles} if isinstance(roles, Mapping) else roles
    run = files.get("run")
    names = {str(name): str(name) for name in run} if isinstance(run, Mapping) else {"run": _SCORE}
    return {**raw, "columns": columns, "models": raw.get("models") or names}
