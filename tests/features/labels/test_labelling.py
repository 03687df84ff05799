"""Scores of rows with a label against those of rows without one."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plmetrics as plm
from plmetrics.features.labels.labels_feature import LabelsFeature
from plmetrics.report.html.page import html_text
from plmetrics.report.summary import summarise
from plmetrics.report.terminal import render

ROWS = 2000


def table(tilt: float = 0.6, seed: int = 2) -> pl.DataFrame:
    generator = np.random.default_rng(seed)
    score = generator.random(ROWS)
    labelled = generator.random(ROWS) < 0.2 + tilt * score
    frame = pl.DataFrame(
        {
            "p": score,
            "y": (generator.random(ROWS) < score).astype(int),
            "w": generator.integers(1, 4, ROWS),
            "g": generator.choice(["a", "b", "c"], ROWS),
        }
    )
    return frame.with_columns(y=pl.when(pl.Series(labelled) & (pl.col("g") != "c")).then("y"))


def evaluated(frame: pl.DataFrame, **further: Any) -> plm.Result:
    asked: dict[str, Any] = {
        "label": "y",
        "models": {"m": "p"},
        "metrics": ["brier"],
        "slices": ["g"],
        "labels": True,
    }
    return plm.evaluate(frame, **(asked | further))


@pytest.mark.exhaustive
@pytest.mark.parametrize("missing", ["error", "drop", "drop_per_model"])
@pytest.mark.parametrize("weight", [None, "w"])
def test_means_are_those_of_numpy(weight: str | None, missing: str) -> None:
    frame = table()
    rows = evaluated(frame, weight=weight, missing=missing).others["labelling"]
    assert rows["slice"].to_list() == ["all", "g=a", "g=b", "g=c"]
    for row, part in zip(rows.to_dicts(), [frame, *(frame.filter(g=g) for g in "abc")], strict=True):
        weights = part["w"].to_numpy() if weight else np.ones(part.height)
        there, score = part["y"].is_not_null().to_numpy(), part["p"].to_numpy()
        assert (row["n_labelled"], row["n_unlabelled"]) == (there.sum(), (~there).sum())
        assert row["share"] == pytest.approx(weights[there].sum() / weights.sum())
        if not there.any():
            assert (row["status"], row["mean_labelled"], row["difference"]) == ("unlabelled", None, None)
            continue
        means = [np.average(score[side], weights=weights[side]) for side in (there, ~there)]
        variances = [np.cov(score[side], aweights=weights[side], ddof=0) for side in (there, ~there)]
        assert [row["mean_labelled"], row["mean_unlabelled"]] == pytest.approx(means)
        assert row["difference"] == pytest.approx(means[0] - means[1])
        assert row["standardised"] == pytest.approx((means[0] - means[1]) / np.sqrt(np.mean(variances)))
        assert (row["lower"], row["interval_status"]) == (None, "not_requested")


def test_the_interval_is_near_welchs_where_each_row_is_a_block() -> None:
    frame = table()
    row = evaluated(frame, uncertainty=True).others["labelling"].row(0, named=True)
    there = frame["y"].is_not_null()
    sides = frame.filter(there)["p"].to_numpy(), frame.filter(~there)["p"].to_numpy()
    welch = stats.ttest_ind(*sides, equal_var=False).confidence_interval()
    assert [row["lower"], row["upper"]] == pytest.approx([welch.low, welch.high], abs=2e-4)
    assert row["method"] == "delta"


def test_slices_may_begin_with_one_that_has_no_interval() -> None:
    frame = table().with_columns(g=pl.col("g").replace({"c": "0"}))
    rows = evaluated(frame, uncertainty=True).others["labelling"]
    assert rows.select("slice", "method").rows()[1:] == [("g=0", None), ("g=a", "delta"), ("g=b", "delta")]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("labels", "calls"), [(2, False), (2, True), (3, False), (3, True), (10, True)])
def test_a_few_labels_are_not_certain(labels: int, calls: bool) -> None:
    """Rows with a label differ from the others in no slice: intervals at 95 % exclude 0 in some 5 % of them."""
    slices, rows = 400, 100 + labels
    generator = np.random.default_rng(8)
    score = generator.random(slices * rows)
    frame = pl.DataFrame(
        {
            "p": (score < 0.15).astype(float) if calls else score,
            "y": ([1] * labels + [None] * 100) * slices,
            "g": np.repeat(np.arange(slices), rows),
        }
    )
    options = {"uncertainty": {"replicates": 2}, "max_slices": slices, "metrics": ["selection_rate"]}
    found = evaluated(frame, **options).others["labelling"].filter(slice_set="g")
    known = found.filter(interval_status="ok")  # two rows may share a block, which is one unit then
    assert known.height > 0.99 * slices
    excluded = ((known["lower"] > 0) | (known["upper"] < 0)).mean()
    assert excluded < 0.08


def test_one_row_on_a_side_has_no_interval() -> None:
    """A call of 1 among others of 10 % would be 2.8 standard deviations away."""
    frame = pl.DataFrame({"p": [1.0] * 11 + [0.0] * 90, "y": [1, *[None] * 100], "g": ["a"] * 101})
    for side in (frame, frame.with_columns(y=pl.when(pl.col("y").is_null()).then(1))):
        result = evaluated(side, uncertainty=True, metrics=["selection_rate"])
        assert not [text for text in result.warnings if "rows with a label" in text]
        row = result.others["labelling"].row(0, named=True)
        assert abs(row["difference"]) == pytest.approx(0.9)
        assert (row["lower"], row["std_error"], row["interval_status"]) == (None, None, "too_few_units")


def test_sides_without_any_spread_have_no_interval() -> None:
    frame = table().with_columns(p=pl.when(pl.col("y").is_null()).then(0.3).otherwise(0.7))
    row = evaluated(frame, uncertainty=True).others["labelling"].row(0, named=True)
    assert row["difference"] == pytest.approx(0.4)
    assert (row["lower"], row["upper"], row["interval_status"]) == (None, None, "degenerate")


def test_a_clear_difference_is_said_in_words() -> None:
    (warning,) = (text for text in evaluated(table(), uncertainty=True).warnings if text.startswith("labels"))
    assert "rows with a label have higher scores of model 'm': 0.5" in warning
    assert evaluated(table(0.0).filter(pl.col("g") != "c"), uncertainty=True).warnings == ()


@pytest.mark.parametrize("task", ["regression", "multiclass", "quantile", "ranking"])
def test_other_tasks(task: str) -> None:
    frame = table()
    frame = frame.with_columns(
        c=pl.col("y").replace_strict({0: "u", 1: "v"}, default=None), q=1 - pl.col("p")
    )
    asked: dict[str, dict[str, Any]] = {
        "regression": {"models": "p", "metrics": ["mae"]},
        "multiclass": {
            "label": "c",
            "models": {"m": {"proba": {"u": "p", "v": "q"}}},
            "metrics": ["log_loss"],
        },
        "quantile": {"models": {"m": {"quantiles": {0.5: "p"}}}, "metrics": ["mae"]},
        "ranking": {"query": "g", "models": "p", "metrics": ["ndcg"], "slices": []},
    }
    result = evaluated(frame, task=task, **asked[task])
    if task == "ranking":
        assert "labelling" not in result.others
        return
    score = frame.select(pl.max_horizontal("p", "q")).to_series() if task == "multiclass" else frame["p"]
    mean = score.filter(frame["y"].is_not_null()).mean()
    assert result.others["labelling"]["mean_labelled"][0] == pytest.approx(mean)


def test_the_terminal_and_the_page_show_it() -> None:
    result = evaluated(table(), uncertainty=True)
    text = render(summarise(result))
    assert "Labels (scores of rows with a label, and without)" in text
    assert "1 slice without labels" in text
    assert "used, " in text
    assert " unlabelled, " in text
    assert LabelsFeature.page is not None
    assert set(LabelsFeature.page.columns.split()) <= set(result.others["labelling"].columns)
    page = html_text(summarise(result))
    assert "mean unlabelled" in page
    assert "unlabelled for m" in page
