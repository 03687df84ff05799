"""`plmetrics state` and `plmetrics merge`, as they are typed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from plmetrics.runs.reading import read_run

if TYPE_CHECKING:
    from cli.conftest import Invoke

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
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite, and the scores of two days."""
    monkeypatch.chdir(tmp_path)
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


def test_days_merge_to_a_run(invoke: Invoke, suite: Path) -> None:
    days = states(invoke, suite)
    outcome = invoke("merge", *days, "--output", "runs", "--states", "both.state", "--format", "json")
    assert outcome.code == 0, outcome.err
    said = json.loads(outcome.out)
    merged = read_run(Path(said["folder"]))
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


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        ("other", 2, "states of different suites: they differ in min_rows"),
        ("twice", 4, "hold the same state, whose rows would count twice"),
        ("absent", 4, "nowhere.state: no such file"),
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
