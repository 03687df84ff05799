"""Positives of slices, counted row by row."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.inference.sizes import with_kish_sizes


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
    suite = SimpleNamespace(weighted=True, unweighted_models=())
    analysis: Any = SimpleNamespace(suite=suite, units=units)
    sizes = dict(with_kish_sizes(analysis, found).select("slice", "kish_size").iter_rows())
    parts = {"all": table, "g=true": table.filter("g"), "g=false": table.filter(~pl.col("g"))}
    for text, part in parts.items():
        weight = part["w"].to_numpy()
        expected = weight.sum() ** 2 / (weight**2).sum()
        assert sizes[text] == pytest.approx(expected, rel=0.15 if rows > 4000 else 0, abs=1), text
    suite.weighted = False
    assert with_kish_sizes(analysis, found)["kish_size"].null_count() == found.height
