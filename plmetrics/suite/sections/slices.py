"""The slice sets of a suite: shorthands written out, bins and predicates checked."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from plmetrics.core.names import RESERVED_SLICE_SETS, SuitePath, did_you_mean
from plmetrics.suite.problems import Findings, check_expression, check_predicate, is_label, message_text
from plmetrics.suite.sections.basics import MOST_EDGES, SliceSet
from plmetrics.suite.sections.section import is_name_list

KINDS = ("bins", "quantiles", "top", "every")
"""The keys that make other slices of a column than its values."""


def read_slices(value: Any, findings: Findings) -> dict[str, SliceSet] | None:
    """The slice sets by name; None, with the problems noted, if one of them is wrong."""
    before = len(findings.problems)
    if value is None:
        return {}
    if isinstance(value, str):
        value = [value]
    if isinstance(value, (list, tuple)):
        value = _name_sets(value, findings)
    if not isinstance(value, Mapping):
        findings.add(f"slices must be a mapping of names to columns, not {message_text(value)}", ("slices",))
        return None
    out: dict[str, SliceSet] = {}
    for name, spec in value.items():
        path: SuitePath = ("slices", name)
        if not is_label(name, "a slice set's name", path, findings):
            continue
        if name in RESERVED_SLICE_SETS:
            findings.add(f"'{name}' is reserved and cannot name a slice set", path)
            continue
        slice_set = _slice_set(spec, path, findings)
        if slice_set is not None:
            out[name] = slice_set
    return out if len(findings.problems) == before else None


def _name_sets(listed: list[Any] | tuple[Any, ...], findings: Findings) -> dict[str, Any]:
    """List of columns, and of crossed lists, as slice sets named after them."""
    out: dict[str, Any] = {}
    for index, item in enumerate(listed):
        columns = [item] if isinstance(item, str) else item
        if not is_name_list(columns):
            hint = "write slices: {name: {...}} for anything else"
            findings.add(f"a list of slices holds columns, not {message_text(item)}", ("slices", index), hint)
        elif "_".join(columns) in out:
            findings.add(f"the slice set '{'_'.join(columns)}' stands here a second time", ("slices", index))
        else:
            out["_".join(columns)] = item
    return out


def _slice_set(spec: Any, path: SuitePath, findings: Findings) -> SliceSet | None:
    if isinstance(spec, str):
        spec = {"columns": [spec]}
    elif isinstance(spec, (list, tuple)):
        spec = {"columns": list(spec)}
    if not isinstance(spec, Mapping):
        findings.add(
            f"a slice set is a column, a list of columns or a mapping, not {message_text(spec)}", path
        )
        return None
    fields = dict(spec)
    if "column" in fields:
        if "columns" in fields:
            findings.add("column and columns exclude each other", path)
        if not isinstance(fields["column"], str):
            findings.add(f"column must be a text, not {message_text(fields['column'])}", (*path, "column"))
            return None
        fields["columns"] = [fields.pop("column")]
    if fields.get("expression") is not None:
        if fields.get("columns", [path[-1]]) not in ([path[-1]], (path[-1],)):
            findings.add(
                "expression stands in place of columns", (*path, "expression"), "leave one of them out"
            )
            return None
        fields["columns"] = [path[-1]]
    if findings.unknown_keys(fields, ["column", *SliceSet.model_fields], path):
        return None
    if "bins" in fields:
        fields["bins"] = _bins(fields["bins"], (*path, "bins"), findings)
    slice_set = findings.model(SliceSet, fields, path)
    return slice_set if slice_set is not None and _sensible(slice_set, path, findings) else None


def _sensible(slice_set: SliceSet, path: SuitePath, findings: Findings) -> bool:
    before = len(findings.problems)
    kinds = [key for key in KINDS if getattr(slice_set, key) is not None]
    if slice_set.rollup is not None:
        _check_rollup(slice_set, slice_set.rollup, path, findings)
    elif slice_set.where is not None:
        if slice_set.columns or kinds or slice_set.exclude:
            findings.add(f"where stands alone: it excludes columns, {', '.join(KINDS)} and exclude", path)
        _check_predicates(slice_set.where, (*path, "where"), findings)
    elif not slice_set.columns:
        findings.add("a slice set needs a column, columns, an expression, rollup or where", path)
    elif kinds and len(slice_set.columns) != 1:
        verb = "needs" if kinds[0] in {"top", "every"} else "need"
        findings.add(f"{kinds[0]} {verb} exactly one column", path)
    if slice_set.expression is not None:
        check_expression(slice_set.expression, (*path, "expression"), findings)
    if len(kinds) > 1:
        findings.add(f"{' and '.join(kinds)} exclude each other", path)
    if len(set(slice_set.columns)) < len(slice_set.columns):
        findings.add("a column stands twice in this slice set", path)
    for index, item in enumerate(slice_set.exclude):
        _check_exclusions(item, slice_set, (*path, "exclude", index), findings)
    return len(findings.problems) == before


def _check_rollup(slice_set: SliceSet, columns: Sequence[str], path: SuitePath, findings: Findings) -> None:
    others = sorted(slice_set.model_fields_set - {"rollup"})
    if others:
        findings.add(f"rollup stands alone: it excludes {' and '.join(others)}", path)
    if len(columns) < 2:
        findings.add("rollup needs two columns or more, from wide to narrow", (*path, "rollup"))
    if len(set(columns)) < len(columns):
        findings.add("a column stands twice in this slice set", path)


def _check_predicates(where: str | Mapping[str, str], path: SuitePath, findings: Findings) -> None:
    if isinstance(where, str):
        check_predicate(where, path, findings)
        return
    for name, text in where.items():
        if is_label(name, "a slice's name", (*path, name), findings):
            check_predicate(text, (*path, name), findings)


def _check_exclusions(item: Any, slice_set: SliceSet, path: SuitePath, findings: Findings) -> None:
    """A mapping must name columns of the set; a single value is enough where there is one column."""
    if isinstance(item, Mapping):
        for column in item:
            if column not in slice_set.columns:
                findings.add(
                    f"'{column}' is not a column of this slice set",
                    path,
                    did_you_mean(column, slice_set.columns),
                )
    elif isinstance(item, (list, tuple)):
        findings.add(f"exclude holds values or mappings of column to value, not {message_text(item)}", path)
    elif len(slice_set.columns) > 1 and not (isinstance(item, str) and "=" in item):
        hint = f"write {{{slice_set.columns[0]}: {message_text(item)}}}"
        findings.add("a slice of crossed columns is excluded by a mapping or its whole text", path, hint)


def _bins(value: Any, path: SuitePath, findings: Findings) -> Any:
    """Edges as numbers or dates, ascending."""
    if not isinstance(value, (list, tuple)) or not 0 < len(value) <= MOST_EDGES:
        many = isinstance(value, (list, tuple)) and value
        what = (
            f"at most {MOST_EDGES:,} edges, not of {len(value):,}"
            if many
            else f"edges, not {message_text(value)}"
        )
        as_number = f", or quantiles: {value}" if type(value) is int else ""
        findings.add(f"bins must be a list of {what}", path, f"write bins: [25, 40, 65]{as_number}")
        return None
    edges = [_date(edge) if isinstance(edge, str) else edge for edge in value]
    numeric = all(isinstance(edge, (int, float)) and not isinstance(edge, bool) for edge in edges)
    temporal = all(isinstance(edge, datetime.date) for edge in edges)
    if not numeric and not temporal:
        findings.add("bins must be numbers, or dates such as 2024-01-31", path)
        return None
    if temporal and not _comparable(edges):
        findings.add("bins must be dates, or times that all have a time zone, or none", path)
        return None
    if any(not low < high for low, high in pairwise(edges)):
        findings.add(f"bins must ascend, not {message_text(value)}", path)
        return None
    if numeric and not all(abs(edge) <= sys.float_info.max for edge in edges):
        findings.add("bins must be finite; the first and the last bin are open anyway", path)
        return None
    return edges


def _comparable(edges: list[Any]) -> bool:
    """Whether all are dates, or all times of one kind."""
    kinds = {isinstance(edge, datetime.datetime) and (edge.tzinfo is not None, "time") for edge in edges}
    return len(kinds) == 1


def _date(text: str) -> Any:
    from plmetrics.core.rowsql.dtypes import iso_date

    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        return iso_date(text) or text


def read_derive(value: Any, findings: Findings) -> dict[str, str] | None:
    """The expressions of derived columns by name; None, with the problems noted, if one of them is wrong."""
    before = len(findings.problems)
    if not isinstance(value, Mapping):
        example = 'write derive: {late: "days > 30"}'
        findings.add(
            f"derive must be a mapping of names to expressions, not {message_text(value)}",
            ("derive",),
            example,
        )
        return None
    for name, text in value.items():
        path: SuitePath = ("derive", name)
        if not is_label(name, "a column's name", path, findings):
            continue
        if not isinstance(text, str) or not text.strip():
            findings.add(f"a derived column is an SQL expression, not {message_text(text)}", path)
            continue
        check_expression(text, path, findings)
    return dict(value) if len(findings.problems) == before else None
