"""The rows of an interval, against a filter over the moments that rows are of."""

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from suites.loading import Refuse, load, refuse

import plmetrics as plm
from plmetrics.core.errors import DataError
from plmetrics.features.nights.interval_section import IntervalSection
from plmetrics.features.nights.row_condition import Maturity, conjunction, partition_condition, rows_condition
from plmetrics.suite.sections.labels import Labels

__all__ = ["load", "refuse"]

ZONES = ["UTC", "Europe/Paris", "America/Sao_Paulo", "Asia/Kolkata", "Africa/Cairo"]
STARTS = [
    datetime(*day) for day in ((2026, 3, 27), (2026, 10, 23), (2018, 11, 2), (2026, 4, 22), (2025, 12, 29))
]


def rows_of(section: IntervalSection, text: str, frame: pl.DataFrame) -> list[int]:
    """The numbers of the rows that a run would read."""
    condition = rows_condition(section, section.calendar.interval(text), frame.schema)
    result = plm.evaluate(
        frame.with_columns(y=1, p=0.5, n=pl.int_range(pl.len()).cast(pl.Float64)),
        label="y", models="p", metrics=["count"], slices={"n": "n"}, min_rows=1, where=condition,
    )  # fmt: skip
    slices = result.metrics.filter(pl.col("slice_set") == "n")["slice"]
    return sorted(int(float(value.removeprefix("n="))) for value in slices)


def moments(start: datetime, minutes: int = 97, count: int = 75) -> list[datetime]:
    """Moments over five days, among them both ends of hours and days."""
    first = start.replace(tzinfo=UTC) - timedelta(days=1)
    odd = [first + timedelta(minutes=minutes * number) for number in range(count)]
    return odd + [first + timedelta(minutes=30 * number) for number in range(0, 200, 3)]


@pytest.mark.alike
@pytest.mark.exhaustive
@pytest.mark.parametrize("every", ["1h", "6h", "1d", "1w", "1mo"])
@pytest.mark.parametrize("zone", ZONES)
def test_each_time_with_a_zone_is_of_the_interval_that_contains_it(zone: str, every: str) -> None:
    section = IntervalSection(column="at", every=every, timezone=zone)
    for start, unit, other in zip(STARTS, ["ms", "us", "ns", "us", "us"], [*ZONES[1:], "UTC"], strict=True):
        times = moments(start)
        frame = pl.DataFrame({"at": times}).select(
            pl.col("at").dt.cast_time_unit(unit).dt.convert_time_zone(other)
        )
        interval = section.calendar.containing(times[40])
        expected = [number for number, time in enumerate(times) if interval.start <= time < interval.end]
        assert expected
        assert rows_of(section, interval.start.isoformat(), frame) == expected


@pytest.mark.exhaustive
@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "Africa/Cairo"])
@pytest.mark.parametrize("every", ["1h", "1d", "1w"])
def test_each_time_of_clocks_is_of_one_interval(zone: str, every: str) -> None:
    """Also of the hour that comes twice: what clocks show does not tell which of both it was."""
    section = IntervalSection(column="at", every=every, timezone=zone)
    for start in STARTS[:2]:
        local = [time.astimezone(ZoneInfo(zone)).replace(tzinfo=None) for time in moments(start, count=30)]
        frame = pl.DataFrame({"at": local})
        first, last = (
            section.calendar.containing(moment) for moment in (min(moments(start)), max(moments(start)))
        )
        times = []
        for interval in section.calendar.between(first.start, last.end):
            condition = rows_condition(section, interval, frame.schema)
            times += frame.filter(pl.sql_expr(condition))["at"].to_list()
        assert sorted(times) == sorted(local)


@pytest.mark.exhaustive
@pytest.mark.parametrize("every", ["1d", "1w", "1mo"])
@pytest.mark.parametrize("zone", ZONES)
def test_each_date_is_of_the_interval_that_contains_it(zone: str, every: str) -> None:
    section = IntervalSection(column="day", every=every, timezone=zone)
    days = [date(2018, 10, 20) + timedelta(days=number) for number in range(40)]
    interval = section.calendar.containing(datetime(2018, 11, 4, 12, tzinfo=UTC))
    first, last = (moment.astimezone(ZoneInfo(zone)).date() for moment in (interval.start, interval.end))
    expected = [number for number, day in enumerate(days) if first <= day < last]
    assert rows_of(section, interval.start.isoformat(), pl.DataFrame({"day": days})) == expected


