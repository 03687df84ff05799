"""Nights that end at any write, and processes side by side: the old result or the new one, and nothing lost."""

import contextlib
import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from conftest import THOROUGH
from polars.testing import assert_frame_equal
from suites.faults import ALL_CALLS, Crash, Faults, age, crash_at_each_call
from suites.nights import FILES, Nights, day, nights, rows

import plmetrics as plm
from plmetrics.api.nights.acceptance import accept
from plmetrics.api.nights.collection import collect_garbage
from plmetrics.core.errors import EnvironmentFault

__all__ = ["nights"]

WRITERS = 8 if THOROUGH else 3
"""Processes at once: more than this machine has processors, as a rule."""


def check_whole(growing: Nights, number: int, expected: tuple[int, ...]) -> None:
    """What is read is one result of the old rows or of the new ones."""
    manifest = growing.current(number)
    if manifest is None:
        assert 0 in expected
        return
    assert growing.manifests.damage(manifest, thorough=True) is None
    result = plm.load(growing.home / manifest.run / "run.json")
    assert result.record["rows"]["read"] == manifest.rows
    assert manifest.rows in expected
    assert result.verdict == manifest.verdict


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["crash", "full disk"])
def test_every_write_may_be_the_last(nights: Nights, kind: str) -> None:
    nights.write_suite(**FILES, compare={"run": {"window": "3d"}}, keep={"states": "9d"})
    nights.run(0)
    nights.run(1)
    error: Callable[[], BaseException] = (
        Crash if kind == "crash" else lambda: OSError(errno.ENOSPC, "no space left on device")
    )
    step = 1 if THOROUGH else 7
    height, at, ended = 60, -len(kind) % step, False
    while not ended:
        at += step
        nights.write(1, pl.concat([rows(1), rows(2, height=at)]))
        new = 60 + at
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(patch.setattr, at, error, last=kind == "crash", names=ALL_CALLS)
            with contextlib.suppress(Crash, EnvironmentFault):
                nights.run(1)
        ended = faults.ended
        check_whole(nights, 1, (height, new))
        later = nights.run(2).record["references"]["compare.run"]
        assert later["intervals"] == [day(0), day(1)]
        assert later["run"] == nights.current(1).run
        result = nights.run(1)
        assert result.record["rows"]["read"] == new
        check_whole(nights, 1, (new,))
        height = new
    assert at > 20


@pytest.mark.slow
def test_the_first_night_may_end_at_every_write(tmp_path: Path) -> None:
    at, ended = 0, False
    while not ended:
        at += 1 if THOROUGH else 9
        growing = Nights(tmp_path / str(at))
        growing.folder.mkdir()
        growing.write_suite(**FILES, keep={"states": "9d"})
        growing.write(0)
        with pytest.MonkeyPatch.context() as patch:
            faults = Faults(patch.setattr, at, Crash, last=True, names=ALL_CALLS)
            with contextlib.suppress(Crash):
                growing.run(0)
        ended = faults.ended
        check_whole(growing, 0, (0, 60))
        growing.run(0)
        check_whole(growing, 0, (60,))


def test_an_acceptance_may_end_at_every_write(nights: Nights, tmp_path: Path) -> None:
    nights.write(0, bad=True)
    nights.run(0)
    before = nights.current(0)

    def let_count(copy: Nights) -> None:
        accept(copy.home / before.run, because="so it is", by="ann")

    accepted = []
    for copy in crash_at_each_call(nights, tmp_path / "copies", 1, let_count):
        after = copy.current(0)
        accepted.append(after.accepted is not None)
        assert replace(after, accepted=None, sequence=1) == before
        assert copy.manifests.damage(after, thorough=True) is None
        let_count(copy)
        assert copy.current(0).accepted.because == "so it is"
    assert accepted == sorted(accepted)
    assert {*accepted} == {False, True}


def files_below(home: Path) -> set[str]:
    """Files that count as data, those of nights without the names of their runs' manifests."""
    names = (path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file())
    return {name for name in names if not name.startswith("intervals/")}


@pytest.mark.slow
def test_a_removal_may_end_at_every_call(nights: Nights, tmp_path: Path) -> None:
    """Values and verdicts can be read after it, and the next removal ends it."""
    nights.write_suite(**FILES, keep={"states": "1d", "runs": "1d"})
    values = [nights.run(number).metrics for number in range(3)]
    nights.write(2, height=70)
    values[2] = nights.run(2).metrics  # there is a superseded run as well
    age(nights.home)
    whole = Nights(tmp_path / "copies" / "whole")
    shutil.copytree(nights.folder, whole.folder, ignore=shutil.ignore_patterns("copies"))
    assert collect_garbage(whole.suite)
    step = 1 if THOROUGH else 4
    for copy in crash_at_each_call(
        nights, tmp_path / "copies", step, lambda copy: collect_garbage(copy.suite)
    ):
        for number, metrics in enumerate(values):
            manifest = copy.current(number)
            assert copy.manifests.damage(manifest, thorough=True) is None
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", plm.PlmetricsWarning)
                assert_frame_equal(plm.load(copy.home / manifest.run).metrics, metrics)
        age(copy.home)
        collect_garbage(copy.suite)
        assert files_below(copy.home) == files_below(whole.home)


