"""Step of a run: plans collected together, with its text in `explain`."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from plmetrics.engine.streaming import frames_of


@dataclass(frozen=True, slots=True)
class Step:
    """Plans collected together by a stage of a run, with shared scans, or one after another.

    Attributes:
        stage: name of the stage.
        plans: the plans.
        does: what it is for; empty where other steps of the stage say it.
        times: how often they are collected.
        at_least: whether what they find, or the memory budget, may make that more often.
        sums: how many of the plans, the first ones, make sums.
        separate: whether each plan has scans of its own, since memory has no room for what would wait in shared ones.
    """

    stage: str
    plans: tuple[pl.LazyFrame, ...] = ()
    does: str = ""
    times: int = 1
    at_least: bool = False
    sums: int = 0
    separate: bool = False

    def collect(self) -> list[pl.DataFrame]:
        """The frames of its plans, in their order."""
        return frames_of(self.plans, separate=self.separate)