@given(
    st.dates(date(1999, 1, 1), date(2035, 12, 31)),
    st.sampled_from(["%Y%m%d", "%Y_%m_%d", "%Y-%j", "%y%m%d", "%Y/%m/%d"]),
)
def test_values_of_a_form_are_of_their_day_alone(day: date, form: str) -> None:
    section = IntervalSection(partition="day", format=form)
    interval = section.calendar.interval(day.isoformat())
    values = {offset: (day + timedelta(days=offset)).strftime(form) for offset in (-32, -1, 0, 1, 32)}
    texts = pl.DataFrame({"offset": list(values), "day": list(values.values())})
    condition = rows_condition(section, interval, texts.schema)
    assert texts.filter(pl.sql_expr(condition))["offset"].to_list() == [0]
    if all(value.isdigit() for value in values.values()):
        numbers = texts.with_columns(pl.col("day").cast(pl.Int64))
        condition = rows_condition(section, interval, numbers.schema)
        assert numbers.filter(pl.sql_expr(condition))["offset"].to_list() == [0]


@pytest.mark.parametrize("form", ["%d%m%Y", "%d.%m.%Y", "%b %d %Y", "%m-%d", "%H", "day", "%Y-%-m-%-d"])
def test_a_form_whose_values_do_not_sort_as_days_do_is_refused(form: str) -> None:
    with pytest.raises(ValueError, match=r"sorts as time does|the form of a date"):
        IntervalSection(partition="day", format=form)


@pytest.mark.parametrize(
    ("every", "rest"),
    [
        ("1d", "compare: {run: {window: 23h}}"),
        ("1w", "compare: {run: {window: 6d}}"),
        ("1mo", "compare: {run: {window: 30d}}"),
        ("1d", "drift: {reference: {window: 12h}}"),
        ("1w", "gates: [{metric: brier, within: {sd: 3, window: 3d}}]"),
    ],
)
def test_a_window_that_is_shorter_than_an_interval_is_refused(refuse: Refuse, every: str, rest: str) -> None:
    (problem,) = refuse(f"metrics: [brier]\ninterval: {{partition: day, every: {every}}}\n{rest}\n")
    assert f"no interval of {every} lies in a window of" in problem.message
    assert problem.where is not None


@pytest.mark.parametrize(("form", "every"), [("%Y%m", "1d"), ("%Y", "1mo"), ("%Y%m%d", "1h"), ("%Y%m", "1w")])
def test_a_form_that_does_not_tell_intervals_apart_is_refused(refuse: Refuse, form: str, every: str) -> None:
    (problem,) = refuse(f"metrics: [brier]\ninterval: {{partition: day, every: {every}, format: '{form}'}}\n")
    assert f"values of the form {form} do not tell intervals of {every} apart" in problem.message
    assert problem.where is not None


def test_hour_partitions_are_texts_of_the_zone() -> None:
    section = IntervalSection(partition="hour", every="1h", timezone="Asia/Kolkata")
    interval = section.calendar.containing(datetime(2026, 11, 20, 5, 10, tzinfo=UTC))
    assert (
        partition_condition(section, interval) == "\"hour\" >= '2026-11-20T10' AND \"hour\" < '2026-11-20T11'"
    )


def test_a_column_of_dates_has_no_hours() -> None:
    section = IntervalSection(column="day", every="6h")
    with pytest.raises(DataError, match="column 'day' holds dates, and intervals are of 6h"):
        rows_condition(section, section.calendar.interval("2026-11-20"), pl.Schema({"day": pl.Date}))


@pytest.mark.parametrize(
    "dtype", [pl.Int64, pl.Float64, pl.Time, pl.Boolean, pl.Duration("us"), pl.List(pl.Date)]
)
def test_a_column_of_neither_dates_nor_times_is_refused(dtype: pl.DataType) -> None:
    section = IntervalSection(column="at")
    with pytest.raises(DataError, match="column 'at' holds neither dates nor times") as caught:
        rows_condition(section, section.calendar.interval("2026-11-20"), pl.Schema({"at": dtype}))
    assert caught.value.problems[0].path == ("interval", "column")


def test_an_absent_column_is_named_with_one_like_it() -> None:
    section = IntervalSection(column="scored_at")
    with pytest.raises(DataError) as caught:
        rows_condition(section, section.calendar.interval("2026-11-20"), pl.Schema({"score_at": pl.Date}))
    assert caught.value.problems[0].message == "there is no column 'scored_at'"
    assert "score_at" in (caught.value.problems[0].hint or "")


def test_names_of_columns_are_escaped() -> None:
    section = IntervalSection(column='a "b" c')
    frame = pl.DataFrame({'a "b" c': [date(2026, 11, 19), date(2026, 11, 20), None]})
    condition = rows_condition(section, section.calendar.interval("2026-11-20"), frame.schema)
    assert frame.filter(pl.sql_expr(condition)).height == 1


