"""Several nights in one command, and the results of a span, that end at any write: run again, nothing is amiss."""

import errno
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import polars as pl
import pytest
from conftest import THOROUGH
from polars.testing import assert_frame_equal
from suites.faults import Crash, age, crash_at_each_call
from suites.nights import FILES, Nights, day, nights, quiet, rows

import plmetrics as plm
from plmetrics.api.nights.backfill import backfill
from plmetrics.api.nights.collection import collect_garbage

__all__ = ["nights", "quiet"]

DAYS = 3
STATES = {**FILES, "keep": {"states": "9d"}}
WINDOWS = {**STATES, "compare": {"run": {"window": "2d"}}}


def fill(growing: Nights) -> None:
    backfill(growing.suite, day(0), day(DAYS))


def values(growing: Nights) -> pl.DataFrame:
    """What is read of the nights: values, verdicts and whether files fit their hashes."""
    names = ["interval", "model", "metric", "value", "n", "verdict", "status"]
    return plm.history(growing.home).select(names)


def heights(growing: Nights) -> list[int]:
    """How many rows the result in force of each night is of, 0 where it has none; each of them whole."""
    counts = []
    for number in range(DAYS):
        manifest = growing.current(number)
        if manifest is not None:
            assert growing.manifests.damage(manifest, thorough=True) is None
            result = plm.load(growing.home / manifest.run)
            assert (result.record["rows"]["read"], result.verdict) == (manifest.rows, manifest.verdict)
        counts.append(0 if manifest is None else manifest.rows)
    return counts


def files(growing: Nights) -> set[str]:
    """What is in the folder of runs, with the names of intervals in place of those of runs and manifests."""
    runs = {
        manifest.run: number for number in range(DAYS) if (manifest := growing.current(number)) is not None
    }
    names = set()
    for path in growing.home.rglob("*"):
        first, *others = path.relative_to(growing.home).parts
        names.add("/".join([str(runs.get(first, first)), *(others if first != "intervals" else others[:1])]))
    return names


def tidy(growing: Nights) -> None:
    """What the next runs and removals do, a day later."""
    age(growing.home)
    fill(growing)
    collect_garbage(growing.suite)


@dataclass(frozen=True)
class Expected:
    """What there is in the end of nights that nothing befell: their values, and the files a day later."""

    values: pl.DataFrame
    files: set[str]

    @classmethod
    def of(cls, whole: Nights) -> Self:
        before = values(whole)
        tidy(whole)
        assert_frame_equal(values(whole), before)
        return cls(before, files(whole))

    def check(self, growing: Nights, do: Callable[[Nights], object] = fill) -> None:
        """Done again it ends as if nothing had happened, and a day later nothing is left of what did."""
        do(growing)
        assert_frame_equal(values(growing), self.values)
        tidy(growing)
        assert_frame_equal(values(growing), self.values)
        assert files(growing) == self.files


def changed(nights: Nights) -> list[int]:
    """Let there be results of all nights, and then other rows for two of them; their numbers."""
    fill(nights)
    before = [60] * DAYS
    for number in (0, 2):
        nights.write(number, pl.concat([rows(number), rows(9, height=7)]))
    return before


def no_space() -> OSError:
    return OSError(errno.ENOSPC, "no space left on device")


@pytest.mark.alike
@pytest.mark.slow
@pytest.mark.parametrize("error", [Crash, no_space])
@pytest.mark.parametrize("again", [False, True], ids=["first", "again"])
def test_a_backfill_may_end_at_every_write(
    nights: Nights, tmp_path: Path, again: bool, error: Callable[[], BaseException]
) -> None:
    nights.write_suite(**WINDOWS)
    old = changed(nights) if again else [0] * DAYS
    new = [67, 60, 67] if again else [60] * DAYS
    copies = crash_at_each_call(nights, tmp_path / "copies", 1 if THOROUGH else 41, fill, error, first=0)
    whole = next(copies)  # nothing befell it
    assert heights(whole) == new
    expected = Expected.of(whole)
    count = 0
    for copy in copies:
        count += 1
        done = heights(copy)
        assert all(height in ends for height, ends in zip(done, zip(old, new, strict=True), strict=True))
        if error is Crash:  # later nights are not begun
            fresh = [height == end for height, end in zip(done, new, strict=True)]
            untouched = [start == end for start, end in zip(old, new, strict=True)]
            assert fresh in [[True] * last + untouched[last:] for last in range(DAYS + 1)]
        if any(done):
            assert not values(copy).filter(status="damaged").height
        expected.check(copy)
    assert count > (60 if THOROUGH else 1)


