"""Sums in arrays of cells and blocks are those of a grouping by their keys."""

import numpy as np
import polars as pl

from plmetrics.core.hashing import unit_hash
from plmetrics.engine.aggregate.cell_sums import sums_with_counts
from plmetrics.engine.aggregate.row_plan import rows_plan
from plmetrics.engine.binding.bind import bind
from plmetrics.engine.prepare.preparation import prepare
from plmetrics.suite.arguments import suite_from_arguments
from plmetrics.table.opening import open_source

DRAW = np.random.default_rng(2)
ROWS = 30_000
TABLE = pl.DataFrame(
    {
        "y": DRAW.integers(0, 2, ROWS),
        "p": DRAW.random(ROWS),
        "u": DRAW.integers(0, 6_000, ROWS),
        "g": DRAW.choice(["b", "a", None], ROWS),
    }
)
OPTIONS = {"label": "y", "models": "p", "metrics": ["roc_auc", "brier", "recall"], "slices": ["g"]}


def run_plan(**options):
    suite = suite_from_arguments(**OPTIONS, exact=False, unit="u", **options)
    return prepare(bind(suite, open_source(TABLE)))


def test_sums_of_batches_are_those_of_a_grouping():
    plan = run_plan(uncertainty={"replicates": 20, "blocks": 40})
    sums = sums_with_counts(plan, digested=False)
    rows = rows_plan(plan, further=sums.columns).collect()
    for first in range(0, ROWS, 7_000):
        batch = rows[first : first + 7_000]
        left = sums.take(batch, batch["@block"].cast(pl.UInt32).to_numpy())
        assert not any(name.startswith("@term|") for name in left.columns)
    frames = sums.frames()
    assert frames is not None  # each block has rows
    (found,) = frames
    block = unit_hash(pl.col("u"), pl.Int64()) % 40
    hit = (pl.col("y") == 1) & (pl.col("p") >= 0.5)
    wanted = TABLE.group_by(cell=pl.col("g").replace_strict({"a": 0, "b": 1}, default=2), block=block).agg(
        pl.len(), brier=((pl.col("p") - pl.col("y")) ** 2).sum(), positives=pl.col("y").sum(), tp=hit.sum()
    )
    found, wanted = found.sort("@cell", "@block"), wanted.sort("cell", "block")
    assert found["n"].to_list() == wanted["len"].to_list()
    assert found["positives"].to_list() == wanted["positives"].to_list()
    np.testing.assert_allclose(found["p|brier"], wanted["brier"], rtol=1e-12)
    assert found["p|tp(threshold=0.5)"].to_list() == wanted["tp"].to_list()


def test_sums_that_need_more_than_a_row_or_an_order_have_their_scan():
    assert sums_with_counts(run_plan(), digested=False) is not None
    assert sums_with_counts(run_plan(reproducible=True), digested=False) is None
    assert sums_with_counts(run_plan(uncertainty={"replicates": 20, "blocks": 3_000}), digested=False) is None
    exact = suite_from_arguments(**OPTIONS, exact=True)
    assert sums_with_counts(prepare(bind(exact, open_source(TABLE))), digested=False) is None
