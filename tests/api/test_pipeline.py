"""A run whose files are exchanged between two of its scans."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.core.errors import DataError

SUITE = """
data: {path: rows.parquet}
columns: {label: y}
models: s
metrics: [roc_auc, log_loss]
leakage: {train: train.parquet, keys: [id]}
drift: {reference: [before.parquet], columns: [s]}
find_slices: {columns: [s], metric: log_loss}
"""


def write(name: str, seed: int, rows: int = 2000) -> None:
    """A table, written beside the old one and moved over it."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"id": range(rows), "y": rng.integers(0, 2, rows), "s": rng.random(rows)})
    frame.with_columns(pl.col("id") + 10**6 * seed).write_parquet("new")
    Path("new").replace(name)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("stage", "file"),
    [("prepare", "rows"), ("order", "rows"), ("search", "rows"), ("leakage", "train"), ("drift", "before")],
)
def test_no_table_of_two_versions(root, stage, file):
    for seed, name in enumerate(("rows", "train", "before")):
        write(f"{name}.parquet", seed)
    Path("suite.yaml").write_text(SUITE)

    def exchange(started: str) -> None:
        if started == stage:
            write(f"{file}.parquet", seed=9, rows=1500)

    with pytest.raises(DataError, match=rf"(?s){file}\.parquet changed while it was read.*no program writes"):
        plm.run("suite.yaml", progress=exchange)
    plm.run("suite.yaml")
