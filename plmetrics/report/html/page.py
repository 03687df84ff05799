"""The page of a result: its sections in order, put into one file."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from plmetrics.core.version import VERSION
from plmetrics.report.charts.rendering import require
from plmetrics.report.charts.svg import variables
from plmetrics.report.charts.texts import clean
from plmetrics.report.charts.theme import DARK, LIGHT
from plmetrics.report.html.sections.comparison import changes, differences, slice_differences
from plmetrics.report.html.sections.data import data_quality
from plmetrics.report.html.sections.definitions import definitions, settings
from plmetrics.report.html.sections.features import feature_sections
from plmetrics.report.html.sections.gates import gates
from plmetrics.report.html.sections.models import class_values, models
from plmetrics.report.html.sections.pictures import Gallery
from plmetrics.report.html.sections.slices import slices
from plmetrics.report.html.sections.verdict import verdict
from plmetrics.runs.files import environment_faults, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment

    from plmetrics.report.html.blocks import Section
    from plmetrics.report.summary import Summary


def html_text(summary: Summary) -> str:
    """The report as one HTML file.

    Charts need the extra `report`; without it the page has all tables and says which charts are missing.

    Raises:
        EnvironmentFault: Jinja2 is not installed.
    """
    require("jinja2", needed_for="an HTML report")
    sections = _sections(summary)
    return (
        _environment()
        .get_template("page.html")
        .render(
            title=clean(summary.name),
            head=verdict(summary),
            sections=[section for section in sections if section.blocks],
            absent=[section.title for section in sections if not section.blocks],
            light=variables(LIGHT.items()),
            dark=variables(DARK.items()),
            version=VERSION,
        )
    )


def write_report(summary: Summary, path: Path) -> None:
    """Write the report as one HTML file, whole or not at all.

    Raises:
        EnvironmentFault: Jinja2 is not installed, or the file cannot be written.
    """
    with environment_faults(f"{path.name} cannot be written"):
        write_atomic(path, html_text(summary).encode())


def _sections(summary: Summary) -> list[Section]:
    gallery = Gallery(summary)
    return [
        gates(summary),
        changes(summary),
        models(summary),
        class_values(summary),
        differences(summary, gallery),
        slices(summary, gallery),
        slice_differences(summary),
        gallery.section("Calibration"),
        gallery.section("Curves"),
        gallery.section("Thresholds"),
        gallery.section("Errors"),
        gallery.section("Fairness"),
        *feature_sections(summary, gallery),
        data_quality(summary, gallery),
        definitions(summary),
        settings(summary),
    ]


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("plmetrics.report.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["safe_svg"] = _markup
    return environment


def _markup(svg: str) -> Any:
    """An image of the renderer, whose texts are escaped."""
    from markupsafe import Markup

    return Markup(svg)
