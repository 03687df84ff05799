"""A result as text for a terminal: verdict and gates, values, differences, worst slices, what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from plmetrics.report.layout import printable, separated, to_text, wrapped
from plmetrics.report.sections.classes import classes
from plmetrics.report.sections.cross_validation import cross_validation
from plmetrics.report.sections.decomposition import decomposition
from plmetrics.report.sections.differences import differences
from plmetrics.report.sections.drift import drift
from plmetrics.report.sections.found_slices import found_slices
from plmetrics.report.sections.gaps import gaps
from plmetrics.report.sections.gates import gates
from plmetrics.report.sections.leakage import leakage
from plmetrics.report.sections.overall import overall
from plmetrics.report.sections.slice_comparisons import slice_comparisons
from plmetrics.report.sections.tests import tests
from plmetrics.report.sections.verdict import verdict
from plmetrics.report.sections.worst import worst

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

NARROWEST = 40


def render(summary: Summary, width: int = 100, *, color: bool = False, brief: bool = False) -> str:
    """The report in lines of at most `width` cells (40 at the least).

    Args:
        summary: what to report.
        width: columns of the terminal.
        color: whether to use ANSI colours.
        brief: only the verdict and the gates.
    """
    width = max(width, NARROWEST)
    makers = (
        (verdict, gates)
        if brief
        else (
            verdict,
            gates,
            leakage,
            overall,
            classes,
            cross_validation,
            differences,
            decomposition,
            slice_comparisons,
            tests,
            worst,
            found_slices,
            drift,
            gaps,
        )
    )
    sections = [maker(summary, width) for maker in makers]
    if summary.place is not None:
        place = Text.assemble(("Run folder  ", "bold"), printable(summary.place))
        sections.append(wrapped(place, width, indent=0))
    return to_text(separated(sections), width, color=color)
