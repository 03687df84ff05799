"""Counts that the rows of ordered metrics tell: what a plan of their own brings."""

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.metrics import brier_score_loss

import plmetrics as plm
from plmetrics.engine.aggregate import aggregation as counted


@pytest.fixture
def frame():
    rng = np.random.default_rng(5)
    frame = pl.DataFrame({"y": rng.random(400) < 0.3, "p": rng.integers(0, 30, 400) / 30 - 0.5})
    return frame.with_columns(w=rng.random(400), g=rng.integers(0, 3, 400), q=pl.col("p") + 1)


@pytest.fixture
def asked_of_rows(monkeypatch):
    """Whether counts came from the rows, run by run."""
    found = []

    def noted(plan, plain=counted.tells_counts):
        found.append(plain(plan))
        return found[-1]

    monkeypatch.setattr(counted, "tells_counts", noted)
    return found


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("asked", "from_rows"),
    [
        ({}, True),
        ({"metrics": ["roc_auc", "ks"], "models": {"a": "p", "b": "q"}}, True),
        ({"models": {"a": "p", "b": "q"}, "compare": {"baseline": "a"}}, False),
        ({"metrics": ["average_precision"]}, True),
        ({"missing": "drop"}, True),
        ({"missing": "drop_per_model"}, False),
        ({"where": "g > 0"}, True),
        ({"weight": "w"}, False),
        ({"metrics": ["roc_auc", "brier"], "models": "q"}, False),
        ({"slices": {"group": "g"}}, False),
        ({"uncertainty": {"replicates": 20}}, False),
    ],
)
def test_the_tables_are_the_same(frame, asked, from_rows, asked_of_rows, monkeypatch):
    if "brier" in asked.get("metrics", ()):
        frame = frame.with_columns(pl.col("q").clip(0, 1))
    if "missing" in asked:
        frame = frame.with_columns(pl.when(pl.int_range(pl.len()) % 7 > 0).then(pl.col("p")).alias("p"))
    asked = {"label": "y", "models": "p", "metrics": ["roc_auc"], "exact": True} | asked
    found = plm.evaluate(frame, **asked)
    assert asked_of_rows == [from_rows]
    monkeypatch.setattr(counted, "tells_counts", lambda _: False)
    plain = plm.evaluate(frame, **asked)
    for table in ("metrics", "comparisons"):
        assert getattr(found, table).equals(getattr(plain, table))
    for part in ("rows", "warnings", "constants"):
        assert found.record[part] == plain.record[part]


@pytest.mark.parametrize(
    ("column", "value"), [("p", None), ("p", float("nan")), ("p", float("inf")), ("y", None)]
)
def test_bad_values_are_told_alike(frame, column, value, asked_of_rows, monkeypatch):
    bad = pl.when(pl.int_range(pl.len()) == 9).then(value).otherwise(pl.col(column)).alias(column)
    frame = frame.with_columns(bad)
    told = []
    for _ in range(2):
        with pytest.raises(plm.DataError) as caught:
            plm.evaluate(frame, label="y", models="p", metrics=["roc_auc"], exact=True)
        told.append(str(caught.value))
        monkeypatch.setattr(counted, "tells_counts", lambda _: False)
    assert asked_of_rows == [True]
    assert told[0] == told[1]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["plain", "scored", "rescored", "every", "n", "weight", "bad"])
@pytest.mark.parametrize("missing", ["drop", "drop_per_model"])
def test_counts_do_not_depend_on_what_a_model_is_called(name, missing):
    """Its name begins those of its columns, beside others that the run adds."""
    rng = np.random.default_rng(6)
    y = np.where(rng.random(300) < 0.3, np.nan, rng.integers(0, 2, 300))
    p = rng.random(300)
    seen = np.isfinite(y)
    frame = pl.DataFrame({"y": y, "p": p}, nan_to_null=True)
    asked = {"label": "y", "models": {name: "p"}, "missing": missing, "uncertainty": {"replicates": 20}}
    found = plm.evaluate(
        frame,
        **asked,
        task="regression",
        metrics=["pearson", {"name": "level", "mean": "score"}],
        labels=True,
    )
    assert found.metrics["value"].to_list() == pytest.approx([stats.pearsonr(y[seen], p[seen])[0], p.mean()])
    brier = plm.evaluate(frame, **asked, metrics=["brier"]).metrics["value"].item()
    assert brier == pytest.approx(brier_score_loss(y[seen], p[seen]))


def test_a_slice_set_may_be_called_within(frame):
    """Sets that the run makes of groups within levels begin so."""
    sliced = {"within": "g"}
    found = plm.evaluate(frame, label="y", models="q", metrics=["roc_auc"], slices=sliced).metrics
    assert found["slice_set"].unique(maintain_order=True).to_list() == ["overall", "within"]
