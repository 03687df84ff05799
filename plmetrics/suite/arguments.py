"""Keyword arguments as suites: the same checks as for a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plmetrics.core.errors import ConfigError
from plmetrics.features.registry import FEATURES, feature
from plmetrics.suite.reader import suite_from_mapping

_ROLES = ("label", "weight", "query", "document", "unit", "treatment", "fold")
_DATA = ("where", "missing", "path")
_SUITE = (
    "task",
    "positive",
    "classes",
    "models",
    "calibrate",
    "baseline",
    "metrics",
    "slices",
    "min_rows",
    "max_slices",
    "gates",
    "curves",
)


def suite_from_arguments(data: object = None, *, seed: int = 0, **arguments: Any) -> Any:
    """A checked suite from the keyword arguments of `plmetrics.evaluate`.

    `seed` is that of `uncertainty` unless this names one. TREC files as `data` say which columns and models there are.

    Raises:
        ConfigError: all problems at once; their paths are names of arguments.
    """
    raw: dict[str, Any] = {
        "columns": _given(arguments, _ROLES),
        "data": _given(arguments, _DATA),
        **_given(arguments, (*_SUITE, "exact", "reproducible", "memory", "name")),
    }
    if isinstance(data, Mapping) and "trec" in data:
        from plmetrics.suite.trec import trec_defaults

        raw |= {key: value for key, value in trec_defaults({**raw, "data": data}).items() if key != "data"}
    for key in FEATURES:
        if arguments.get(key) is not None:
            raw[key] = feature(key).argument(arguments[key])
    if arguments.get("compare") is not None:
        from plmetrics.suite.sections.compare import with_result

        raw["compare"] = with_result(arguments["compare"])
    uncertainty = arguments.get("uncertainty")
    if uncertainty is True:
        raw["uncertainty"] = {"seed": seed}
    elif isinstance(uncertainty, Mapping):
        raw["uncertainty"] = {"seed": seed, **uncertainty}
    elif uncertainty is not None:
        raw["uncertainty"] = uncertainty
    try:
        return suite_from_mapping(raw)
    except ConfigError as error:
        raise ConfigError([_as_argument(problem) for problem in error.problems]) from error


def _given(arguments: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: arguments[name] for name in names if arguments.get(name) is not None}


def _as_argument(problem: Any) -> Any:
    from dataclasses import replace

    path = problem.path
    return replace(
        problem, path=path[1:] if path[:1] in {("columns",), ("data",)} and len(path) > 1 else path
    )
