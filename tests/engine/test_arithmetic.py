"""What the order of rows may change is the same in any order where it is asked for, and costs nothing where not."""

import numpy as np
import polars as pl
import pytest

from plmetrics.engine.arithmetic import Arithmetic
from plmetrics.engine.inquiry import answer

RNG = np.random.default_rng(5)
ROWS = pl.DataFrame({"g": RNG.integers(0, 3, 4000), "x": RNG.normal(0.0, 1e6, 4000), "y": RNG.random(4000)})
VALUES = {"x": pl.col("x"), "square": pl.col("x") ** 2}
SHUFFLED = [ROWS.sample(fraction=1.0, shuffle=True, seed=seed) for seed in range(4)]


def totals(rows: pl.DataFrame, *, any_order: bool) -> pl.DataFrame:
    addition = answer(Arithmetic(any_order).addition(rows.lazy(), VALUES))
    sums = rows.group_by("g").agg(pl.len().cast(pl.Int64).alias("n"), *addition.sums(VALUES)).sort("g")
    return addition.totals(sums)


def test_totals_are_the_same_in_any_order_and_near_the_plain_ones() -> None:
    first, *others = (totals(rows, any_order=True) for rows in SHUFFLED)
    assert all(first.equals(other) for other in others)
    plain = totals(ROWS, any_order=False)
    assert first.columns == plain.columns
    np.testing.assert_allclose(first.to_numpy(), plain.to_numpy(), rtol=1e-9)


def test_sums_of_two_tables_add_to_the_totals_of_both() -> None:
    addition = answer(Arithmetic(any_order=True).addition(ROWS.lazy(), VALUES))
    sums = [pl.len().cast(pl.Int64).alias("n"), *addition.sums(VALUES)]
    halves = pl.concat([half.select(sums) for half in (ROWS[:900], ROWS[900:])])
    assert addition.totals(halves.sum()).equals(addition.totals(ROWS.select(sums)))


@pytest.mark.parametrize("any_order", [True, False])
def test_a_total_is_one_expression(any_order: bool) -> None:
    addition = answer(Arithmetic(any_order).addition(ROWS.lazy(), VALUES))
    found = [rows.select(addition.total("x", pl.col("x"))).item() for rows in SHUFFLED]
    assert found == pytest.approx([ROWS["x"].sum()] * len(SHUFFLED))
    assert len(set(found)) == 1 or not any_order


def test_rows_have_an_order_of_their_own() -> None:
    exact, plain = Arithmetic(any_order=True), Arithmetic(any_order=False)
    assert all(exact.rows(rows).equals(exact.rows(ROWS)) for rows in SHUFFLED)
    assert all(exact.sort(rows.lazy(), "y").collect()["y"].is_sorted() for rows in SHUFFLED)
    assert plain.rows(ROWS).equals(ROWS)


def test_samples_are_the_same_rows_in_any_order() -> None:
    exact, plain = Arithmetic(any_order=True), Arithmetic(any_order=False)
    samples = [exact.sample(rows.lazy(), 10, ["x"]).collect().sort("x") for rows in SHUFFLED]
    assert all(sample.equals(samples[0]) for sample in samples)
    assert 300 < samples[0].height < 500
    assert (
        plain.sample(ROWS.lazy(), 10, ["x"]).collect()["x"].to_list() == ROWS["x"].gather_every(10).to_list()
    )
    assert exact.sample(ROWS.lazy(), 1, ["x"]).collect().equals(ROWS)


def test_means_leave_out_what_is_not_finite() -> None:
    rows = pl.LazyFrame({"x": [1.0, 2.0, float("nan"), float("inf"), None], "none": [float("nan")] * 5})
    values = {"x": pl.col("x"), "none": pl.col("none")}
    for any_order in (True, False):
        assert answer(Arithmetic(any_order).means(rows, values)) == {"x": 1.5, "none": 0.0}
