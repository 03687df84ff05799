"""README.md of a run folder: in ten lines the run, its outcome, and its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from plmetrics.core.names import name_list
from plmetrics.runs.record import rows_read

if TYPE_CHECKING:
    import polars as pl

README = "README.md"
_MOST_GATES = 5
_LONGEST = 200
_CONTENTS = {
    "metrics": "a row per model, slice and metric",
    "comparisons": "differences of models, slices and runs",
    "gates": "the checks of gates",
    "curves": "points of curves",
    "leakage": "checks for leakage",
    "folds": "values by fold",
    "cross_validation": "summaries of folds",
    "drift": "measures of drift",
    "decomposition": "parts of changes",
    "found_slices": "slices that the search found",
    "replicates": "replicates, to pair this run with others",
    "units": "units of the replicates",
    "drift_histograms": "histograms of columns, and of their reference",
    "experiment": "arms of an experiment against the control",
    "labelling": "how many rows have labels, and scores of those with and without",
}
_STATES = {
    "drift.state": "what drift counted, as a reference of later runs",
    "interval.state": "what windows of several intervals add up",
}


def readme_text(record: Mapping[str, Any], gates: pl.DataFrame | None, files: Sequence[str] = ()) -> str:
    """Text for a record, written beside it. `gates` is None of a failed run."""
    name = str(record["name"])
    head = [f"# {_line(name)}, run {record['run_id']}", ""]
    if record["status"] == "failed":
        head += [
            f"The run failed (exit code {record['exit_code']}): {_line(record.get('message', ''))}",
            *_facts(record),
        ]
        return "\n".join([*head, "", "There are no results. What to correct: `problems` in run.json.", ""])
    rows = rows_read(record)
    count = "" if rows is None else f", {rows:,} rows"
    head.append(
        f"Verdict **{record['verdict']}** (exit code {record['exit_code']}), {record['finished']}{count}."
    )
    head += [*_facts(record), *_failures(gates), ""]
    tables = record.get("tables", {})
    lines = [f"* {table}.parquet: {_CONTENTS.get(table, 'a table')}" for table in tables]
    lines += [f"* {file}: {_STATES[file]}" if file in _STATES else f"* {file}" for file in files]
    show = "To see it: `plmetrics report FOLDER`, where FOLDER is this one; from Python `plm.load(FOLDER)`."
    return "\n".join(
        [*head, *lines, "* run.json: the suite, versions, files, timings and warnings", "", show, ""]
    )


def _facts(record: Mapping[str, Any]) -> list[str]:
    pairs = [
        ("interval", (record.get("interval") or {}).get("key")),
        *(record.get("run_labels") or {}).items(),
    ]
    words = [f"{_line(key)}: {_line(value)}" for key, value in pairs if isinstance(value, str)]
    return [", ".join(words)] if words else []


def _failures(gates: pl.DataFrame | None) -> list[str]:
    if gates is None or gates.is_empty():
        return ["No gates."]
    counts = Counter(gates.filter(level="fail", verdict="fail")["gate"].to_list())
    if not counts:
        return ["No gate of level fail failed."]
    failures = [f"{_line(gate)} ({times:,})" for gate, times in counts.most_common()]
    return [f"Failed gates: {name_list(failures, _MOST_GATES)}"]


def _line(text: object) -> str:
    """A text of the data in one line of Markdown."""
    plain = "".join(character if character.isprintable() else " " for character in str(text))
    cut = plain if len(plain) <= _LONGEST else f"{plain[:_LONGEST]}..."
    return "".join(f"\\{character}" if character in "\\`*_[]<>|#" else character for character in cut)
