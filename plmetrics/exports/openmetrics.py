"""OpenMetrics text, in its common subset with the text format of Prometheus: gauges without times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from plmetrics.exports.tidy import headline_values, worst_verdicts

if TYPE_CHECKING:
    from plmetrics.exports.protocol import EndedRun

    Sample = tuple[Mapping[str, str | None], float | int | None]

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})
_NUMBERS = {
    "value": "Value of a metric.",
    "lower": "Lower end of the interval of a metric.",
    "upper": "Upper end of the interval of a metric.",
    "n": "Rows that a metric is made of.",
}
_GATE_VERDICTS = ("pass", "fail", "inconclusive", "skipped")
_RUN_VERDICTS = ("pass", "fail", "inconclusive", "none", "error", "skipped")


def openmetrics_text(run: EndedRun) -> str:
    """Values, gates and verdict of a run, without undefined ones."""
    lines = [
        line for name, text, samples in _families(run) for line in _family(run.name, name, text, samples)
    ]
    return "\n".join([*lines, "# EOF"]) + "\n"


def is_of_later(document: str, run: EndedRun) -> bool:
    """Whether a document is of a later interval of the suite than a run, one that had ended when it was written."""
    if run.interval is None:
        return False
    facts = dict(
        re.findall(rf'^plmetrics_(\w+){{suite="{re.escape(run.name)}"}} (\S+)$', document, re.MULTILINE)
    )
    with suppress(KeyError, ValueError):
        end, written = (float(facts[name]) for name in ("interval_end_seconds", "run_timestamp_seconds"))
        return run.interval[1].timestamp() < end <= written
    return False


def _families(run: EndedRun) -> Iterator[tuple[str, str, Iterable[Sample]]]:
    yield "run_timestamp_seconds", "When the run ended, in Unix time.", [({}, run.end.timestamp())]
    yield "run_duration_seconds", "How long the run took.", [({}, run.record["seconds"])]
    yield "run_exit_code", "Exit code of the run.", [({}, run.record.get("exit_code"))]
    yield "run_verdict", "Whether this is the verdict of the run.", _one_of(_RUN_VERDICTS, run.verdict, {})
    if run.interval is not None:
        start, end = run.interval
        yield "interval_start_seconds", "Start of the interval, in Unix time.", [({}, start.timestamp())]
        yield "interval_end_seconds", "End of the interval, in Unix time.", [({}, end.timestamp())]
    if run.result is None:
        return
    rows = headline_values(run.result).rows(named=True)
    for column, text in _NUMBERS.items():
        yield f"metric_{column}", text, [(_place(row, row["class"]), row[column]) for row in rows]
    gates = worst_verdicts(
        (tuple(({"gate": row["gate"]} | _place(row, None) | _warn(row)).items()), row["verdict"])
        for row in run.result.gates.rows(named=True)
    )
    samples = [
        sample for labels, word in gates.items() for sample in _one_of(_GATE_VERDICTS, word, dict(labels))
    ]
    yield "gate_status", "Whether this is the verdict of a gate.", samples


def _place(row: Mapping[str, Any], class_name: str | None) -> dict[str, str | None]:
    place = {name: row[name] for name in ("model", "metric", "slice_set", "slice")}
    return place | {"class": class_name}


def _warn(gate: Mapping[str, Any]) -> dict[str, str]:
    """The label of gates that only warn: those of level fail have the labels of all versions."""
    return {"level": gate["level"]} if gate["level"] == "warn" else {}


def _one_of(words: Iterable[str], chosen: str, labels: Mapping[str, str | None]) -> list[Sample]:
    """Sample for each word, 1 for the current one: a new verdict is no new series."""
    return [({**labels, "verdict": word}, int(word == chosen)) for word in words]


def _family(suite: str, name: str, text: str, samples: Iterable[Sample]) -> list[str]:
    """Lines of a family; of samples with the same labels, invalid for readers, the first."""
    lines: dict[str, str] = {}
    for labels, value in samples:
        if value is not None:
            series = f"plmetrics_{name}{{{_labels({'suite': suite} | dict(labels))}}}"
            lines.setdefault(series, f"{series} {value!r}")
    head = [f"# HELP plmetrics_{name} {text}", f"# TYPE plmetrics_{name} gauge"]
    return [*head, *lines.values()] if lines else []


def _labels(labels: Mapping[str, str | None]) -> str:
    return ",".join(
        f'{name}="{value.translate(_ESCAPES)}"' for name, value in labels.items() if value is not None
    )
