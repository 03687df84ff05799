"""Tables of a run for databases, each row with its keys, and the headline values for systems of few names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from plmetrics.core.results import (
    COMPARISONS_SCHEMA,
    GATE_OUTCOMES,
    GATES_SCHEMA,
    METRICS_SCHEMA,
    first_rows,
    table_schema,
)
from plmetrics.core.version import VERSION
from plmetrics.report.export import finite_rows
from plmetrics.runs.record import rows_read

if TYPE_CHECKING:
    from plmetrics.exports.protocol import EndedRun
    from plmetrics.runs.outcome import Outcome

Key = TypeVar("Key")

MOMENT = pl.Datetime("us", "UTC")
RUN_KEYS = pl.Schema(
    table_schema("suite run_key interval_start interval_end run_id")
    | dict.fromkeys(("interval_start", "interval_end"), MOMENT)
)
"""The first columns of every row. The rows of one suite and `run_key` are replaced together."""

RUNS_SCHEMA = pl.Schema(
    RUN_KEYS
    | table_schema("verdict exit_code started finished seconds rows_read fingerprint version labels")
    | {"exit_code": pl.Int64(), "seconds": pl.Float64(), "rows_read": pl.Int64()}
    | dict.fromkeys(("started", "finished"), MOMENT)
)

RESULTS = {"metrics": METRICS_SCHEMA, "comparisons": COMPARISONS_SCHEMA, "gates": GATES_SCHEMA}
"""The result tables that are exported."""

TABLES = {name: pl.Schema({**RUN_KEYS, **schema}) for name, schema in RESULTS.items()} | {"runs": RUNS_SCHEMA}
"""All tables. That of runs is the last: where its row is, the others are."""
OVERALL = "overall"
ALL = "all"
BAND = "within"
_PLACE = ["model", "slice_set", "slice", "metric"]


def run_tables(run: EndedRun, result: Outcome) -> dict[str, pl.DataFrame]:
    """The tables of a run, by name, without NaN and infinities."""
    keys = _keys(run)
    tables = {
        name: finite_rows(result.tables[name]).select(*keys, *schema) for name, schema in RESULTS.items()
    }
    return tables | {"runs": _run_row(run)}


def _keys(run: EndedRun) -> list[pl.Expr]:
    start, end = run.interval or (None, None)
    values = {
        "suite": run.name,
        "run_key": run.key,
        "interval_start": start,
        "interval_end": end,
        "run_id": run.run_id,
    }
    return [pl.lit(values[name], dtype).alias(name) for name, dtype in RUN_KEYS.items()]


def _run_row(run: EndedRun) -> pl.DataFrame:
    labels = run.record.get("run_labels")
    facts = {
        "verdict": run.verdict,
        "exit_code": run.record.get("exit_code"),
        "started": run.start,
        "finished": run.end,
        "seconds": run.record.get("seconds"),
        "rows_read": rows_read(run.record),
        "fingerprint": run.record.get("fingerprint"),
        "version": VERSION,
        "labels": json.dumps(labels, ensure_ascii=False, sort_keys=True) if labels else None,
    }
    schema = {name: RUNS_SCHEMA[name] for name in facts}
    return pl.DataFrame([facts], schema=schema).select(*_keys(run), *facts)


def worst_verdicts(gates: Iterable[tuple[Key, str]]) -> dict[Key, str]:
    """The worst verdict of gates with one name in another system: gates may share a name, as both limits of a value do.

    >>> worst_verdicts([("range", "skipped"), ("range", "fail"), ("range", "pass")])
    {'range': 'fail'}
    """
    verdicts: dict[Key, str] = {}
    for name, verdict in gates:
        verdicts[name] = min(verdict, verdicts.get(name, "pass"), key=GATE_OUTCOMES.index)
    return verdicts


def rule_identity(gate: Mapping[str, Any]) -> str:
    """The rule of a gate in the same words every night, without the ends of the control band of one interval.

    >>> rule_identity({"rule": "within 3 sd of 40 intervals: [0.83, 0.87]"}), rule_identity({"rule": ">= 0.7"})
    ('within', '>= 0.7')
    """
    rule = str(gate["rule"])
    return BAND if rule.startswith(f"{BAND} ") else rule


def headline_values(result: Outcome) -> pl.DataFrame:
    """Rows of the table `metrics` of no single slice, and of models, metrics and slices with a gate; all finite."""
    rows = finite_rows(first_rows(result.metrics))
    gated = rows.join(result.gates.select(_PLACE).unique(), on=_PLACE, how="semi", maintain_order="left")
    return pl.concat([rows.filter(slice=ALL), gated.filter(pl.col("slice") != ALL)])
