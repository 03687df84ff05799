"""The sections of a suite that need no other section: shorthands written out, values typed."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from itertools import pairwise
from typing import TYPE_CHECKING, Any, get_args

from plmetrics.core.names import RESERVED_SLICE_SETS, did_you_mean
from plmetrics.core.rowsql import RowExpressionError, compile_row
from plmetrics.suite.findings import described
from plmetrics.suite.model import (
    Columns,
    Compare,
    Data,
    ModelColumns,
    Output,
    SliceSet,
    Task,
    Uncertainty,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from plmetrics.suite.findings import Findings

_FOLDER_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmMgGtT]?)(i?)[bB]?")
_LATER_SLICES = {"top", "quantiles", "other", "search"}


def read_name(raw: Any, findings: Findings) -> str:
    """The suite's name, which is a folder's too."""
    if isinstance(raw, str) and _FOLDER_NAME.fullmatch(raw):
        return raw
    hint = "use letters, digits, '.', '_' and '-', at most 100, and no '.' in front"
    findings.add(f"the name {described(raw)} cannot be the name of a folder", "name", hint=hint)
    return "suite"


def read_task(raw: Any, findings: Findings, available: tuple[str, ...]) -> str | None:
    """The task, or the nearest one if it is misspelled; None if none is near or it has no metrics yet."""
    known = get_args(Task)
    if raw is None:
        return "binary"
    if raw not in known or not isinstance(raw, str):
        hint = did_you_mean(str(raw), known)
        findings.add(f"unknown task {described(raw)}", "task", hint=hint)
        match = did_you_mean(str(raw), available, limit=0)
        return next((task for task in available if match and f"'{task}'" in match), None)
    if raw not in available:
        hint = "available: " + ", ".join(available)
        findings.add(f"the task '{raw}' has no metrics yet", "task", hint=hint)
        return None
    return raw


def read_data(raw: Any, findings: Findings, *, path_needed: bool) -> Data | None:
    """Where the rows are."""
    raw = {} if raw is None else raw
    if isinstance(raw, dict) and isinstance(raw.get("path"), list):
        if not raw["path"]:
            findings.add("path must not be an empty list", "data", "path")
        raw = {**raw, "path": tuple(raw["path"])}
    if isinstance(raw, dict) and path_needed and raw.get("path") is None:
        findings.add("the data has no path", "data", hint="write data: {path: scores/*.parquet}")
    if isinstance(raw, dict) and raw.get("missing", "") is None:
        raw = {key: value for key, value in raw.items() if key != "missing"}
    data = findings.validated(Data, raw, "data")
    if isinstance(raw, dict) and isinstance(raw.get("where"), str):
        check_condition(raw["where"], findings, "data", "where")
    return data


def check_condition(text: str, findings: Findings, *path: str | int) -> None:
    """Compile an SQL condition, and note what is wrong with it."""
    try:
        row = compile_row(text)
    except RowExpressionError as error:
        findings.add(str(error), *path, hint=error.hint)
        return
    if row.kind not in {"condition", "unknown"}:
        message = f"{described(text)} is a {row.kind}, not a condition"
        findings.add(message, *path, hint="write a comparison, such as balance > 1000")


def read_columns(raw: Any, findings: Findings) -> Columns | None:
    """The roles of columns."""
    if raw is None:
        findings.add("'columns' is missing", hint="name the label at least: columns: {label: defaulted}")
        return None
    return findings.validated(Columns, raw, "columns")


def read_models(raw: Any, findings: Findings, task: str | None) -> dict[str, ModelColumns] | None:
    """The models by name; a column's name alone is a model of that name."""
    if raw is None:
        findings.add("'models' is missing", hint="write models: {name: column of its scores}")
        return None
    named = {raw: raw} if isinstance(raw, str) else raw
    if isinstance(raw, list):
        named = _columns_by_name(raw, findings, "models")
    if not isinstance(named, dict):
        findings.add(f"models must map names to columns, not {described(raw)}", "models")
        return None
    if not named:
        findings.add("there is no model", "models")
    read = {name: _model(name, value, findings, task) for name, value in named.items()}
    return {name: model for name, model in read.items() if model is not None}


