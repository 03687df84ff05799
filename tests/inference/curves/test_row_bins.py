"""Curves of labels and predictions from sums by bins: of all rows, of states that were merged, and of many rows."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from inference.curves.test_residuals import NAMES as RESIDUALS
from polars.testing import assert_frame_equal
from scipy import stats
from sklearn import config_context
from sklearn.metrics import ndcg_score

import plmetrics as plm
from plmetrics.inference.curves.row_bins import even_ranks


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
    "regression": (regression, {"metrics": ["mae"], "models": ["a"]}, RESIDUALS),
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


@pytest.mark.alike
@pytest.mark.slow
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


@pytest.mark.exhaustive
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_quantiles_of_residuals_are_close_in_the_tails() -> None:
    rows = regression(20_000)
    own = plm.evaluate(rows, **asked("regression")).curves.filter(curve="residual_qq", slice="all", model="a")
    errors = np.sort(rows["a"] - rows["y"])
    scaled = (errors - errors.mean()) / errors.std()
    expected = np.interp(stats.norm.cdf(own["x"]), (np.arange(20_000) + 0.5) / 20_000, scaled)
    np.testing.assert_allclose(own["y"], expected, atol=0.01)
    assert (own["x"][0], own["x"][-1]) == pytest.approx(stats.norm.ppf([0.5 / 20_000, 1 - 0.5 / 20_000]))


@pytest.mark.slow
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
        **asked("regression", models=["a", "b"], slices={"tags": "tags"}, curves=curves),
        missing="drop_per_model",
    ).curves
    for model in "ab":
        for text, part in (("all", rows), ("tags=m", rows.filter(pl.col("tags").list.contains("m")))):
            for curve in ("conditional_label", "residual_histogram"):
                points = found.filter(curve=curve, model=model, slice=text)
                assert points["n"].sum() == part[model].drop_nulls().len()


CURVE = {"curve": "query_differences", "metric": "ndcg", "slices": "g"}


def table(queries: int = 40, rows: int = 6, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    number = queries * rows
    return pl.DataFrame(
        {
            "q": [f"quärry {query}" for query in range(queries) for _ in range(rows)],
            "y": np.where(np.arange(number) // rows % 10 == 0, 0, rng.integers(0, 4, number)),
            "a": rng.random(number),
            "b": rng.random(number),
            "c": rng.random(number),
            "g": [["x", "y"][query % 2] for query in range(queries) for _ in range(rows)],
        }
    )


ARGUMENTS: dict[str, Any] = {
    "task": "ranking",
    "label": "y",
    "query": "q",
    "models": ["a", "b", "c"],
    "metrics": ["ndcg", "mrr"],
    "slices": "g",
    "compare": {"baseline": "a"},
    "curves": [CURVE],
}


def curves(rows: pl.DataFrame, **arguments: Any) -> pl.DataFrame:
    return plm.evaluate(rows, **{**ARGUMENTS, **arguments}).curves


def by_hand(rows: pl.DataFrame, model: str) -> dict[str, float]:
    """By query the difference of scikit-learn's scores; queries without a relevant row take no part."""
    out = {}
    with config_context(skip_parameter_validation=True):
        for (query,), part in rows.partition_by("q", as_dict=True).items():
            y, a, b = (part[name].to_numpy()[None] for name in ("y", "a", model))
            if y.any():
                out[str(query)] = ndcg_score(y, b) - ndcg_score(y, a)
    return out


def test_each_query_has_the_difference_of_its_values() -> None:
    rows = table()
    found = curves(rows)
    assert found["curve"].unique().to_list() == ["query_differences"]
    assert found["model"].unique(maintain_order=True).to_list() == ["b", "c"]
    for model in ("b", "c"):
        for text, part in (("all", rows), ("g=x", rows.filter(g="x")), ("g=y", rows.filter(g="y"))):
            expected = by_hand(part, model)
            own = found.filter(model=model, slice=text)
            assert dict(own.select("class", "y").iter_rows()) == pytest.approx(expected, abs=1e-12)
            assert own["x"].to_list() == list(range(1, len(expected) + 1))
            assert own["y"].is_sorted(descending=True)
            assert own["n"].null_count() == own["lower"].null_count() == own.height


def test_their_mean_is_the_difference_of_the_metric() -> None:
    rows = table(200)
    result = plm.evaluate(
        rows,
        task="ranking",
        label="y",
        query="q",
        models=["a", "b"],
        metrics=["ndcg"],
        compare={"baseline": "a"},
        uncertainty={"replicates": 50},
        curves=[{"curve": "query_differences", "metric": "ndcg"}],
    )
    assert result.curves["y"].mean() == pytest.approx(result.comparisons["difference"].item())


