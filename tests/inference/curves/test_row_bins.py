"""Curves of labels and predictions from sums by bins: of all rows, of states that were merged, and of many rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import plmetrics as plm

RESIDUALS = [
    "residual_histogram",
    "residual_qq",
    "label_histogram",
    "conditional_label",
    "conditional_prediction",
    "conditional_recall",
    "residual_prediction",
    "residual_quantiles",
]


def regression(rows: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    y = rng.normal(10, 3, rows)
    return pl.DataFrame(
        {
            "y": y,
            "a": y + rng.normal(0.5, 1, rows) * (1 + (y > 10)),
            "b": np.round(rng.normal(10, 3, rows), 1),
        }
    ).with_columns(**attributes(rng, rows))


def classes(rows: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    y, a, b = (rng.choice(["x", "y", "z"], rows) for _ in range(3))
    return pl.DataFrame({"y": y, "a": np.where(rng.random(rows) < 0.6, y, a), "b": b}).with_columns(
        **attributes(rng, rows)
    )


def effects(rows: int, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    t, a = rng.random(rows) < 0.4, rng.normal(size=rows)
    y = a * t + rng.normal(size=rows)
    return pl.DataFrame({"y": y, "t": t, "a": a, "b": np.round(a, 1)}).with_columns(**attributes(rng, rows))


def attributes(rng: np.random.Generator, rows: int) -> dict[str, pl.Series]:
    values = {
        "w": rng.integers(0, 4, rows) / 3,
        "g": rng.choice(["k", "l"], rows),
        "u": rng.integers(0, 90, rows),
    }
    return {name: pl.Series(part) for name, part in values.items()}


HARD = {name: {"prediction": name} for name in "ab"}
TASKS: dict[str, tuple[Any, dict[str, Any], list[str]]] = {
    "regression": (regression, {"metrics": ["mae"]}, RESIDUALS),
    "multiclass": (classes, {"metrics": ["accuracy"], "models": HARD}, ["confusion"]),
    "uplift": (effects, {"metrics": ["ate"], "treatment": "t"}, ["effect_calibration"]),
}
WAYS: dict[str, dict[str, Any]] = {
    "rows": {},
    "weights and units": {"weight": "w", "unit": "u", "uncertainty": {"replicates": 20}},
    "any order": {"weight": "w", "reproducible": True},
}


def asked(task: str, **more: Any) -> dict[str, Any]:
    given = {"task": task, "label": "y", "models": ["a", "b"], "slices": {"g": "g"}}
    curves = [{"curve": name, "slices": ["g"]} for name in TASKS[task][2]]
    return given | {"curves": curves} | TASKS[task][1] | more


@pytest.mark.exhaustive
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("task", TASKS)
def test_states_of_shards_give_what_a_run_over_all_rows_gives(tmp_path: Any, task: str, way: str) -> None:
    rows = TASKS[task][0](5400)  # so many that bins hold several numbers
    arguments = asked(task, **WAYS[way])
    for number in range(3):
        rows[number * 1800 : (number + 1) * 1800].write_parquet(tmp_path / f"{number}.parquet")
    every = str(tmp_path / "*.parquet")
    plain = plm.evaluate(every, **arguments).curves
    constants = plm.state(every, **arguments)
    states = [
        plm.state(str(tmp_path / f"{number}.parquet"), **arguments, constants=constants)
        for number in range(3)
    ]
    merged = plm.merge(*reversed(states)).curves
    assert plain["curve"].unique(maintain_order=True).to_list() == TASKS[task][2]
    assert plain["slice"].unique(maintain_order=True).to_list() == ["all", "g=k", "g=l"]
    assert_frame_equal(merged, plain, rel_tol=1e-9, abs_tol=1e-9)
    if way == "any order":
        assert merged.equals(plain)
        assert plm.evaluate(rows.sample(fraction=1.0, shuffle=True, seed=1), **arguments).curves.equals(plain)


@pytest.mark.parametrize("task", TASKS)
def test_memory_for_no_rows_is_enough(task: str) -> None:
    rows = TASKS[task][0](300)
    assert_frame_equal(
        plm.evaluate(rows, **asked(task, exact=False)).curves,
        plm.evaluate(rows, **asked(task)).curves,
        rel_tol=1e-9,
    )


def test_states_with_bins_of_their_own_do_not_add() -> None:
    arguments = asked("regression", curves=["conditional_label"])
    one, other = (plm.state(regression(50, seed), **arguments) for seed in (0, 1))
    with pytest.raises(plm.ConfigError, match="the bins that curves are drawn from"):
        plm.merge(one, other)


def test_bins_of_many_rows_end_near_the_quantiles_and_hold_their_rows() -> None:
    rows = regression(20_000)
    found = plm.evaluate(rows, **asked("regression")).curves
    for text, part in (("all", rows), ("g=k", rows.filter(g="k"))):
        y, p = (part[name].to_numpy() for name in ("y", "a"))
        drawn = {
            "conditional_label": (p, y),
            "conditional_prediction": (y, p),
            "residual_prediction": (p, p - y),
        }
        for name, (by, values) in drawn.items():
            points = found.filter(curve=name, slice=text, model="a")
            place = np.searchsorted(points["threshold"][:-1], by)
            number = np.bincount(place)
            np.testing.assert_array_equal(points["n"], number)
            np.testing.assert_allclose(points["x"], np.bincount(place, by) / number)
            np.testing.assert_allclose(points["y"], np.bincount(place, values) / number, atol=1e-12)
            assert np.abs(np.cumsum(number) / len(y) - np.arange(1, 21) / 20).max() < 1 / 1000
        points = found.filter(curve="residual_quantiles", slice=text, model="a")
        place = np.searchsorted(points["threshold"][:19], p)
        for row, bin_number in zip(points.iter_rows(named=True), np.tile(np.arange(20), 5), strict=True):
            errors = (p - y)[place == bin_number]
            assert (errors < row["y"]).mean() == pytest.approx(float(row["class"]), abs=0.02)


def test_quantiles_of_residuals_are_close_in_the_tails() -> None:
    rows = regression(20_000)
    own = plm.evaluate(rows, **asked("regression")).curves.filter(curve="residual_qq", slice="all", model="a")
    errors = np.sort(rows["a"] - rows["y"])
    scaled = (errors - errors.mean()) / errors.std()
    expected = np.interp(stats.norm.cdf(own["x"]), (np.arange(20_000) + 0.5) / 20_000, scaled)
    np.testing.assert_allclose(own["y"], expected, atol=0.01)
    assert (own["x"][0], own["x"][-1]) == pytest.approx(stats.norm.ppf([0.5 / 20_000, 1 - 0.5 / 20_000]))


def test_bands_of_effects_in_wide_bins_are_those_of_narrow_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bins by block are wider where there are many rows; bands are moved by what that makes of all rows."""
    rows = effects(3000)
    arguments = asked("uplift", models=["a"], uncertainty={"replicates": 200})
    narrow = plm.evaluate(rows, **arguments).curves
    monkeypatch.setattr("plmetrics.engine.prepare.bin_edges.FEW_ROWS", 10)
    wide = plm.evaluate(rows, **arguments).curves
    width = narrow["upper"] - narrow["lower"]
    np.testing.assert_allclose(wide["n"], narrow["n"], atol=3)
    np.testing.assert_allclose(wide["x"], narrow["x"], atol=0.02)
    for end in ("lower", "upper"):
        assert (wide[end] - narrow[end]).abs().max() < 0.2 * width.mean()


def test_rows_are_in_the_slice_of_each_tag_and_drop_out_for_one_model_alone() -> None:
    rows = regression(400).with_columns(
        tags=pl.Series([[["m"], ["m", "n"], []][number % 3] for number in range(400)]),
        a=pl.when(pl.int_range(400) % 7 == 0).then(None).otherwise("a"),
    )
    curves = [{"curve": name, "slices": ["tags"]} for name in ("conditional_label", "residual_histogram")]
    found = plm.evaluate(
        rows,
        **asked("regression", slices={"tags": "tags"}, curves=curves, missing="drop_per_model"),
    ).curves
    for model in "ab":
        for text, part in (("all", rows), ("tags=m", rows.filter(pl.col("tags").list.contains("m")))):
            for curve in ("conditional_label", "residual_histogram"):
                points = found.filter(curve=curve, model=model, slice=text)
                assert points["n"].sum() == part[model].drop_nulls().len()
