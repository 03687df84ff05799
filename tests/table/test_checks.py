"""Forms of times as texts: those of one form are in the order of time."""

import datetime as dt

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plmetrics.table.checks import one_form_problem, time_forms


def forms(texts: list[str | None]) -> list[tuple[int, str]]:
    return time_forms(pl.LazyFrame({"t": texts}, schema={"t": pl.String}), "t").collect().rows()


@pytest.mark.parametrize(
    "texts",
    [
        ["2026-01-01", "2026-12-31"],
        ["2026-01-01T00:00:00", "2026-01-01T00:00:00.5", "2026-01-01T00:00:00.500001"],
        ["2026-01-01 00:00:00+01:00", "2026-01-01 00:00:00.25+01:00"],
        ["2026-01-01T00:00Z", "2026-01-01T00:01Z"],
        ["2026-W01-1", "2026-W02-7"],
        ["20260101", "20261231"],
        ["2026-01-01", None],
    ],
)
def test_texts_of_one_form(texts: list[str | None]) -> None:
    assert len(forms(texts)) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2026-01-01", "2026-01-01T00:00:00"),
        ("2026-01-01T00:00", "2026-01-01 00:00"),
        ("2026-01-01T00:00", "2026-01-01T00:00:00"),
        ("2026-01-01T00:00", "2026-01-01T00:00Z"),
        ("2026-01-01T00:00+01:00", "2026-01-01T00:00+02:00"),
        ("2026-01-01T00:00+01:00", "2026-01-01T00:00+0100"),
        ("2026-01-01T00:00 CET", "2026-01-01T00:00 CEST"),
        ("2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00.55Z"),
        ("2026-01-01", "2026/01/01"),
        ("2026-01", "2026-01-01"),
        ("2026-W01", "2026Q1"),
    ],
)
def test_texts_of_two_forms(one: str, other: str) -> None:
    assert sorted(forms([one, other, None, "n/a"])) == sorted([(1, one), (1, other)])


ZONES = st.sampled_from(["", "Z", "+01:00", "-05:00", " UTC"])


@given(
    st.lists(st.datetimes(dt.datetime(1990, 1, 1), dt.datetime(2050, 1, 1)), min_size=2, max_size=8),
    st.sampled_from(["seconds", "milliseconds", "auto"]),
    ZONES,
)
def test_texts_of_one_form_are_in_the_order_of_time(times: list[dt.datetime], spec: str, zone: str) -> None:
    texts = {time.isoformat(timespec=spec) + zone: time for time in times}
    if len(forms(list(texts))) == 1:
        assert [texts[text] for text in sorted(texts)] == sorted(texts.values())
    else:
        assert zone == "Z"
        assert spec == "auto"


def test_forms_are_counted_with_an_example() -> None:
    table = pl.LazyFrame({"t": ["2026-01-02", "2026-01-01", "2026-01-01T12:00"]})
    problem = one_form_problem(time_forms(table, "t").collect(), "column 't'", ("metrics",))
    assert problem is not None
    assert "2 forms" in problem.message
    assert problem.message.endswith("2 like '2026-01-01', 1 like '2026-01-01T12:00'")
    assert one_form_problem(time_forms(table.head(2), "t").collect(), "column 't'", ()) is None
