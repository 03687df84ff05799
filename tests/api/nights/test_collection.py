"""Removal of what no interval needs: nothing that a later one reads."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from suites.faults import age
from suites.nights import FILES, Nights, day, nights, rows

import plmetrics as plm
from plmetrics.api.nights import collection
from plmetrics.api.nights.backfill import backfill
from plmetrics.api.nights.collection import collect_garbage

__all__ = ["nights"]

KEEP = {"states": "1d", "runs": "1d"}


def content(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def files(nights: Nights, number: int) -> set[str]:
    manifest = nights.current(number)
    assert manifest is not None
    present = {path.name for path in (nights.home / manifest.run).iterdir()}
    assert {name.rpartition("/")[2] for name in manifest.files} == present - {"removed.json"}
    return present


@pytest.mark.slow
def test_a_dry_run_changes_nothing_and_says_what_would_go(nights: Nights) -> None:
    nights.write_suite(keep=KEEP)
    backfill(nights.suite, day(0), day(4))
    before = content(nights.home)
    said = collect_garbage(nights.suite, dry_run=True)
    assert content(nights.home) == before
    assert collect_garbage(nights.suite) == said
    gone = before.keys() - content(nights.home).keys()
    assert gone == {f"{removal.path.name}/{name}" for removal in said for name in removal.files}
    assert collect_garbage(nights.suite) == []


@pytest.mark.slow
def test_values_and_verdicts_stay_and_can_be_read(nights: Nights) -> None:
    nights.write_suite(keep=KEEP)
    first = nights.run(0)
    backfill(nights.suite, day(1), day(4))
    collect_garbage(nights.suite)
    assert files(nights, 0) == {"run.json", "metrics.parquet", "gates.parquet", "removed.json"}
    assert "README.md" in files(nights, 3)
    with pytest.warns(plm.PlmetricsWarning, match="tables of it were removed"):
        old = plm.load(first.folder)
    assert old.metrics.equals(first.metrics)
    assert old.gates.equals(first.gates)
    assert old.comparisons.is_empty()
    again = nights.run(0)  # it is there, and is not evaluated again
    assert (again.folder, again.verdict) == (first.folder, first.verdict)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sections", "whole", "states"),
    [
        ({}, {8}, {8}),
        ({"compare": {"run": "previous"}}, {7, 8}, {8}),
        ({"compare": {"run": {"ago": "3d"}}}, {5, 6, 7, 8}, {8}),
        ({"compare": {"run": {"window": "3d"}}}, {8}, {5, 6, 7, 8}),
        ({"compare": {"run": {"same_weekday": 1}}}, {8}, set(range(1, 9))),
        ({"drift": {"reference": "previous"}}, {8}, {7, 8}),
        ({"compare": {"run": {"window": "2d"}}, "interval": {"partition": "day", "lookback": "2d"}},
         {6, 7, 8}, {4, 5, 6, 7, 8}),
    ],
)  # fmt: skip
def test_what_references_read_stays(
    nights: Nights, sections: dict[str, Any], whole: set[int], states: set[int]
) -> None:
    nights.write_suite(**FILES, **sections, keep=KEEP)
    backfill(nights.suite, day(0), day(9))
    collect_garbage(nights.suite)
    assert {number for number in range(9) if "README.md" in files(nights, number)} == whole
    assert {number for number in range(9) if "interval.state" in files(nights, number)} == states
    before = {number: nights.current(number) for number in range(9)}
    assert nights.run(8).folder.name == before[8].run  # its references are what they were
    assert nights.run(9).folder is not None


@pytest.mark.slow
def test_the_last_accepted_night_stays_whole_however_old(nights: Nights) -> None:
    nights.write_suite(compare={"run": "previous"}, keep=KEEP)
    for number in range(2, 6):
        nights.write(number, bad=True)
    backfill(nights.suite, day(0), day(6))
    collect_garbage(nights.suite)
    assert nights.run(6).record["references"]["compare.run"]["intervals"] == [day(1)]


@pytest.mark.slow
def test_gates_count_failures_in_a_row_over_thinned_nights(nights: Nights) -> None:
    gate = {"metric": "roc_auc", "model": "new", "at_least": 0.75, "consecutive": 3}
    nights.write_suite(gates=[gate], keep=KEEP)
    for number in range(1, 4):
        nights.write(number, bad=True)
    backfill(nights.suite, day(0), day(3))
    collect_garbage(nights.suite)
    result = nights.run(3)
    assert result.verdict == "fail"
    assert not [warning for warning in result.warnings if "passed over" in warning]


def test_superseded_and_uncommitted_runs_go_when_they_are_old(nights: Nights) -> None:
    first = nights.run(0).folder
    nights.write(0, pl.concat([rows(0), rows(1)]))
    second = nights.run(0).folder
    orphan = nights.run(1).folder
    for path in (nights.home / "intervals" / day(1)).iterdir():
        path.unlink()  # as if it was killed before its manifest
    assert collect_garbage(nights.suite) == []
    age(nights.home)
    gone = {removal.path for removal in collect_garbage(nights.suite)}
    assert {path.name for path in gone} == {first.name, orphan.name}
    assert nights.runs() == {second.name}


def test_failed_runs_go_also_before_the_first_result(nights: Nights) -> None:
    assert nights.exit_code(12) == 5
    age(nights.home)
    (removal,) = collect_garbage(nights.suite, dry_run=True)
    assert nights.runs() == {removal.path.name}
    assert collect_garbage(nights.suite) == [removal]
    assert nights.runs() == set()


def test_where_the_latest_run_was_removed_the_last_results_are_read(nights: Nights) -> None:
    kept = nights.run(0).folder
    with pytest.raises(plm.AbsentDataError):
        plm.run(nights.suite, interval=day(50))
    age(nights.home)
    (removal,) = collect_garbage(nights.suite)
    words = f"{removal.path.name}, was removed: these are the results of {kept.name}"
    with pytest.warns(plm.PlmetricsWarning, match=words):
        assert plm.load(nights.home).record["run_id"] == kept.name
    with pytest.warns(plm.PlmetricsWarning, match="was removed"):
        assert plm.load(nights.home / "latest.json").record["run_id"] == kept.name


@pytest.mark.slow
def test_a_run_that_is_named_stays(nights: Nights) -> None:
    first = nights.run(0).folder.name
    nights.write(0, pl.concat([rows(0), rows(1)]))
    nights.run(0)
    nights.write_suite(compare={"run": {"run": first}}, keep=KEEP)
    nights.run(3)
    age(nights.home)
    collect_garbage(nights.suite)
    assert nights.run(4).record["references"]["compare.run"]["run"] == first


def test_what_killed_processes_left_goes_when_it_is_old(nights: Nights) -> None:
    nights.write_suite(keep={"states": "9d"})
    nights.run(0)
    leftovers = [
        nights.home / place / ".0123456789abcdef.tmp" for place in ("", "constants", f"intervals/{day(0)}")
    ]
    for path in leftovers:
        path.write_bytes(b"x")
    collect_garbage(nights.suite)
    assert all(path.exists() for path in leftovers)
    age(nights.home)
    collect_garbage(nights.suite)
    assert not any(path.exists() for path in leftovers)


@pytest.mark.slow
def test_constants_go_with_the_last_state_that_was_made_with_them(nights: Nights) -> None:
    nights.write_suite(keep={"states": "3d"})
    nights.run(0)
    (old,) = (nights.home / "constants").iterdir()
    nights.write_suite(keep={"states": "3d"}, metrics=["brier"], gates=None)
    nights.run(1)
    age(nights.home)
    collect_garbage(nights.suite)
    assert old.exists()
    nights.run(8)
    age(nights.home)
    collect_garbage(nights.suite)
    assert not old.exists()
    assert len(list((nights.home / "constants").iterdir())) == 1


@pytest.mark.slow
@pytest.mark.parametrize("step", ["write_removed_files", "Manifests.change", "_remove"])
def test_a_crash_in_between_is_ended_by_the_next_removal(
    nights: Nights, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights.write_suite(keep=KEEP)
    first = nights.run(0)
    backfill(nights.suite, day(1), day(4))

    def crash(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(f"plmetrics.api.nights.collection.{step}", crash)
        with pytest.raises(KeyboardInterrupt):
            collect_garbage(nights.suite)
    assert nights.run(0).folder == first.folder
    assert plm.load(first.folder).metrics.equals(first.metrics)
    collect_garbage(nights.suite)
    assert files(nights, 0) == {"run.json", "metrics.parquet", "gates.parquet", "removed.json"}
    assert "README.md" in json.loads((first.folder / "removed.json").read_bytes())["files"]


@pytest.mark.slow
def test_a_run_that_took_the_place_meanwhile_is_left_alone(
    nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    from plmetrics.features.nights.manifests import Manifests

    nights.write_suite(keep=KEEP)
    backfill(nights.suite, day(0), day(3))
    change = Manifests.change

    def overtaken(self: Manifests, manifest: Any, **changes: Any) -> Any:
        if manifest.interval == day(0) and manifest.sequence == 1:
            self.commit(manifest)
        return change(self, manifest, **changes)

    monkeypatch.setattr(Manifests, "change", overtaken)
    removals = collect_garbage(nights.suite)
    assert [removal.reason[:10] for removal in removals] == [day(1)]


@pytest.mark.slow
def test_a_retry_keeps_a_verdict_whose_reference_was_removed(nights: Nights) -> None:
    rule = {"metric": "roc_auc", "against": {"run": True}, "at_least": -0.05}
    nights.write_suite(compare={"run": {"window": "2d"}}, gates=[rule], keep={"states": "1d"})
    nights.write(1, bad=True)
    nights.run(0)
    failed = nights.run(1)
    assert failed.verdict == "fail"
    for number in range(2, 7):
        nights.run(number)
    gone = [name for removal in collect_garbage(nights.suite) for name in removal.files]
    assert "interval.state" in gone
    again = nights.run(1)
    assert again.folder == failed.folder
    assert again.verdict == "fail"


@pytest.mark.slow
def test_what_was_removed_is_told_from_what_never_was(nights: Nights) -> None:
    """States and counts for drift that grew older than `keep.states`, beside nights of a suite without them."""
    nights.write_suite()
    nights.run(0)
    nights.write_suite(keep=KEEP, drift={"reference": "previous"})
    backfill(nights.suite, day(1), day(4))
    collect_garbage(nights.suite)
    with pytest.raises(plm.AbsentDataError) as caught:
        plm.merge(nights.home, interval=f"{day(0)}/{day(2)}")
    (problem,) = caught.value.problems
    assert f"{day(0)}: it has no state: its suite did not ask for keep.states" in problem.message
    assert f"{day(1)}: it has no state any more: it was older than keep.states" in problem.message
    assert problem.hint is not None
    assert "--force" in problem.hint
    words = "\n".join(nights.run(2, force=True).warnings)
    assert f"{day(1)} is passed over: it keeps no counts for drift any more" in words
    assert f"{day(0)} is passed over: it keeps no counts for drift: its suite had no section drift" in words


def test_nights_of_what_no_state_holds_are_collected(nights: Nights) -> None:
    plan = {"arm": "region", "control": "n", "outcomes": ["new"], "ranks": False}
    absent: dict[str, Any] = dict.fromkeys(("columns", "models", "metrics", "slices", "gates"))
    nights.write_suite(task="experiment", experiment=plan, **absent)
    first = nights.run(0)
    assert first.folder is not None
    nights.run(0, force=True)
    age(nights.home)
    (removal,) = collect_garbage(nights.suite)
    assert removal.path == first.folder


@pytest.mark.exhaustive
@pytest.mark.parametrize("moment", ["listed", "looked at", "removed"])
def test_two_removals_at_once(nights: Nights, monkeypatch: pytest.MonkeyPatch, moment: str) -> None:
    """The other process takes the folder away: that ended with exit code 1, as a bug, or with 6."""
    old = nights.run(0).folder
    nights.write(0, height=70)
    nights.run(0)
    age(nights.home)
    names = {"listed": "is_old", "looked at": "names_in", "removed": "remove_folder"}
    call = getattr(collection, names[moment])

    def late(path: Path) -> object:
        if path == old:
            shutil.rmtree(old)
        return call(path)

    monkeypatch.setattr(collection, names[moment], late)
    assert len(collect_garbage(nights.suite)) == (moment == "removed")
    assert not old.exists()
    assert nights.run(0).verdict == "pass"


def test_a_link_and_a_file_with_the_name_of_a_run(nights: Nights, tmp_path: Path) -> None:
    """A link to a superseded run on another disk stopped every removal; what it leads to stays."""
    old = nights.run(0).folder
    nights.write(0, height=70)
    nights.run(0)
    shutil.move(old, tmp_path / "elsewhere")
    old.symlink_to(tmp_path / "elsewhere")
    (nights.home / "20250101T000000Z-abcdef").write_text("")
    for path in (old, *nights.home.iterdir()):
        os.utime(path, (1, 1), follow_symlinks=False)
    assert [removal.path for removal in collect_garbage(nights.suite)] == [old]
    assert not old.is_symlink()
    assert (tmp_path / "elsewhere" / "run.json").is_file()
