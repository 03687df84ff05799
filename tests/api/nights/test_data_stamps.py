"""Which nights count as done: by their rows, their files and what they were compared with."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from scipy.stats import ks_2samp
from suites.nights import FILES, Nights, day, nights, rows

import plmetrics as plm
from plmetrics.api.nights.acceptance import accept
from plmetrics.api.nights.backfill import backfill
from plmetrics.runs.reading import StoredRun

__all__ = ["nights"]


def log(growing: Nights, last: int, path: str = "log.parquet", extra: int = 0) -> None:
    """Write one table of all days up to the last one, with further rows of day 1."""
    parts = [
        rows(number).with_columns(at=pl.lit(day(number)).str.to_datetime()) for number in range(last + 1)
    ]
    late = rows(7, height=extra).with_columns(at=pl.lit(day(1)).str.to_datetime())
    pl.concat([late, *parts[::-1]]).write_parquet(growing.folder / path)


def evaluated(outcomes: list[Any]) -> list[str]:
    return [outcome.interval for outcome in outcomes if not outcome.existing]


FIRST = f"at < TIMESTAMP '{day(1)} 00:00:00'"
OTHER_ROWS: list[dict[str, Any]] = [
    {"calibrate": {"method": "platt", "fit_on": FIRST}, "metrics": ["log_loss"]},
    {"metrics": [{"metric": "recall(threshold=max(f1))", "select_on": FIRST}]},
]


@pytest.mark.parametrize("change", OTHER_ROWS)
def test_a_night_is_evaluated_again_where_rows_changed_that_it_is_fitted_on(
    nights: Nights, change: dict[str, Any]
) -> None:
    nights.write_suite(
        interval={"column": "at"},
        data={"path": "log.parquet"},
        models="new",
        gates=None,
        slices=None,
        **change,
    )
    log(nights, 2)
    first = nights.run(2)
    assert nights.run(2).folder == first.folder
    table = pl.read_parquet(nights.folder / "log.parquet")
    squared = pl.when(pl.col("at") == pl.col("at").min()).then(pl.col("new") ** 2).otherwise("new")
    table.with_columns(squared.alias("new")).write_parquet(nights.folder / "log.parquet")
    again = nights.run(2).metrics["value"].to_list()
    assert again != first.metrics["value"].to_list()
    assert again == nights.run(2, force=True).metrics["value"].to_list()


def test_a_night_is_evaluated_again_where_the_state_of_its_reference_changed(nights: Nights) -> None:
    state = nights.folder / "before.state"
    suite = {"label": "y", "models": "new", "metrics": ["brier"]}
    nights.write_suite(models="new", drift={"state": str(state)}, **FILES)
    means = []
    for number in (0, 1, 1):
        plm.state(rows(number), state, drift={"reference": rows(9)}, **suite)
        means.append(nights.run(2).drift["value"].to_list())
    assert means[0] != means[1] == means[2]
    assert len(nights.runs()) == 2


def test_a_night_by_another_column_is_another_night(nights: Nights) -> None:
    log(nights, 2)
    table = pl.read_parquet(nights.folder / "log.parquet").with_columns(later=pl.col("at").dt.offset_by("1d"))
    table.write_parquet(nights.folder / "log.parquet")
    values = []
    for column in ("at", "later"):
        changes = {"interval": {"column": column}, "drift": {"where": FIRST}, **FILES}
        nights.write_suite(data={"path": "log.parquet"}, **changes)
        values.append(nights.run(2).metrics["value"][0])
    assert values[0] != values[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sections",
    [
        {"gates": [{"metric": "roc_auc", "at_least": 0.75, "consecutive": 2}]},
        {"gates": [{"metric": "roc_auc", "within": {"sd": 9, "last": 3, "min_intervals": 3}}]},
        {"compare": {"run": {"window": "7d"}}, "drift": {"reference": "previous"}},
    ],
)
def test_a_night_that_is_done_reads_none_of_its_references(
    nights: Nights, sections: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    nights.write_suite(**{"metrics": ["roc_auc"], "slices": None, **sections})
    backfill(nights.suite, day(0), day(5))
    earlier = {nights.current(number).run for number in range(4)}
    table = StoredRun.table

    def refuse_earlier(run: StoredRun, name: str) -> pl.DataFrame:
        assert run.run_id not in earlier
        return table(run, name)

    with monkeypatch.context() as patch:
        patch.setattr(StoredRun, "table", refuse_earlier)
        patch.setattr("plmetrics.features.nights.states.alike_states", lambda _: refuse_earlier)
        assert not evaluated(backfill(nights.suite, day(4), day(5)))
    for changes in ({"at": 3, "bad": True}, {"at": 1, "height": 70}):
        nights.write(changes.pop("at"), **changes)
        again = evaluated(backfill(nights.suite, day(0), day(5)))
        assert day(4) in again
        assert not evaluated(backfill(nights.suite, day(0), day(5)))


@pytest.mark.slow
def test_a_reference_whose_files_are_gone_is_passed_over_and_taken_again(nights: Nights) -> None:
    nights.write_suite(compare={"run": "previous"})
    backfill(nights.suite, day(0), day(3))
    folder = nights.home / nights.current(1).run
    folder.rename(folder.with_name("away"))
    for expected in (day(0), day(1)):
        for _ in range(2):
            assert nights.run(2).record["references"]["compare.run"]["intervals"] == [expected]
        if expected == day(0):
            folder.with_name("away").rename(folder)


@pytest.mark.slow
def test_nights_of_a_column_are_done_as_long_as_their_own_rows_are_the_same(nights: Nights) -> None:
    nights.write_suite(data={"path": "log*.parquet"}, interval={"column": "at", "lookback": "3d"})
    log(nights, 0)
    nights.run(0)
    for number in (1, 2, 3):
        log(nights, number)
        runs = nights.runs()
        result = nights.run(number)
        assert len(nights.runs() - runs) == 1
        assert not [words for words in result.warnings if "evaluated again" in words]
    log(nights, 4, extra=5)
    result = nights.run(4)
    (words,) = [words for words in result.warnings if "evaluated again" in words]
    assert words.startswith(f"{day(1)} was evaluated again, since its files changed (60 rows then, 65 now)")
    assert nights.current(0).rows == 60
    (nights.folder / "log.parquet").rename(nights.folder / "log-2.parquet")
    assert not evaluated(backfill(nights.suite, day(1), day(5)))


def corrected(path: Path, again: bool = False) -> None:
    """Exchange two labels in the middle of a file, whose size and ends stay, or only write it again."""
    content = path.read_bytes()
    first, last = content.index(b"\n1,", len(content) // 2), content.index(b"\n0,", len(content) // 2)
    changed = bytearray(content)
    changed[first + 1], changed[last + 1] = changed[last + 1], changed[first + 1]
    path.write_bytes(content if again else changed)
    then = path.stat().st_mtime + 60
    os.utime(path, (then, then))


def test_a_correction_in_the_middle_of_a_file_is_seen(nights: Nights) -> None:
    nights.write_suite(interval={"partition": "day", "lookback": "3d"}, metrics=["roc_auc"])
    for number in range(2):
        nights.remove(number)
        nights.partition(number).parent.mkdir()
        (bad := rows(number, 6_000, bad=number == 0)).write_csv(
            path := nights.partition(number).with_suffix(".csv")
        )
        assert bad.height, path
    first = nights.run(0)
    assert first.verdict == "fail"
    accept(first.folder, because="so it is", by="ann")
    path = nights.partition(0).with_suffix(".csv")
    corrected(path, again=True)
    again = nights.run(0)
    assert (again.folder, nights.current(0).accepted.by) != (first.folder, None)
    assert nights.run(0).folder == again.folder
    corrected(path)
    result = nights.run(1)
    assert any(words.startswith(f"{day(0)} was evaluated again") for words in result.warnings)
    assert nights.current(0).accepted is None
    assert nights.run(0).metrics["value"].to_list() != first.metrics["value"].to_list()


@pytest.mark.slow
@pytest.mark.parametrize("where", [None, "region <> 'x'"])
def test_a_table_to_compare_with_is_taken_whole_and_noticed_when_it_changes(
    nights: Nights, where: str | None
) -> None:
    """Its rows are of no interval, or of all."""
    others = [rows(8).with_columns(day=pl.lit(day(5))), rows(9, height=80).with_columns(day=pl.lit(day(6)))]
    place = nights.folder / "reference.parquet"
    data = {"path": "scores"} if where is None else {"path": "scores", "where": where}
    nights.write_suite(data=data, drift={"reference": "reference.parquet", "measures": "ks_2samp"})
    for other in others:
        other.write_parquet(place)
        result = nights.run(0)
        expected = [ks_2samp(rows(0)[name], other[name]).statistic for name in ("old", "new")]
        table = result.tables["drift"].filter(slice_set="overall", measure="ks_2samp")
        values = [table.filter(column=name)["value"].item() for name in ("old", "new")]
        assert values == pytest.approx(expected)
        assert nights.run(0).folder == result.folder
        assert "where" not in json.loads((result.folder / "run.json").read_text())["suite"]["drift"]
    assert len(nights.runs()) == 2


@pytest.mark.parametrize("where", ["nope > 3", "region > 3"])
def test_a_condition_that_cannot_hold_is_an_error_with_its_place(nights: Nights, where: str) -> None:
    nights.write_suite(data={"path": "log.parquet", "where": where}, interval={"column": "at"})
    log(nights, 1)
    with pytest.raises(plm.PlmetricsError, match=r"nightly.yaml:\d+:\d+"):
        nights.run(0)


def test_a_file_in_place_of_the_intervals_is_said(nights: Nights) -> None:
    nights.run(0)
    shutil.rmtree(nights.home / "intervals")
    (nights.home / "intervals").write_text("")
    for sections in ({}, {"compare": {"run": "previous"}}):
        nights.write_suite(**sections)
        assert nights.exit_code(1) == 6
