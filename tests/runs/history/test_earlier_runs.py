"""Runs compared with earlier runs of their suite: a retry, a copy of the data, a run that is named."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml

import plmetrics as plm
from tests.runs.conftest import SUITE, write_day

AGAINST = {"metric": "accuracy", "against": {"run": True}, "no_worse_than": 0.05}
NIGHTLY = SUITE | {
    "compare": {"run": "runs/nightly"},
    "drift": {"run": "runs/nightly", "gates": [{"measure": "psi", "column": "p", "at_most": 0.2}]},
    "gates": [AGAINST],
}


def run(folder: Path, **changes: Any) -> Any:
    (folder / "s.yaml").write_text(yaml.safe_dump(NIGHTLY | changes))
    return plm.run(folder / "s.yaml")


@pytest.mark.slow
def test_a_broken_day_fails_however_often_it_is_tried(tmp_path: Path) -> None:
    write_day(tmp_path, 20)
    first = run(tmp_path)
    assert first.verdict == "inconclusive"
    write_day(tmp_path, 10)
    (tmp_path / "copy").mkdir()
    write_day(tmp_path / "copy", 10)
    tries = [run(tmp_path), run(tmp_path), run(tmp_path, data={"path": "copy/day.csv"})]
    assert [one.verdict for one in tries] == ["fail"] * 3
    taken = first.record["run_id"]
    for earlier, one in enumerate(tries):
        for key in ("compare.run", "drift.run"):
            found = one.record["references"][key]
            assert found["run"] == taken
            assert [entry["reason"] for entry in found["passed_over"]] == ["the same data"] * earlier
    assert tries[-1].comparisons["difference"].to_list() == [-0.5]
    write_day(tmp_path, 19)
    healthy = run(tmp_path)
    assert healthy.record["references"]["compare.run"]["run"] == taken
    assert healthy.verdict == "pass"
    compare, drift = ({**NIGHTLY[key], "reference": "any"} for key in ("compare", "drift"))
    write_day(tmp_path, 18)
    anything = run(tmp_path, compare=compare, drift=drift)
    assert anything.record["references"]["drift.run"]["run"] == healthy.record["run_id"]


@pytest.mark.slow
def test_the_head_of_the_report_says_what_was_taken_and_passed_over(tmp_path: Path) -> None:
    from plmetrics.report.summary import summarise
    from plmetrics.report.terminal import render

    for right in (20, 10, 10):
        write_day(tmp_path, right)
        result = run(tmp_path)
    head = render(summarise(result), 400).split("\n\n")[0]
    found = result.record["references"]["compare.run"]
    ((entry),) = found["passed_over"]
    assert f"compared with {found['run']}; passed over: {entry['run']} (the same data)" in head


def test_a_run_that_is_named_is_taken_whatever_it_covers(tmp_path: Path) -> None:
    write_day(tmp_path, 20)
    first = run(tmp_path)
    named = str(first.folder)
    result = run(tmp_path, compare={"run": named}, drift=None)
    assert result.comparisons["difference"].to_list() == [0.0]
    assert (
        f"compare.run: the run {first.folder.name} is of the same data as this one"
        in result.record["warnings"]
    )
    write_day(tmp_path, 19)
    words = run(tmp_path, compare={"run": named}, drift=None).record["warnings"]
    assert not [text for text in words if "same data" in text]


@pytest.mark.parametrize("path", ["runs/other", "runs/other/latest.json"])
def test_a_folder_of_another_suite_without_a_run_that_may_serve(tmp_path: Path, path: str) -> None:
    write_day(tmp_path, 20)
    own = {key: {"run": "runs/other"} for key in ("compare", "drift")}
    run(tmp_path, name="other", **own)
    for section in ("compare", "drift"):
        changes: dict[str, Any] = {"compare": None, "drift": None, "gates": []} | {section: {"run": path}}
        with pytest.raises(plm.DataError, match=r"can be the reference; passed over: .* \(the same data\)"):
            run(tmp_path, **changes)


def test_rows_that_are_no_files_are_compared_with_the_last_run(tmp_path: Path) -> None:
    import polars as pl

    write_day(tmp_path, 20)
    run(tmp_path)
    rows = pl.read_csv(tmp_path / "day.csv")
    arguments: dict[str, Any] = {"label": "y", "models": {"m": "p"}, "metrics": ["accuracy"]}
    home = {"run": tmp_path / "runs" / "nightly"}
    assert plm.evaluate(rows, **arguments, compare=home).comparisons["difference"].to_list() == [0.0]
    with pytest.raises(plm.DataError, match="the same data"):
        plm.evaluate(tmp_path / "day.csv", **arguments, compare=home)


@pytest.mark.slow
def test_a_damaged_reference_is_passed_over_with_a_warning(tmp_path: Path) -> None:
    results = []
    for right in (20, 19):
        write_day(tmp_path, right)
        results.append(run(tmp_path))
    for name in ("metrics.parquet", "drift.state"):
        file = results[1].folder / name
        file.write_bytes(file.read_bytes()[:-20])
    write_day(tmp_path, 18)
    last = run(tmp_path)
    for key in ("compare.run", "drift.run"):
        assert last.record["references"][key]["run"] == results[0].record["run_id"]
    said = [text for text in last.record["warnings"] if "an earlier run does not count" in text]
    assert len(said) == 2


@pytest.mark.slow
def test_a_damaged_run_is_said_once_whatever_path_leads_to_it(root: Path) -> None:
    """The reference by its path as the suite has it, the history by that of the suite's own runs."""
    suite = Path("s.yaml")
    gates = [{"metric": "accuracy", "at_least": 0.1, "consecutive": 3}]
    suite.write_text(yaml.safe_dump(SUITE | {"compare": {"run": "runs/nightly"}, "gates": gates}))
    folders = []
    for right in (20, 19, 18):
        write_day(root, right)
        result = plm.run(suite)
        folders.append(result.folder)
        if right == 19:
            (result.folder / "metrics.parquet").unlink()
    damaged = f"runs/nightly/{folders[1].name}/metrics.parquet is absent or not as it was written"
    told = [text for text in result.record["warnings"] if "does not count" in text]
    assert told == [f"an earlier run does not count: {damaged}"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("changes", "warned", "noted"),
    [
        ({"derive": {"late": "days > 60"}}, "derive.late was 'days > 30' and is 'days > 60'", None),
        ({"derive": {"span": "x - 1"}}, "derive.span was 'x + 1' and is 'x - 1'", None),
        ({"derive": {"blend": "0.4 * p"}}, None, "the model's derive.blend was '0.5 * p' and is '0.4 * p'"),
        ({"derive": {"idle": "x * 3"}}, None, None),
        ({"models": {"m": {"score": "blend", "threshold": 0.2}}}, None, "threshold was not given and is 0.2"),
    ],
)
def test_a_column_that_is_derived_otherwise_is_told(
    changes: dict[str, Any], warned: str | None, noted: str | None
) -> None:
    """A label and a slice mean something else, a score is a new version of the model, and an unused column nothing."""
    rng = np.random.default_rng(1)
    rows = pl.DataFrame({"days": rng.integers(0, 90, 80), "p": rng.random(80), "x": rng.integers(0, 3, 80)})
    derived = {"late": "days > 30", "blend": "0.5 * p", "span": "x + 1", "wide": "span > 1", "idle": "x * 2"}
    suite: dict[str, Any] = {"label": "late", "models": {"m": {"score": "blend"}}, "metrics": ["accuracy"]}
    settings = {**suite, "slices": ["wide"], "derive": derived}
    earlier = plm.evaluate(rows, **settings)
    changed = {**settings, **changes, "derive": {**derived, **changes.get("derive", {})}}
    later = plm.evaluate(rows.head(60), **changed, compare={"run": earlier})
    told = [text for text in later.warnings if "mean different things" in text]
    assert [warned is not None] == [bool(told)]
    assert warned is None or warned in told[0]
    notes = set(later.comparisons["note"].drop_nulls())
    assert any(noted in note for note in notes) if noted else not any("derive" in note for note in notes)
