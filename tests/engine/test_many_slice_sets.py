"""Work for a suite of many slice sets: it grows with their number, not with its square."""

from collections import Counter
from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm
from plmetrics.engine.prepare import slices as slice_lists
from plmetrics.suite.model import Suite
from plmetrics.table.slices import Cube


def table(sets: int, rows: int = 500) -> pl.DataFrame:
    draw = np.random.default_rng(sets)
    columns = {f"c{number}": draw.integers(0, 4, rows) for number in range(sets)}
    return pl.DataFrame({"y": draw.integers(0, 2, rows), "p": draw.random(rows), **columns})


def test_work_grows_with_the_number_of_slice_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    work: list[Counter[str]] = []
    digit, covering, sets_of = Cube._digit, slice_lists._covering_sets, Suite.sets_of

    def counted_digit(cube: Cube, place: int, cells: Any) -> Any:
        work[-1]["cells"] += len(cells)
        return digit(cube, place, cells)

    def counted_covering(*arguments: Any) -> Any:
        work[-1]["comparisons of all sets"] += 1
        return covering(*arguments)

    def counted_sets(*arguments: Any) -> Any:
        work[-1]["lists of all sets"] += 1
        return sets_of(*arguments)

    monkeypatch.setattr(Cube, "_digit", counted_digit)
    monkeypatch.setattr(slice_lists, "_covering_sets", counted_covering)
    monkeypatch.setattr(Suite, "sets_of", counted_sets)
    for sets in (8, 32):
        work.append(Counter())
        rows = table(sets)
        result = plm.evaluate(
            rows, label="y", models={"m": "p"}, metrics=["recall"], slices=[f"c{n}" for n in range(sets)]
        )
        means = rows.filter(pl.col("y") == 1).group_by(f"c{sets - 1}").agg((pl.col("p") >= 0.5).mean())
        values = result.metrics.filter(pl.col("slice_set") == f"c{sets - 1}").sort("slice")["value"]
        assert values.to_list() == pytest.approx(means.sort(f"c{sets - 1}")["p"].to_list())
    few, many = work
    assert few["comparisons of all sets"] == many["comparisons of all sets"]
    assert few["lists of all sets"] == many["lists of all sets"]
    assert 0 < many["cells"] <= 4 * few["cells"] <= 4 * 8 * 500
