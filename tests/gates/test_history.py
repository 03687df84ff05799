"""Gates that fail only after some runs in a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from plmetrics.core.results import GATES_SCHEMA
from plmetrics.gates.history import history_of

if TYPE_CHECKING:
    from tests.gates.conftest import Table

GOOD, BAD, NONE = 0.9, 0.1, None


def gates_of(new: type[Table], value: float | None, **keywords: Any) -> pl.DataFrame:
    """The table `gates` of a run in which model a had this value."""
    status = "ok" if value is not None else "no_positives"
    return judged_now(new, value, None, status=status, **keywords)


def judged_now(
    new: type[Table], value: float | None, history: pl.DataFrame | None, consecutive: int = 3, **keywords: Any
) -> pl.DataFrame:
    table = new().gate(name="steady", model="a", at_least=0.5, consecutive=consecutive)
    return table.value(value, **keywords).judged(history=history)


def naive(values: list[float | None], consecutive: int) -> tuple[str, int]:
    """The verdict of the last of some runs, and how many failed in a row."""
    streak = 0
    for value in reversed(values):
        if value != BAD:
            break
        streak += 1
    if values[-1] is None:
        return "inconclusive", 0
    if values[-1] == GOOD:
        return "pass", 0
    return ("fail" if streak >= consecutive else "inconclusive"), min(streak, consecutive)


@pytest.mark.exhaustive
@pytest.mark.parametrize("consecutive", [1, 2, 3])
@pytest.mark.parametrize(
    "values",
    [
        [GOOD],
        [BAD],
        [NONE],
        [BAD, BAD],
        [BAD, BAD, BAD],
        [BAD, BAD, BAD, BAD],
        [GOOD, BAD, BAD],
        [BAD, GOOD, BAD],
        [BAD, BAD, GOOD],
        [BAD, NONE, BAD],
        [BAD, BAD, NONE],
    ],
)
def test_failures_in_a_row_are_counted(
    new_table: type[Table], values: list[float | None], consecutive: int
) -> None:
    earlier = history_of([gates_of(new_table, value) for value in reversed(values[:-1])][: consecutive - 1])
    status = "ok" if values[-1] is not None else "no_positives"
    rule = {"consecutive": consecutive, "status": status}
    (row,) = judged_now(new_table, values[-1], earlier, **rule).to_dicts()
    expected, streak = naive(values, consecutive)
    assert row["verdict"] == expected
    counted = streak > 0 and consecutive > 1
    assert row["note"] == (f"failed {streak} of {consecutive} runs in a row" if counted else None)


def test_earlier_runs_are_judged_by_the_rule_of_today(table: Table, new_table: type[Table]) -> None:
    earlier = history_of([gates_of(new_table, 0.6), gates_of(new_table, 0.6)])
    table.gate(name="steady", model="a", at_least=0.7, consecutive=3).value(0.6)
    assert table.judged(history=earlier)["verdict"].item() == "fail"


def test_without_history_it_says_so(new_table: type[Table]) -> None:
    (row,) = judged_now(new_table, BAD, None).to_dicts()
    assert (row["verdict"], row["note"]) == (
        "inconclusive",
        "failed 1 of 3 runs in a row (there is no history)",
    )


def test_only_the_same_gate_model_and_slice_count(table: Table, new_table: type[Table]) -> None:
    places = [("a", "region=n"), ("a", "region=s"), ("b", "region=n")]

    def add(held: Table, *bad: int) -> Table:
        for place, (model, text) in enumerate(places):
            value = BAD if place in bad else GOOD
            held.value(value, model, slice_set="region", slice=text)
        return held.gate(name="steady", at_least=0.5, consecutive=2, slices="region")

    other = add(new_table(), 0, 1, 2).judged().with_columns(gate=pl.lit("another"))
    earlier = pl.concat([add(new_table(), 1).judged(), other])
    judged = add(table, 0, 1, 2).judged(history=history_of([earlier]))
    assert judged["verdict"].to_list() == ["inconclusive", "fail", "inconclusive"]


def test_slices_that_were_too_small_end_the_row(new_table: type[Table]) -> None:
    small = gates_of(new_table, BAD).with_columns(status=pl.lit("too_few_rows"))
    (row,) = judged_now(
        new_table, BAD, history_of([gates_of(new_table, BAD), small, gates_of(new_table, BAD)])
    ).to_dicts()
    assert row["note"] == "failed 2 of 3 runs in a row"


def test_no_runs_are_a_history_too(new_table: type[Table]) -> None:
    assert history_of([]).schema == {**GATES_SCHEMA, "age": pl.Int64}
    assert judged_now(new_table, BAD, history_of([]))["note"].item() == "failed 1 of 3 runs in a row"


@pytest.mark.parametrize(
    ("older", "now", "verdict"),
    [
        ("r=a, b", 'r="a, b"', "fail"),
        ("r=null", 'r="null"', "inconclusive"),
        ("r=null", "r=null", "fail"),
    ],
)
def test_texts_of_older_versions_count_where_they_mean_one_slice(
    new_table: type[Table], older: str, now: str, verdict: str
) -> None:
    def run(text: str) -> Table:
        gate = new_table().gate(name="steady", model="a", at_least=0.5, consecutive=2, slices="region")
        return gate.value(BAD, slice_set="region", slice=text)

    past = history_of([run(older).judged()])
    assert run(now).judged(history=past)["verdict"].to_list() == [verdict]
