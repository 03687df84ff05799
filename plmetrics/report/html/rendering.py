"""Pages as text and as files: the only place of escaping, and of what no page may hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from plmetrics.core.errors import CallError, Problem
from plmetrics.core.version import VERSION
from plmetrics.report.charts.svg import variables
from plmetrics.report.charts.texts import clean
from plmetrics.report.charts.theme import DARK, LIGHT
from plmetrics.report.numbers import plural
from plmetrics.runs.files import environment_faults, write_atomic

if TYPE_CHECKING:
    from jinja2 import Environment

    from plmetrics.report.html.blocks import PageHead, PageSection
    from plmetrics.table.storage.places import Place


def page_text(head: PageHead, sections: Sequence[PageSection]) -> str:
    """One HTML file: its head, the sections with blocks, and the names of those without."""
    return (
        _environment()
        .get_template("page.html")
        .render(
            head=head,
            sections=[section for section in sections if section.blocks],
            absent=[section.title for section in sections if not section.blocks],
            light=variables(LIGHT.items()),
            dark=variables(DARK.items()),
            version=VERSION,
        )
    )


_OTHER_KINDS = frozenset(
    ("pdf", "md", "docx", "xlsx", "csv", "json", "parquet", "png", "svg", "ipynb", "yaml")
)


def write_page(text: str, path: Place) -> None:
    """Write a page, whole or not at all.

    Raises:
        CallError: the name is that of a file of another kind.
    """
    _, dot, kind = path.name.rpartition(".")
    if dot and kind.lower() in _OTHER_KINDS:
        hint = "name it .html; browsers print it to PDF, and to_markdown and the tables are for other forms"
        raise CallError(
            Problem(f"the report is a page of HTML, which '{path.name}' is no name of", hint=hint)
        )
    with environment_faults(f"{path} cannot be written"):
        write_atomic(path, text.encode())


def _clean(value: object) -> object:
    """What is put in a page; texts, which are not markup yet, without characters that end or turn it."""
    return clean(value) if type(value) is str else value


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        finalize=_clean,
        loader=PackageLoader("plmetrics.report.html", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["safe_svg"] = Markup
    environment.globals["plural"] = plural
    return environment