CHILD = """
import os, sys
import plmetrics as plm
suite, day, at = sys.argv[1], sys.argv[2], int(sys.argv[3])
calls = 0

def watch(call):
    def watched(*arguments, **options):
        global calls
        calls += 1
        if calls == at:
            os._exit(9)
        return call(*arguments, **options)
    return watched

for name in ("fsync", "link", "replace", "mkdir"):
    setattr(os, name, watch(getattr(os, name)))
plm.run(suite, interval=day)
"""


@pytest.mark.slow
def test_a_process_that_is_gone_at_a_write_leaves_the_old_result_or_the_new_one(nights: Nights) -> None:
    nights.write_suite(**FILES)
    nights.run(0)
    height = 60
    for at in range(3, 40, 2 if THOROUGH else 25):
        nights.write(0, rows(0, height=60 + at))
        child = subprocess.run(
            [sys.executable, "-c", CHILD, str(nights.suite), day(0), str(at)],
            check=False,
            capture_output=True,
        )
        assert child.returncode in (0, 9), child.stderr
        check_whole(nights, 0, (height, 60 + at))
        nights.run(0)
        check_whole(nights, 0, (60 + at,))
        height = 60 + at


def test_new_folders_are_durable_in_those_above(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each folder that is made is followed by a sync of the one above it, before the manifest is linked."""
    import plmetrics.runs.files as files

    made: set[Path] = set()
    mkdir, sync, link = os.mkdir, files.sync_directory, os.link

    def watched_mkdir(path: Any, *arguments: Any, **options: Any) -> None:
        mkdir(path, *arguments, **options)
        made.add(type(nights.home)(path).parent)

    def watched_sync(directory: Path) -> None:
        made.discard(directory)
        sync(directory)

    def watched_link(source: Any, target: Any, **options: Any) -> None:
        if "intervals" in str(target):
            assert not made
            linked.append(str(target))
        link(source, target, **options)

    linked: list[str] = []
    nights.write_suite(keep={"states": "9d"})
    monkeypatch.setattr(os, "mkdir", watched_mkdir)
    monkeypatch.setattr(os, "link", watched_link)
    for module in ("runs.files", "runs.folder"):
        monkeypatch.setattr(f"plmetrics.{module}.sync_directory", watched_sync)
    nights.run(0)
    assert len(linked) == 1


SCRIPT = """
import sys
import plmetrics as plm
suite, *days = sys.argv[1:]
print("ready", flush=True)
sys.stdin.readline()
for day in days:
    plm.run(suite, interval=day)
"""


def start(growing: Nights, *numbers: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(growing.suite), *map(day, numbers)]
    pipe = subprocess.PIPE
    return subprocess.Popen(arguments, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def go(processes: list[subprocess.Popen[str]]) -> None:
    """Let all begin at once."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


@pytest.mark.slow
def test_writers_at_once_lose_nothing(nights: Nights) -> None:
    """All of one interval, and then each of another one."""
    nights.write_suite(**FILES, keep={"states": "9d"})
    numbers = range(WRITERS)
    processes = [start(nights, 0, number) for number in numbers]
    go(processes)
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    for number in numbers:
        check_whole(nights, number, (60,))
        manifests = list(nights.manifests.latest_first(day(number)))
        assert [manifest.sequence for manifest in manifests] == list(range(len(manifests), 0, -1))
        assert {manifest.run for manifest in manifests} <= nights.runs()
    assert nights.manifests.interval_keys() == [day(number) for number in numbers]
    assert len(list((nights.home / "constants").iterdir())) == 1
    nights.write_suite(**FILES, keep={"states": "9d"}, compare={"run": {"window": "9d"}})
    result = nights.run(8)
    assert result.record["references"]["compare.run"]["intervals"] == [day(number) for number in numbers]
    assert not [warning for warning in result.warnings if "passed over" in warning]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no SIGKILL there")
def test_a_killed_night_leaves_the_old_result_or_the_new_one(nights: Nights) -> None:
    nights.write_suite(keep={"states": "9d"})
    nights.run(0)
    draw = random.Random(0)
    height = 60
    for attempt in range(1, 5 if not THOROUGH else 50):
        nights.write(0, pl.concat([rows(0), rows(1, height=attempt)]))
        process = start(nights, 0)
        go([process])
        time.sleep(draw.random() * 0.6)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        check_whole(nights, 0, (height, 60 + attempt))
        nights.run(0)
        check_whole(nights, 0, (60 + attempt,))
        height = 60 + attempt
