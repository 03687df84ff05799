from __future__ import annotations

import pytest

import plmetrics as plm
from plmetrics.catalogue.means import is_mean, is_weighed_by_rows
from plmetrics.catalogue.metric import Facts


@pytest.mark.parametrize(
    ("task", "text", "by_rows"),
    [
        ("binary", "accuracy", True),
        ("binary", "selection_rate(threshold=0.2)", True),
        ("binary", "log_loss", True),
        ("binary", "brier", True),
        ("binary", "precision", False),
        ("binary", "recall", False),
        ("binary", "fpr", False),
        ("binary", "f1", False),
        ("multiclass", "accuracy", True),
        ("regression", "mae", True),
        ("regression", "mean_error", True),
        ("regression", "wmape", False),
        ("ranking", "ndcg", False),
    ],
)
def test_means(task: str, text: str, by_rows: bool) -> None:
    metric = plm.metric(text, task=task)
    assert is_mean(metric)
    assert is_weighed_by_rows(metric) == by_rows


@pytest.mark.parametrize(
    ("task", "text"),
    [
        ("binary", "tp"),
        ("binary", "n"),
        ("binary", "mcc"),
        ("binary", "balanced_accuracy"),
        ("binary", "roc_auc"),
        ("binary", "ece"),
        ("binary", "log_loss_skill"),
        ("regression", "rmse"),
        ("regression", "r2"),
        ("regression", "median_absolute_error"),
        ("regression", "spearman"),
        ("uplift", "ate"),
    ],
)
def test_what_is_no_mean(task: str, text: str) -> None:
    metric = plm.metric(text, task=task).settled(Facts(("a", "b")))
    assert not any(is_mean(own) for _, own in metric.per_class())
