"""The charts of a page, each drawn if the result has rows for it; what cannot be drawn is named."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plmetrics.core.errors import ConfigError, EnvironmentFault
from plmetrics.report.charts.index import draw, drawable
from plmetrics.report.charts.rendering import RENDERER, installed
from plmetrics.report.charts.selection import Selection
from plmetrics.report.charts.svg import named, with_variables
from plmetrics.report.html.blocks import Picture, Section, Words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from plmetrics.report.html.blocks import Block
    from plmetrics.report.summary import Summary

PLACES: dict[str, tuple[str, ...]] = {
    "Calibration": ("reliability", "score_histogram", "coverage", "pit"),
    "Curves": ("roc", "pr", "gain", "lift", "ks", "uplift", "qini", "effect_calibration"),
    "Thresholds": ("thresholds", "cost", "net_benefit"),
    "Errors": ("residuals", "residual_histogram", "residual_qq", "conditional", "query_differences"),
    "Fairness": ("fairness",),
}
"""The charts of sections that other modules have no part in."""


class Gallery:
    """Draws charts of one result."""

    def __init__(self, summary: Summary) -> None:
        self._summary = summary
        self._drawable = set(drawable(summary))
        self._complete = installed()
        if self._complete and self._drawable:
            RENDERER.start()

    def section(self, title: str, blocks: Sequence[Block] = ()) -> Section:
        """A section of charts, behind blocks of other kinds."""
        return Section(title, [*blocks, *self.pictures(*PLACES[title])])

    def pictures(self, *names: str) -> list[Block]:
        """Those of these charts that the result has rows for; words in place of one that cannot be drawn."""
        there = [name for name in names if name in self._drawable]
        if there and not self._complete:
            missing = ", ".join(there)
            return [Words([f"Not drawn: {missing}. Charts need: pip install 'plmetrics[report]'"], "note")]
        return [block for name in there if (block := self._picture(name)) is not None]

    def _picture(self, name: str) -> Block | None:
        """One chart, in colours that follow the page."""
        try:
            figure = draw(name, Selection(summary=self._summary))
            svg = RENDERER.render(figure.specification(background="transparent"), "svg").decode()
        except ConfigError:
            return None
        except EnvironmentFault as fault:
            return Words([f"The chart {name} is missing: {fault.problems[0].message}"], "note")
        except Exception as error:
            # A fault of a chart costs the chart, never the report.
            return Words([f"The chart {name} is missing, which is a fault of plmetrics: {error!r}"], "note")
        return Picture(
            with_variables(named(svg, figure.title, figure.description)), figure.title, figure.description
        )
