"""Constants of a run: those that the first rows tell are no worse where these are unlike the others."""

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import r2_score

import plmetrics as plm
from plmetrics.engine.prepare import preparation


@pytest.fixture(autouse=True)
def few_first_rows(monkeypatch):
    monkeypatch.setattr(preparation, "SAMPLE_ROWS", 10)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", [0.0, 1e6, 3e9])
@pytest.mark.parametrize("order", ["ascending", "random"])
def test_variation_is_known_however_far_the_first_labels_lie_from_the_others(first, order):
    rng = np.random.default_rng(4)
    label = 1e6 + rng.lognormal(size=2000)
    label = np.append(np.full(10, first), np.sort(label) if order == "ascending" else label)
    score = label + rng.normal(size=len(label))
    part = np.where(np.arange(len(label)) < 10, "first", np.where(np.arange(len(label)) % 2, "odd", "even"))
    rows = pl.DataFrame({"y": label, "p": score, "part": part})
    result = plm.evaluate(rows, task="regression", label="y", models="p", slices="part", metrics=["r2"])
    values = dict(result.metrics.select("slice", "value").iter_rows())
    assert values["part=first"] is None
    for name, member in {"all": part != "", "part=odd": part == "odd", "part=even": part == "even"}.items():
        assert values[name] == pytest.approx(r2_score(label[member], score[member]), abs=1e-10, rel=1e-10)


def test_labels_that_are_one_number_have_no_variation():
    rows = pl.DataFrame({"y": [0.1] * 300, "p": np.linspace(0, 1, 300)})
    result = plm.evaluate(rows, task="regression", label="y", models="p", metrics=["r2"])
    assert result.metrics["status"].to_list() == ["zero_denominator"]
