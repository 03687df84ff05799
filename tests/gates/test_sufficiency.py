"""Slices that are too small for a gate: always listed, never judged by the rule."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.gates.sufficiency import with_kish_sizes
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
    ("number", "note"), [(19, "19 positives, at least 20 needed"), (7, "7 positives, at least 20 needed")]
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


def table() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    rows = 400
    frame = pl.DataFrame(
        {
            "y": rng.integers(0, 2, rows),
            "p": rng.random(rows),
            "q": rng.random(rows),
            "w": rng.integers(0, 4, rows) / 2,
            "region": rng.choice(["n", "s", "e"], rows),
            "tags": [[tag for tag in "ab" if rng.random() < 0.5] for _ in range(rows)],
        }
    )
    return frame.with_columns(q=pl.when(pl.int_range(rows) % 3 > 0).then("q"))


def holds(row: dict[str, Any], slice_set: str, text: str) -> bool:
    value = text.partition("=")[2]
    return text == "all" or (row["region"] == value if slice_set == "region" else value in row["tags"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("against", [None, "b"])
def test_positives_are_those_of_each_model_and_slice(weight: str | None, against: str | None) -> None:
    gate: dict[str, Any] = {"metric": "accuracy", "slices": "all", "min_positives": 10**6}
    gate |= {"at_least": -1} if against is None else {"against": against, "at_least": -1}
    result = plm.evaluate(
        table(),
        label="y",
        models={"a": "p", "b": "q"},
        metrics=["accuracy", "disparity(recall, by=region)"],
        slices={"region": "region", "tags": "tags"},
        weight=weight,
        missing="drop_per_model",
        gates=[gate, {"metric": "disparity(recall, by=region)", "at_most": 2, "min_positives": 10**6}],
    )
    rows = table().to_dicts()
    assert set(result.gates["verdict"]) == {"skipped"}
    for row in result.gates.iter_rows(named=True):
        column = "q" if "b" in {row["model"], against if row["metric"] == "accuracy" else None} else "p"
        own = [
            one for one in rows if one["y"] == 1 and one[column] is not None and (not weight or one[weight])
        ]
        count = sum(holds(one, row["slice_set"], row["slice"]) for one in own)
        assert f"{count} positives, at least 1000000 needed" in row["note"].split("; ")


@pytest.mark.parametrize("rows", [3000, 30_000])
def test_kish_sizes_are_of_rows_where_blocks_hold_many(rows: int) -> None:
    """A block for each row, or 1,000 blocks of 30 rows: the size is that of the rows, as a sum of squares tells."""
    rng = np.random.default_rng(8)
    table = pl.DataFrame(
        {"y": rng.integers(0, 2, rows), "p": rng.random(rows), "w": rng.exponential(size=rows)}
    )
    table = table.with_columns(g=pl.int_range(rows) % 20 == 0)
    asked: dict[str, Any] = {"metrics": ["accuracy"], "slices": ["g"], "uncertainty": {"replicates": 20}}
    found = plm.evaluate(table, label="y", models="p", weight="w", **asked).metrics
    units = np.full(1000, rows // 1000) if rows > 4000 else np.ones(rows, dtype=np.int64)
    suite = SimpleNamespace(has_weights=True, unweighted_models=())
    analysis: Any = SimpleNamespace(suite=suite, units=units)
    sizes = dict(with_kish_sizes(analysis, found).select("slice", "kish_size").iter_rows())
    parts = {"all": table, "g=true": table.filter("g"), "g=false": table.filter(~pl.col("g"))}
    for text, part in parts.items():
        weight = part["w"].to_numpy()
        expected = weight.sum() ** 2 / (weight**2).sum()
        assert sizes[text] == pytest.approx(expected, rel=0.15 if rows > 4000 else 0, abs=1), text
    suite.has_weights = False
    assert with_kish_sizes(analysis, found)["kish_size"].null_count() == found.height


def test_sizes_of_rankings_are_numbers_of_queries() -> None:
    frame = pl.DataFrame(
        {"q": [0, 0, 0, 1, 1, 1], "y": [1, 0, 0, 0, 1, 0], "p": [0.9, 0.1, 0.2, 0.3, 0.8, 0.1]}
    )
    gate = {"metric": "mrr", "at_least": 0.5, "min_rows": 3}
    result = plm.evaluate(
        frame, task="ranking", label="y", models="p", query="q", metrics="mrr", gates=[gate]
    )
    assert result.gates["note"].to_list() == ["2 queries, at least 3 needed"]
