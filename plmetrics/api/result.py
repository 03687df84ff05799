"""The result of an evaluation."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from plmetrics.core.results import ResultTables, RunRecord

if TYPE_CHECKING:
    from pathlib import Path

    from plmetrics.inference.across_runs.retained import RunReplicates
    from plmetrics.report.charts.plot import Plot
    from plmetrics.states.stored import State
    from plmetrics.suite.model import Suite


@dataclass(frozen=True, slots=True, kw_only=True)
class Result(ResultTables):
    """What an evaluation found: tidy tables and a verdict.

    The tables are those of `ResultTables`. What is undefined is null, never NaN, and `status` or `interval_status` says
    why. `verdict` is "pass", "fail", "inconclusive", or "none" without gates.
    `suite` is what was asked, complete with defaults. `record` is what run.json says of the run: constants, files, row
    counts, timings, warnings. `folder` is where the tables were written, None if they were not. `drift_state` is what
    drift counted of the rows, as a reference for later ones; None unless drift had a state or a run for its own.
    `kept` are the replicates that pair the run with another one, see `uncertainty.keep`.

    >>> import polars as pl, plmetrics as plm
    >>> frame = pl.DataFrame({"y": [1, 0, 1, 0], "p": [0.9, 0.2, 0.4, 0.4]})
    >>> gate = {"metric": "recall", "at_least": 0.9}
    >>> plm.evaluate(frame, label="y", models="p", metrics=["recall"], gates=[gate])
    Result(verdict='fail', rows: metrics=1, comparisons=0, gates=1, folder=None)
    """

    verdict: str
    suite: Suite
    kept: RunReplicates | None = field(default=None, repr=False)
    record: RunRecord = field(default_factory=RunRecord)
    folder: Path | None = None
    drift_state: State | None = field(default=None, repr=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is no error but probably not meant."""
        return tuple(self.record.get("warnings", ()))

    @property
    def plot(self) -> Plot:
        """The charts of the result, a method each, from the extra `report`."""
        from plmetrics.report.charts.plot import Plot
        from plmetrics.report.summary import summarise

        return Plot(summarise(self))

    def __repr__(self) -> str:
        tables = ", ".join(
            f"{name}={getattr(self, name).height}" for name in ("metrics", "comparisons", "gates")
        )
        return f"Result(verdict={self.verdict!r}, rows: {tables}, folder={self.folder})"
