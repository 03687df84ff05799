"""The page of a result: its sections in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.report.html.rendering import page_text
from plmetrics.report.html.sections.comparison import changes, differences, slice_differences
from plmetrics.report.html.sections.definitions import data_quality, definitions, settings
from plmetrics.report.html.sections.features import feature_sections
from plmetrics.report.html.sections.models import class_values, confusion, models
from plmetrics.report.html.sections.pictures import Gallery
from plmetrics.report.html.sections.slice_values import slices
from plmetrics.report.html.sections.verdict import gates, verdict

if TYPE_CHECKING:
    from plmetrics.report.html.blocks import PageSection
    from plmetrics.report.summary import Summary


def html_text(summary: Summary) -> str:
    """The report as one HTML file.

    Charts need the extra `report`; without it the page has all tables and says which charts are missing.
    """
    return page_text(verdict(summary), _sections(summary))


def _sections(summary: Summary) -> list[PageSection]:
    gallery = Gallery(summary)
    return [
        gates(summary),
        changes(summary),
        models(summary),
        class_values(summary),
        differences(summary, gallery),
        slices(summary, gallery),
        slice_differences(summary, gallery),
        gallery.section("Calibration"),
        gallery.section("Curves"),
        gallery.section("Thresholds", confusion(summary, gallery)),
        gallery.section("Errors"),
        gallery.section("Fairness"),
        *feature_sections(summary, gallery),
        data_quality(summary),
        definitions(summary),
        settings(summary),
    ]
