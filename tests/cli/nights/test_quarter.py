"""A quarter of nights on the command line, as a scheduler sees it, against a table of what it is to see."""

import json
import os
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from conftest import THOROUGH
from sklearn.metrics import roc_auc_score
from suites import quarter
from suites.quarter import CAMPAIGN, LABELS, PROMOTED, SUITE, SWAP, Table, all_rows, day, expected

import plmetrics as plm
from plmetrics.api.nights import backfill as backfills
from plmetrics.api.nights import night as evaluations
from plmetrics.features.nights.manifests import Manifests

NIGHTS = 90 if THOROUGH else 27


class Clock(datetime):
    """The time of the morning."""

    present = datetime(2026, 3, 2, tzinfo=UTC)

    @classmethod
    def now(cls, tz: Any = None) -> datetime:
        return cls.present.astimezone(tz)


class Scheduler:
    """Every morning a night, tried again where it ends with an error; on Sundays labels, and what is not kept goes."""

    def __init__(self, folder: Path, invoke: Callable[..., Any]) -> None:
        self.folder, self.invoke = folder, invoke
        self.suite = folder / "payments.yaml"
        self.suite.write_text(SUITE)
        self.table = Table(folder / "scores")
        self.home = folder / "runs" / "payments"
        self.manifests = Manifests(self.home)
        self.nights = expected()
        self.exits: dict[int, tuple[int, ...]] = {}
        self.verdicts: dict[int, str] = {}

    def morning(self, number: int) -> None:
        """Night `number - 1`, what else is to be tried again, and on Sundays the week."""
        last = number - 1
        Clock.present = datetime.fromisoformat(f"{day(number)}T04:00:00+00:00")
        self.table.arrive(number)
        if last == PROMOTED:
            self.suite.write_text(SUITE.replace(*SWAP))
        tries = len(self.nights[last].exits)
        self.exits[last] = tuple(self.run(last) for _ in range(tries))
        self.verdicts[last] = self.verdict(last)
        for earlier in (last - 1, last - 2):
            if earlier >= 0 and self.verdict(earlier) is None and earlier not in quarter.ABSENT:
                waits = earlier in quarter.LATE_FOLDER and earlier == last - 1
                assert self.run(earlier) == (5 if waits else 0)
        if last - 1 in CAMPAIGN:
            self.accept(last - 1)
        if date.fromisoformat(day(number)).weekday() == 6:
            self.sunday(number)

    def sunday(self, number: int) -> None:
        """Labels of the last two weeks, then what is not kept goes."""
        span = range(max(number - 14, 0), number)
        before = {night: self.manifests.current(day(night)) for night in span}
        waiting = {night for night in span if before[night] is not None and before[night].awaits_labels}
        due = {night for night in waiting if night <= number - LABELS}
        code = self.invoke(
            "backfill", str(self.suite), "--from", day(span[0]), "--to", day(number), "--only-missing"
        ).code
        ends = {self.nights[night].in_the_end if night in due else before[night].verdict for night in waiting}
        assert code == (5 if None in before.values() else 3 if "fail" in ends else 0)
        changed = {night for night in span if self.manifests.current(day(night)) != before[night]}
        # Nights that were counted before any had labels are counted again with what labels say.
        apart = waiting if number == 13 else {night for night in waiting if night >= PROMOTED}
        assert changed == due | (apart if number in (13, 27) else set())
        for night in CAMPAIGN & due:
            self.accept(night)
        self.age()
        assert self.invoke("gc", str(self.suite)).code == 0

    def run(self, number: int) -> int:
        return int(self.invoke("run", str(self.suite), "--interval", day(number), "--quiet").code)

    def accept(self, number: int) -> None:
        run = self.home / self.manifests.current(day(number)).run
        assert self.invoke("accept", str(run), "--because", "a campaign", "--by", "ann").code == 0

    def verdict(self, number: int) -> str | None:
        manifest = self.manifests.current(day(number))
        return None if manifest is None else manifest.verdict

    def age(self) -> None:
        """Let everything look two days old, so that what is superseded goes."""
        then = time.time() - 2 * 24 * 60 * 60
        for path in (self.home, *self.home.rglob("*")):
            os.utime(path, (then, then))


