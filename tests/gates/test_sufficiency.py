"""Slices that are too small for a gate: always listed, never judged by the rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

from plmetrics.gates.verdicts import verdict

if TYPE_CHECKING:
    from tests.gates.conftest import Table

VERDICTS = {"skip": ("fail", "skipped"), "warn": ("warn", "fail"), "fail": ("fail", "fail")}
TOGETHER = {"skip": "pass", "warn": "pass", "fail": "fail"}


def positives(*rows: tuple[str, str, float]) -> pl.DataFrame:
    """Of model a, and twice as many of model b."""
    held = [(model, *row[:2], row[2] * times) for row in rows for model, times in (("a", 1), ("b", 2))]
    return pl.DataFrame(held, schema=["model", "slice_set", "slice", "positives"], orient="row")


@pytest.mark.parametrize("on_insufficient", VERDICTS)
@pytest.mark.parametrize("value", [0.9, 0.1, None])
def test_too_few_rows(table: Table, on_insufficient: Any, value: float | None) -> None:
    table.gate(at_least=0.5, model="a", slices="region", min_rows=30, on_insufficient=on_insufficient)
    status = "ok" if value is not None else "no_positives"
    table.value(value, slice_set="region", slice="region=n", n=29, status=status)
    table.value(0.9, slice_set="region", slice="region=s", n=30)
    judged = table.judged()
    small, large = judged.iter_rows(named=True)
    assert (small["level"], small["verdict"]) == VERDICTS[on_insufficient]
    assert (small["status"], small["observed"]) == ("too_few_rows", value)
    assert small["note"] == "29 rows, at least 30 needed"
    assert (large["level"], large["verdict"], large["status"], large["note"]) == ("fail", "pass", "ok", None)
    assert verdict(judged) == TOGETHER[on_insufficient]


@pytest.mark.parametrize(
    ("number", "note"),
    [(19, "19 positives, at least 20 needed"), (7, "7 positives, at least 20 needed")],
)
def test_too_few_positives(table: Table, number: int, note: str) -> None:
    table.gate(at_least=0.5, slices="region", min_positives=20, min_rows=5)
    for model in "ab":
        table.value(0.1, model, slice_set="region", slice="region=n", n=100)
    judged = table.judged(positives(("region", "region=n", number), ("region", "region=s", 1.0)))
    first, second = judged.iter_rows(named=True)
    assert (first["verdict"], first["status"], first["note"]) == ("skipped", "too_few_positives", note)
    assert (first["observed"], second["verdict"]) == (0.1, "fail" if number == 19 else "skipped")


def test_of_two_models_the_one_with_fewer_positives_counts(table: Table) -> None:
    table.gate(against="a", at_least=0.0, min_positives=20).difference(0.1, "b", "a", n=100)
    judged = table.judged(positives(("overall", "all", 15)))
    assert judged["note"].to_list() == ["15 positives, at least 20 needed"]


def test_rows_are_said_before_positives(table: Table) -> None:
    table.gate(at_least=0.5, model="a", min_positives=20, min_rows=50).value(0.9, n=40)
    (row,) = table.judged(positives(("overall", "all", 3))).to_dicts()
    assert (row["status"], row["note"]) == ("too_few_rows", "40 rows, at least 50 needed")


def test_a_gate_of_level_warn_stays_one(table: Table) -> None:
    table.gate(at_least=0.5, model="a", min_rows=50, level="warn", on_insufficient="fail").value(0.9, n=40)
    assert table.judged().select("level", "verdict").row(0) == ("warn", "fail")


def test_what_is_not_there_is_not_small(table: Table) -> None:
    table.gate(at_least=0.5, model="a", slices="region", min_rows=50)
    assert table.row()["status"] == "no_match"
