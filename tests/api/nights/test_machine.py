"""Nights in any order, with crashes in between, against a dictionary."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import THOROUGH
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from suites.nights import Nights, day, quiet, rows

from plmetrics.api.nights.acceptance import accept
from plmetrics.api.nights.backfill import backfill
from plmetrics.api.nights.collection import collect_garbage

__all__ = ["quiet"]

DAYS = 4
NUMBERS = st.integers(0, DAYS - 1)


class Crash(BaseException):
    """The end of a process."""


class NightMachine(RuleBasedStateMachine):
    """`data` says of each day how many rows it has and whether they are bad, `results` what was evaluated last."""

    @initialize()
    def start(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.nights = Nights(self.folder)
        self.nights.write_suite(
            metrics=["roc_auc", "brier"],
            compare={"run": "previous"},
            keep={"states": "2d", "runs": "2d"},
            slices=None,
        )
        self.data: dict[int, tuple[int, bool]] = {}
        self.results: dict[int, tuple[int, bool]] = {}
        self.accepted: set[int] = set()
        for number in range(DAYS):
            self.change(number, extra=0, bad=False)

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)

    def evaluated(self, number: int) -> None:
        """A result takes the place of that of a day. Of other rows nobody has accepted it, of the same it stays so."""
        if self.results.get(number) != self.data[number]:
            self.accepted.discard(number)
        self.results[number] = self.data[number]

    @rule(number=NUMBERS, extra=st.integers(0, 5), bad=st.booleans())
    def change(self, number: int, extra: int, bad: bool) -> None:
        self.data[number] = (60 + extra, bad)
        self.nights.write(number, rows(number, 60 + extra, bad=bad))

    @rule(number=NUMBERS)
    def run(self, number: int) -> None:
        before = self.nights.current(number)
        result = self.nights.run(number)
        height, bad = self.data[number]
        assert result.record["rows"]["read"] == height
        assert result.verdict == ("fail" if bad else "pass")
        earlier = [day(other) for other in range(number) if other in self.results and self.counts(other)]
        taken = result.record["references"]["compare.run"]["intervals"]
        assert taken in (earlier[-1:], []) if before is not None else taken == earlier[-1:] or not taken
        self.evaluated(number)
        runs = self.nights.runs()
        assert self.nights.run(number).folder == result.folder
        assert self.nights.runs() == runs

    def counts(self, number: int) -> bool:
        """Whether the result of a day may be a reference."""
        return not self.results[number][1] or number in self.accepted

    @rule(first=NUMBERS, force=st.booleans())
    def backfill(self, first: int, force: bool) -> None:
        outcomes = backfill(self.nights.suite, day(first), day(DAYS), force=force)
        for number, outcome in enumerate(outcomes, first):
            assert outcome.verdict == ("fail" if self.data[number][1] else "pass")
            assert not force or not outcome.existing
            if force:
                self.accepted.discard(number)
            self.evaluated(number)

    @rule(number=NUMBERS)
    def accept(self, number: int) -> None:
        manifest = self.nights.current(number)
        if manifest is None:
            assert number not in self.results
            return
        accept(self.nights.home / manifest.run / "run.json", because="so it is")
        self.accepted.add(number)

    @rule(number=NUMBERS, at=st.integers(1, 40))
    def crash(self, number: int, at: int) -> None:
        """A night ends at one of its writes: it has written its manifest, or it has not."""
        before = self.nights.current(number)
        calls = 0

        def watch(call: Any) -> Any:
            def watched(*arguments: Any, **options: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls >= at:
                    raise Crash
                return call(*arguments, **options)

            return watched

        with pytest.MonkeyPatch.context() as patch:
            for name in ("fsync", "link", "replace"):
                patch.setattr(os, name, watch(getattr(os, name)))
            with contextlib.suppress(Crash):
                self.nights.run(number)
        after = self.nights.current(number)
        if after is not None and (before is None or after.run != before.run):
            self.evaluated(number)
        else:
            assert after == before

    @rule(dry_run=st.booleans())
    def collect(self, dry_run: bool) -> None:
        before = {number: self.nights.current(number) for number in self.results}
        collect_garbage(self.nights.suite, dry_run=dry_run)
        for number, old in before.items():
            new = self.nights.current(number)
            assert (new.run, new.accepted, new.verdict) == (old.run, old.accepted, old.verdict)
            assert not dry_run or new == old

    @invariant()
    def history_is_as_expected(self) -> None:
        if not hasattr(self, "nights"):
            return
        manifests = {number: self.nights.current(number) for number in range(DAYS)}
        assert {
            number for number, manifest in manifests.items() if manifest is not None
        } == self.results.keys()
        for number, (height, bad) in self.results.items():
            manifest = manifests[number]
            assert manifest is not None
            assert (manifest.rows, manifest.verdict) == (height, "fail" if bad else "pass")
            assert (manifest.accepted is not None) == (number in self.accepted)
            assert self.nights.manifests.damage(manifest, thorough=True) is None
            metrics = pl.read_parquet(self.nights.home / manifest.run / "metrics.parquet")
            assert metrics.filter(metric="brier", model="old")["n"].item() == height


@pytest.mark.slow
class TestNightMachine(NightMachine.TestCase):
    settings = settings(
        max_examples=60 if THOROUGH else 8,
        stateful_step_count=30 if THOROUGH else 12,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
