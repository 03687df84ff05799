"""Errors of repeated predictions are summed by the scan of the metrics."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from architecture.watching import watched

import plmetrics as plm

REPEATED: Any = {"repeated": {"m": ["p", "q"]}}


def test_they_add_no_scan(tmp_path: Path) -> None:
    rows = pl.DataFrame({"y": [0, 1] * 20, "p": [0.2, 0.6] * 20, "q": [0.3, 0.4] * 20})
    rows.write_parquet(tmp_path / "rows.parquet")
    numbers = []
    sections: dict[str, Any]
    for sections in ({}, {"cross_validation": REPEATED}):
        with watched() as made:
            plm.evaluate(tmp_path / "rows.parquet", label="y", models="p", metrics=["brier"], **sections)
        numbers.append([each.scans for each in made])
    assert numbers[0] == numbers[1]


@pytest.mark.parametrize("missing", ["drop", "drop_per_model"])
def test_rows_that_fail_checks_do_not_count_where_metrics_count_every_row(missing: Any) -> None:
    label = [0.0, 1.0, 2.5, None, 4.0, 5.0]
    frame = pl.DataFrame({"y": label, "p": [0.5, 1.0, 2.0, 3.0, 4.5, float("nan")], "q": np.arange(6.0)})
    found = plm.evaluate(
        frame,
        task="regression",
        label="y",
        models={"a": "q"},
        metrics=["mse", {"name": "unlabelled", "null_share": "y"}],
        missing=missing,
        cross_validation=REPEATED,
    )
    loss = found.cross_validation.filter(kind="expected_loss")
    rows = frame.filter(pl.col("y").is_not_null(), pl.col("p").is_not_nan())
    expected = rows.select(((pl.col("p", "q") - pl.col("y")) ** 2).mean()).row(0)
    assert loss["n"].item() == rows.height
    assert loss["value"].item() == pytest.approx(np.mean(expected))
