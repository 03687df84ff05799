"""Hand-over of an evaluation to run folders, reports and exports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import polars as pl

    from plmetrics.inference.across_runs.retained_replicates import RunReplicates
    from plmetrics.suite.model import Suite
    from plmetrics.table.storage.places import Place


class Outcome(Protocol):
    """Parts of an evaluation for a run folder and a report."""

    @property
    def metrics(self) -> pl.DataFrame:
        """A row per model, slice and metric."""

    @property
    def gates(self) -> pl.DataFrame:
        """A row per rule, model and slice."""

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """All tables by name."""

    @property
    def verdict(self) -> str:
        """Verdict of the gates together: pass, fail, inconclusive or none."""

    @property
    def suite(self) -> Suite:
        """The suite."""

    @property
    def replicates(self) -> RunReplicates | None:
        """Replicates for pairs with another run, None without any."""

    @property
    def record(self) -> Mapping[str, Any]:
        """Record of run.json."""

    @property
    def folder(self) -> Place | None:
        """The run folder; None where the evaluation was not written."""
