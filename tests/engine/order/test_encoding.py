"""Rows counted on a grid: what their order must not change."""

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import plmetrics as plm
from plmetrics.engine.order.encoding import EncodedRows, regroup
from plmetrics.states.scores.grid.placed_rows import Members


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", range(4))
def test_bins_do_not_know_which_zero_came_first(seed: int) -> None:
    draw = np.random.default_rng(seed)
    score = draw.choice([0.0, -0.0, 1e-308, 1.0], 60)
    rows = pl.DataFrame({"y": draw.integers(0, 2, 60), "p": score})
    zeros = pl.col("p") == 0
    signed = 1 / pl.col("p") < 0
    orders = [rows.filter(zeros & signed), rows.filter(zeros & ~signed), rows.filter(~zeros)]
    asked = {"label": "y", "models": "p", "metrics": ["roc_auc", "average_precision", "ks"], "exact": False}
    one, other = (
        plm.evaluate(pl.concat(parts), **asked).metrics for parts in (orders, orders[1::-1] + orders[2:])
    )
    assert orders[0].height
    assert orders[1].height
    assert_frame_equal(one, other)


BINARY = ["roc_auc", "average_precision", "ks", "precision_at_k(k=0.1)", "recall_at_fpr(fpr=0.1)", "pr_auc"]
UPLIFT = ["qini", "auuc", "uplift_at_k(k=0.1)"]


