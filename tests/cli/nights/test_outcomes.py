"""What nights and backfills end with: exit codes, what they say, and what is left of a failed one."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from suites.nights import day, nights, rows

import plmetrics as plm

if TYPE_CHECKING:
    from pathlib import Path

    from suites.nights import Nights

    Invoke = Callable[..., Any]

__all__ = ["nights"]

WARNING = {"metric": "brier", "at_most": 0.0001, "level": "warn"}


def span(nights: Nights, first: int, end: int) -> tuple[str, ...]:
    return (str(nights.suite), "--from", day(first), "--to", day(end))


def test_a_backfill_fails_on_what_is_asked(nights: Nights, invoke: Invoke) -> None:
    nights.write_suite(gates=[WARNING])
    assert invoke("backfill", *span(nights, 0, 1)).code == 0
    failed = invoke("backfill", *span(nights, 0, 2), "--fail-on", "warn", "--format", "json")
    content = json.loads(failed.out)
    assert (failed.code, content["exit_code"]) == (3, 3)
    assert [(night["verdict"], night["exit_code"]) for night in content["intervals"]] == [("pass", 3)] * 2
    assert (
        "(was there) exit code 3: failed checks of level warn: 2"
        in invoke("backfill", *span(nights, 0, 2), "--fail-on", "warn").out
    )
    assert json.loads((nights.home / "latest.json").read_text())["exit_code"] == 3
    assert invoke("backfill", *span(nights, 0, 1), "--fail-on", "fail").code == 2


def test_a_backfill_skips_what_is_not_there(nights: Nights, invoke: Invoke) -> None:
    assert invoke("backfill", *span(nights, 9, 12)).code == 5
    assert invoke("backfill", *span(nights, 9, 12), "--skip-if-empty").code == 0
    assert invoke("backfill", *span(nights, 10, 12), "--skip-if-empty").code == 99


@pytest.mark.slow
def test_an_accepted_night_is_no_failure_of_a_backfill(nights: Nights, invoke: Invoke) -> None:
    nights.write(1, bad=True)
    assert invoke("backfill", *span(nights, 0, 3)).code == 3
    run = nights.current(1)
    assert run is not None
    assert invoke("accept", str(nights.home / run.run), "--because", "labels were late").code == 0
    again = invoke("backfill", *span(nights, 0, 3))
    assert again.code == 0
    assert f"{day(1)}  fail          {run.run} (accepted)" in again.out
    alone = invoke("run", str(nights.suite), "--interval", day(1))
    assert alone.code == 3
    assert "accepted it because 'labels were late'" in alone.err
    assert invoke("backfill", *span(nights, 0, 3), "--force").code == 3


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--interval", "tomorrow"), "interval: 'tomorrow' is not the start of an interval of 1d"),
        (("run", "--interval", day(0), "--next"), "--next and --interval exclude each other"),
        (("run", "--next", "--on", "inline"), "--next and --on exclude each other"),
        (("run",), "which interval is to be evaluated?"),
        (("backfill", "--from", day(0), "--to", "2026-3-9"), "to: '2026-3-9' is not the start"),
    ],
)
def test_what_is_wrong_with_the_call_is_not_wrong_with_the_suite(
    nights: Nights, invoke: Invoke, arguments: tuple[str, ...], words: str
) -> None:
    outcome = invoke(arguments[0], str(nights.suite), *arguments[1:])
    assert outcome.code == 2
    assert outcome.err.startswith("error: the command line is not valid\n")
    assert words in outcome.err


@pytest.mark.parametrize("option", [("--interval", day(0)), ("--force",)])
def test_a_runner_counts_no_interval_of_a_suite_without_any(
    nights: Nights, invoke: Invoke, option: tuple[str, ...]
) -> None:
    nights.write_suite(interval=None)
    outcome = invoke("run", str(nights.suite), "--on", "inline", *option)
    assert outcome.code == 2
    assert "nightly.yaml has no intervals" in outcome.err


def test_the_next_night_is_forced(nights: Nights, invoke: Invoke) -> None:
    nights.write(0, bad=True)
    folders = [
        json.loads(invoke("run", str(nights.suite), "--next", "--format", "json", *more).out)["folder"]
        for more in ((), (), ("--force",))
    ]
    assert folders[0] == folders[1] != folders[2]


def test_a_failed_night_tells_of_its_interval(nights: Nights, invoke: Invoke) -> None:
    nights.write_suite(output={"directory": "runs", "also": ["openlineage"]})
    nights.partition(0).write_bytes(b"PAR1 no table PAR1")
    outcome = invoke("run", str(nights.suite), "--interval", day(0), "--format", "json")
    assert outcome.code == 4
    folder = nights.home / json.loads((nights.home / "latest.json").read_text())["folder"]
    assert json.loads((folder / "run.json").read_text())["interval"]["key"] == day(0)
    events = [json.loads(line) for line in (folder / "openlineage.ndjson").read_text().splitlines()]
    assert [event["eventType"] for event in events] == ["START", "FAIL"]
    for event in events:
        time = event["run"]["facets"]["nominalTime"]
        assert time["nominalStartTime"] == f"{day(0)}T00:00:00.000Z"
        assert time["nominalEndTime"] == f"{day(1)}T00:00:00.000Z"
    assert nights.current(0) is None


def test_rows_without_a_time_are_counted(nights: Nights) -> None:
    nights.write_suite(
        data={"path": "log.parquet", "where": "region = 'n' OR y >= 0"}, interval={"column": "at"}
    )
    table = rows(0).with_columns(at=pl.lit(day(0)).str.to_datetime())
    table.write_parquet(nights.folder / "log.parquet")
    assert not [words for words in nights.run(0).warnings if "no time" in words]
    lost = rows(1).head(7).with_columns(at=pl.lit(None, pl.Datetime("us")))
    lost = lost.with_columns(
        y=pl.when(pl.int_range(pl.len()) < 2).then(-1).otherwise("y"), region=pl.lit("s")
    )
    pl.concat([table, lost]).write_parquet(nights.folder / "log.parquet")
    result = nights.run(0, force=True)  # the rows of the interval are the same
    assert "5 rows have no time in column 'at': of no interval, in no result" in result.warnings
    assert result.record["rows"]["read"] == 60


def test_files_in_folders_without_a_date_are_counted(nights: Nights) -> None:
    """They are those that Spark names so, and others; a condition that leaves them out knows of them."""
    nights.write_suite()
    nights.write(0)
    assert not [words for words in nights.run(0).warnings if "without a date" in words]
    for name in ("__HIVE_DEFAULT_PARTITION__", "unknown"):
        shutil.copytree(nights.partition(0).parent, nights.folder / "scores" / f"day={name}")
    warnings = nights.run(0, force=True).warnings
    assert "2 files lie in a folder day=... without a date: of no interval, in no result" in warnings
    nights.write_suite(data={"path": "scores", "where": "day <> 'unknown'"})
    result = nights.run(0, force=True)
    assert not [words for words in result.warnings if "without a date" in words]
    assert result.record["rows"]["read"] == 60


def damaged_constants(nights: Nights) -> Path:
    (file,) = (nights.home / "constants").iterdir()
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    return file


@pytest.mark.slow
def test_damaged_constants_are_those_of_an_earlier_night(nights: Nights) -> None:
    nights.write_suite(keep={"states": "99d"}, slices={"age": {"column": "old", "quantiles": 3}})
    for number in range(2):
        nights.run(number)
    file = damaged_constants(nights)
    nights.run(2)
    together = plm.merge(nights.home, interval=f"{day(0)}/{day(3)}")
    assert together.record["rows"]["read"] == 180
    assert plm.merge(file).record["rows"]["read"] == 60


@pytest.mark.slow
def test_damaged_constants_that_no_night_has_are_made_again(nights: Nights) -> None:
    nights.write_suite(keep={"states": "99d"})
    first = nights.run(0)
    assert first.folder is not None
    (first.folder / "interval.state").unlink()
    damaged_constants(nights)
    result = nights.run(1)
    merged = plm.merge(nights.home, interval=day(1))
    assert_frame_equal(
        merged.metrics.select("model", "slice", "metric", "value"),
        result.metrics.select("model", "slice", "metric", "value"),
    )


def test_merging_fails_on_what_is_asked_and_skips_what_is_not_there(nights: Nights, invoke: Invoke) -> None:
    nights.write_suite(keep={"states": "99d"})
    nights.run(0)
    month = ("merge", str(nights.home), "--interval", "2026-03")
    assert (invoke(*month).code, invoke(*month, "--skip-if-empty").code) == (5, 99)
    content = {"name": "m", "data": {"path": "scores"}, "columns": {"label": "y"}, "models": {"old": "old"}}
    plain = {**content, "metrics": ["brier"], "gates": [WARNING]}
    (nights.folder / "plain.json").write_text(json.dumps(plain))
    state = nights.folder / "m.state"
    assert invoke("state", str(nights.folder / "plain.json"), "--output", str(state)).code == 0
    assert [invoke("merge", str(state), *more).code for more in ((), ("--fail-on", "warn"))] == [0, 3]


def test_exports_are_resolved_once_before_a_run_and_once_for_it(
    nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    import plmetrics.exports.plan as plan

    calls = []
    resolve = plan.exports_of
    monkeypatch.setattr(plan, "exports_of", lambda loaded: calls.append(loaded) or resolve(loaded))
    nights.write_suite(output={"directory": "runs", "also": ["junit"]})
    for _ in range(2):
        calls.clear()
        nights.run(0)
        assert len(calls) == 2


@pytest.mark.slow
def test_damaged_constants_of_labelled_rows_are_not_those_of_unlabelled_ones(nights: Nights) -> None:
    nights.write_suite(labels={"mature_after": "3d"}, keep={"states": "99d"})
    for number in (0, 2):
        nights.write(number, rows(number).with_columns(y=pl.lit(None, pl.Int64)))
    folders = [nights.run(number).folder for number in range(3)]
    assert None not in folders
    (file,) = (path for path in (nights.home / "constants").iterdir() if "unlabelled" not in path.name)
    file.write_bytes(b"PAR1 damaged PAR1")
    nights.run(3)
    assert folders[1] is not None
    assert file.read_bytes() == (folders[1] / "interval.state").read_bytes()


def test_a_wrong_acceptance_is_a_mistake_of_the_command(nights: Nights, invoke: Invoke) -> None:
    run = nights.run(0).folder
    told = invoke("accept", str(run), "--because", " ")
    assert told.code == 2
    assert told.err.startswith("error: the command line is not valid\n  an acceptance needs a reason")
