"""Outcome of an evaluation: its hand-over to run folders, reports and exports, and its exit code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, Protocol

import polars as pl

from plmetrics.core.errors import AbsentDataError, UnitsMissingError
from plmetrics.runs.failure import GATE_FAILED, SKIPPED, Failure, verdict_exit_code

if TYPE_CHECKING:
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


FailOn = Literal["warn", "inconclusive"]
_CHECKS = {"warn": "failed checks of level warn: {:,}", "inconclusive": "inconclusive checks: {:,}"}


@dataclass(frozen=True, slots=True)
class ExitPolicy:
    """Policy of exit codes: further outcomes that fail a run, and whether absent data counts as skipped.

    The verdict stays what the gates say. `warn` lets failed gates of level warn fail the run as those of level fail do,
    `inconclusive` gates that could not be decided: those of level fail, and with `warn` all.
    """

    fail_on: tuple[FailOn, ...] = ()
    skip_if_empty: bool = False

    def of_result(self, verdict: str, gates: pl.DataFrame) -> int:
        """Exit code of a completed run."""
        return GATE_FAILED if self.reason(gates) is not None else verdict_exit_code(verdict)

    def of_failure(self, failure: Failure) -> Failure:
        """A failure with the exit code it is to have."""
        absent = (
            failure.exit_code == AbsentDataError.exit_code and failure.error != UnitsMissingError.__name__
        )
        return replace(failure, exit_code=SKIPPED) if absent and self.skip_if_empty else failure

    def causes(self, gates: pl.DataFrame) -> pl.DataFrame:
        """The checks that fail a run."""
        levels = ["fail", "warn"] if "warn" in self.fail_on else ["fail"]
        verdicts = ["fail", "inconclusive"] if "inconclusive" in self.fail_on else ["fail"]
        return gates.filter(pl.col("level").is_in(levels), pl.col("verdict").is_in(verdicts))

    def reason(self, gates: pl.DataFrame) -> str | None:
        """Reason for a failure by this policy alone; None without one, or if gates fail the run anyway."""
        if not self.fail_on or not gates.filter(level="fail", verdict="fail").is_empty():
            return None
        causes = self.causes(gates)
        counts = {
            "warn": causes.filter(level="warn", verdict="fail").height,
            "inconclusive": causes.filter(verdict="inconclusive").height,
        }
        parts = [
            f"{_CHECKS[word].format(counts[word])} (--fail-on {word})"
            for word in self.fail_on
            if counts[word]
        ]
        return f"exit code {GATE_FAILED}: {', '.join(parts)}" if parts else None
