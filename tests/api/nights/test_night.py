"""Nights that are run again, that failed, and whose earlier results are damaged."""

import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml
from polars.testing import assert_frame_equal
from suites.nights import FILES, Nights, day, nights, rows

import plmetrics as plm
from plmetrics.api.nights.acceptance import accept
from plmetrics.api.result import Result
from plmetrics.core.errors import DataError
from plmetrics.features.nights.manifests import Manifest

__all__ = ["nights"]

WEEK = {"window": "7d"}
REFERENCES: list[dict[str, Any]] = [
    {"compare": {"baseline": "old", "run": "previous"}},
    {"compare": {"baseline": "old", "run": WEEK}},
    {"compare": {"baseline": "old", "run": "previous"}, "drift": {"reference": {"window": "3d"}}},
]


def references(result: Result, key: str = "compare.run") -> list[str]:
    return result.record["references"][key]["intervals"]


def passed_over(result: Result, key: str = "compare.run") -> dict[str, str]:
    entries = result.record["references"][key]["passed_over"]
    return {entry.get("interval", entry["run"]): entry["reason"] for entry in entries}


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("sections", REFERENCES)
@pytest.mark.parametrize("bad", [False, True])
def test_a_retry_has_the_same_verdict_and_counts_nothing_again(
    nights: Nights, sections: dict[str, Any], bad: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    nights.write_suite(**sections)
    nights.write(2, bad=bad)
    for number in range(2):
        nights.run(number)
    first = nights.run(2)
    assert first.verdict == ("fail" if bad else "pass")
    before = nights.runs()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("rows are counted again")

    monkeypatch.setattr("plmetrics.api.nights.night.evaluate_suite", refuse)
    for _ in range(3):
        again = nights.run(2)
        assert (again.verdict, again.folder) == (first.verdict, first.folder)
        for name, table in first.tables.items():
            assert_frame_equal(getattr(again, name, table), table)
    assert nights.runs() == before
    assert not [path for path in nights.home.iterdir() if path.name.endswith(".partial")]


def test_a_report_that_is_asked_for_later_is_written_beside_the_existing_result(nights: Nights) -> None:
    nights.write_suite(**FILES)
    first = nights.run(0)
    nights.write_suite(output={"directory": "runs", "report": True}, **FILES)
    assert nights.run(0).folder == first.folder
    assert (first.folder / "report.html").is_file()


WHERE = {"models": "new", "data": {"path": "scores", "where": "'${VALUE}' = 'new'"}}


@pytest.mark.parametrize("change", [{"models": {"m": "${VALUE}"}}, WHERE])
def test_a_variable_with_another_value_asks_for_another_result(
    nights: Nights, change: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    nights.write_suite(**FILES | change)
    monkeypatch.setenv("VALUE", "new")
    first = nights.run(0)
    assert nights.run(0).folder == first.folder
    monkeypatch.setenv("VALUE", "old")
    if "data" in change:
        assert nights.exit_code(0) == 5
    else:
        assert nights.run(0).metrics["value"].item() != first.metrics["value"].item()


@pytest.mark.slow
def test_force_evaluates_again_and_comes_to_the_same(nights: Nights) -> None:
    from plmetrics.api.nights.backfill import backfill

    nights.write_suite(compare={"run": "previous"})
    outcomes = [backfill(nights.suite, day(0), day(3), force=True) for _ in range(2)]
    assert [outcome.existing for outcome in outcomes[1]] == [False] * 3
    assert [outcome.verdict for outcome in outcomes[0]] == [outcome.verdict for outcome in outcomes[1]]
    assert references(nights.run(2)) == [day(1)]


@pytest.mark.slow
@pytest.mark.parametrize("run", ["previous", WEEK])
def test_a_failed_night_is_no_reference_until_it_is_accepted(nights: Nights, run: object) -> None:
    nights.write_suite(compare={"baseline": "old", "run": run}, drift={"reference": run})
    nights.write(1, bad=True)
    assert [nights.exit_code(number) for number in range(3)] == [0, 3, 0]
    third = nights.run(2)
    for key in ("compare.run", "drift.reference"):
        assert references(third, key) == [day(0)]
        assert passed_over(third, key)[day(1)] == "its gates failed"
    failed = nights.run(1)
    accept(failed.folder, because="labels of that day were late", by="ann")
    assert nights.exit_code(1) == 3  # accepted, and not other than it was
    again = nights.run(2)
    for key in ("compare.run", "drift.reference"):
        assert references(again, key)[-1] == day(1)
    assert again.folder != third.folder


def test_any_takes_failed_nights_as_well(nights: Nights) -> None:
    nights.write_suite(compare={"run": "previous", "reference": "any"})
    nights.write(1, bad=True)
    for number in range(2):
        nights.run(number)
    assert references(nights.run(2)) == [day(1)]


@pytest.mark.slow
def test_references_are_looked_up_by_interval_whenever_they_were_evaluated(nights: Nights) -> None:
    nights.write_suite(compare={"run": "previous"})
    for number in (3, 0, 2):
        nights.run(number)
    assert references(nights.run(3)) == [day(2)]  # written since: it is compared anew
    assert references(nights.run(1)) == [day(0)]
    assert references(nights.run(4)) == [day(3)]


@pytest.fixture(scope="module")
def other_nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all nights but night 7."""
    growing = Nights(tmp_path_factory.mktemp("others"))
    growing.write_suite(keep={"states": "400d"})
    for number in range(10):
        growing.write(number)
        if number != 7:
            growing.run(number)
    return growing.folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ("previous", [6]),
        ({"ago": "7d"}, [0]),
        ({"ago": "2d"}, [5]),
        ({"window": "3d"}, [4, 5, 6]),
        ({"window": "28d"}, list(range(7))),
        ({"same_weekday": 4}, [0]),
    ],
)
def test_references_never_overlap_the_interval_and_name_theirs(
    other_nights: Path, run: object, expected: list[int], tmp_path: Path
) -> None:
    nights = Nights(tmp_path / "nights")
    shutil.copytree(other_nights, nights.folder)
    nights.write_suite(keep={"states": "400d"}, compare={"run": run})
    assert references(nights.run(7)) == [day(number) for number in expected]


@pytest.mark.slow
def test_a_copied_or_renamed_folder_is_no_reference(nights: Nights) -> None:
    nights.write_suite(compare={"run": "previous"})
    first, second = nights.run(0).folder, nights.run(1).folder
    assert first is not None
    assert second is not None
    shutil.copytree(first, first.with_name("20990101T000000Z-ffffff"))
    shutil.copytree(second, second.with_name("backup"))
    assert references(nights.run(2)) == [day(1)]
    second.rename(second.with_name("renamed"))
    third = nights.run(2)
    assert references(third) == [day(0)]
    assert passed_over(third) == {day(1): f"{second.name}/README.md is absent"}
    # Another run's folder under its name is not that run either.
    shutil.copytree(first, second)
    assert references(nights.run(3)) == [day(2)]
    nights.write(2, bad=True)
    nights.run(2)
    assert references(nights.run(3)) == [day(0)]


def damage(path: Path, way: str) -> None:
    content = path.read_bytes()
    if way == "absent":
        path.unlink()
    elif way == "cut":
        path.write_bytes(content[: len(content) // 2])
    else:
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 8]) + content[middle + 1 :])


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Any], Path]:
    """The folder of two nights by what they refer to."""

    @cache
    def folder(reference: str) -> Path:
        growing = Nights(tmp_path_factory.mktemp("earlier"))
        read = json.loads(reference)
        sections = {"compare": {"run": read}, "drift": {"reference": read}, "keep": {"states": "9d"}}
        gates = [{"metric": "brier", "at_most": 0.9}]
        few = {"models": ["old"], "gates": gates, "uncertainty": {"replicates": 10}}
        growing.write_suite(**{**FILES, **sections, **few})
        for number in range(3):
            growing.write(number)
        for number in range(2):
            growing.run(number)
        return growing.folder

    return lambda reference: folder(json.dumps(reference))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reference", "name", "way"),
    [("previous", "run.json", "absent"), ("previous", "run.json", "a bit"), ("previous", "metrics.parquet", "a bit"),
     ("previous", "gates.parquet", "cut"), ("previous", "interval.state", "absent"),
     ("previous", "drift.state", "a bit"), (WEEK, "run.json", "absent"), (WEEK, "metrics.parquet", "a bit"),
     (WEEK, "interval.state", "a bit"), (WEEK, "drift.state", "a bit")],
)  # fmt: skip
def test_a_damaged_result_is_passed_over_with_a_word(
    earlier: Callable[[Any], Path], name: str, way: str, reference: object, tmp_path: Path
) -> None:
    nights = Nights(tmp_path / "nights")
    shutil.copytree(earlier(reference), nights.folder)
    folder = nights.run(1).folder
    assert folder is not None
    assert len(nights.runs()) == 2  # what is copied is not evaluated again
    damage(folder / name, way)
    result = nights.run(2)
    assert result.verdict == "pass"
    if name == "metrics.parquet" and reference != "previous":
        assert references(result) == [day(0), day(1)]  # no table is read
    else:
        assert references(result) == [day(0)]
        assert any(day(1) in warning and name in warning for warning in result.warnings), result.warnings
    assert nights.run(1).folder != folder
    assert references(nights.run(2)) == ([day(1)] if reference == "previous" else [day(0), day(1)])


@pytest.mark.slow
def test_a_corrupt_old_file_does_not_block_other_nights(nights: Nights) -> None:
    nights.write_suite(
        compare={"run": {"window": "7d"}},
        interval={"partition": "day", "lookback": "3d"},
        keep={"states": "9d"},
    )
    for number in range(3):
        nights.run(number)
    nights.partition(1).write_bytes(nights.partition(1).read_bytes()[:100])
    assert nights.exit_code(1) == 4
    result = nights.run(3)
    assert result.verdict == "pass"
    assert references(result) == [day(0), day(1), day(2)]
    assert any(day(1) in warning and "truncated" in warning for warning in result.warnings), result.warnings


def test_a_result_that_is_shown_after_a_failed_try_is_the_latest_again_and_told(nights: Nights) -> None:
    """Else the next error would be none after an error, and nobody would hear of it."""
    nights.write_suite(**FILES, notify=[{"command": ["sh", "-c", "cat >> told; echo >> told"]}])

    def told() -> list[tuple[str, str]]:
        messages = map(json.loads, (nights.folder / "told").read_text().splitlines())
        return [(message["interval"], message["verdict"]) for message in messages]

    first, away = nights.run(0).folder, nights.partition(0).parent.rename(nights.folder / "away")
    latest = nights.home / "latest.json"
    before = latest.read_bytes()
    assert [nights.exit_code(0), nights.exit_code(0)] == [5, 5]
    assert json.loads(latest.read_bytes())["status"] == "failed"
    away.rename(nights.partition(0).parent)
    assert [nights.run(0).folder, nights.run(0).folder] == [first, first]
    assert latest.read_bytes() == before
    expected = [(day(0), "error"), (day(0), "none")]
    assert told() == expected
    assert nights.exit_code(20) == 5
    assert nights.run(0).folder == first
    assert json.loads(latest.read_bytes())["status"] == "failed"  # that of another night
    assert told() == [*expected, (day(20), "error")]


@pytest.mark.exhaustive
@pytest.mark.parametrize("on", ["change", "fail", "always"])
def test_a_message_that_did_not_arrive_is_sent_again_by_a_retry(nights: Nights, on: str) -> None:
    """Of a night that failed each retry is its result, and nobody would hear of it; what arrived is not sent twice."""
    there = {"command": ["sh", "-c", "cat >> there; echo >> there"], "on": on}
    away = {"command": ["sh", "-c", "test -e door && cat >> told && echo >> told"], "on": on}
    nights.write_suite(metrics=["roc_auc"], notify=[there, away])
    nights.write(0, bad=True)
    folder = nights.run(0).folder
    words = "notification 2 (command) is not delivered"
    assert any(word.startswith(words) for word in nights.run(0).warnings[-2:])
    (nights.folder / "door").touch()
    assert "notification 2 is delivered now" in nights.run(0).warnings
    last = nights.run(0)
    assert last.folder == folder
    assert "notification 2 is delivered now" not in last.warnings
    for name in ("there", "told"):
        (message,) = map(json.loads, (nights.folder / name).read_text().splitlines())
        assert (message["interval"], message["exit_code"]) == (day(0), 3)
    assert nights.manifests.damage(nights.current(0), thorough=True) is None
    nights.run(1)
    told = (nights.folder / "told").read_text().splitlines()
    assert [json.loads(message)["interval"] for message in told] == [day(0)] + [day(1)] * (on != "fail")


@pytest.mark.slow
def test_consecutive_counts_intervals_and_not_runs(nights: Nights) -> None:
    gate = {"metric": "roc_auc", "model": "new", "at_least": 0.75, "consecutive": 3}
    nights.write_suite(gates=[gate])
    for number in (1, 2, 3):
        nights.write(number, bad=True)
    from plmetrics.api.nights.backfill import backfill

    verdicts = []
    for number in range(4):
        outcomes = [backfill(nights.suite, day(number), day(number + 1), force=True)[0] for _ in range(3)]
        assert len({outcome.verdict for outcome in outcomes}) == 1
        verdicts.append(outcomes[0].verdict)
    assert verdicts[0] == "pass"
    assert verdicts[3] == "fail"
    assert "fail" not in verdicts[1:3]
    nights.write(2)  # mended: then there are no three in a row
    nights.run(2)
    assert nights.run(3).verdict != "fail"


def test_failures_in_a_row_are_counted_on_where_a_limit_changes(nights: Nights) -> None:
    """A gate without a name is called by its rule: the night before is judged by the limit of today all the same."""
    gate = {"metric": "roc_auc", "model": "new", "at_least": 0.75, "consecutive": 2}
    lenient = {**gate, "at_least": 0.05}
    for number in (1, 2):
        nights.write(number, bad=True)
    nights.write_suite(gates=[gate, lenient])
    assert [nights.run(number).verdict for number in (0, 1)] == ["pass", "inconclusive"]
    nights.write_suite(gates=[{**gate, "at_least": 0.74}, lenient])
    result = nights.run(2)
    assert result.gates["verdict"].to_list() == ["fail", "pass"]
    assert result.gates["note"][0] == "failed 2 of 2 runs in a row"


def test_failures_in_a_row_are_counted_on_where_their_number_changes(nights: Nights) -> None:
    gate = {"metric": "roc_auc", "model": "new", "at_least": 0.75}
    for number in (1, 2):
        nights.write(number, bad=True)
    nights.write_suite(gates=[{**gate, "consecutive": 3}])
    assert [nights.run(number).verdict for number in (0, 1)] == ["pass", "inconclusive"]
    nights.write_suite(gates=[{**gate, "consecutive": 2}])
    assert nights.run(2).gates["note"].to_list() == ["failed 2 of 2 runs in a row"]


def test_failures_of_another_limit_do_not_count_where_a_gate_has_some_of_its_name(nights: Nights) -> None:
    """The night before had too few rows for one of two gates: it did not fail, whatever became of the other one."""
    strict = {"metric": "roc_auc", "model": "new", "at_least": 0.75, "consecutive": 2, "min_rows": 60}
    lenient = {**strict, "at_least": 0.7, "min_rows": 10}
    nights.write_suite(gates=[strict, lenient])
    nights.write(0, rows(1, 30, bad=True))
    nights.write(1, bad=True)
    nights.run(0)
    result = nights.run(1)
    assert result.gates["note"].to_list() == [
        "failed 1 of 2 runs in a row (the run before did not decide it)",
        "failed 2 of 2 runs in a row",
    ]


def test_changed_rows_are_evaluated_again_and_the_old_run_is_superseded(nights: Nights) -> None:
    first = nights.run(0)
    nights.write(0, pl.concat([rows(0), rows(50)]))
    second = nights.run(0)
    assert second.record["rows"]["read"] == 2 * first.record["rows"]["read"]
    runs = [manifest.run for manifest in nights.manifests.latest_first(day(0))]
    assert runs == [second.folder.name, first.folder.name]


@pytest.mark.slow
def test_late_rows_are_evaluated_as_far_as_the_suite_looks_back(nights: Nights) -> None:
    nights.write_suite(interval={"partition": "day", "lookback": "2d"}, compare={"run": "previous"})
    for number in range(4):
        nights.run(number)
    old = [nights.current(number) for number in range(4)]
    for number in (0, 2):
        nights.write(number, pl.concat([rows(number), rows(50 + number)]))
    result = nights.run(4)
    assert any(
        f"{day(2)} was evaluated again, since its files changed (60 rows then, 120 now)" in word
        for word in result.warnings
    )
    new = [nights.current(number) for number in range(4)]
    assert new[:2] == old[:2]  # day 0 is out of reach, day 1 as it was
    assert new[2] != old[2]
    assert new[3] != old[3]  # compared with day 2


@pytest.mark.slow
@pytest.mark.parametrize("compare", [False, True])
def test_late_rows_do_not_bring_another_suite_to_nights_that_were_not_compared_with_them(
    nights: Nights, *, compare: bool
) -> None:
    """Night 1 has late rows: night 2 was compared with night 1 or with none, and night 0 with neither."""
    asked: dict[str, Any] = {"interval": {"partition": "day", "lookback": "3d"}}
    if compare:
        asked["compare"] = {"run": "previous"}
    nights.write_suite(**asked)
    for number in range(3):
        nights.run(number)
    old = [nights.current(number) for number in range(3)]
    nights.write_suite(**asked, metrics=["roc_auc", "log_loss"])
    nights.write(1, pl.concat([rows(1), rows(51)]))
    nights.run(3)
    new = [nights.current(number) for number in range(3)]
    assert [before == after for before, after in zip(old, new, strict=True)] == [True, False, not compare]


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes", [{"compare": {"run": {"run": "RUN"}}}, {"drift": {"reference": {"run": "RUN"}}}], ids=list
)
def test_a_run_that_is_named_and_cannot_be_the_reference_is_an_error(
    nights: Nights, changes: dict[str, Any]
) -> None:
    """Gates on it would never be judged, with exit code 0; of its own interval it is no reference yet."""
    absent, suite = "20260301T000000Z-abcdef", str(changes)
    nights.write_suite(**yaml.safe_load(suite.replace("RUN", absent)))
    with pytest.raises(
        DataError, match=f"the run {absent} cannot be the reference: no interval has such a run"
    ):
        nights.run(1)
    nights.write_suite(drift={"reference": "previous"})
    named = nights.run(0).folder
    assert named is not None
    nights.write_suite(**yaml.safe_load(suite.replace("RUN", named.name)))
    (words,) = (word for word in nights.run(0, force=True).warnings if "no earlier run" in word)
    assert words.endswith("(it overlaps this interval)")
    named = nights.home / nights.current(0).run
    nights.write_suite(**yaml.safe_load(suite.replace("RUN", named.name)))
    (entry,) = nights.run(1).record["references"].values()
    assert entry["intervals"] == [day(0)]
    (named / "run.json").unlink()
    assert nights.exit_code(2) == 4


def test_an_earlier_night_whose_rows_no_longer_fit_the_suite_keeps_its_result(nights: Nights) -> None:
    """Too many slices are an error of a suite in that night alone: this one is evaluated all the same."""
    nights.write_suite(interval={"partition": "day", "lookback": "2d"}, max_slices=3)
    old = nights.run(0).folder
    nights.write(0, rows(0).with_columns(region=pl.int_range(60).cast(pl.String)))
    result = nights.run(1)
    assert result.verdict == "pass"
    assert f"{day(0)} could not be evaluated again, its result stays" in " ".join(result.warnings)
    manifest = nights.current(0)
    assert old is not None
    assert manifest is not None
    assert manifest.run == old.name


def test_a_change_of_words_evaluates_nothing_again_and_one_of_sense_does(nights: Nights) -> None:
    first = nights.run(0)
    nights.suite.write_text("# as ever\n" + nights.suite.read_text())
    assert nights.run(0).folder == first.folder
    nights.write_suite(metrics=["roc_auc", "brier", "log_loss"])
    assert nights.run(0).folder != first.folder


def test_an_interval_of_another_time_zone_is_another_one(nights: Nights) -> None:
    nights.write_suite(compare={"run": "previous"})
    first = nights.run(0)
    nights.write_suite(compare={"run": "previous"}, interval={"partition": "day", "timezone": "Europe/Paris"})
    assert nights.run(1).record["references"]["compare.run"]["run"] is None
    assert nights.run(0).folder != first.folder


def test_an_interval_without_rows_is_absent_and_not_wrong(nights: Nights) -> None:
    assert nights.exit_code(20) == 5
    with pytest.raises(plm.DataError):
        nights.run(20)
    assert nights.current(20) is None


@pytest.mark.slow
def test_a_column_of_one_growing_file(nights: Nights) -> None:
    nights.write_suite(data={"path": "log.parquet"}, interval={"column": "at"}, compare={"run": "previous"})
    days = [rows(number).with_columns(at=pl.lit(day(number)).str.to_datetime()) for number in range(3)]
    for number in range(3):
        pl.concat(days[: number + 1]).write_parquet(nights.folder / "log.parquet")
        result = nights.run(number)
        assert result.record["rows"]["read"] == 60
        alone = plm.evaluate(days[number], label="y", models=["old", "new"], metrics=["roc_auc", "brier", "accuracy"],
                             slices={"region": "region"}, uncertainty=False)  # fmt: skip
        assert_frame_equal(result.metrics.select(alone.metrics.columns), alone.metrics)
    assert references(nights.run(2)) == [day(1)]
    assert json.loads((nights.home / "latest.json").read_bytes())["status"] == "complete"


@pytest.mark.slow
@pytest.mark.parametrize("queried", [False, True])
def test_texts_of_a_file_or_query_are_times_where_such_a_column_is_derived(
    nights: Nights, queried: bool
) -> None:
    """A csv file, as SQLite, has no type for times."""
    days = [rows(number).with_columns(at=pl.lit(f"{day(number)} 23:30")) for number in range(3)]
    table = pl.concat([*days, days[0].head(1).with_columns(at=pl.lit("?"), region=pl.lit("n"))])
    data: dict[str, Any] = {"path": "log.csv", "where": "region = 'n'"}
    if queried:
        data = {"database": "sqlite:///log.db", "query": "SELECT * FROM log", "where": "region = 'n'"}
        with sqlite3.connect(nights.folder / "log.db") as connection:
            connection.execute("CREATE TABLE log (y, old, new, region, at)")
            connection.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?)", table.rows())
    else:
        table.write_csv(nights.folder / "log.csv")
    asked: dict[str, Any] = {**FILES, "data": data, "compare": {"run": "previous"}}
    nights.write_suite(**asked, interval={"column": "at"})
    assert nights.exit_code(0) == 4
    nights.write_suite(**asked, interval={"column": "time"}, derive={"time": "TRY_CAST(at AS TIMESTAMP)"})
    for number in range(3):
        result = nights.run(number)
        expected = plm.evaluate(
            days[number].filter(region="n"), label="y", models=["old", "new"], metrics=["brier"]
        )
        assert_frame_equal(result.metrics.select(expected.metrics.columns), expected.metrics)
        assert "1 row has no time in column 'time': of no interval, in no result" in result.warnings
    assert references(nights.run(2)) == [day(1)]
    nights.write_suite(**asked, interval={"column": "time"}, derive={"time": "CAST(at AS TIMESTAMP)"})
    with pytest.raises(plm.DataError, match=r"column 'at': a CAST to a time fails for \"\?\""):
        nights.run(2)


@pytest.mark.slow
@pytest.mark.parametrize("sections", [*REFERENCES, {"compare": {"run": {"same_weekday": 2}}}])
def test_a_long_history_is_not_read(
    nights: Nights, sections: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A night reads as many manifests after a hundred earlier results as after ten."""
    gate = {"metric": "brier", "at_most": 0.9, "consecutive": 2}
    nights.write_suite(**{**FILES, **sections, "keep": {"states": "99d"}, "gates": [gate]})
    for number in range(9):
        nights.run(number)
    first = nights.current(0)
    counts = []
    read = Manifest.read

    def count(content: bytes, sequence: int) -> Manifest | None:
        counts[-1] += 1
        return read(content, sequence)

    monkeypatch.setattr(Manifest, "read", count)
    for earlier in (range(-10, 0), range(-100, -10)):
        for number in earlier:
            start, end = (f"{day(number + shift)}T00:00:00+00:00" for shift in (0, 1))
            nights.manifests.commit(replace(first, interval=day(number), start=start, end=end, sequence=0))
        counts.append(0)
        nights.write(8, rows(8, height=60 + len(counts)))
        nights.run(8)
    assert counts[0] == counts[1] < 40


@pytest.mark.parametrize(
    ("window", "reason"), [("3d", "2 of 3 intervals have"), ("2d", "1 of 2 intervals has")]
)
def test_intervals_without_a_result_are_counted(nights: Nights, window: str, reason: str) -> None:
    nights.write_suite(compare={"run": {"window": window}})
    nights.run(2)
    assert list(passed_over(nights.run(3)).values()) == [f"{reason} no result"]
