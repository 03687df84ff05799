"""Result table `leakage` of findings against limits, with its gates and warnings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from plmetrics.core.names import name_list, number_text
from plmetrics.core.results import LEAKAGE_SCHEMA, gate_table
from plmetrics.features.leakage.leakage_section import Leakage

if TYPE_CHECKING:
    from plmetrics.features.leakage.training_rows import LeakageFinding
    from plmetrics.suite.model import Suite

_SAYS = {
    "keys": ("has a key that is", "have keys that are", "in the training table"),
    "folds": ("has a key that is", "have keys that are", "in another fold too"),
    "duplicates": ("is", "are", "there more than once"),
    "time": ("is", "are", "no later than the training table's last"),
}
"""Verbs of a check for one row and for several, and what follows them."""
_STRENGTH = "strength"
_UNDEFINED = {"attributes": "too_few_rows"}
_NAMED = 5
_BAD = ("fail", "warn")


def leakage_table(suite: Suite, findings: Sequence[LeakageFinding]) -> pl.DataFrame:
    """The table of findings with their verdicts.

    Returns:
        The table `leakage`: a row per check, and per attribute. `observed` is what is held against `limit`: rows, their
        share, or how well an attribute tells the label (`measure`). An attribute fails at its limit, rows above
        theirs. `verdict` is pass, fail, warn at that level, or inconclusive where nothing can be said.
    """
    spec = Leakage.of(suite)
    rows = [_row(finding, spec) for finding in findings]
    return pl.DataFrame(rows, schema=LEAKAGE_SCHEMA, orient="row")


def _row(finding: LeakageFinding, spec: Leakage) -> dict[str, Any]:
    columns: dict[str, Any] = {
        "check": finding.check,
        "columns": ", ".join(finding.columns),
        "level": spec.level,
    }
    columns |= {"example": finding.example, "note": finding.note}
    if finding.check == "attributes":
        strength = finding.strength
        judged = {"observed": strength, "limit": spec.perfect, "measure": finding.measure or None}
        return (
            columns
            | judged
            | {"verdict": _verdict(spec, None if strength is None else strength >= spec.perfect)}
        )
    limit, rows = getattr(spec.limit, finding.check), finding.rows
    measure = "share" if isinstance(limit, float) else "rows"
    columns |= {"limit": float(limit), "measure": measure}
    if rows is None:
        return columns | {"verdict": _verdict(spec, None)}
    share = rows / finding.of
    observed = share if measure == "share" else float(rows)
    return columns | {
        "rows": rows,
        "share": share,
        "observed": observed,
        "verdict": _verdict(spec, observed > limit),
    }


def _verdict(spec: Leakage, bad: bool | None) -> str:  # noqa: FBT001
    if bad is None:
        return "inconclusive"
    return spec.level if bad else "pass"


def leakage_gates(table: pl.DataFrame) -> pl.DataFrame:
    """Gate per check, for the table `gates`; that of attributes is of the strongest one."""
    checks = table.partition_by("check", maintain_order=True)
    return gate_table([_gate(rows) for rows in checks])


def _gate(rows: pl.DataFrame) -> dict[str, Any]:
    worst = rows.sort("observed", descending=True, nulls_last=True, maintain_order=True).row(0, named=True)
    sign = "<" if worst["check"] == "attributes" else "<="
    unjudged = "inconclusive" in rows["verdict"]
    return {
        "gate": f"leakage: {worst['check']}",
        "level": worst["level"],
        "metric": _STRENGTH if worst["check"] == "attributes" else worst["measure"],
        "slice_set": "overall",
        "slice": "all",
        "observed": worst["observed"],
        "at_most": worst["limit"],
        "rule": f"{sign} {number_text(worst['limit'])}",
        "verdict": "fail" if worst["verdict"] in _BAD else "inconclusive" if unjudged else worst["verdict"],
        "status": "ok" if worst["observed"] is not None else _UNDEFINED.get(worst["check"], "no_rows"),
        "note": _note(rows, worst),
    }


def _note(rows: pl.DataFrame, worst: dict[str, Any]) -> str | None:
    if worst["check"] != "attributes":
        example = None if worst["example"] is None else f"e.g. {worst['example']}"
        return "; ".join(filter(None, [example, worst["note"]])) or None
    if worst["observed"] is None:
        return str(worst["note"])
    return _attributes(rows)


def _attributes(rows: pl.DataFrame) -> str | None:
    """Too predictive attributes, strongest first; without any, those that were not judged."""
    bad = rows.filter(pl.col("verdict").is_in(_BAD)).sort("observed", descending=True, maintain_order=True)
    unjudged = rows.filter(pl.col("verdict") == "inconclusive")["columns"].to_list()
    if bad.is_empty() and unjudged:
        return f"not judged: {name_list(unjudged, _NAMED)}"
    return name_list(bad["columns"].to_list(), _NAMED) or None


def leakage_warnings(table: pl.DataFrame) -> list[str]:
    """Findings beyond their limit, in words for the record."""
    texts = []
    for row in table.filter(pl.col("verdict").is_in(_BAD)).iter_rows(named=True):
        if row["check"] == "attributes":
            strength = f"{row['measure']} {row['observed']:.4g} {row['note']}"
            texts.append(f"leakage: column '{row['columns']}' tells the label by itself: {strength}")
        else:
            example = "" if row["example"] is None else f", e.g. {row['example']}"
            texts.append(f"leakage: {_rows_text(row)}{example}")
    return texts


def _rows_text(row: dict[str, Any]) -> str:
    singular, plural, what = _SAYS[row["check"]]
    noun, verb = ("row", singular) if row["rows"] == 1 else ("rows", plural)
    return f"{row['rows']:,} {noun} ({row['share']:.2%}) {verb} {what}"