def test_conditions_hold_together() -> None:
    assert conjunction(None, "a = 1") == "a = 1"
    frame = pl.DataFrame({"a": [1, 2, 3], "b": [1, 1, 2]})
    condition = pl.sql_expr(conjunction("a = 1 OR a = 2", "b = 1 OR b = 2"))
    assert frame.filter(condition)["a"].to_list() == [1, 2]


def write_days(folder: Path, values: list[str], key: str = "day") -> None:
    for number, value in enumerate(values):
        place = folder / f"{key}={value}"
        place.mkdir(parents=True)
        pl.DataFrame({"y": [0, 1] * (number + 1), "p": [0.2, 0.7] * (number + 1)}).write_parquet(
            place / "part.parquet"
        )


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("values", "interval", "named"),
    [
        (["2026-11-19", "2026-11-20", "2026-11-21"], "{partition: day}", "2026-11-20"),
        (["20261119", "20261120", "20261121"], "{partition: day, format: '%Y%m%d'}", "2026-11-20"),
        (["261119", "261120", "261121"], "{partition: day, format: '%y%m%d'}", "2026-11-20"),
        (["061119", "061120", "061121"], "{partition: day, format: '%y%m%d'}", "2006-11-20"),
        (["2026_11_19", "2026_11_20", "2026_11_21"], "{partition: day, format: '%Y_%m_%d'}", "2026-11-20"),
        (["2026-10", "2026-11", "2026-12"], "{partition: day, format: '%Y-%m', every: 1mo}", "2026-11"),
        (["2026-11-20T04", "2026-11-20T05", "2026-11-20T06"], "{partition: day, every: 1h}", "2026-11-20T05Z"),
        (["26112004", "26112005", "26112006"], "{partition: day, every: 1h, format: '%y%m%d%H'}", "2026-11-20T05Z"),
        (["2026-11-19", "2026-11-20", "__HIVE_DEFAULT_PARTITION__"], "{partition: day}", "2026-11-20"),
        (["2026-11-19", "2026-11-20", "unknown"], "{partition: day}", "2026-11-20"),
        (["20261119", "20261120", "unknown"], "{partition: day, format: '%Y%m%d'}", "2026-11-20"),
        (["2026-11-15", "2026-11-16", "2026-11-23"], "{partition: day, every: 1w}", "2026-W47"),
    ],
)  # fmt: skip
def test_folders_of_other_intervals_are_not_read(
    tmp_path: Path, values: list[str], interval: str, named: str
) -> None:
    write_days(tmp_path / "scores", values)
    for value in (values[0], values[2]):
        (tmp_path / "scores" / f"day={value}" / "part.parquet").write_bytes(b"PAR1 and no more")
    suite = tmp_path / "suite.yaml"
    suite.write_text(
        "data: {path: scores}\ncolumns: {label: y}\nmodels: {m: p}\nmetrics: [brier]\nuncertainty: false\n"
        f"interval: {interval}\n"
    )
    result = plm.run(suite, interval=named)
    assert result.record["rows"]["read"] == 4
    assert len(result.record["files"]) == 1


END = datetime.fromisoformat("2026-03-02T00:00+00:00")
EARLY, LATE = (datetime.fromisoformat(f"2026-03-{day}T00:00+00:00") for day in ("08", "10"))


def metrics(*shares: float) -> pl.DataFrame:
    size = len(shares)
    return pl.DataFrame({"slice_set": ["overall"] * size, "slice": ["all"] * size, "labelled": list(shares)})


@pytest.mark.parametrize(
    ("now", "coverage", "share", "awaits", "lacks"),
    [
        (EARLY, None, 0.0, True, False),
        (EARLY, None, 0.5, True, False),
        (EARLY, 0.9, 1.0, False, False),
        (LATE, None, 0.0, False, True),
        (LATE, None, 0.5, False, False),
        (LATE, 0.9, 0.5, False, True),
        (LATE, 0.9, 0.95, False, False),
    ],
)
def test_labels_are_awaited_until_they_are_due(
    now: datetime, coverage: float | None, share: float, awaits: bool, lacks: bool
) -> None:
    maturity = Maturity.of(Labels(mature_after="7d", coverage=coverage), END, now)
    table = metrics(1.0, share)
    assert (maturity.awaits(table), maturity.lacks(table)) == (awaits, lacks)


def test_a_suite_without_labels_that_come_later_has_all() -> None:
    maturity = Maturity.of(None, END, EARLY)
    assert not maturity.awaits(metrics().drop("labelled"))
    assert not maturity.lacks(metrics().drop("labelled"))