CUSTOM = """
import os, signal, sys

place = os.environ.get("FAULT_DONE")
if place and "plmetrics.runners.worker" in " ".join(sys.orig_argv) and not os.path.exists(place):
    from suites.faults import ALL_CALLS, Faults

    def end():
        os.close(os.open(place, os.O_CREAT))
        (os.killpg if os.environ["FAULT_OF"] == "job" else os.kill)(
            0 if os.environ["FAULT_OF"] == "job" else os.getpid(), signal.SIGKILL
        )

    Faults(setattr, int(os.environ["FAULT_AT"]), end, last=False, names=ALL_CALLS)
"""
"""What worker processes import before anything else: one of them ends, or all, at a call."""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
@pytest.mark.parametrize("kind", ["worker", "job"])
def test_processes_of_a_backfill_may_end_at_every_write(nights: Nights, tmp_path: Path, kind: str) -> None:
    """A worker that is killed is started anew; where all are, the next backfill does what is left."""
    nights.write_suite(**STATES)
    custom, done = tmp_path / "custom", tmp_path / "done"
    custom.mkdir()
    (custom / "sitecustomize.py").write_text(CUSTOM)
    whole = Nights(tmp_path / "whole")
    shutil.copytree(nights.folder, whole.folder, ignore=shutil.ignore_patterns("custom", "whole"))
    fill(whole)
    expected = Expected.of(whole)
    at, ended = 0 if THOROUGH else 16, False
    while not ended and (THOROUGH or at == 16):
        at += 1
        shutil.rmtree(nights.home, ignore_errors=True)
        done.unlink(missing_ok=True)
        path = os.pathsep.join([str(custom), str(Path(__file__).parents[2]), *sys.path])
        run = subprocess.run(
            [sys.executable, "-m", "plmetrics", "backfill", str(nights.suite), "--jobs", "2",
             "--from", day(0), "--to", day(DAYS)],
            env={**os.environ, "PYTHONPATH": path, "FAULT_AT": str(at), "FAULT_OF": kind, "FAULT_DONE": str(done)},
            check=False, capture_output=True, start_new_session=True,
        )  # fmt: skip
        ended = not done.exists()
        assert run.returncode == (-signal.SIGKILL if kind == "job" and not ended else 0), run.stderr
        heights_now = heights(nights)
        assert heights_now[0] == 60
        assert set(heights_now) <= {0, 60}
        if run.returncode == 0:
            assert_frame_equal(values(nights), expected.values)
        expected.check(nights)
    assert at > 16


@pytest.mark.slow
def test_the_result_of_a_span_may_end_at_every_write(nights: Nights, tmp_path: Path) -> None:
    """Its nights stay as they are, its run folder and its state are the old ones, the new ones, or not there."""
    nights.write_suite(**STATES)
    fill(nights)

    def merge(growing: Nights) -> plm.Result:
        place, span = growing.folder / "months", f"{day(0)}/{day(DAYS)}"
        return plm.merge(growing.home, interval=span, output=place, state=growing.folder / "month.state")

    merge(nights)
    nights.write(1, height=90)
    fill(nights)
    before = values(nights)
    copies = crash_at_each_call(nights, tmp_path / "copies", 1 if THOROUGH else 7, merge)
    count = 0
    for copy in copies:
        count += 1
        assert_frame_equal(values(copy), before)
        assert plm.merge(copy.folder / "month.state").record["rows"]["read"] in (180, 210)
        months = copy.folder / "months" / "nightly"
        assert plm.load(months).record["rows"]["read"] in (180, 210)
        again = merge(copy)
        assert again.record["rows"]["read"] == 210
        assert plm.load(months).metrics.equals(again.metrics)
        age(copy.folder)
        merge(copy)
        left = [path.name for path in copy.folder.rglob(".*")]
        assert not left, left
    assert count > 3
