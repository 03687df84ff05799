"""What gates judge by, beside the result tables: sizes of slices, and earlier runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from plmetrics.inference.analysis import Analysis
    from plmetrics.suite.model import Suite


def gate_history(suite: Suite, home: Path) -> tuple[pl.DataFrame | None, list[str]]:
    """The gates of the runs before this one, as far back as a gate asks; None where none asks.

    Args:
        suite: its gates.
        home: the folder of the suite's runs.

    Returns:
        What `gates.history.history_of` makes of them, and what could not be read, in words.
    """
    from plmetrics.gates.history import history_of
    from plmetrics.runs.earlier import earlier_results

    most = max((gate.consecutive for gate in suite.gates), default=1) - 1
    if most == 0:
        return None, []
    results, warnings = earlier_results(home, most)
    return history_of([result.gates for result in results]), warnings


def judged(
    analysis: Analysis, metrics: pl.DataFrame, comparisons: pl.DataFrame, history: pl.DataFrame | None
) -> pl.DataFrame:
    """The table `gates` of a run.

    Args:
        analysis: what was estimated.
        metrics: the result table, with what only gates look at.
        comparisons: likewise, with its column `blocks`.
        history: see `gate_history`.
    """
    from plmetrics.core.results import first_rows
    from plmetrics.gates.verdicts import Evidence, evaluate_gates
    from plmetrics.inference.sizes import slice_positives

    suite = analysis.suite
    counted = any(gate.min_positives is not None for gate in suite.gates)
    positives = slice_positives(analysis) if counted else None
    return evaluate_gates(suite, Evidence(first_rows(metrics), comparisons, positives, history))
