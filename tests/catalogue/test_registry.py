import pytest

from plmetrics.catalogue import registry
from plmetrics.catalogue.index import MODULES
from plmetrics.catalogue.registry import (
    UnknownMetricError,
    classes,
    create,
    default_metrics,
    find,
    names,
    tasks,
)

NAMES = """
binary: tp fp fn tn n prevalence selection_rate accuracy error_rate precision false_discovery_rate
    recall fnr specificity fpr npv false_omission_rate f1 fbeta mcc balanced_accuracy
    balanced_error_rate cohen_kappa youden_j markedness g_mean fowlkes_mallows jaccard
    positive_likelihood_ratio negative_likelihood_ratio diagnostic_odds_ratio expected_cost
    ppv_at_prevalence roc_auc gini average_precision ks log_loss brier spherical_score default_log_loss
    log_loss_skill brier_skill brier_reliability brier_resolution brier_uncertainty brier_within_bin ece
    calibration_ratio
regression: mae mse rmse mean_error error_variance bias_squared r2 adjusted_r2 explained_variance default_rmse
    rmse_skill mape smape wmape msle rmsle huber log_cosh quantile_loss
multiclass: accuracy top_k_accuracy balanced_accuracy mcc cohen_kappa precision recall f1 fbeta jaccard specificity
    log_loss brier roc_auc average_precision classwise_ece top_label_ece
quantile: quantile_loss wis crps interval_coverage interval_width interval_score crossing_rate
ranking: ndcg dcg default_ndcg map mrr precision_at_k recall_at_k hit_at_k f1_at_k r_precision mean_rank
"""


def test_the_catalogue_has_the_names_of_this_release():
    wanted = dict(part.split(":") for part in NAMES.replace("\n    ", " ").strip().splitlines())
    assert set(wanted) <= set(tasks())
    for task, listed in wanted.items():
        assert set(listed.split()) <= set(names(task))
    assert names("binary")[:5] == ("tp", "fp", "fn", "tn", "n")
    assert len(classes()) == sum(len(names(task)) for task in tasks())


@pytest.mark.parametrize("task", tasks())
def test_default_metrics_need_nothing_but_a_label_and_a_score(task):
    metrics = default_metrics(task)
    assert metrics
    assert not any(metric.probability for metric in metrics)
    assert [metric.text for metric in metrics] == [metric.name for metric in metrics]


def test_a_task_without_metrics_has_no_defaults():
    assert default_metrics("astrology") == ()


@pytest.mark.parametrize(
    ("task", "name", "hint"),
    [
        ("binary", "prescision", "did you mean 'precision'?"),
        ("binary", "sensitivty", "did you mean 'sensitivity'?"),
        ("binary", "mcee", "did you mean 'mce'?"),
        ("regression", "roc_auc", "'roc_auc' belongs to task 'binary', 'multiclass', 'multilabel'"),
        ("binary", "rmse", "'rmse' belongs to task 'regression'"),
        ("binary", "R2", "'r2' belongs to task 'regression'"),
        ("regression", "tpr", "'tpr' belongs to task 'binary', 'multiclass', 'multilabel'"),
    ],
)
def test_an_unknown_name_comes_with_a_hint(task, name, hint):
    with pytest.raises(UnknownMetricError, match=f"unknown metric '{name}' for task '{task}'") as caught:
        find(task, name)
    assert caught.value.hint == hint


@pytest.mark.parametrize(("name", "aliases"), [("recall", ()), ("brand_new", ("tpr",)), ("mce", ())])
def test_a_taken_name_is_refused(name, aliases, monkeypatch):
    monkeypatch.setattr(registry, "_metrics", dict(registry._metrics))
    monkeypatch.setattr(registry, "_aliases", dict(registry._aliases))
    again = type("Again", (find("binary", "recall"),), {"name": name, "aliases": aliases, "presets": {}})
    with pytest.raises(ValueError, match="is taken for task 'binary'"):
        registry.register(again)
    assert "brand_new" not in names("binary")


def test_create_leaves_the_given_parameters_alone():
    given = {"bins": 10}
    create("binary", "mce", given)
    assert given == {"bins": 10}


def test_the_index_says_what_the_modules_register():
    by_module: dict[str, dict[str, list[str]]] = {}
    for metric in classes():
        if metric.__module__.startswith("plmetrics."):
            listed = by_module.setdefault(metric.__module__.removeprefix("plmetrics.catalogue."), {})
            listed.setdefault(metric.task, []).extend([metric.name, *metric.aliases, *metric.presets])
    assert by_module == {
        module: {task: named.split() for task, named in by_task.items()}
        for module, by_task in MODULES.items()
    }
    assert list(by_module) == list(MODULES)
