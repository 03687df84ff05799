"""The report's section on drift."""

import numpy as np
import polars as pl
import pytest
from rich.cells import cell_len

import plmetrics as plm
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render


@pytest.fixture(scope="module")
def result() -> plm.Result:
    random = np.random.default_rng(5)
    size = 300
    before = pl.DataFrame(
        {
            "y": random.integers(0, 2, size),
            "p": random.random(size),
            "age": random.normal(40, 9, size),
            "site": random.choice(["north", "south"], size),
        }
    )
    now = before.with_columns(
        pl.when(pl.int_range(pl.len()) % 10 > 0).then(pl.col("age") + 6).alias("age"),
        pl.col("site").replace("south", "east"),
    )
    spec = {"reference": before, "columns": ["age", "site"], "slices": "site"}
    return plm.evaluate(
        now, label="y", models={"champion": "p"}, metrics=["accuracy"], slices=["site"], drift=spec
    )


def test_every_column_with_its_measures(result: plm.Result) -> None:
    text = render(summarise(result), 120)
    assert "Drift (300 reference rows, 300 rows now)" in text
    lines = text.split("Drift (")[1].splitlines()
    assert lines[1].split()[:3] == ["column", "psi", "ks_2samp"]
    assert [line.split()[0] for line in lines[2:6]] == ["champion", "y", "age", "site"]
    shift = result.drift.filter(column="age", measure="mean", slice_set="overall").row(0, named=True)
    assert f"{shift['reference']:.2f} -> {shift['current']:.2f}" in lines[4]
    assert lines[4].endswith("0.0% -> 10.0%")
    assert "no psi for 4 slices of columns: no_rows_in_current" in text
    assert "below 0.1 stable, from 0.25 on a shift (Siddiqi, 2006)" in text


def test_why_no_test_has_a_p_value():
    rows = pl.DataFrame({"y": [0, 1] * 20, "p": np.linspace(0, 1, 40), "w": [1.0, 2.0] * 20, "x": range(40)})
    result = plm.evaluate(
        rows,
        label="y",
        models="p",
        weight="w",
        metrics=["accuracy"],
        drift={"reference": rows, "columns": ["x"], "measures": ["psi", "ks_2samp", "chi2_2samp"]},
    )
    tests = result.drift.filter(pl.col("p_status") == "weighted", pl.col("value").is_not_null())
    assert f"no p value of {tests.height} tests: weighted" in render(summarise(result), 120)


@pytest.mark.parametrize("width", [40, 60, 90])
def test_nothing_is_wider_than_the_terminal(result: plm.Result, width: int) -> None:
    assert max(map(cell_len, render(summarise(result), width).splitlines())) <= width
