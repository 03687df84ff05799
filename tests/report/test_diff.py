import csv
import io
import json
from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from plmetrics.report.diff import diff_csv, diff_json, diff_text
from plmetrics.runs.history.diff import Diff

METRICS = pl.Schema(
    dict.fromkeys(("model", "slice_set", "slice", "metric", "class"), pl.String)
    | dict.fromkeys(("before", "after", "difference", "lower", "upper", "moved"), pl.Float64)
    | {"change": pl.String, "changed": pl.Boolean, "before_status": pl.String, "after_status": pl.String}
    | {"before_n": pl.Int64, "after_n": pl.Int64}
)
GATES = pl.Schema(
    dict.fromkeys(("gate", "metric", "model", "slice_set", "slice", "level", "before", "after"), pl.String)
    | {
        "before_rule": pl.String,
        "before_observed": pl.Float64,
        "after_observed": pl.Float64,
        "change": pl.String,
        "changed": pl.Boolean,
    }
)
PLACE = {"model": "m", "slice_set": "overall", "slice": "all", "metric": "roc_auc"}


def value(change: str, **more: Any) -> dict[str, Any]:
    numbers = {"before": 0.5, "after": 0.75, "difference": 0.25, "lower": 0.1, "upper": 0.4, "moved": 1.7}
    changed = change not in {"same", "within_interval"}
    return PLACE | numbers | {"change": change, "changed": changed} | more


def made(
    *rows: dict[str, Any], notes: tuple[str, ...] = (), verdicts: tuple[str, str] = ("pass", "pass")
) -> Diff:
    gate = PLACE | {"gate": "auc >= 0.7", "before": "pass", "after": "fail", "before_observed": 0.8}
    gates = (
        [gate | {"change": "verdict", "changed": True, "after_observed": 0.6}]
        if verdicts[1] == "fail"
        else []
    )
    return Diff(
        "run-a",
        "run-b",
        pl.DataFrame([{name: row.get(name) for name in METRICS} for row in rows], schema=METRICS),
        pl.DataFrame([{name: row.get(name) for name in GATES} for row in gates], schema=GATES),
        verdicts,
        notes,
    )


def test_each_kind_of_change_has_its_section() -> None:
    text = diff_text(
        made(
            value("status", after=None, after_status="no_positives"),
            value("beyond_interval", slice_set="g", slice="g=\x1b[2J"),
            value("value", lower=None, upper=None),
            value("gone", after=None),
            value("new", before=None),
            value("within_interval"),
            value("same"),
            notes=("the suites differ: metrics",),
            verdicts=("pass", "fail"),
        )
    )
    for words in (
        "CHANGED  run-a -> run-b: 5 of 7 values, 1 of 1 gate check",
        "verdict: pass -> fail",
        "note: the suites differ: metrics",
        "auc >= 0.7  m      overall  pass -> fail  0.8 -> 0.6",
        "- (no_positives)",
        "g=\\x1b[2J",
        "+0.25 [+0.10, +0.40]",
        "1 value (gone)",
        "1 value (new)",
        "1 value moved within the interval, 1 value the same",
    ):
        assert words in text
    assert "\x1b" not in text


def test_nothing_changed() -> None:
    text = diff_text(made(value("same"), value("same")))
    assert text.startswith("UNCHANGED  run-a -> run-b: 0 of 2 values, 0 of 0 gate checks\n")
    assert text.endswith("2 values the same\n")


def test_many_changes_are_cut() -> None:
    text = diff_text(made(*[value("beyond_interval", slice=f"s{i}", slice_set="g") for i in range(45)]))
    assert "and 15 more: --format csv lists all" in text
    assert text.count("+0.25") == 30


def test_checks_beyond_the_table_are_named_with_the_format_that_has_them() -> None:
    diff = made(value("same"), verdicts=("pass", "fail"))
    many = replace(diff, gates=pl.concat([diff.gates] * 40))
    assert "and 10 more: --format json lists all" in diff_text(many)
    assert "auc >= 0.7" in diff_json(many)
    assert "auc >= 0.7" not in diff_csv(many)


@pytest.mark.parametrize("width", [40, 60, 100])
def test_lines_fit(width: int) -> None:
    rows = [
        value(change, slice_set="g", slice="g=" + "x" * 70) for change in ("beyond_interval", "new", "status")
    ]
    text = diff_text(made(*rows, notes=("word " * 30,), verdicts=("pass", "fail")), width)
    assert max(map(len, text.split("\n"))) <= width


def test_json_and_csv() -> None:
    found = made(value("beyond_interval", before=float("inf")), notes=("a note",))
    content = json.loads(diff_json(found))
    assert (content["changed"], content["notes"], content["metrics"][0]["before"]) == (True, ["a note"], None)
    (row,) = csv.DictReader(io.StringIO(diff_csv(found)))
    assert (row["change"], row["after"]) == ("beyond_interval", "0.75")


def test_values_that_differ_by_little_are_not_shown_alike() -> None:
    moved = value("value", before=0.69999, after=0.700001, difference=1.1e-5, lower=None, upper=None)
    line = next(line for line in diff_text(made(moved)).splitlines() if "roc_auc" in line)
    assert "0.69999  0.7000  +1.1e-05" in line
