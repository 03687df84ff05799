"""Differences in each query against the metric of that query alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import ndcg_score

import plmetrics as plm
from plmetrics.inference.curves.query_differences import even_ranks

if TYPE_CHECKING:
    from pathlib import Path

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
    for (query,), part in rows.group_by("q"):
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


@pytest.mark.exhaustive
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
