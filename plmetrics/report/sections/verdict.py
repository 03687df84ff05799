"""The first lines: the verdict of all gates, and the size of the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.report.layout import FAINT, flow, remarks
from plmetrics.report.numbers import count, level_text, plural
from plmetrics.report.sections.gates import outcome_counts

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_MOST_NAMED = 2
_COMPARED = {"compare.run": "compared with", "drift.run": "drift from", "drift.reference": "drift from"}
HEADLINES = {
    "pass": ("PASS", "bold green"),
    "fail": ("FAIL", "bold red"),
    "inconclusive": ("INCONCLUSIVE", "bold yellow"),
}


def verdict(summary: Summary, width: int) -> list[Text]:
    """The verdict with the number of checks behind it, and the size of the evaluation."""
    lines = verdict_line(summary, width)
    lines += flow([Text(size, FAINT) for size in _comma_list(sizes(summary))], width, indent=0, gap=1)
    if labels := labels_text(summary):
        lines += remarks([labels], width, indent=0)
    for words in reference_texts(summary):
        lines += flow([Text(word, FAINT) for word in words.split(" ")], width, indent=0, gap=1)
    return lines


def reference_texts(summary: Summary) -> list[str]:
    """The earlier runs behind comparisons, drift and bands, and those that were passed over, a line each."""
    references = summary.record.get("references", {})
    if not references:
        return []
    from plmetrics.runs.history.earlier_runs import passed_over_text

    return [
        printable(
            f"{_COMPARED.get(key) or _band_text(key)} {_reference_name(reference)}"
            f"{passed_over_text(reference.get('passed_over', ()))}"
        )
        for key, reference in references.items()
    ]


def labels_text(summary: Summary) -> str:
    """The caller's labels of the run in one line; nothing where there are none."""
    labels = summary.record.get("run_labels") or {}
    return printable(", ".join(f"{name}: {text}" for name, text in labels.items()))


def _band_text(key: str) -> str:
    """Intervals of a control band in words, from their key in the record.

    >>> _band_text("gates.within (28d)")
    'band of 28d from'
    """
    return f"band of {key.removeprefix('gates.within (').removesuffix(')')} from"


def _reference_name(reference: Mapping[str, Any]) -> str:
    intervals = reference.get("intervals", ())
    if len(intervals) > 1:
        return f"{len(intervals)} intervals, {intervals[0]} to {intervals[-1]}"
    name = reference.get("run") or "no earlier run"
    return f"{intervals[0]}, run {name}" if intervals else name


def verdict_line(summary: Summary, width: int) -> list[Text]:
    """The verdict with the number of checks behind it."""
    word, *checks = headline(summary)
    style = HEADLINES.get(summary.verdict, ("", "bold"))[1]
    line = Text.assemble((word, style), "  ", (f"{printable(summary.name)}:", "bold"))
    return flow([line, *map(Text, _comma_list(checks))], width, indent=0, gap=1)


def headline(summary: Summary) -> list[str]:
    """Word of the verdict, and the number of checks by outcome."""
    return [HEADLINES.get(summary.verdict, ("DONE", ""))[0], *outcome_counts(summary.gates)]


def sizes(summary: Summary) -> list[str]:
    """The size of the evaluation: rows, models, metrics, slices and the level of intervals."""
    frame = summary.metrics
    slices = frame.filter(pl.col("slice") != "all").select("slice_set", "slice").n_unique()
    texts = [*_rows(summary.record.get("rows", {}))]
    texts.append(plural(frame["model"].n_unique(), summary.subject))
    texts.append(plural(frame["metric"].n_unique(), "metric"))
    texts.append(plural(slices, "slice"))
    levels = {summary.level, *summary.levels.values()}
    known = sorted(level for level in levels if level is not None)
    if known:
        texts.append(f"{' and '.join(map(level_text, known))} intervals")
    return texts


def _comma_list(things: list[str]) -> list[str]:
    return [f"{thing}," for thing in things[:-1]] + things[-1:]


def _rows(rows: Mapping[str, object]) -> list[str]:
    texts = []
    total, zero_weight = rows.get("read"), rows.get("zero_weight")
    pairs = rows.get("pairs_read")
    if isinstance(total, int):
        of_pairs = f"{plural(total, 'query')} of {plural(pairs, 'row')}" if isinstance(pairs, int) else ""
        texts.append(of_pairs or f"{plural(total, 'row')} read")
    if isinstance(zero_weight, int) and zero_weight:
        texts.append(f"{count(zero_weight)} of weight 0")
    fitted = rows.get("fitted")
    if isinstance(fitted, int) and fitted:
        texts.append(f"{count(fitted)} more to fit calibrators on")
    for word in ("used", "dropped", "unlabelled"):
        by_model = rows.get(word)
        if not isinstance(by_model, dict) or not any(by_model.values()):
            continue
        if len(set(by_model.values())) == 1:
            texts.append(f"{count(next(iter(by_model.values())))} {word}")
        else:
            texts += [
                f"{count(number)} {word} for {_model_names(by_model, number)}"
                for number in dict.fromkeys(by_model.values())
                if number or word == "used"
            ]
    return texts


def _model_names(by_model: Mapping[str, int], number: int) -> str:
    """The models with a number of rows, by name or by how many they are."""
    names = [printable(model) for model, rows in by_model.items() if rows == number]
    return " and ".join(names) if len(names) <= _MOST_NAMED else plural(len(names), "model")
