"""Charts of a page with rows in the result; failed ones are named."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plmetrics.core.errors import ConfigError, EnvironmentFault
from plmetrics.report.charts.index import draw, drawable
from plmetrics.report.charts.rendering import RENDERER, is_installed
from plmetrics.report.charts.selection import Selection
from plmetrics.report.charts.svg import add_description, with_variables
from plmetrics.report.html.blocks import Block, PageSection, Picture, Words

if TYPE_CHECKING:
    from plmetrics.report.charts.figure import Figure
    from plmetrics.report.summary import Summary

PLACES: dict[str, tuple[str, ...]] = {
    "Calibration": ("reliability", "score_histogram", "coverage", "pit"),
    "Curves": ("roc", "pr", "gain", "lift", "ks", "uplift", "qini", "effect_calibration"),
    "Thresholds": ("thresholds", "cost", "net_benefit"),
    "Errors": ("residuals", "residual_histogram", "residual_qq", "conditional", "query_differences"),
    "Fairness": ("fairness",),
}
"""The charts of sections that other modules have no part in."""
_FIRST = ("differences", "critical_difference", "forest", "slice_differences")
"""The charts of sections before these."""

TABLES = frozenset({"heatmap", "confusion"})
"""Charts that the page has as tables; of very many classes there is a chart after all."""


@dataclass(frozen=True, slots=True)
class Draft:
    """Pending chart, or the words in its place."""

    figure: Figure | None = None
    image: Future[bytes] | None = None
    words: Words | None = None


class Gallery:
    """Draws charts of one result: while one is rendered, the next is drawn."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._drawable = drawable(summary)
        self._complete = is_installed()
        self._drafts: dict[str, Draft] = {}
        if self._complete and self._drawable:
            RENDERER.start()
            self._pool = ThreadPoolExecutor(max_workers=1)
            # In the order of the page, so that tables are made while later charts are rendered.
            ordered = [*_FIRST, *(name for names in PLACES.values() for name in names), *self._drawable]
            names = [name for name in dict.fromkeys(ordered) if name in self._drawable]
            self._drafts = {name: self._draft(name) for name in names if name not in TABLES}

    def section(self, title: str, blocks: Sequence[Block] = ()) -> PageSection:
        """A section of charts, behind blocks of other kinds."""
        return PageSection(title, [*blocks, *self.pictures(*PLACES[title])])

    def pictures(self, *names: str) -> list[Block]:
        """Charts with rows in the result; words in place of a failed one."""
        there = [name for name in names if name in self._drawable]
        if there and not self._complete:
            missing = ", ".join(there)
            return [Words([f"Not drawn: {missing}. Charts need: pip install 'plmetrics[report]'"], "note")]
        return [block for name in there if (block := self._picture(name)) is not None]

    def _draft(self, name: str) -> Draft:
        """Chart in colours of the page, handed to the renderer."""
        try:
            figure = draw(name, Selection(summary=self._summary))
            specification = figure.specification(background="transparent")
        except ConfigError as nothing:
            reasons = ", ".join(filter(None, (nothing.problems[0].message, nothing.problems[0].hint)))
            return Draft(words=_missing(name, f": {reasons}"))
        except Exception as error:
            # A fault of a chart costs the chart, never the report.
            return Draft(words=_missing(name, f", which is a fault of plmetrics: {error!r}"))
        return Draft(figure, self._pool.submit(RENDERER.render, specification, "svg"))

    def _picture(self, name: str) -> Block | None:
        draft = self._drafts.get(name) or self._draft(name)
        if draft.figure is None or draft.image is None:
            return draft.words
        try:
            svg = add_description(draft.image.result().decode(), draft.figure.title, draft.figure.description)
        except EnvironmentFault as fault:
            return _missing(name, f": {fault.problems[0].message}")
        return Picture(with_variables(svg), draft.figure.title, draft.figure.description)


def _missing(name: str, reason: str) -> Words:
    return Words([f"The chart {name} is missing{reason}"], "note")
