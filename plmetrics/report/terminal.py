"""A result as text for a terminal: verdict and gates, values, differences, worst slices, gaps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from rich.text import Text

from plmetrics.core.names import printable
from plmetrics.features.registry import FEATURES, feature
from plmetrics.report.layout import join_blocks, to_text, wrap
from plmetrics.report.sections.confusion import confusion
from plmetrics.report.sections.decomposition import decomposition
from plmetrics.report.sections.differences import differences, slice_comparisons
from plmetrics.report.sections.gaps import gaps
from plmetrics.report.sections.gates import gates
from plmetrics.report.sections.many_models import counted_differences, ranking
from plmetrics.report.sections.overall import classes, overall
from plmetrics.report.sections.slice_tables import slice_tables
from plmetrics.report.sections.tests import tests
from plmetrics.report.sections.verdict import verdict, verdict_line
from plmetrics.report.sections.worst import worst

if TYPE_CHECKING:
    from plmetrics.report.summary import Summary

NARROWEST = 40
SCREEN = 24
"""A report of more lines ends with the verdict, where the first one has scrolled away."""
_BRIEF = (verdict, gates)
_PARTS: tuple[Any, ...] = (
    verdict,
    gates,
    "leakage",
    overall,
    ranking,
    classes,
    confusion,
    "cross_validation",
    differences,
    counted_differences,
    decomposition,
    slice_comparisons,
    tests,
    worst,
    "find_slices",
    "drift",
)
"""The parts of a report in their order: functions, and the keys of features; those of others come behind them."""


def render(
    summary: Summary,
    width: int = 100,
    *,
    color: bool = False,
    brief: bool = False,
    slices: Sequence[str] = (),
) -> str:
    """The report in lines of at most `width` cells (40 at the least).

    `brief` leaves the verdict and the gates alone; `slices` names slice sets whose values are listed as well.

    Raises:
        ConfigError: there is no slice set of such a name.
    """
    width = max(width, NARROWEST)
    others = [key for key in FEATURES if key not in _PARTS]
    sections = [
        feature(maker).report(summary, width) if isinstance(maker, str) else maker(summary, width)
        for maker in (_BRIEF if brief else (*_PARTS, *others, gaps))
        if not isinstance(maker, str) or _ran(summary, maker)
    ]
    if slices:
        sections.append(slice_tables(summary, width, slices))
    if summary.place is not None:
        place = Text.assemble(("Run folder  ", "bold"), printable(summary.place))
        sections.append(wrap(place, width, indent=0))
    if sum(map(len, sections)) > SCREEN and not brief:
        sections.append(verdict_line(summary, width))
    return to_text(join_blocks(sections), width, color=color)


def _ran(summary: Summary, key: str) -> bool:
    """Whether a feature left a table or an entry of its name, for a section of the report."""
    return key in summary.record or not summary.tables.get(key, pl.DataFrame()).is_empty()
