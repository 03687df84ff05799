"""Nights whose labels come later, or later than they are due."""

from datetime import UTC, datetime
from typing import Any

import polars as pl
import pytest
from suites.nights import Nights, day, nights, rows

import plmetrics as plm
from plmetrics.api.nights import night
from plmetrics.api.nights.backfill import backfill
from plmetrics.runs.reading import StoredRun

__all__ = ["nights"]


class Clock(datetime):
    """A moment that stays."""

    present = datetime(2026, 3, 6, tzinfo=UTC)

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return cls.present.astimezone(tz)


def write(nights: Nights, number: int, *, labels: bool) -> None:
    missing = pl.lit(None, pl.Int64).alias("y")
    nights.write(number, rows(number) if labels else rows(number).with_columns(missing))


def missing(nights: Nights, moment: str) -> list[bool]:
    """Which of the first nights were evaluated again."""
    Clock.present = datetime.fromisoformat(f"{moment}T00:00:00+00:00")
    return [not one.existing for one in backfill(nights.suite, day(0), day(3), only_missing=True)]


@pytest.fixture
def unlabelled(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> Nights:
    monkeypatch.setattr(night, "datetime", Clock)
    nights.write_suite(
        metrics=["roc_auc"],
        slices=None,
        labels={"mature_after": "7d"},
        compare={"run": {"window": "9d"}},
        keep={"states": "9d"},
    )
    for number in range(4):
        write(nights, number, labels=False)
    return nights


@pytest.mark.slow
def test_labels_are_evaluated_when_they_are_due_however_late_they_come(unlabelled: Nights) -> None:
    assert missing(unlabelled, "2026-03-05") == [True] * 3
    assert missing(unlabelled, "2026-03-06") == [False] * 3
    assert missing(unlabelled, "2026-03-09") == [True, False, False]  # due, and not there
    assert unlabelled.current(0).lacks_labels
    assert missing(unlabelled, "2026-03-09") == [False] * 3
    for number in range(3):
        write(unlabelled, number, labels=True)
    assert missing(unlabelled, "2026-03-20") == [True] * 3
    assert [unlabelled.current(number).verdict for number in range(3)] == ["pass"] * 3
    assert missing(unlabelled, "2026-03-21") == []


def test_labels_are_missed_by_metrics_across_slices_alone(
    nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(night, "datetime", Clock)
    worst = {"name": "worst", "over": {"slice_set": "region", "metric": "brier", "agg": "worst"}}
    nights.write_suite(metrics=[worst], compare=None, gates=None, labels={"mature_after": "7d"})
    nights.write(0, rows(0).with_columns(pl.when(pl.int_range(pl.len()) > 9).then("y").alias("y")))
    assert missing(nights, "2026-03-05") == [True] * 3
    assert missing(nights, "2026-03-09") == [True]  # all others were there


@pytest.mark.slow
def test_windows_count_scores_on_a_grid_of_labelled_rows(unlabelled: Nights) -> None:
    """The first nights have no labels, from which a grid could be made that tells scores apart."""
    missing(unlabelled, "2026-03-05")
    write(unlabelled, 0, labels=True)
    missing(unlabelled, "2026-03-09")
    for number in (1, 2):
        write(unlabelled, number, labels=True)
    missing(unlabelled, "2026-03-20")
    merged = plm.merge(unlabelled.home, interval=f"{day(0)}/{day(3)}").metrics
    whole = plm.evaluate(pl.concat([rows(number) for number in range(3)]), label="y", models=["old", "new"],
                         metrics="roc_auc", uncertainty=False).metrics  # fmt: skip
    values = merged.filter(metric="roc_auc", slice_set="overall").sort("model")
    assert values["bound"].max() < 0.02
    assert values["value"].to_list() == pytest.approx(whole.sort("model")["value"].to_list(), abs=0.02)
    write(unlabelled, 3, labels=False)
    taken = unlabelled.run(3).record["references"]["compare.run"]["intervals"]
    assert taken == [day(number) for number in range(3)]


@pytest.mark.parametrize("end", [0, 2])
def test_an_end_that_is_not_after_the_start_is_told(nights: Nights, end: int) -> None:
    nights.write_suite()
    with pytest.raises(plm.ConfigError, match=f"{day(end)} is not after {day(2)}"):
        backfill(nights.suite, day(2), day(end))


@pytest.mark.slow
def test_results_of_a_band_are_read_once(nights: Nights, monkeypatch: pytest.MonkeyPatch) -> None:
    bands = [{"sd": 9, "last": 40}, {"sd": 9, "window": "30d", "season": "weekday"}]
    nights.write_suite(gates=[{"metric": "roc_auc", "within": band} for band in bands])
    reads: list[str] = []
    read = StoredRun.table
    monkeypatch.setattr(
        StoredRun, "table", lambda run, name: reads.append(run.record["run_id"]) or read(run, name)
    )
    backfill(nights.suite, day(0), day(6))
    assert sorted(reads) == sorted(nights.current(number).run for number in range(5))
    reads.clear()
    backfill(nights.suite, day(6), day(7))
    assert sorted(reads) == sorted(nights.current(number).run for number in range(6))


def test_a_backfill_in_one_process_reads_its_suite_once(
    nights: Nights, monkeypatch: pytest.MonkeyPatch
) -> None:
    from plmetrics.api.nights import backfill as module

    for number in range(3):
        nights.write(number)
    opened: list[object] = []
    original = module.open_suite
    monkeypatch.setattr(module, "open_suite", lambda *given: opened.append(given) or original(*given))
    outcomes = backfill(nights.suite, day(0), day(3))
    assert [outcome.verdict for outcome in outcomes] == ["pass"] * 3
    assert len(opened) == 1
