"""Hand-overs of the layers above: an evaluation's result, and a suite that came from a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import polars as pl

    from plmetrics.core.errors import PlmetricsError
    from plmetrics.inference.across_runs.retained_replicates import RunReplicates
    from plmetrics.suite.model import Suite
    from plmetrics.table.storage.places import Place


class Outcome(Protocol):
    """Parts of an evaluation that a run folder and a report keep."""

    @property
    def metrics(self) -> pl.DataFrame:
        """A row per model, slice and metric."""

    @property
    def comparisons(self) -> pl.DataFrame:
        """A row per contrast."""

    @property
    def gates(self) -> pl.DataFrame:
        """A row per rule, model and slice."""

    @property
    def curves(self) -> pl.DataFrame:
        """A row per point."""

    @property
    def leakage(self) -> pl.DataFrame:
        """A row per check of the section leakage."""

    @property
    def folds(self) -> pl.DataFrame:
        """A row per fold, model, slice and metric."""

    @property
    def cross_validation(self) -> pl.DataFrame:
        """A row per summary of folds."""

    @property
    def drift(self) -> pl.DataFrame:
        """A row per measure of a column between two windows."""

    @property
    def decomposition(self) -> pl.DataFrame:
        """A row per part of a change."""

    @property
    def found_slices(self) -> pl.DataFrame:
        """A row per slice that a search found."""

    @property
    def others(self) -> Mapping[str, pl.DataFrame]:
        """The tables of further features, by name."""

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
    def kept(self) -> RunReplicates | None:
        """The replicates that pair it with another run, None where it has none."""

    @property
    def record(self) -> Mapping[str, Any]:
        """Record of run.json."""

    @property
    def folder(self) -> Place | None:
        """The run folder; None where the evaluation was not written."""


class SuiteFile(Protocol):
    """A suite with its place on disk."""

    @property
    def suite(self) -> Suite:
        """The suite."""

    @property
    def folder(self) -> Path:
        """The folder its file lies in."""

    def locate(self, error: PlmetricsError) -> PlmetricsError:
        """Error with line and column where its problems name a place in the suite."""
