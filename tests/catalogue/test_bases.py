import polars as pl
import pytest

import plmetrics as plm
from plmetrics.catalogue import registry
from plmetrics.catalogue.bases import called_rightly, row_value
from plmetrics.catalogue.registry import create
from plmetrics.states.sums import Rows

FRAME = pl.DataFrame({"y": [1.0, 0.0, 1.0, 0.0, 1.0], "p": [0.9, 0.2, 0.4, 0.5, 0.7]})
ROWS = Rows(pl.col("y"), pl.col("p"), pl.col("y") == 1)


def simple(task: str) -> list[str]:
    """The metrics of a task that need no parameters."""
    found = []
    for name in registry.names(task):
        try:
            create(task, name, {})
        except (plm.ConfigError, ValueError):
            continue
        found.append(name)
    return found


@pytest.mark.parametrize("task", ["binary", "regression"])
def test_the_mean_of_row_values_is_the_metric(task: str) -> None:
    means = []
    for name in simple(task):
        metric = create(task, name, {})
        value = row_value(metric)
        if value is None or metric.columns() or metric.centres() or not metric.expressible:
            continue
        means.append(metric.name)
        expected = FRAME.select(metric.expr("y", "p")).item()
        assert FRAME.select(value(ROWS)).to_series().mean() == pytest.approx(expected)
    wanted = {"binary": {"log_loss", "brier"}, "regression": {"mae", "mse", "mean_error"}}[task]
    assert wanted <= set(means)
    assert not {"f1", "accuracy", "rmse", "precision", "roc_auc"} & set(means)


def test_rows_that_are_called_rightly() -> None:
    right = called_rightly(plm.metric("accuracy(threshold=0.45)"))
    assert right is not None
    assert FRAME.select(right(ROWS)).to_series().to_list() == [True, True, False, False, True]
    assert called_rightly(plm.metric("precision")) is None
