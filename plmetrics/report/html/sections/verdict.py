"""The head of the page: the verdict, the size of the evaluation, and what to look at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.charts.texts import clean
from plmetrics.report.html.blocks import Head
from plmetrics.report.sections.gates import OUTCOMES, outcomes
from plmetrics.report.sections.verdict import HEADLINES, labels_text, sizes

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

_SHAPES = {"pass": "✓", "fail": "✗", "inconclusive": "?"}


def verdict(summary: Summary) -> Head:
    """The verdict of the gates, which stands in words and as a shape."""
    word, _ = HEADLINES.get(summary.verdict, ("DONE", ""))
    counts = outcomes(summary.gates)
    checks = [f"{counts[outcome]} {outcome}" for outcome in OUTCOMES if counts.get(outcome)]
    lines = [", ".join(sizes(summary)), labels_text(summary)]
    return Head(
        title=clean(summary.name),
        word=word,
        shape=_SHAPES.get(summary.verdict, "•"),
        kind=summary.verdict,
        lines=[", ".join(checks or ["no gates"]), *map(clean, filter(None, lines))],
        warnings=[clean(str(warning)) for warning in summary.record.get("warnings", ())],
    )