@pytest.fixture
def scheduler(tmp_path: Path, invoke: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Scheduler:
    for module in (evaluations, backfills):
        monkeypatch.setattr(module, "datetime", Clock)
    return Scheduler(tmp_path, invoke)


@pytest.mark.slow
def test_a_quarter_of_nights(scheduler: Scheduler) -> None:
    nights = expected()[:NIGHTS]
    scheduler.table.arrive(1)
    assert scheduler.invoke("validate", str(scheduler.suite)).code == 0
    for number in range(1, NIGHTS + 1):
        scheduler.morning(number)
        if number == PROMOTED:
            check_roll_up(scheduler)
    assert scheduler.exits == {number: night.exits for number, night in enumerate(nights)}
    assert scheduler.verdicts == {number: night.verdict for number, night in enumerate(nights)}
    check_history(scheduler)
    check_last_window(scheduler)


def sunday_of(number: int) -> int:
    """The Sunday on which the labels of a night are evaluated."""
    return next(morning for morning in range(number + LABELS, number + LABELS + 7) if morning % 7 == 6)


def is_labelled(number: int) -> bool:
    return sunday_of(number) <= NIGHTS


def model_columns(number: int) -> dict[str, str]:
    """The columns of the models of the suite by which a night was evaluated last."""
    last = sunday_of(number) if is_labelled(number) else number + 1
    versions = (2, 3) if last > PROMOTED else (1, 2)
    return {name: f"p_v{version}" for name, version in zip(("champion", "challenger"), versions, strict=True)}


def values(labelled: list[int], others: list[int], column: str, country: str = "") -> dict[str, float]:
    """Values of the rows of some nights, the labels of the others left out, without the program."""
    first, second = (
        pl.concat([all_rows(number) for number in numbers]) if numbers else all_rows(0).clear()
        for numbers in (labelled, others)
    )
    frames = [frame.filter(pl.lit(not country) | (pl.col("country") == country)) for frame in (first, second)]
    out = {"selection_rate": float((pl.concat(frames)[column] >= 0.5).mean())}
    if labelled:
        out["roc_auc"] = float(roc_auc_score(frames[0]["fraud"], frames[0][column]))
    return out


def check_history(scheduler: Scheduler) -> None:
    frame = plm.history(scheduler.home)
    by_night = {key: rows for (key,), rows in frame.partition_by("interval", as_dict=True).items()}
    assert set(by_night) == {day(number) for number in range(NIGHTS)}
    for number, night in enumerate(scheduler.nights[:NIGHTS]):
        rows = by_night[day(number)]
        if number in quarter.ABSENT:
            assert rows["status"].to_list() == ["missing"]
            continue
        assert set(rows["status"]) == {"current"}
        assert set(rows["verdict"]) == {night.in_the_end if is_labelled(number) else night.verdict}
        assert set(rows["accepted"]) == {night.in_the_end != "fail" or number in CAMPAIGN}
        hours = (rows["end"][0] - rows["start"][0]).total_seconds() / 3600
        assert hours == (23 if day(number) == "2026-03-29" else 24)
        for model, column in model_columns(number).items():
            for country in ("", "de", "fr"):
                chosen = rows.filter(
                    model=model, slice=f"country={country}" if country else "all"
                ).drop_nulls("value")
                nights = ([number], []) if is_labelled(number) else ([], [number])
                assert dict(chosen.select("metric", "value").iter_rows()) == pytest.approx(
                    values(*nights, column, country), abs=1e-12
                )


def check_roll_up(scheduler: Scheduler) -> None:
    """The nights until the suite changes are one run over all their rows."""
    span = f"{day(0)}/{day(PROMOTED)}"
    merge = ["merge", str(scheduler.home), "--interval", span, "--format", "json"]
    refused = scheduler.invoke(*merge)
    assert refused.code == 5
    assert day(19) in refused.err
    merged = json.loads(scheduler.invoke(*merge, "--allow-missing").out)
    there = [number for number in range(PROMOTED) if number not in quarter.ABSENT]
    labelled = [number for number in there if sunday_of(number) <= PROMOTED]
    counts = {
        row["n"] for row in merged["metrics"] if (row["metric"], row["slice"]) == ("selection_rate", "all")
    }
    assert counts == {sum(all_rows(number).height for number in there)}
    for model, column in {"champion": "p_v1", "challenger": "p_v2"}.items():
        rows = [row for row in merged["metrics"] if (row["model"], row["slice"]) == (model, "all")]
        assert {row["metric"]: row["value"] for row in rows} == pytest.approx(
            values(labelled, sorted({*there} - {*labelled}), column), abs=1e-3
        )


def check_last_window(scheduler: Scheduler) -> None:
    """What the last night is compared with is one run over the rows of the accepted nights of 28 days."""
    last = NIGHTS - 1
    assert scheduler.run(last) == 0
    result = plm.load(scheduler.home / scheduler.manifests.current(day(last)).run)
    columns = model_columns(last)
    window = [
        number
        for number in range(max(last - 28, 0), last)
        if number not in quarter.ABSENT | quarter.WORSE and model_columns(number) == columns
    ]
    assert result.record["references"]["compare.run"]["intervals"] == [day(number) for number in window]
    labelled = [number for number in window if is_labelled(number)]
    compared = result.comparisons.filter(contrast="run", metric="selection_rate", slice="all")
    for model, column in columns.items():
        now = values([], [last], column)["selection_rate"]
        then = values(labelled, sorted({*window} - {*labelled}), column)["selection_rate"]
        difference = compared.filter(model=model, scale="difference")["difference"].item()
        assert difference == pytest.approx(now - then, abs=1e-9)


HOURS = """\
name: hours
data: {path: log.parquet}
interval: {column: scored_at, every: 1h, timezone: Europe/Berlin}
columns: {label: fraud}
models: {champion: p_v1}
metrics: [brier]
uncertainty: false
output: {directory: runs}
"""


@pytest.mark.slow
@pytest.mark.parametrize(("name", "hours"), [("2025-10-26", 25), ("2026-03-29", 23)])
def test_a_day_has_as_many_hours_as_its_clocks_show(
    tmp_path: Path, invoke: Callable[..., Any], name: str, hours: int
) -> None:
    """A row every ten minutes, in UTC: six in every hour, also in the two that clocks show as one."""
    midnight = datetime.fromisoformat(f"{name}T00:00:00").replace(tzinfo=ZoneInfo("Europe/Berlin"))
    first = midnight.astimezone(UTC).replace(tzinfo=None)
    times = pl.datetime_range(
        first, first + timedelta(hours=hours), "10m", closed="left", time_zone="UTC", eager=True
    )
    rows = quarter.rows(0).head(len(times)).with_columns(scored_at=times)
    rows.write_parquet(tmp_path / "log.parquet")
    suite = tmp_path / "hours.yaml"
    following = (midnight.date() + timedelta(days=1)).isoformat()
    spans = {"1h": (f"{name}T06:00", hours - 18, 6), "1d": (following, 1, 6 * hours)}
    for every, (end, count, size) in spans.items():
        suite.write_text(
            HOURS.replace("every: 1h", f"every: {every}").replace("name: hours", f"name: of_{every}")
        )
        done = invoke("backfill", str(suite), "--from", name, "--to", end)
        assert (done.code, len(done.out.splitlines())) == (0, count)
        values = plm.history(tmp_path / "runs" / f"of_{every}", slices="overall")
        assert values["n"].to_list() == [size] * count
        assert values["start"].n_unique() == count