@pytest.mark.slow
def test_many_queries_are_thinned_to_even_ranks_with_both_ends() -> None:
    rows = table(2500, 2)
    own = curves(rows, slices=None, curves=[{**CURVE, "slices": []}]).filter(model="b")
    expected = sorted(by_hand(rows, "b").values(), reverse=True)
    assert own.height == 1000
    assert (own["x"][0], own["x"][-1]) == (1, len(expected))
    assert set(np.diff(own["x"])) <= {2.0, 3.0}
    np.testing.assert_allclose(own["y"], np.array(expected)[own["x"].to_numpy().astype(int) - 1], atol=1e-12)
    assert len(even_ranks(0)) == 0


def test_a_model_without_a_query_has_no_difference_there() -> None:
    rows = table().with_columns(b=pl.when(pl.col("q") == "quärry 3").then(None).otherwise("b"))
    found = curves(rows, missing="drop_per_model").filter(slice="all")
    assert "quärry 3" not in found.filter(model="b")["class"].to_list()
    assert "quärry 3" in found.filter(model="c")["class"].to_list()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"curves": ["query_differences"]}, "needs a metric"),
        ({"curves": [{**CURVE, "metric": "ndgc"}]}, "did you mean 'ndcg'"),
        ({"compare": None}, "needs a baseline"),
        ({"compare": {"pairs": "all"}}, "needs a baseline"),
        ({"curves": [CURVE, {**CURVE, "metric": "mrr"}]}, "is drawn for one metric"),
        ({"curves": ["roc"]}, "belongs to task 'binary'"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(plm.ConfigError, match=message):
        curves(table(4), **changes)


def test_other_curves_have_no_metric() -> None:
    with pytest.raises(plm.ConfigError, match="metric belongs to curve 'query_differences'"):
        plm.evaluate(table(), label="y", models=["a"], curves=[{"curve": "roc", "metric": "ndcg"}])


@pytest.mark.slow
@pytest.mark.parametrize("few", [True, False])
def test_states_of_shards_give_what_a_run_over_all_queries_gives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: bool
) -> None:
    if not few:
        monkeypatch.setattr("plmetrics.engine.prepare.bin_edges.FEW_ROWS", 10)
    rows = table(60).with_columns(c=pl.when(pl.col("q").str.ends_with("1")).then("a").otherwise("c"))
    for number in range(3):
        rows[number * 120 : (number + 1) * 120].write_parquet(tmp_path / f"{number}.parquet")
    every = str(tmp_path / "*.parquet")
    plain = plm.evaluate(every, **ARGUMENTS, reproducible=True).curves
    constants = plm.state(every, **ARGUMENTS, reproducible=True)
    states = [
        plm.state(str(tmp_path / f"{number}.parquet"), **ARGUMENTS, reproducible=True, constants=constants)
        for number in range(3)
    ]
    assert plm.merge(*reversed(states)).curves.equals(plain)
    for model in "bc":
        expected = by_hand(rows, model)
        own = plain.filter(model=model, slice="all")
        np.testing.assert_allclose(own["y"], sorted(expected.values(), reverse=True), atol=1e-12)
        named = own.drop_nulls("class")
        assert dict(named.select("class", "y").iter_rows()) == pytest.approx(
            {q: expected[q] for q in named["class"]}
        )
        assert (named.height == len(expected)) is (few or model == "b")


@pytest.mark.slow
def test_of_many_queries_bins_say_their_ends_and_the_mean_between(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("plmetrics.engine.prepare.bin_edges.FEW_ROWS", 10)
    monkeypatch.setattr("plmetrics.engine.prepare.bin_edges._FINE", 40)
    rows = table(800, 3)
    own = curves(rows, slices=None, curves=[{**CURVE, "slices": []}]).filter(model="b")
    expected = by_hand(rows, "b")
    ascending = np.array(sorted(expected.values(), reverse=True))
    assert own["x"].to_list() == list(range(1, len(expected) + 1))
    assert own["y"].is_sorted(descending=True)
    named = own.drop_nulls("class")
    np.testing.assert_allclose(named["y"], ascending[named["x"].to_numpy().astype(int) - 1], atol=1e-12)
    assert {*named["x"]} >= {1.0, float(len(expected))}
    assert np.abs(own["y"].to_numpy() - ascending).max() < 0.05


@pytest.mark.slow
def test_days_with_the_constants_of_another_one_rank_all_queries_by_their_differences() -> None:
    rows = table(60)
    parts = [rows[number * 120 : (number + 1) * 120] for number in range(3)]
    first = plm.state(parts[0], **ARGUMENTS)
    merged = plm.merge(first, *(plm.state(part, **ARGUMENTS, constants=first) for part in parts[1:])).curves
    for model in "bc":
        expected = by_hand(rows, model)
        own = merged.filter(model=model, slice="all")
        np.testing.assert_allclose(own["y"], sorted(expected.values(), reverse=True), atol=1e-12)
        assert dict(own.select("class", "y").iter_rows()) == pytest.approx(expected, abs=1e-12)
