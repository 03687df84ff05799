"""Defaults of a suite on TREC files, whose columns and models have fixed names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_COLUMNS = {"label": "relevance", "query": "query", "document": "document"}
_SCORE = "score"


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
