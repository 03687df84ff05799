"""A result as JSON or CSV, for programs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from plmetrics.runs.outcome import Outcome
    from plmetrics.table.storage.places import Place

_ROWS_AT_ONCE = 10_000


def to_json(result: Outcome, folder: Place | None = None, exit_code: int = 0) -> str:
    """One JSON object: exit code, name, verdict, run id, folder, and the tables as lists of records.

    What is undefined is null; there is no NaN and no infinity. Characters that are not printable are escaped.
    """
    head = {
        "status": "complete",
        "exit_code": exit_code,
        "name": result.suite.name,
        "verdict": result.verdict,
        "run_id": result.record.get("run_id"),
        "folder": None if folder is None else str(folder),
    }
    entries = [json_text(head).removesuffix("\n}\n")]
    entries += [
        f"  {json.dumps(name)}: {_records(finite_rows(table))}" for name, table in result.tables.items()
    ]
    return ",\n".join(entries) + "\n}\n"


def _records(table: pl.DataFrame) -> str:
    """A table as a list of records within an object; a million rows at once would take gigabytes."""
    if table.is_empty():
        return "[]"
    texts = (json_text(rows.to_dicts()) for rows in table.iter_slices(_ROWS_AT_ONCE))
    inner = (text.removeprefix("[\n").removesuffix("\n]\n").replace("\n", "\n  ") for text in texts)
    return "[\n  " + ",\n  ".join(inner) + "\n  ]"


def finite_rows(table: pl.DataFrame) -> pl.DataFrame:
    """A table without NaN and infinities: they are null."""
    floats = pl.col(pl.Float64)
    return table.with_columns(pl.when(floats.is_finite()).then(floats))


def indented_json(content: object) -> str:
    """JSON for programs, its characters as they are."""
    return json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2) + "\n"


def json_text(content: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> str:
    """JSON for programs; nonprintable characters are escaped."""
    return _printable(json.dumps(content, ensure_ascii=False, allow_nan=False, indent=2))


def json_line(content: Mapping[str, Any]) -> str:
    """A JSON object in one line, as `json_text` writes it."""
    return _printable(json.dumps(content, ensure_ascii=False, allow_nan=False))


def _printable(text: str) -> str:
    if text.replace("\n", "").isprintable():
        return f"{text}\n"
    return "".join(f"{line if line.isprintable() else _escape(line)}\n" for line in text.split("\n"))


def _escape(line: str) -> str:
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)


def to_csv(result: Outcome) -> str:
    """The metrics table; `slice_values` as text, `column=value; ...`, undefined values empty.

    Names and slice values are written as they are: a spreadsheet may take one that begins with `=`, `+`, `-`
    or `@` for a formula.
    """
    pairs = pl.concat_str(
        pl.element().struct.field("column"), pl.lit("="), pl.element().struct.field("value").fill_null("null")
    )
    flat = result.metrics.with_columns(pl.col("slice_values").list.eval(pairs).list.join("; "))
    return flat.with_columns(pl.col(pl.Float64).fill_nan(None)).write_csv()
