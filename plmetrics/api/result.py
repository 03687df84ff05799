"""The result of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from warnings import warn

from plmetrics.core.results import ResultTables, RunRecord

if TYPE_CHECKING:
    from os import PathLike

    import polars as pl

    from plmetrics.catalogue.metric import Metric
    from plmetrics.inference.across_runs.retained_replicates import RunReplicates
    from plmetrics.report.charts.plot import Plot
    from plmetrics.report.summary import Summary
    from plmetrics.states.state_format import State
    from plmetrics.suite.model import Suite
    from plmetrics.table.storage.places import Place


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Result(ResultTables):
    """Result of an evaluation: tidy tables and a verdict.

    The tables are those of `ResultTables`. What is undefined is null, never NaN, and `status` or `interval_status` says
    why. `verdict` is "pass", "fail", "inconclusive", or "none" without gates.
    `suite` is what was asked, complete with defaults. `record` is what run.json says of the run: constants, files, row
    counts, timings, warnings. `folder` is where the tables were written, None if they were not. `drift_state` is what
    drift counted of the rows, as a reference for later ones; None unless drift had a state or a run for its own.
    `replicates` are retained ones of the estimates, for paired comparisons with other runs, see `uncertainty.keep`.

    A result shows itself as the report of the command line, as wide as the terminal.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4]})
    >>> gate = {"metric": "recall", "at_least": 0.9}
    >>> plm.evaluate(frame, label="y", models="p", metrics=["recall"], gates=[gate])
    FAIL  evaluation: 1 fail
    4 rows read, 4 used, 1 model, 1 metric, 0 slices
    <BLANKLINE>
    Gates
      verdict  rule           model  slice    observed
      fail     recall >= 0.9  p      overall  0.5
    <BLANKLINE>
    Overall
      metric  p
      recall  0.5
    <BLANKLINE>
    Intervals are off: uncertainty=True adds them
    """

    verdict: str
    suite: Suite
    replicates: RunReplicates | None = field(default=None, repr=False)
    record: RunRecord = field(default_factory=RunRecord)
    folder: Place | None = None
    drift_state: State | None = field(default=None, repr=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings: no errors, but probably not meant."""
        return tuple(self.record.get("warnings", ()))

    @property
    def kept(self) -> RunReplicates | None:
        """Former name of `replicates`, deprecated."""
        warn("Result.kept is deprecated: read Result.replicates", DeprecationWarning, stacklevel=2)
        return self.replicates

    @property
    def plot(self) -> Plot:
        """The charts of the result, a method each, from the extra `report`."""
        from plmetrics.report.charts.plot import Plot
        from plmetrics.report.summary import summarise

        return Plot(summarise(self))

    def report(self, path: str | PathLike[str]) -> None:
        """Write the report as one HTML file, with charts where the extra `report` is installed.

        Raises:
            ConfigError: `path` is no path.
            EnvironmentFault: the file cannot be written.
        """
        from plmetrics.report.html.page import html_text
        from plmetrics.report.html.rendering import write_page
        from plmetrics.report.summary import summarise
        from plmetrics.runs.files import path_argument, place_of

        write_page(html_text(summarise(self)), place_of(path_argument(path, "path")))

    def leaderboard(
        self,
        metric: str | Metric,
        *,
        slice_set: str | None = None,
        slice: str | None = None,  # noqa: A002
    ) -> pl.DataFrame:
        """The models by one metric, the best first.

        Ranks follow the metric's direction; a metric that is best at 0 ranks by distance from it, and one without a
        better side has no ranks. `difference` is the value less that of the best model, with interval and reading where
        the table `comparisons` holds the two. Models without a value come last, without a rank.

        Args:
            metric: one of the suite's, as its text or as an object; aliases are known as well.
            slice_set: name of a slice set, then with a board for each of its slices; all rows if not given.
            slice: text of a slice, such as "region=north".

        Returns:
            A row per model: `rank, model, slice, metric, value, lower, upper, n, difference, difference_lower,
            difference_upper, reading, status`.

        Raises:
            ConfigError: there is no such metric, slice set or slice; the nearest name is in the hint.

        >>> import polars as pl, plmetrics as plm
        >>> frame = pl.DataFrame({"y": [1, 0, 1, 0], "a": [0.9, 0.2, 0.4, 0.4], "b": [0.9, 0.2, 0.8, 0.4]})
        >>> result = plm.evaluate(frame, label="y", models=["a", "b"], metrics=["roc_auc"])
        >>> result.leaderboard("roc_auc").select("rank", "model", "value", "difference").rows()
        [(1, 'b', 1.0, 0.0), (2, 'a', 0.875, -0.125)]
        """
        from plmetrics.report.leaderboard import canonical_text, leaderboard, metric_of

        directions = {member.text: member.direction for member in self.suite.metrics}
        name = str(metric)
        text = metric_of(name, directions, canonical_text(self.suite.task, name))
        return leaderboard(self, text, directions[text], slice_set, slice)

    def to_markdown(self) -> str:
        """The report as GitHub Markdown, for pull requests: verdict, gates, changes, models, worst slices, warnings."""
        from plmetrics.report.markdown import to_markdown

        return to_markdown(self._summary())

    def _repr_html_(self) -> str | None:
        """HTML in a notebook: the report in short; None, for the text, where Jinja2 is not installed."""
        try:
            from plmetrics.report.notebook import to_html
        except ImportError:
            return None
        return to_html(self._summary())

    def _summary(self) -> Summary:
        from plmetrics.report.summary import summarise
        from plmetrics.table.files import shown_path

        return summarise(self, None if self.folder is None else shown_path(self.folder))

    def __repr__(self) -> str:
        from plmetrics.report.layout import terminal_width
        from plmetrics.report.terminal import render

        return render(self._summary(), terminal_width()).rstrip("\n")
