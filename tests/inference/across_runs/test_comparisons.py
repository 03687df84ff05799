"""A run against an earlier one: totals over other numbers of rows, and which run is nearer to 0."""

from typing import Any

import numpy as np
import polars as pl
import pytest

import plmetrics as plm


def table(rows: int, bias: float, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    label, error = rng.normal(size=rows), np.random.default_rng([seed, bias > 0]).normal(size=rows)
    return pl.DataFrame({"y": label, "p": label + bias + error, "g": rng.choice(["u", "v"], rows)})


def compared(now: pl.DataFrame, before: pl.DataFrame, gates: Any = ()) -> plm.Result:
    given: dict[str, Any] = {"task": "regression", "label": "y", "models": "p", "slices": ["g"]}
    total = {"name": "loss", "sum": "abs(score - label)", "direction": "lower"}
    given |= {"metrics": ["mean_error", total], "uncertainty": {"replicates": 100}}
    earlier = plm.evaluate(before, **given)
    compare = {"run": earlier, "scales": ["difference", "ratio"], "correction": "none"}
    return plm.evaluate(now, compare=compare, gates=gates, **given)


@pytest.mark.slow
def test_totals_are_compared_over_as_many_rows_only() -> None:
    gate = {"metric": "loss", "against": {"run": True}, "no_worse_than": 5, "using": "interval"}
    result = compared(table(3000, 0.0, 1), table(2000, 0.0, 2), [gate])
    totals = result.comparisons.filter(metric="loss")
    assert set(totals["status"]) == {"unequal_rows"}
    assert totals["p_value"].null_count() == totals["difference"].null_count() == totals.height
    (judged,) = result.gates.to_dicts()
    assert (judged["verdict"], judged["status"]) == ("inconclusive", "unequal_rows")
    assert "it is a total" in judged["note"]
    whole = compared(table(2000, 1.0, 1), table(2000, 0.0, 2)).comparisons.filter(metric="loss", slice="all")
    assert whole["status"].to_list() == ["ok", "ok"]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("now", "before", "words"), [(1.0, -2.0, "nearer to 0"), (-2.0, 1.0, "farther from 0")]
)
@pytest.mark.parametrize("paired", [True, False])
def test_runs_say_which_is_nearer_to_zero(now: float, before: float, words: str, paired: bool) -> None:
    result = compared(table(400, now, 1), table(400, before, 1 if paired else 2))
    rows = result.comparisons.filter(metric="mean_error", scale="difference")
    assert rows["note"].str.contains("paired: ").all() == paired
    assert rows["note"].str.ends_with(f"; {words}").all()


@pytest.mark.slow
def test_runs_as_far_from_zero_are_neither_nearer_nor_farther() -> None:
    notes = [compared(table(300, 1.0, seed), table(300, -1.0, seed + 50)).comparisons for seed in range(20)]
    rows = pl.concat(notes).filter(metric="mean_error", scale="difference", slice="all")
    assert (rows["p_value"] < 0.001).all()
    assert rows["note"].str.contains("to 0|from 0").sum() <= 4


def test_norms_of_runs_of_different_sizes_are_not_tested() -> None:
    def made(rows: int, seed: int, **compare: Any) -> plm.Result:
        rng = np.random.default_rng(seed)
        score = rng.random(rows)
        frame = pl.DataFrame({"y": (rng.random(rows) < score).astype(int), "p": score})
        return plm.evaluate(
            frame, label="y", models="p", metrics=metrics, uncertainty={"replicates": 100}, **compare
        )

    metrics = ["ece", "ece(debias=true)", "brier"]
    noisy, debiased_too = ["unequal_noise", "ok", "ok"], ["unequal_noise", "unequal_noise", "ok"]
    for size, rows, statuses in ((2000, 2010, ["ok"] * 3), (2000, 4000, noisy), (40, 600, debiased_too)):
        found = made(size, 1, compare={"run": made(rows, 2)}).comparisons
        assert found["interval_status"].to_list() == statuses
        assert found["p_value"].is_null().to_list() == [status != "ok" for status in statuses]
        assert found["difference"].null_count() == 0


def test_averages_over_other_classes_are_told() -> None:
    """As those of two models or slices are: recall has no class c in the earlier run."""
    rows = pl.DataFrame({"y": ["a", "b", "c", "a"], "p": ["a", "b", "b", "b"]})
    given: dict[str, Any] = {"task": "multiclass", "label": "y", "models": "p", "classes": ["a", "b", "c"]}
    given["metrics"] = ["recall", "accuracy"]
    earlier = plm.evaluate(rows[[0, 1, 3]], **given)
    found = plm.evaluate(rows, compare={"run": earlier}, **given).comparisons
    parts = "values of different parts (here nothing left out; there classes left out: c)"
    notes = dict(found.select("metric", "note").iter_rows())
    assert notes == {"recall": f"{parts}; independent samples", "accuracy": "independent samples"}