def _columns_by_name(raw: list[Any], findings: Findings, section: str) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for index, column in enumerate(raw):
        if not isinstance(column, str):
            hint = "give it a name: write a mapping of names instead of the list"
            findings.add(
                f"a list in {section} names columns, not {described(column)}", section, index, hint=hint
            )
        elif column in named:
            findings.add(f"'{column}' stands in {section} twice", section, index)
        else:
            named[column] = column
    return named


def _model(name: Any, raw: Any, findings: Findings, task: str | None) -> ModelColumns | None:
    path = ("models", name)
    check_name(name, findings, "a model's name", *path)
    if isinstance(raw, str):
        raw = {"score": raw}
    if not isinstance(raw, dict):
        hint = "write a column's name, or {score: column}"
        findings.add(f"a model needs a column, not {described(raw)}", *path, hint=hint)
        return None
    given = {key: value for key, value in raw.items() if value is not None}
    model = findings.validated(ModelColumns, given, *path)
    if model is None:
        return None
    kinds = set(given)
    if len(kinds) != 1 and kinds != {"mean", "sd"}:
        findings.add("a model needs exactly one of 'score' and 'prediction'", *path)
        return None
    if task is not None and not kinds <= {"score", "prediction"}:
        findings.add(
            f"'{sorted(kinds)[0]}' columns are not available yet", *path, sorted(kinds)[0], at_key=True
        )
        return None
    return model


def check_name(name: Any, findings: Findings, what: str, *path: str | int) -> None:
    """Refuse a name that is empty, no text, or could not stand in a file's name or a line of text."""
    if not isinstance(name, str):
        findings.add(f"{what} must be text, not {described(name)}", *path, hint="quote it", at_key=True)
    elif not name.strip() or name != name.strip():
        findings.add(f"{what} must not be empty or begin or end with a blank", *path, at_key=True)
    elif "/" in name or "\\" in name or not name.isprintable():
        hint = "leave out '/', '\\' and control characters"
        findings.add(f"{what} {described(name)} cannot be used in file names", *path, hint=hint, at_key=True)


def read_slices(raw: Any, findings: Findings) -> dict[str, SliceSet]:
    """The slice sets by name; those that are wrong keep their names, so that others may refer to them."""
    if raw is None:
        return {}
    named = {raw: raw} if isinstance(raw, str) else raw
    if isinstance(raw, list):
        named = _columns_by_name(raw, findings, "slices")
    if not isinstance(named, dict):
        findings.add(f"slices must map names to columns, not {described(raw)}", "slices")
        return {}
    return {str(name): _slice_set(name, value, findings) for name, value in named.items()}


def _slice_set(name: Any, raw: Any, findings: Findings) -> SliceSet:
    path = ("slices", name)
    check_name(name, findings, "a slice set's name", *path)
    if name in RESERVED_SLICE_SETS:
        hint = "reserved: " + ", ".join(sorted(RESERVED_SLICE_SETS))
        findings.add(f"a slice set cannot be called '{name}'", *path, hint=hint, at_key=True)
    spec = _slice_spec(raw, findings, *path)
    if spec is None:
        return SliceSet()
    found = findings.validated(SliceSet, spec, *path) or SliceSet()
    if len(set(found.columns)) < len(found.columns):
        findings.add("a column stands in the set twice", *path)
    if found.where is not None:
        check_condition(found.where, findings, *path, "where")
    return found


def _slice_spec(raw: Any, findings: Findings, *path: str | int) -> dict[str, Any] | None:
    """A slice set's shorthand, written out."""
    if isinstance(raw, str):
        return {"columns": (raw,)}
    if isinstance(raw, list):
        raw = {"columns": raw}
    if not isinstance(raw, dict):
        hint = "write a column, a list of columns, {column: age, bins: [25, 40]} or {where: balance > 1000}"
        findings.add(f"a slice set cannot be {described(raw)}", *path, hint=hint)
        return None
    spec = {key: value for key, value in raw.items() if value is not None and value != []}
    for key in _LATER_SLICES & set(spec):
        findings.add(f"'{key}' is not available yet", *path, key, at_key=True)
        del spec[key]
    if "column" in spec and "columns" not in spec:
        column = spec.pop("column")
        if not isinstance(column, str):
            findings.add(f"column must be text, not {described(column)}", *path, "column")
            return None
        spec["columns"] = column
    columns = spec.get("columns", ())
    spec["columns"] = (columns,) if isinstance(columns, str) else tuple(columns) if columns else ()
    if bool(spec["columns"]) == ("where" in spec):
        findings.add("a slice set needs either columns or 'where'", *path)
        return None
    if "bins" in spec:
        spec["bins"] = _bins(spec["bins"], len(spec["columns"]), findings, *path)
    return spec


