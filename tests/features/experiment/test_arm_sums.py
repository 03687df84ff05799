"""The plans of a readout stream: nothing holds all rows."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import plmetrics as plm
from plmetrics.features.explain.passes import fallbacks

TABLE = pl.DataFrame(
    {
        "arm": ["A", "B"] * 20,
        "y": [float(i % 7) for i in range(40)],
        "c": [i % 3 for i in range(40)],
        "user": [i // 4 * 2 + i % 2 for i in range(40)],
    }
)


@pytest.mark.parametrize("unit", [None, "user"])
def test_nothing_falls_back(plans_run: list[pl.LazyFrame], unit: str | None) -> None:
    plm.readout(TABLE, "y", arm="arm", control="A", by=["c"], unit=unit)
    assert len(plans_run) == (4 if unit is None else 3)
    assert not [fallback for plan in plans_run for fallback in fallbacks(plan)]


def outcomes(rows: int = 3_000) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    spent = np.exp(rng.normal(size=rows) * 2)
    return pl.DataFrame(
        {
            "arm": rng.choice(["A", "B", "C"], rows),
            "spent": np.where(np.arange(rows) % 50 == 0, np.nan, spent),
            "bought": rng.integers(0, 2, rows),
            "same": np.full(rows, 0.1),
            "region": rng.choice(np.array(["north", "south", None]), rows).tolist(),
            "user": rng.integers(0, 400, rows),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("unit", [None, "user"])
def test_a_reproducible_readout_is_the_same_in_any_order_and_files(unit: str | None, tmp_path: Path) -> None:
    rows = outcomes()
    shuffled = [rows.sample(fraction=1.0, shuffle=True, seed=seed) for seed in range(3)]
    for number, part in enumerate(shuffled[0].iter_slices(500)):
        part.write_parquet(tmp_path / f"{number}.parquet")
    asked: dict[str, Any] = {"outcome": ["spent", "bought", "same"], "arm": "arm", "control": "A"}
    asked |= {"by": ["region"], "unit": unit, "missing": "drop"}
    layouts = [rows, *shuffled, str(tmp_path / "*.parquet")]
    found = {plm.readout(layout, **asked, reproducible=True).write_ndjson() for layout in layouts}
    assert len(found) == 1
    plain = [plm.readout(layout, **asked) for layout in layouts]
    assert len({table.write_ndjson() for table in plain}) > 1
    exact = plm.readout(rows, **asked, reproducible=True)
    assert_frame_equal(exact, plain[0], rel_tol=1e-11, abs_tol=1e-15)


@pytest.mark.parametrize("unit", [None, "user"])
def test_variances_far_from_zero_keep_their_digits(unit: str | None) -> None:
    rows = outcomes().with_columns(spent=pl.col("same") * 1e7 + pl.col("bought") * 1e-3)
    found = plm.readout(rows, "spent", arm="arm", control="A", unit=unit, reproducible=True)
    near = plm.readout(
        rows.with_columns(spent=pl.col("bought") * 1e-3 + 1e-3), "spent", arm="arm", control="A", unit=unit
    )
    errors = [table.filter(outcome="spent")["std_error"].to_list() for table in (found, near)]
    assert errors[0] == pytest.approx(errors[1], rel=1e-5)


@pytest.mark.parametrize("reproducible", [False, True])
def test_rounding_is_no_difference(reproducible: bool) -> None:
    """Values that are alike in a slice, and not elsewhere, differ by the rounding of their centre alone."""
    rng = np.random.default_rng(2)
    rows = pl.DataFrame(
        {
            "arm": np.tile(["A", "B"], 150),
            "region": np.repeat(["north", "south", "west"], 100),
            "units": np.arange(300) // 6 * 2 + np.arange(300) % 2,
            "before": rng.normal(size=300),
            "spent": np.where(
                np.arange(300) < 100, 0.0, np.where(np.arange(300) < 200, 0.1, rng.random(300))
            ),
        }
    )
    for unit in (None, "units"):
        for covariate in (None, "before"):
            found = plm.readout(
                rows,
                "spent",
                arm="arm",
                control="A",
                by=["region"],
                unit=unit,
                covariate=covariate,
                reproducible=reproducible,
            )
            alike = found.filter(pl.col("slice").is_in(["region=north", "region=south"]))
            columns = ("mean", "difference", "std_error", "p_value", "lift", "power", "status")
            assert alike.select(columns).rows() == [
                (0.0, 0.0, 0.0, 1.0, None, None, "ok"),
                (pytest.approx(0.1), 0.0, 0.0, 1.0, pytest.approx(0.0), None, "ok"),
            ]


@pytest.mark.parametrize("reproducible", [False, True])
@pytest.mark.parametrize("unit", [None, "user"])
def test_an_outlier_takes_no_digits_off_other_slices(unit: str | None, reproducible: bool) -> None:
    """With the mean of all rows taken off, the slice beside an outlier of 1e18 had means of 0."""
    rng = np.random.default_rng(4)
    rows = pl.DataFrame(
        {
            "arm": np.tile(["A", "B"], 100),
            "region": np.repeat(["north", "south"], 100),
            "user": np.arange(200),
            "spent": np.where(np.arange(200) == 3, -1e18, rng.normal(5.0, 1.0, 200)),
        }
    )
    asked: dict[str, Any] = {"arm": "arm", "control": "A", "unit": unit, "reproducible": reproducible}
    found = plm.readout(rows, "spent", by=["region"], **asked).filter(slice="region=south", arm="B")
    sides = [rows.filter(region="south", arm=arm)["spent"].to_numpy() for arm in ("B", "A")]
    test = stats.ttest_ind(*sides, equal_var=False)
    assert found["difference"].item() == pytest.approx(sides[0].mean() - sides[1].mean(), rel=1e-12)
    assert found["p_value"].item() == pytest.approx(test.pvalue, rel=1e-6)


@pytest.mark.parametrize("reproducible", [False, True])
def test_an_arm_without_values_leaves_the_others_as_they_are(reproducible: bool) -> None:
    rng = np.random.default_rng(6)
    rows = pl.DataFrame(
        {
            "arm": np.tile(["A", "B", "C"], 40),
            "user": np.tile(np.arange(30), 4),
            "before": rng.normal(size=120),
            "spent": rng.random(120),
        }
    )
    rows = rows.with_columns(pl.when(pl.col("arm") != "C").then("spent"))
    both, alone = (
        plm.readout(
            data,
            "spent",
            arm="arm",
            control="A",
            unit="user",
            covariate="before",
            missing="drop",
            reproducible=reproducible,
        ).filter(arm="B")
        for data in (rows, rows.filter(pl.col("arm") != "C"))
    )
    numbers = ["n", "difference", "lower", "upper", "p_value", "status"]
    assert alone["status"].item() == "ok"
    assert_frame_equal(both.select(numbers), alone.select(numbers))
