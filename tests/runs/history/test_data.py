"""Whether two runs cover the same data."""

import pytest

from plmetrics.runs.history.data import RunData, data_of

DAY = {"path": "day.csv", "bytes": 9, "digest": "a"}


@pytest.mark.parametrize(
    ("files", "where", "same"),
    [
        ([DAY], None, True),
        ([DAY | {"path": "copy.csv"}], None, True),
        ([DAY | {"digest": "b"}], None, False),
        ([DAY, DAY | {"path": "other.csv"}], None, False),
        ([DAY], "p > 1", False),
        ([{"path": "day.csv", "bytes": 9}], None, True),
        ([{"path": "day.csv", "bytes": 8}], None, False),
        ([{"path": "copy.csv", "bytes": 9}], None, False),
        ([], None, False),
    ],
)
def test_the_same_data(files: list[dict[str, object]], where: str | None, same: bool) -> None:
    one, other = RunData.of([DAY], None), RunData.of(files, where)
    assert (one.same_as(other), other.same_as(one)) == (same, same)
    record = {"files": files, "suite": {"data": {"path": "x", "where": where}} if where else {}}
    assert data_of(record) == other


def test_tables_that_are_no_files_are_never_the_same() -> None:
    assert not RunData.of([], None).same_as(RunData.of([], None))


def test_which_files_two_runs_share() -> None:
    """Another day under the same name, of the same size, is another file; a copy is the same one."""
    other, more = DAY | {"digest": "b"}, {"path": "more.csv", "bytes": 9, "digest": "c"}
    days = [[DAY], [other], [DAY | {"path": "copy.csv"}], [DAY, more], [{"path": "day.csv", "bytes": 9}]]
    words = [RunData.of([DAY], None).shared_files(RunData.of(files, "p > 1")) for files in days]
    assert words == ["the same files", None, "the same files", "some of the same files", "the same files"]


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ((1, 2), None),
        ((2, 3), "the same files"),
        ((2, 4), "the same files"),
        ((3, 4), None),
        (None, "the same files"),
    ],
)
def test_intervals_of_one_table_share_rows_where_they_overlap(
    other: tuple[int, int] | None, words: str | None
) -> None:
    """Ends are outside: an interval that begins where another ends has none of its rows."""

    def of_days(days: tuple[int, int] | None) -> RunData:
        ends = (
            None
            if days is None
            else dict(zip(("start", "end"), (f"2026-01-0{day}" for day in days), strict=True))
        )
        return RunData.of([{"path": "rows.parquet", "bytes": 9, "digest": "a"}], None, ends)

    data = of_days((2, 3))
    assert data.shared_files(of_days(other)) == of_days(other).shared_files(data) == words