def _bins(raw: Any, columns: int, findings: Findings, *path: str | int) -> tuple[Any, ...] | None:
    if columns != 1:
        findings.add("bins need exactly one column", *path, "bins")
        return None
    if not isinstance(raw, list):
        hint = "write bins: [25, 40, 65]"
        findings.add(f"bins must be a list of edges, not {described(raw)}", *path, "bins", hint=hint)
        return None
    edges = [_edge(edge) for edge in raw]
    for index, edge in enumerate(edges):
        if edge is None:
            message = f"an edge must be a number or a date such as 2024-01-31, not {described(raw[index])}"
            findings.add(message, *path, "bins", index)
    if None in edges:
        return None
    if len({_edge_kind(edge) for edge in edges}) > 1:
        findings.add("the edges must all be numbers, or all be dates of one form", *path, "bins")
        return None
    for index, (before, after) in enumerate(pairwise(edges), start=1):
        if not before < after:
            message = f"the edges must ascend, and {raw[index]} does not come after {raw[index - 1]}"
            findings.add(message, *path, "bins", index)
            return None
    return tuple(edges)


def _edge(raw: Any) -> Any:
    """A number, a date or a time, None for anything else."""
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return raw if math.isfinite(raw) else None
    if isinstance(raw, date):
        return raw
    try:
        return date.fromisoformat(raw) if len(raw) == 10 else datetime.fromisoformat(raw)
    except (TypeError, ValueError):
        return None


def _edge_kind(edge: Any) -> tuple[str, bool]:
    if isinstance(edge, datetime):
        return "time", edge.tzinfo is None
    return ("date" if isinstance(edge, date) else "number"), True


def read_uncertainty(raw: Any, findings: Findings) -> Uncertainty | None:
    """How intervals are made; None for no intervals."""
    if raw is None or raw is False:
        return None
    if raw is True:
        return Uncertainty()
    if not isinstance(raw, dict):
        hint = "write true, or a mapping such as {replicates: 1000, seed: 7}"
        findings.add(f"uncertainty cannot be {described(raw)}", "uncertainty", hint=hint)
        return None
    return findings.validated(Uncertainty, raw, "uncertainty") or Uncertainty()


def read_compare(raw: Any, findings: Findings, models: Mapping[str, Any] | None) -> Compare | None:
    """The comparison; a model's name alone is the baseline."""
    if raw is None:
        return None
    named = {"baseline": raw} if isinstance(raw, str) else raw
    compare = findings.validated(Compare, named, "compare")
    baseline = named.get("baseline") if isinstance(named, dict) else None
    if isinstance(baseline, str) and models is not None and baseline not in models:
        place = ("compare",) if isinstance(raw, str) else ("compare", "baseline")
        findings.add(f"there is no model '{baseline}'", *place, hint=did_you_mean(baseline, models))
    return compare


def read_output(raw: Any, findings: Findings) -> Output:
    """Where results go."""
    return Output() if raw is None else findings.validated(Output, raw, "output") or Output()


def read_memory(raw: Any, findings: Findings) -> Any:
    """A memory budget in bytes: `4GB` is 4 * 10^9, `4GiB` 4 * 2^30."""
    if not isinstance(raw, str):
        return raw
    match = _MEMORY.fullmatch(raw.strip())
    if match is None:
        findings.add(f"memory cannot be {described(raw)}", "memory", hint="write bytes, or 4GB, or 512MiB")
        return None
    unit = 1024 if match[3] else 1000
    return int(
        float(match[1]) * unit ** "kmgt".index(match[2].lower()) * unit if match[2] else float(match[1])
    )
