"""`plmetrics state` and `plmetrics merge`, as they are typed."""

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cli.conftest import Invoke

from plmetrics.runs.reading import open_run

SUITE = """
name: nightly
data: {path: scores/*.parquet}
columns: {label: y}
models: {m: p}
metrics: [roc_auc, brier]
slices: {region: region}
gates: [{metric: brier, at_most: AT_MOST}]
"""


@pytest.fixture
def suite(root: Path) -> Path:
    """A suite, and the scores of two days."""
    Path("scores").mkdir()
    for day, label in ((1, [1, 0, 1, 0]), (2, [0, 0, 1, 1])):
        rows = {"y": label, "p": [0.9, 0.2, 0.4, 0.3], "region": ["north", "south", "north", "east"]}
        pl.DataFrame(rows).write_parquet(f"scores/day-{day}.parquet")
    file = Path("suite.yaml")
    file.write_text(SUITE.replace("AT_MOST", "0.5"))
    return file


def states(invoke: Invoke, suite: Path) -> list[str]:
    """Both days' states, with the constants of both together."""
    outcome = invoke("state", str(suite), "--output", "all.state")
    assert (outcome.code, outcome.out) == (0, "all.state\n"), outcome.err
    named = []
    for day in (1, 2):
        named.append(f"day-{day}.state")
        where = ("--set", f"data.path=scores/day-{day}.parquet", "--constants", "all.state")
        outcome = invoke("state", str(suite), "--output", named[-1], *where)
        assert outcome.code == 0, outcome.err
    return named


@pytest.mark.slow
def test_days_merge_to_a_run(invoke: Invoke, suite: Path) -> None:
    days = states(invoke, suite)
    outcome = invoke("merge", *days, "--output", "runs", "--states", "both.state", "--format", "json")
    assert outcome.code == 0, outcome.err
    said = json.loads(outcome.out)
    merged = open_run(Path(said["folder"]))
    assert [state["path"] for state in merged.record["states"]] == days
    whole = invoke("run", str(suite), "--output", "whole", "--set", "exact=false", "--format", "csv")
    assert invoke("merge", "both.state", "--format", "csv").out == whole.out


def test_a_state_goes_beside_the_suite_by_default(invoke: Invoke, suite: Path) -> None:
    outcome = invoke("state", str(suite), "--quiet")
    assert outcome.code == 0, outcome.err
    path = Path(outcome.out.strip())
    assert path.parent == Path("states")
    assert invoke("merge", "states").out.startswith("PASS  nightly")


def test_a_gate_of_merged_states_fails_with_3(invoke: Invoke, suite: Path) -> None:
    suite.write_text(SUITE.replace("AT_MOST", "0.01"))
    assert invoke("merge", *states(invoke, suite)).code == 3


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ("other", 2, "states of different suites: they differ in min_rows"),
        ("twice", 4, "hold the same state, whose rows would count twice"),
        ("absent", 5, "nowhere.state: no such file"),
        ("cut", 4, "day-2.state is truncated, or no state"),
        ("flipped", 4, "day-2.state is damaged: its content does not fit its hash"),
    ],
)
def test_what_does_not_add_is_told(invoke: Invoke, suite: Path, change: str, code: int, words: str) -> None:
    first, second = states(invoke, suite)
    content = Path(second).read_bytes()
    if change == "other":
        invoke("state", str(suite), "--output", second, "--set", "min_rows=2")
    elif change == "twice":
        Path(second).write_bytes(Path(first).read_bytes())
    elif change == "absent":
        second = "nowhere.state"
    elif change == "cut":
        Path(second).write_bytes(content[: len(content) // 2])
    else:
        Path(second).write_bytes(content[:50] + bytes([content[50] ^ 1]) + content[51:])
    outcome = invoke("merge", first, second)
    assert outcome.code == code
    assert words in outcome.err
    assert "Traceback" not in outcome.err
    assert outcome.out == ""


@pytest.mark.parametrize("change", [Path.touch, Path.unlink])
def test_a_state_that_goes_while_it_is_merged_is_told(
    invoke: Invoke, suite: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    """A job that cleans up, or writes a day anew, while another merges."""
    from plmetrics.features.stored import summation as additions

    days = states(invoke, suite)
    read = additions.add_parts

    def gone(*arguments: Any) -> None:
        change(Path(days[1]))
        read(*arguments)

    monkeypatch.setattr("plmetrics.features.stored.merging.add_parts", gone)
    outcome = invoke("merge", *days, "--states", "both.state")
    assert outcome.code == 4
    assert "day-2.state changed while it was merged" in outcome.err
    assert not Path("both.state").exists()


@pytest.mark.slow
def test_a_day_is_in_a_month_once(invoke: Invoke, suite: Path) -> None:
    """A year of months is that of their days; a day beside its month, or a month twice, is refused by name."""
    days = states(invoke, suite)
    for month, day in zip(("months/1.state", "months/2.state"), days, strict=True):
        assert invoke("merge", day, "--states", month).code == 0
    year = invoke("merge", "months", "--states", "year.state", "--format", "csv")
    assert year.out == invoke("merge", *days, "--format", "csv").out
    beside = invoke("merge", "months", days[0])
    assert beside.code == 4
    assert "months/1.state and day-1.state hold the same state" in beside.err
    twice = invoke("merge", "months", "months/1.state")
    assert twice.code == 4
    assert "months/1.state is named twice" in twice.err
    after = invoke("merge", "year.state", "months/2.state")
    assert after.code == 4
    assert "year.state and months/2.state hold the same state" in after.err


def test_a_folder_without_states_is_told(invoke: Invoke, suite: Path) -> None:
    outcome = invoke("merge", str(suite.parent / "scores"))
    assert outcome.code == 5
    assert "scores: no file in it ends in .state" in outcome.err


def test_a_full_disk_leaves_nothing_behind(
    invoke: Invoke, suite: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there stays: the month is replaced as a whole or not at all."""
    days = states(invoke, suite)
    assert invoke("merge", days[0], "--states", "months/1.state").code == 0
    before = Path("months/1.state").read_bytes()

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    outcome = invoke("merge", *days, "--states", "months/1.state")
    assert outcome.code == 6
    assert "the state months/1.state cannot be written" in outcome.err
    assert "o space left" in outcome.err
    assert [path.name for path in Path("months").iterdir()] == ["1.state"]
    assert Path("months/1.state").read_bytes() == before