@pytest.mark.exhaustive
@pytest.mark.parametrize("task", ["binary", "uplift"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_scores_that_rows_share_are_exact(task: str, weight: str | None) -> None:
    """A constant, the scores of a tree, and rounded ones have bins of their own, which leave no order open."""
    draw = np.random.default_rng(3)
    rows = 30_000
    label = draw.random(rows) < 0.1
    table = pl.DataFrame(
        {
            "y": label,
            "constant": np.full(rows, -0.1),
            "tree": draw.choice(draw.normal(size=40), rows) + 0.3 * label,
            "rounded": np.round(draw.random(rows) + 0.2 * label, 3),
            "g": draw.integers(0, 3, rows),
            "t": draw.integers(0, 2, rows),
            "w": draw.random(rows) * 1e6,
        }
    )
    asked = {
        "task": task,
        "label": "y",
        "weight": weight,
        "models": ["constant", "tree", "rounded"],
        "metrics": BINARY if task == "binary" else UPLIFT,
        "slices": "g",
        "treatment": "t" if task == "uplift" else None,
    }
    grid, exact = (plm.evaluate(table, **asked, exact=exact).metrics for exact in (False, True))
    assert grid["bound"].max() < 1e-12
    assert grid["bound"].null_count() == 0
    assert_frame_equal(grid.drop("bound"), exact.drop("bound"))


def test_a_score_that_many_rows_share_leaves_only_the_others_open() -> None:
    """The bound of the area is half of the pairs that share a bin: those at 0 do not count."""
    draw = np.random.default_rng(4)
    score = np.where(draw.random(50_000) < 0.4, 0.0, draw.random(50_000))
    table = pl.DataFrame({"y": draw.random(50_000) < 0.2, "p": score})
    asked = {"label": "y", "models": "p", "metrics": "roc_auc"}
    found = plm.evaluate(table, **asked, exact=False).metrics.row(0, named=True)
    assert found["bound"] < 1e-4
    assert abs(found["value"] - plm.evaluate(table, **asked).metrics["value"].item()) <= found["bound"]


@pytest.mark.slow
def test_blocks_count_rows_without_a_label_as_well() -> None:
    """More rows of a block in one bin than two bytes count, of which few have a label."""
    draw = np.random.default_rng(5)
    unit = draw.integers(0, 6, 480_000)
    score = np.where(draw.random(len(unit)) < 0.95, np.where(unit < 3, 0.2, 0.7), draw.random(len(unit)))
    table = pl.DataFrame({"y": draw.integers(0, 2, len(unit)), "p": score, "u": unit})
    few = table.with_columns(y=pl.when(pl.lit(pl.Series(draw.random(len(unit)) < 0.05))).then("y"))
    median = {"name": "median", "quantile": "score", "q": 0.5}
    asked = {"label": "y", "models": "p", "metrics": [median], "unit": "u", "exact": False}
    asked |= {"uncertainty": {"replicates": 100}}
    late = plm.evaluate(few, labels=True, **asked).metrics.drop("labelled")
    assert_frame_equal(late, plm.evaluate(table, **asked).metrics)


def batches(sizes: list[int], cells: int, seed: int = 0) -> list[EncodedRows]:
    """Batches with rows in the order of their cells; another cube is in none."""
    rng = np.random.default_rng(seed)
    out = []
    for rows in sizes:
        code = np.sort(rng.integers(0, cells, rows).astype(np.uint8))
        out.append(
            EncodedRows(
                {0: Members.of(rng.integers(0, 3, rows).astype(np.uint8)), 2: Members.of(code)},
                rows,
                rng.integers(0, 1000, rows).astype(np.uint16),
                {},
                {name: rng.integers(0, 40_000, rows).astype(np.uint16) for name in "ab"},
                {"b": rng.random(rows) < 0.5},
            )
        )
    return out


def rows_of(every: list[EncodedRows]) -> np.ndarray:
    """The numbers of each row."""
    parts = [
        [
            part.cells[2].row_codes(),
            part.cells[0].row_codes(),
            part.block,
            part.place["a"],
            part.place["b"],
            part.masks["b"],
        ]
        for part in every
    ]
    return np.concatenate([np.stack(columns, axis=1) for columns in parts])


@pytest.mark.parametrize("sizes", [[20_000], [20_000, 16_384, 1], [9000, 30_000, 12_345]])
@pytest.mark.parametrize("cells", [1, 4, 9])
def test_rows_are_the_same_in_the_order_of_cells(sizes: list[int], cells: int) -> None:
    before = batches(sizes, cells)
    expected = rows_of(before)
    expected = expected[np.argsort(expected[:, 0], kind="stable")]
    after = regroup(before, 2)
    assert [part.rows for part in after] == sizes
    assert np.array_equal(rows_of(after), expected)
    for part in after:
        fresh = Members.of(part.cells[2].row_codes().astype(np.uint8))
        assert np.array_equal(part.cells[2].code, fresh.code)
        assert np.array_equal(part.cells[2].starts, fresh.starts)
        assert part.cells[2].rows == part.rows


def test_what_is_not_counted_by_runs_stays() -> None:
    short = batches([5000, 5000], 200)
    expected = rows_of(short)
    assert np.array_equal(rows_of(regroup(short, 2)), expected)
    weighted = [replace(part, weight={"w": np.ones(part.rows)}) for part in batches([20_000, 20_000], 2)]
    expected = rows_of(weighted)
    assert np.array_equal(rows_of(regroup(weighted, 2)), expected)
    first, second = batches(
        [20_000, 20_000], 2
    )  # a mask stands only where some rows of a batch have no number
    first.masks.pop("b")
    assert regroup([first, second], 2) == [first, second]
    first, second = batches([20_000, 20_000], 2)
    second.place.pop("a")
    assert regroup([first, second], 2) == [first, second]


def test_quantiles_beside_effects_are_those_of_their_column() -> None:
    """Outcomes are the numbers of arms alone: their ends are not those of other columns."""
    rng = np.random.default_rng(3)
    rows = pl.DataFrame({"y": rng.normal(size=400), "p": rng.random(400), "t": rng.integers(0, 2, 400)})
    rows = rows.with_columns(v=pl.Series(100.0 + rng.random(400)))
    quantile: dict[str, Any] = {"name": "high", "quantile": "v", "q": 0.9}
    found = plm.evaluate(
        rows, task="uplift", label="y", treatment="t", models="p", metrics=["qini", quantile], exact=False
    ).metrics.row(by_predicate=pl.col("metric") == "high", named=True)
    expected = np.quantile(rows["v"], 0.9, method="averaged_inverted_cdf")
    assert abs(found["value"] - expected) <= found["bound"] + 1e-9


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("other", [{"weight": False}, {"label": "z"}])
def test_a_calibrated_model_has_the_label_and_weight_of_its_model(other: dict[str, Any], exact: bool) -> None:
    rng = np.random.default_rng(1)
    score = rng.random(400)
    rows = pl.DataFrame(
        {"y": (rng.random(400) < score).astype(int), "p": score, "w": rng.exponential(1, 400)}
    )
    rows = rows.with_columns(z=1 - pl.col("y").shift(1, fill_value=0), fold=pl.int_range(400) % 2)
    found = plm.evaluate(
        rows,
        label="y",
        models={"own": {"score": "p", **other}, "plain": "p"},
        weight="w",
        calibrate={"method": "platt", "fit_on": "fold = 0", "models": ["own"]},
        metrics=["roc_auc"],
        exact=exact,
    ).metrics
    own, calibrated = (found.filter(model=name)["value"].item() for name in ("own", "own_platt"))
    assert min(abs(calibrated - own), abs(calibrated - (1 - own))) < 1e-12
