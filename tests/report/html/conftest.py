"""A run whose names try to break a page."""

import pytest
from report.html.hostile import MARKUP, table

import plmetrics as plm


@pytest.fixture(scope="package")
def result() -> plm.Result:
    return plm.evaluate(
        table(),
        label="y",
        models={"good": "good", MARKUP: "poor"},
        metrics=["roc_auc", "log_loss", "recall", "tp"],
        slices={"region": "region"},
        uncertainty={"replicates": 100},
        compare="good",
        curves=["roc", "reliability"],
        gates=[{"metric": "recall", "at_least": 0.9}, {"metric": "roc_auc", "at_least": 0.5}],
    )
